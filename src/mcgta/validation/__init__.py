"""Known labels and resamples: choosing parameters by labels, and how stable a result is."""
