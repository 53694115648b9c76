"""`reid-ref published`: the built-in table of published figures."""
