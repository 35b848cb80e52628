"""How much observations differ at a distance (lines 6-8 of Algorithm 1)."""
