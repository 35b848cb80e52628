"""Arrow tables: Parquet and Feather."""
