"""What a view declares once: its address, its keys and its tables. Everything that shows it follows from that."""
