"""Pieces of a page: HTML, SVG and PNG, made without any library for pictures."""
