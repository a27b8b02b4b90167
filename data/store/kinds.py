"""The kinds of things that a store holds: each is declared here once, with what holds for it.

From the declarations follow what backups, restored stores, copies to other places and other hosts have, what ends when nobody
uses it, and what is checked. The tables of docs/operations.md and docs/security.md are compared with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from clueline.data.plurals import counted
from clueline.data.store.audit import copy_changes
from clueline.data.store.errors import StoreError
from clueline.data.store.kept_files import Damage, KeptFiles
from clueline.data.store.kept_mappings import MAPPINGS, copy_mappings, earlier_files, take_over_earlier
from clueline.data.store.play_log import copy_sessions
from clueline.data.store.store import Store
from clueline.data.store.stored_selections import READERS, SELECTIONS
from clueline.data.store.tokens_and_readers import TokenError, Tokens
from clueline.data.store.watch_notes import WATCH_NOTES


class Inspection(NamedTuple):
    """What there is of a kind, in words, and what of it is damaged."""

    summary: str
    damages: Sequence[Damage] = ()


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of things. No field that is a rule has a default: whoever adds a kind decides each.

    ``home`` says where all hosts find it: in the catalogues, in the register or in small files. ``scope`` is what one belongs to:
    a dataset, whoever made it, or the store. ``seen_by``, ``named_by`` and ``changed_by`` say who may do what over HTTP, for
    docs/security.md; ``restored`` says what a restore brings back, and ``ends`` when one ends, for docs/operations.md.
    """

    name: str  # in the plural
    home: Literal["catalogue", "register", "files"]
    scope: str
    seen_by: str
    named_by: str
    changed_by: str
    restored: str
    ends: str
    # Copies what the target lacks, after the data: from, to, and the tokens that are the same there, None for all. None if it is
    # copied with the catalogue.
    copy: Callable[[Store, Store, Iterable[str] | None], None] | None
    inspect: Callable[[Store], Inspection] | None  # None if it is checked with the catalogue
    expire: Callable[[Store, int], list[str]] | None  # removes what nobody used for so many days; None if it has no such end
    folders: tuple[str, ...] = field(default=())  # of small files


def kind_of_files(
    name: str,
    kept: KeptFiles,
    *,
    expires: bool,
    copy: Callable[[Store, Store, Iterable[str] | None], None] | None = None,
    inspect: Callable[[Store], Inspection] | None = None,
    **rules: str,
) -> Kind:
    """Return a kind of things that are kept in small files: all that holds for them follows from the folder."""

    def copy_files(source: Store, target: Store, same_tokens: Iterable[str] | None) -> None:
        kept.copy(source.files, target.files)

    def inspect_files(store: Store) -> Inspection:
        return Inspection(f"{name}: {len(kept.names(store.files))}", kept.damages(store.files))

    def expire_files(store: Store, days: int) -> list[str]:
        return kept.expire(store.files, days)

    return Kind(
        name=name,
        home="files",
        copy=copy or copy_files,
        inspect=inspect or inspect_files,
        expire=expire_files if expires else None,
        folders=(kept.folder,),
        **rules,
    )


def _inspect_tokens(store: Store) -> Inspection:
    try:
        return Inspection(f"tokens: {len(Tokens(store.register).all())}")
    except TokenError as error:
        return Inspection("", [Damage("", str(error))])


def _inspect_sessions(store: Store) -> Inspection:
    try:
        tables = store.register.play_log().tables()
    except StoreError as error:
        return Inspection("", [Damage("", str(error))])
    players, answers = counted(len(tables.present_players()), "player"), counted(len(tables.answers), "answer")
    return Inspection(f"sessions of people: {len(tables.sessions)}, with {players} and {answers}")


def _inspect_mappings(store: Store) -> Inspection:
    take_over_earlier(store.local, store.files)
    damages = MAPPINGS.damages(store.files)
    damages += [Damage(file, "an earlier version kept it, and it cannot be read") for file in earlier_files(store.local)]
    return Inspection(f"mappings: {len(MAPPINGS.names(store.files))}", damages)


READS_DATASET = "whoever may read the dataset"
WRITES_DATASET = "whoever may upload and read the dataset"
KINDS: tuple[Kind, ...] = (
    Kind(
        name="datasets",
        home="catalogue",
        scope="itself",
        seen_by=READS_DATASET,
        named_by=READS_DATASET,
        changed_by="nobody; an administrator says who may read it",
        restored="replaced; what is private stays private",
        ends="never",
        copy=None,
        inspect=None,
        expire=None,
    ),
    Kind(
        name="runs",
        home="catalogue",
        scope="dataset",
        seen_by=READS_DATASET,
        named_by=READS_DATASET,
        changed_by=WRITES_DATASET,
        restored="replaced, with grades, corrections and tags",
        ends="when it is deleted",
        copy=None,
        inspect=None,
        expire=None,
    ),
    Kind(
        name="models",
        home="catalogue",
        scope="dataset",
        seen_by="whoever may read a dataset with a run of the model",
        named_by="whoever may read a dataset with a run of the model",
        changed_by="whoever may upload and see the model; others' part of it stays as it is",
        restored="replaced",
        ends="when it is merged into another one",
        copy=None,
        inspect=None,
        expire=None,
    ),
    Kind(
        name="tokens",
        home="register",
        scope="store",
        seen_by="nobody",
        named_by="its holder",
        changed_by="nobody",
        restored="only into a store that has none",
        ends="when it is revoked, or at its date",
        copy=None,  # with the readers of private datasets, before the data: see Store.adopt
        inspect=_inspect_tokens,
        expire=None,
    ),
    Kind(
        name="events of the audit",
        home="register",
        scope="store",
        seen_by="administrators; those of a dataset, whoever may upload and read it",
        named_by="the same",
        changed_by="nobody",
        restored="only into a store that has none",
        ends="never",
        copy=lambda source, target, same_tokens: copy_changes(source.register, target.register),
        inspect=None,
        expire=None,
    ),
    Kind(
        name="sessions of people",
        home="register",
        scope="dataset",
        seen_by=WRITES_DATASET,
        named_by="whoever has its link",
        changed_by="whoever has its link; what others answered, nobody",
        restored="those that the store lacks",
        ends="at its date",
        copy=lambda source, target, same_tokens: copy_sessions(source.register.play_log(), target.register.play_log()),
        inspect=_inspect_sessions,
        expire=None,
    ),
    kind_of_files(
        "stored selections",
        SELECTIONS,
        expires=True,
        scope="dataset",
        seen_by="whoever may read the dataset and knows the id",
        named_by="whoever may read the dataset and knows the id",
        changed_by="nobody",
        restored="those that the store lacks",
        ends="when nobody used it for CLUELINE_UNUSED_DAYS",
    ),
    kind_of_files(
        "readers who stored selections",
        READERS,
        expires=True,
        scope="whoever made it",
        seen_by="nobody",
        named_by="nobody",
        changed_by="nobody",
        restored="those that the store lacks",
        ends="when they stored none for CLUELINE_UNUSED_DAYS",
    ),
    kind_of_files(
        "mappings",
        MAPPINGS,
        expires=False,
        copy=copy_mappings,
        inspect=_inspect_mappings,
        scope="whoever made it, a dataset, or the store",
        seen_by="whoever kept it; whoever may upload, if it is published or belongs to a dataset that they may read",
        named_by="whoever may see it and upload",
        changed_by="whoever kept it; if it is published or belongs to a dataset, nobody",
        restored="those that the store lacks",
        ends="when it is removed",
    ),
    kind_of_files(
        "notes on watched files",
        WATCH_NOTES,
        expires=False,
        scope="store",
        seen_by="whoever may upload and read every dataset",
        named_by="nobody",
        changed_by="nobody",
        restored="those that the store lacks",
        ends="never",
    ),
)


def copy_kinds(source: Store, target: Store, same_tokens: Iterable[str] | None) -> None:
    """Copy what is not in the catalogue, and what the target lacks. ``same_tokens`` are as in ``Kind.copy``.

    Raises ``OSError`` or ``StoreError``.
    """
    for kind in KINDS:
        if kind.copy is not None:
            kind.copy(source, target, same_tokens)


def inspect_kinds(store: Store) -> Iterable[tuple[Kind, Inspection]]:
    """Read what is not in the catalogue, kind by kind. Raises ``StoreError``."""
    for kind in KINDS:
        if kind.inspect is not None:
            yield kind, kind.inspect(store)


def expire_kinds(store: Store, days: int) -> dict[str, list[str]]:
    """Remove what nobody used for so many days, and return what was removed, by kind. Raises ``StoreError``."""
    return {kind.name: kind.expire(store, days) for kind in KINDS if kind.expire is not None}


def kept_folders() -> tuple[str, ...]:
    """Return the folders of a store in which small files are."""
    return tuple(folder for kind in KINDS for folder in kind.folders)
