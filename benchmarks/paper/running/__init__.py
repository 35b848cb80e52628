"""Cells run one by one, each in a process of its own, and their records."""
