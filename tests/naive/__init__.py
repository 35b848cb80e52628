"""Slow, obvious twins of the fast paths; nothing of the package is imported here."""
