"""Sessions in which people answer questions, and the runs that come of them."""
