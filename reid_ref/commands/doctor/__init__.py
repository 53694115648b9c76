"""`reid-ref doctor`: checks for known mistakes in a result file."""
