"""The same page drawn in three other ways, for ``benchmarks/rendering.py``."""
