"""Runs by category, and the parts of the questions where a run does worse."""
