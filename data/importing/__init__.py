"""The import, from files to a trial of the store: reading, checks, grading and the report."""
