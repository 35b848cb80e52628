"""Compiling kernels, and vectors of doubles as a Numba type."""
