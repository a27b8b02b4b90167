"""The error that both caches raise."""


class CacheFailure(Exception):
    """The cache cannot be read or written just now."""
