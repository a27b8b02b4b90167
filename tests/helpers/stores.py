"""The files in the folder of a store, and what the command line lists of it."""


def file_times(store):
    """Return when each file of a store was written, except the cache and locks."""
    return {
        path.relative_to(store): path.stat().st_mtime_ns
        for path in sorted(store.rglob("*"))
        if path.is_file() and "cache" not in path.parts and path.suffix != ".lock" and path.name != "lock"
    }


def listed_datasets(cli, store):
    done = cli("datasets", store=store)
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("\n\n")[0].splitlines()
