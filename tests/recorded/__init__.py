"""What fits gave when they were recorded, and the recorder."""
