"""Scores, times, memory and the environment, as all benchmarks measure them."""
