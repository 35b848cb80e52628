"""States that differ in how they move."""
