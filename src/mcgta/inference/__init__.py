"""Tests of whether a pair differs by more than is expected at its distance, or by chance."""
