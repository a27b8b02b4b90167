"""Results of queries, kept on disk or in Redis and computed once each."""
