"""New observations: placed in the clusters of a fit, or added to it."""
