"""The error that both cache backends raise."""


class CacheFailure(Exception):
    """The cache cannot be read or written at the moment."""
