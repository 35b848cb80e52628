"""The evidence of labellings, and relabelling."""
