"""Queries to the store. Each is a function of a snapshot and a selection that returns a frame or a small struct."""
