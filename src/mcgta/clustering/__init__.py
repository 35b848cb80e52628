"""Density-based clustering on the loss, and the neighbour searches that answer its questions."""
