"""Cache of query results on disk or in Redis. Each result is computed only once."""
