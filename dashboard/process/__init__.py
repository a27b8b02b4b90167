"""The processes of a server: workers and the processes that end with them, their log, and their metrics for Prometheus."""
