"""What several readers share, and parts of large ones. No module here reads a format by itself."""
