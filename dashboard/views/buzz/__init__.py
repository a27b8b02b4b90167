"""When runs buzz, against people."""
