"""A tree over models, and density-based clustering by it."""
