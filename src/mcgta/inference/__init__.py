"""Tests of whether a pair differs by more than its distance, or chance, lets expect."""
