"""Sessions in which people answer questions, and the runs made from them."""
