"""The data version that a link can pin, and what has changed in a dataset since.

A version is a text such as ``20260403T120000000000-1f3a5c7d9e0b-8a6b4c2d``: when the runs of the dataset last changed (UTC), a
digest of its questions, their difficulty and what people did, and a digest of the ids of its published runs. A run never changes,
so a link that names its runs shows the same digits for as long as the first digest is the same.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import datetime

import msgspec

from data.store import Snapshot
from queries.selection import Selection
from queries.selection.parameter_kinds import BadRequest

PATTERN = re.compile(r"(\d{8}T\d{12})-([0-9a-f]{12})-([0-9a-f]{8})")
TIME = "%Y%m%dT%H%M%S%f"
NO_TIME = "19700101T000000000000"
TABLES = ("questions", "clues", "curves", "exposures", "buzzes", "votes")  # beside the runs
REVIEWED = "reviewed"  # the grading that corrections change; no other one ever changes


class PinnedVersion(msgspec.Struct):
    """The version of a dataset, as links pin it."""

    version: str


class ChangedRun(msgspec.Struct):
    """A run that was published or withdrawn since; ``at`` is ISO 8601, UTC."""

    run: str
    model: str
    elicitation: str
    at: str


class VersionChanges(msgspec.Struct):
    """What changed in a dataset since a version.

    Attributes:
        version: the one asked for.
        current: the one in force.
        at: when the runs of that version had last changed, ISO 8601, UTC.
        same: the figures of the selection are the same digits.
        content: its questions, their difficulty, or what people did with them changed.
        added, withdrawn: runs that were published and withdrawn since; those of the selection, if it names runs.
        restored: runs were restored since, or tags of runs changed.
        corrected: runs of the selection whose grades were corrected since, where it reads corrected grades.
        unnamed: runs that were published since and that the selection, which names others, does not show.
    """

    version: str
    current: str
    at: str
    same: bool
    content: bool
    added: list[ChangedRun]
    withdrawn: list[ChangedRun]
    restored: bool
    corrected: list[str]
    unnamed: int


def pinned_version(snapshot: Snapshot, selection: Selection) -> PinnedVersion:
    """The version of the dataset of a selection; its filters do not matter."""
    ((changed,),) = snapshot.rows(
        """select max(changed_at) from (
            select imported_at as changed_at from runs where dataset = $d
            union all select withdrawn_at from runs where dataset = $d
            union all select corrected_at from corrections where dataset = $d)""",
        {"d": selection.dataset},
    )
    time = changed.strftime(TIME) if changed else NO_TIME
    return PinnedVersion(f"{time}-{_content(snapshot, selection.dataset)}-{_runs(snapshot, selection.dataset)}")


def version_changes(snapshot: Snapshot, selection: Selection, version: str) -> VersionChanges:
    """What changed since a version in what a selection shows.

    Raises:
        BadRequest: the version is none.
    """
    parts = PATTERN.fullmatch(version)
    if parts is None:
        raise BadRequest("bad_value", "version is what “Cite this view” gives, such as 20260403T120000000000-….", "version")
    current = pinned_version(snapshot, selection).version
    try:
        since = datetime.strptime(parts[1], TIME)
    except ValueError:
        raise BadRequest("bad_value", f"version begins with a time that does not exist: {parts[1]}.", "version") from None
    named = set(selection.run)
    rows = snapshot.rows(
        """select run, model, elicitation, imported_at > $since, withdrawn_at > $since, imported_at, withdrawn_at from runs
        where dataset = $d order by position""",
        {"d": selection.dataset, "since": since},
    )
    added = [ChangedRun(row[0], row[1], row[2], row[5].isoformat()) for row in rows if row[3] and row[6] is None]
    withdrawn = [ChangedRun(row[0], row[1], row[2], row[6].isoformat()) for row in rows if row[4] and not row[3]]
    content = parts[2] != _content(snapshot, selection.dataset)
    runs = parts[3] != _runs(snapshot, selection.dataset)
    corrected: list[str] = []
    if selection.grading == REVIEWED:
        sql = "select distinct run from corrections where dataset = $d and corrected_at > $since order by run"
        all_corrected = [run for (run,) in snapshot.rows(sql, {"d": selection.dataset, "since": since})]
        corrected = [run for run in all_corrected if not named or run in named]
    unnamed = sum(run.run not in named for run in added) if named else 0
    return VersionChanges(
        version=version,
        current=current,
        at=since.isoformat(),
        same=not content and not corrected and (bool(named) or not runs),
        content=content,
        added=[run for run in added if not named or run.run in named],
        withdrawn=[run for run in withdrawn if not named or run.run in named],
        restored=runs and not added and not withdrawn,
        corrected=corrected,
        unnamed=unnamed,
    )


def _runs(snapshot: Snapshot, dataset: str) -> str:
    rows = snapshot.rows("select run from runs where dataset = $d and withdrawn_at is null order by run", {"d": dataset})
    tagged = snapshot.rows(
        """select t.run, t.tag, t.value from tags t join runs using (dataset, run)
        where dataset = $d and withdrawn_at is null order by all""",
        {"d": dataset},
    )
    return _digest([*(run for (run,) in rows), *map(str, tagged)])[:8]


def _content(snapshot: Snapshot, dataset: str) -> str:
    """Digest of what the figures of a dataset depend on beside its runs. A column that holds nothing leaves it as it is."""
    known = {"d": dataset}
    digests = [str(row) for row in snapshot.rows("select classes, head_to_head from datasets where dataset = $d", known)]
    for table in TABLES:
        names = sorted(row[0] for row in snapshot.rows(f"select column_name from (describe {table})"))
        cells = ", ".join(f"'{name}=' || {name}::varchar" for name in names if name != "dataset")
        sql = f"""select coalesce(md5(string_agg(row, '' order by row)), '')
            from (select md5(concat_ws('|', {cells})) as row from {table} where dataset = $d)"""
        digests += [digest for (digest,) in snapshot.rows(sql, known)]
    digests += [
        str(row)
        for row in snapshot.rows("select question_id, attribute, value from attributes where dataset = $d order by all", known)
    ]
    return _digest(digests)[:12]


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()
