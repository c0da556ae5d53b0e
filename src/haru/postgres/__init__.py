"""The index in PostgreSQL: many households in one database, every row and every statement keyed by household."""
