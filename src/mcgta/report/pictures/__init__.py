"""The big picture of a report: what its timeline and its map hold, packed for the page and drawn for those without scripts."""
