"""The sections of a report, from the verdict to the table; each is a function of the subject that returns HTML."""
