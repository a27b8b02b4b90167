"""Runs and human votes."""
