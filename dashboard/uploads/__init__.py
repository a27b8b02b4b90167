"""Files uploaded over HTTP: how they are received, the process that imports them, and the summary for the response."""
