"""The report of a fit: one HTML file that needs nothing beside it, and its values as JSON."""

from mcgta.report.writing import write_report

__all__ = ["write_report"]
