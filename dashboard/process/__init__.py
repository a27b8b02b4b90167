"""The processes of a server: workers, what ends with them, their log and figures."""
