"""Features or distances to a `Result`: rank, compute the metrics, average."""
