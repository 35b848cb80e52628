"""Where observations are, how far apart, and how positions are read."""
