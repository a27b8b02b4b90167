"""Backups: a consistent copy of the store, in a folder that is a store itself."""

from __future__ import annotations

import os
from pathlib import Path

from clueline.data.scratch_folders import folder_beside
from clueline.data.store.audit import copy_changes
from clueline.data.store.errors import StoreError
from clueline.data.store.files import NAMES
from clueline.data.store.kinds import copy_kinds, kept_folders
from clueline.data.store.register import EMPTY, TOKENS, TOKENS_LOCK
from clueline.data.store.repair import VersionOnDisk, inspect_version
from clueline.data.store.store import Store, open_store
from clueline.data.store.tokens_and_readers import UNCHECKED, TokenError, Tokens


def back_up(store: Store, target: Path) -> VersionOnDisk:
    """Copy the current version and everything else that ``data.store.kinds`` lists to a new or empty folder.

    A version never changes, so the copy is consistent without a lock. It is compared with its checksums before the folder gets
    its name. Raises ``StoreError`` if the store is empty or damaged, or the copy cannot be written.
    """
    target = target.expanduser().absolute()
    store.check_outside(target)
    try:
        if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
            raise StoreError(f"{target} already exists; give a new or empty folder")
        target.parent.mkdir(parents=True, exist_ok=True)
        with folder_beside(target) as draft:
            version = copy_store(store, open_store(draft / "store"))
            (draft / "store").replace(target)
    except OSError as error:
        raise StoreError(f"the backup cannot be written: {error}") from error
    return version


def restore_backup(store: Store, source: Path) -> list[str]:
    """Make the content of a backup the current version, and return the datasets that have become private by that.

    What is private in the backup or in the store is private before its data are current; see ``carry_access``. Tokens and the
    audit are restored only if the store has none, so a token revoked since the backup stays revoked. Of people's sessions and of
    what is in small files, only those that the store lacks are restored, so a player erased since the backup stays erased. Raises
    ``StoreError``.
    """
    for folder, folders, files in os.walk(source.expanduser()):
        for name in (*folders, *files):
            if os.path.islink(path := os.path.join(folder, name)):  # it could be any file of this host
                raise StoreError(f"{path} is a link, which no backup has; nothing was restored")
    backup = open_store(source)
    tokens = source.expanduser() / TOKENS
    if tokens.is_file() and tokens.read_bytes().startswith(UNCHECKED) and not Tokens(store.register).record().tokens:
        raise StoreError(f"{tokens} has no checksum; remove it and {TOKENS_LOCK}, and create new tokens afterwards")
    version = intact_version(backup)
    try:
        copy_changes(backup.register, store.register)  # before the restore itself is an event
    except OSError as error:
        raise StoreError(f"the audit cannot be restored: {error}") from error
    private = store.adopt(backup, version.name, is_copy=False)
    _copy_kinds(backup, store, "restored", _same_tokens(backup, store))
    return private


def _same_tokens(source: Store, target: Store) -> set[str]:
    """Return the names of the tokens that are the same in two stores: another token of a name may be somebody else's."""
    digests = {token.name: token.digest for token in Tokens(target.register).all()}
    return {token.name for token in Tokens(source.register).all() if digests.get(token.name) == token.digest}


def copy_store(source: Store, target: Store) -> VersionOnDisk:
    """Copy the current version and everything else that ``data.store.kinds`` lists to an empty store of any kind.

    The target may be one to which a killed process was copying. If its files are in a folder, nothing else may be there. The copy
    is compared with its checksums. Raises ``StoreError``.
    """
    if target.pointer() != EMPTY:
        raise StoreError(f"the store in {target.place} already holds data; give an empty one")
    source.check_outside(target.files.root)
    if not target.files.copied:
        _check_no_other_files(target.files.root)
    _copy_in_force(source, target)
    _copy_kinds(source, target, "copied", None)
    return intact_version(target)


def _copy_kinds(source: Store, target: Store, done: str, same_tokens: set[str] | None) -> None:
    """Copy what is not in the catalogue, after the data. ``done`` is what was done with the data."""
    try:
        copy_kinds(source, target, same_tokens)
    except (OSError, TokenError) as error:
        raise StoreError(f"the data is {done}, but not everything else: {error}") from error


def _check_no_other_files(folder: Path) -> None:
    try:
        others = [path.name for path in folder.iterdir() if not path.name.startswith((*NAMES, *kept_folders()))]
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreError(f"{folder} cannot be used: {error.strerror}") from error
    if others:
        raise StoreError(f"{folder} holds other files, such as {others[0]}; give a new or empty folder")


def intact_version(store: Store) -> VersionOnDisk:
    """Return the current version after comparing every block with its checksum, also if an earlier version of Clueline made it.

    Raises ``StoreError``, also if there is none.
    """
    if store.catalogue() is None:
        raise StoreError(f"there is no store in {store.place}")
    version = inspect_version(store, store.pointer().name, earlier=True)
    if version.damage is not None:
        raise StoreError(f"{store.place}: {version.name} is damaged: {version.damage}")
    return version


def _copy_in_force(store: Store, target: Store) -> None:
    while True:
        pointer = store.pointer()
        if not pointer.name:
            raise StoreError(f"the store in {store.place} is empty")
        try:
            store.catalogue_file(pointer)
            target.adopt(store, pointer.name, is_copy=True)
            return
        except StoreError:
            if store.pointer() == pointer:
                raise
            # Other processes wrote so often that this version was removed.
