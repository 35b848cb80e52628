"""What every part needs and none of which knows the method: files, memory, threads, progress, rules for parameters."""
