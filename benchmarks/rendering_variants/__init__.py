"""The same page in three other ways, for ``benchmarks/rendering.py``."""
