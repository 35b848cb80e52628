"""Trajectories: clusters of repeated records, each a curve over the time since a record began."""
