"""Stacks of Gaussians: moments, covariances, distances."""
