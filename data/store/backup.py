"""Backups: a consistent copy of the store, in a folder that is a store itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from data.store.audit import copy_changes
from data.store.errors import StoreError
from data.store.play_log import copy_sessions
from data.store.register import EMPTY
from data.store.repair import VersionOnDisk, inspect_version
from data.store.store import Store, open_store


def back_up(store: Store, target: Path) -> VersionOnDisk:
    """Copy the current version, the tokens, the audit of changes and the sessions of people to a new folder.

    Others may read and write the store meanwhile.

    A version is never changed, so the copy is consistent without a lock. It is read again and compared with its
    checksums before the folder gets its name.

    Args:
        store: what to copy.
        target: a folder that does not exist yet or is empty.

    Returns:
        The version in the copy.

    Raises:
        StoreError: the store is empty or damaged, or the copy cannot be written.
    """
    target = target.expanduser().absolute()
    draft = target.with_name(f"{target.name}.part")
    try:
        if target.exists() and not (target.is_dir() and not any(target.iterdir())):
            raise StoreError(f"{target} holds something already; give a new folder")
        shutil.rmtree(draft, ignore_errors=True)  # what a killed backup left
        try:
            copy = open_store(draft)
            version = copy_store(store, copy)
            draft.replace(target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    except OSError as error:
        raise StoreError(f"the backup cannot be written: {error}") from error
    return version


def restore_backup(store: Store, source: Path) -> VersionOnDisk:
    """Make the content of a backup the current version, in the place of whatever the store holds.

    Tokens and the audit are restored only where the store has none, so that a token revoked since stays revoked. Of the
    sessions of people, those come back that the store does not have, so that a player who was erased since stays erased.

    Args:
        store: where to.
        source: folder of a backup.

    Returns:
        The version that was restored.

    Raises:
        StoreError: the folder holds no whole backup, or the store cannot be written.
    """
    backup = open_store(source)
    version = whole_version(backup)
    store.adopt(backup, version.name)
    try:
        copy_tokens(backup, store)
        copy_changes(backup.register, store.register)
        copy_sessions(backup.register.play_log(), store.register.play_log())
    except OSError as error:
        raise StoreError(f"the data is restored, but not the tokens or the audit: they cannot be written: {error}") from error
    return version


def copy_tokens(source: Store, target: Store) -> None:
    """Copy the tokens to a store that has none. Raises ``OSError`` or ``StoreError``."""
    tokens = source.register.read_tokens()
    if tokens is not None and target.register.read_tokens() is None:
        target.register.change_tokens(lambda present: (tokens if present is None else present, None))


def copy_store(source: Store, target: Store) -> VersionOnDisk:
    """Copy the current version, the tokens, the audit of changes and the sessions of people to an empty store of any kind.

    The source is only read.

    Args:
        source: what to copy.
        target: a store that was never written to.

    Returns:
        The version in the target, after comparing everything with its checksums.

    Raises:
        StoreError: the target holds something, the source is empty or damaged, or the target cannot be written.
    """
    if target.pointer() != EMPTY:
        raise StoreError(f"the store in {target.place} holds something already; give one that is empty")
    _copy_in_force(source, target)
    try:
        copy_tokens(source, target)
        copy_changes(source.register, target.register)
        copy_sessions(source.register.play_log(), target.register.play_log())
    except OSError as error:
        raise StoreError(f"the data is copied, but not the tokens or the audit: they cannot be written: {error}") from error
    return whole_version(target)


def whole_version(store: Store) -> VersionOnDisk:
    """The current version, after comparing every block with its checksum.

    Raises:
        StoreError: there is none, or it is damaged.
    """
    if store.catalogue() is None:
        raise StoreError(f"there is no store in {store.place}")
    version = inspect_version(store, store.pointer().name)
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
            target.adopt(store, pointer.name)
            return
        except StoreError:
            if store.pointer() == pointer:
                raise
            # Other processes wrote so often that this version was removed.
