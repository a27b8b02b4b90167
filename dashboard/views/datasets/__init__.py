"""Datasets in the store."""
