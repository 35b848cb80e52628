"""Kernels for regions that are mixtures of kinds."""
