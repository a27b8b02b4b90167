"""The data version that a link can pin, and what has changed since: the data, and the rules by which they are measured.

A version is a text such as ``20260403T120000000000-1f3a5c7d9e0b-8a6b4c2d-r1``. Its parts are the time when the runs of the
dataset last changed (UTC), a digest of its questions, their difficulty and what people did, a digest of its published runs (their
ids and tags), and how many of ``RULES`` were in force. A run never changes, except for the grades of its ``reviewed`` grading. So
a link that names its runs, none of which has corrections, shows the same digits as long as the first digest stays the same and no
rule changes.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

import msgspec

from clueline.data.store import Snapshot
from clueline.data.store.answer_states import STORED_STATES
from clueline.data.store.gradings import IS_DRAWN, REVIEWED
from clueline.queries.engine.common_questions import coverage
from clueline.queries.engine.question_difficulties import has_difficulties_from_runs
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.runs import selected_runs
from clueline.queries.selection import Selection, has_forecasts
from clueline.queries.selection.facets import AGES, default_cluster
from clueline.queries.selection.parameter_kinds import BadRequest

PATTERN = re.compile(r"(\d{8}T\d{12})-([0-9a-f]{12})-([0-9a-f]{8})(?:-r(\d{1,4}))?")
TIME = "%Y%m%dT%H%M%S%f"
NO_TIME = "19700101T000000000000"
TABLES = ("questions", "clues", "curves", "exposures", "buzzes", "votes")  # tables of a dataset, apart from its runs


class ChangedRun(RunName):
    """A run that was published or withdrawn since a version; ``at`` is when, ISO 8601, UTC."""

    at: str


class VersionChanges(msgspec.Struct):
    """What changed in a dataset since a version.

    Attributes:
        at: when the runs had last changed at the time of ``version``, ISO 8601, UTC.
        same: whether the figures of the selection are still the same, digit for digit.
        content: whether the questions, their difficulty, or what people did with them changed.
        added, withdrawn: runs that were published or withdrawn since; only those of the selection, if it names runs.
        restored: whether runs were restored since, or tags of runs changed, while none was published or withdrawn.
        corrected: runs of the selection whose grades were corrected since, if it uses corrected grades.
        rules_changed: what changed since in the rules of measuring that concern the selection, in words.
        unnamed: number of runs that were published since and that the selection does not show because it names others.
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
    rules_changed: list[str]
    unnamed: int


def pinned_version(snapshot: Snapshot, selection: Selection) -> str:
    """Return the current version of a selection's dataset; the filters of the selection do not matter."""
    ((changed,),) = snapshot.rows(
        """select max(changed_at) from (
            select imported_at as changed_at from runs where dataset = $d
            union all select withdrawn_at from runs where dataset = $d
            union all select corrected_at from corrections where dataset = $d)""",
        {"d": selection.dataset},
    )
    time = changed.strftime(TIME) if changed else NO_TIME
    digests = f"{_content_digest(snapshot, selection.dataset)}-{_runs_digest(snapshot, selection.dataset)}"
    return f"{time}-{digests}-r{len(RULES)}"


def version_changes(snapshot: Snapshot, selection: Selection, version: str) -> VersionChanges:
    """Return what has changed since a version, as ``pinned_version`` once returned it, in what a selection shows.

    Raises ``BadRequest`` if ``version`` is not a version.
    """
    parts = PATTERN.fullmatch(version)
    if parts is None:
        raise BadRequest("bad_value", "version must come from “Cite this view”, such as 20260403T120000000000-….", "version")
    current = pinned_version(snapshot, selection)
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
    content = parts[2] != _content_digest(snapshot, selection.dataset)
    runs = parts[3] != _runs_digest(snapshot, selection.dataset)
    corrected: list[str] = []
    if selection.grading_in_force == REVIEWED:
        sql = f"""select distinct run from corrections where dataset = $d and corrected_at > $since and not {IS_DRAWN}
            order by 1"""
        later = [run for (run,) in snapshot.rows(sql, {"d": selection.dataset, "since": since})]
        corrected = [run for run in later if not named or run in named]
    later_rules = RULES[int(parts[4] or 0) :]  # versions without a number knew none
    rules = [rule.change for rule in later_rules if rule.concerns(snapshot, selection)]
    unnamed = sum(run.run not in named for run in added) if named else 0
    return VersionChanges(
        version=version,
        current=current,
        at=since.isoformat(),
        same=not content and not corrected and not rules and (bool(named) or not runs),
        content=content,
        added=[run for run in added if not named or run.run in named],
        withdrawn=[run for run in withdrawn if not named or run.run in named],
        restored=runs and not added and not withdrawn,
        corrected=corrected,
        rules_changed=rules,
        unnamed=unnamed,
    )


def _runs_digest(snapshot: Snapshot, dataset: str) -> str:
    rows = snapshot.rows("select run from runs where dataset = $d and withdrawn_at is null order by run", {"d": dataset})
    tagged = snapshot.rows(
        """select t.run, t.tag, t.value from tags t join runs using (dataset, run)
        where dataset = $d and withdrawn_at is null order by all""",
        {"d": dataset},
    )
    return _digest([*(run for (run,) in rows), *map(str, tagged)])[:8]


def _content_digest(snapshot: Snapshot, dataset: str) -> str:
    """Return a digest of what the figures of a dataset depend on apart from its runs. Empty columns do not change the digest."""
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


class ChangedRule(NamedTuple):
    """What changed, in words, and whether it can change the figures of a selection."""

    change: str
    concerns: Callable[[Snapshot, Selection], bool]


def _has_corrections(snapshot: Snapshot, selection: Selection) -> bool:
    corrected = f"run in (select run from corrections where not {IS_DRAWN})"
    return selection.grading_in_force == REVIEWED and _any_run(snapshot, selection, corrected)


def _any_run(snapshot: Snapshot, selection: Selection, condition: str) -> bool:
    chosen, parameters = selection.run_filter()
    return bool(snapshot.rows(f"select 1 from runs r where {chosen} and {condition} limit 1", parameters))


RULES = (
    ChangedRule(
        "runs with corrected grades are measured by the grading “reviewed” unless the link names another, and “reviewed” "
        "corrects the first grading instead of that of Clueline's rules",
        _has_corrections,
    ),
    ChangedRule(
        "questions about the same five years of age count as one in intervals, tests and bands, unless the link names another "
        "cluster; cluster=question counts single questions as before",
        lambda snapshot, asked: not asked.cluster and default_cluster(snapshot, asked.dataset) == AGES,
    ),
    ChangedRule(
        "answers without a confidence, unparsed answers and abstentions count in accuracy, and abstentions as 0 in the net score",
        lambda snapshot, asked: _any_run(snapshot, asked, f"{' + '.join(STORED_STATES)} > 0"),
    ),
    ChangedRule(
        "runs that answered nine tenths of what most runs answered are ranked, each is measured on all that it answered, and a "
        "mean ranks after it is adjusted for the questions that each skipped; common=1 measures them on the questions that all "
        "answered, as before",
        lambda snapshot, asked: asked.common is None and coverage(snapshot, asked).differs,
    ),
    ChangedRule(
        "runs that answered less than nine tenths of what most runs answered no longer decide on which questions the others are "
        "measured",
        lambda snapshot, asked: asked.common is True and coverage(snapshot, asked).differs,
    ),
    ChangedRule(
        "where difficulty is made of the answers of runs, that of a run is made of the runs of other models",
        lambda snapshot, asked: has_difficulties_from_runs(snapshot, asked.dataset),
    ),
    ChangedRule(
        "accuracy and net score of forecasts are about the likelier side of each",
        lambda snapshot, asked: has_forecasts(snapshot, asked.dataset),
    ),
    ChangedRule(
        "intervals and p-values where errors are few, p-values of calibration, bands of reliability diagrams, AUROC of graded "
        "answers, and letters and adjusted p-values, which are adjusted for all metrics",
        lambda snapshot, asked: _any_run(snapshot, asked, "true"),
    ),
    ChangedRule(
        "of the runs of a model, only that of the latest day counts, unless it broke off; nights=1 counts every night, as before",
        lambda snapshot, asked: selected_runs(snapshot, asked) != selected_runs(snapshot, asked.replace(nights=True)),
    ),
)
