"""The import, from files to an unpublished catalogue of the store: reading, checks, grading and the report."""
