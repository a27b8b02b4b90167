"""All datasets on one page."""
