"""What plots and reports share, without matplotlib: colours, coastlines, shares of time, cells and frames of maps."""
