"""The paper's experiments: data sets, methods and settings in one table, run cell by cell."""
