"""Files of AnnData, in which tables of cells are kept."""
