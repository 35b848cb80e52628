"""Tables and figures of records."""
