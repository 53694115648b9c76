"""`reid-ref validate`: which convention gives a published figure."""
