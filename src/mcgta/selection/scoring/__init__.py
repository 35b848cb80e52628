"""The evidence of a labelling, and what it is computed from."""
