"""Kernels of the metrics: pure functions of arrays, each with its formula and source."""
