"""Who asks, what they may read and write, and limits on every request."""
