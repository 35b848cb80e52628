"""Choosing parameters with the help of labels, and telling honestly how well that does on labels held out."""
