"""`reid-ref evaluate`: Rank-k, mAP and mINP of result files."""
