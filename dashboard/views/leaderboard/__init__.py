"""Metrics and ranks of every run."""
