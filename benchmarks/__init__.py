"""Benchmarks: what is timed, what it is compared with, and what the scripts printed."""
