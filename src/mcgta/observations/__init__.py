"""What users pass: features and the rest of a table, read, checked, completed, and put into canonical order."""
