"""Kernels of states that differ in how they move: features of motion, segments and their merges."""
