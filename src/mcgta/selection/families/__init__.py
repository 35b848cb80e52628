"""Families of clusters beside the Gaussian one: states that move, regions that are mixtures, records that are curves."""
