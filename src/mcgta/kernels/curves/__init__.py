"""Curves of semivariograms and sums over bins of distance."""
