"""Questions about numbers: why two differ, whether a printed figure can be, what ties can do."""
