"""Other methods, run on the same problems beside ours."""
