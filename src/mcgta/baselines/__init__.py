"""Other ways to cluster observations with positions, in one shape, to compare with."""
