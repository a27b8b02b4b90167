"""Files that come in over HTTP: who may send them, how they are received, and the process that reads them."""
