"""Small data, files and cells that tests are built from."""
