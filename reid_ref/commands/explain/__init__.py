"""`reid-ref explain`: why two conventions give two numbers."""
