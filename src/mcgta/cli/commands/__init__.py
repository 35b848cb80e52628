"""The commands, a file each, and the registry that lists them."""
