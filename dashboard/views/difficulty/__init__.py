"""Overconfidence against difficulty."""
