"""How much observations differ at a distance (lines 6-9 of Algorithm 1)."""
