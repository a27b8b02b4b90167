"""The list of questions."""
