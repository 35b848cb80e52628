"""Records that follow different curves."""
