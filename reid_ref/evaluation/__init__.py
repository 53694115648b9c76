"""The one path from what the user has to a `Result`: rank, count, summarise."""
