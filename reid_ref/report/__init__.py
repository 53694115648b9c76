"""Results, and what analysis found, as text, tables and pictures; nothing computes here."""
