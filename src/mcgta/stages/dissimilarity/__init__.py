"""How much two observations differ (lines 4-5 of Algorithm 1)."""
