"""Gradings of runs."""
