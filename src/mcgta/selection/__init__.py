"""Choosing without labels: how good a labelling is, and the best one that can be found."""
