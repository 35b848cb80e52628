"""The data of all benchmarks."""
