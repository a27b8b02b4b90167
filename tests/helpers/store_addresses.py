"""Addresses of new stores of every kind."""

KINDS = ("folder", "postgres and folder", "postgres and s3")


def new_address(request, kind, folder):
    """Return the address of a new store.

    Args:
        request: pytest's request, for the fixtures ``postgres`` and ``s3``.
        kind: one of ``KINDS``.
        folder: folder for everything that is not on a server.
    """
    if kind == "folder":
        return str(folder / "store")
    objects = str(folder / "objects")
    if kind == "postgres and s3":
        objects = request.getfixturevalue("s3").new_bucket()
    return f"{request.getfixturevalue('postgres').new_database()}?objects={objects}&local={folder / 'local'}"
