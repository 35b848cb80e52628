"""Distances between positions, and windows along time."""
