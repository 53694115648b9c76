"""`reid-ref check-table`: rows of tables that cannot be."""
