"""Which rule gives the numbers of an evaluator."""
