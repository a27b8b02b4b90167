"""From files to a trial of the store: reading, checks, grading, the report."""
