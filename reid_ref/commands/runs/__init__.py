"""`reid-ref runs`: several runs of one system."""
