"""HTTP below everything else: bodies, responses, paths, log, and slow clients. It knows no access control and no store."""
