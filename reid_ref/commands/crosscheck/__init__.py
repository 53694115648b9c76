"""`reid-ref crosscheck`: what another evaluator computes."""
