"""Access control: who is asking, what they may read and write, and limits on every request."""
