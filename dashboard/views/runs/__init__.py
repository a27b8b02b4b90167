"""Runs: where they come from, and their responses."""
