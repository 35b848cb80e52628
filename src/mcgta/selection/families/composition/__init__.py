"""Regions that differ in their shares of kinds."""
