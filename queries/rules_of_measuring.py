"""The rules of measuring that changed since links were first pinned, and which selections each concerns.

To change a rule, add what changed to the end of ``RULES``: a data version says how many were in force.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from data.dataset_kinds import FORECAST
from data.store import Snapshot
from data.store.answer_states import STORED_STATES
from data.store.gradings import IS_DRAWN, REVIEWED
from queries.engine.common_questions import coverage
from queries.engine.question_difficulties import has_difficulties_from_runs
from queries.selection import Selection
from queries.selection.clusters import AGES, default_cluster


class ChangedRule(NamedTuple):
    """What changed, in words, and whether it can change the figures of a selection."""

    change: str
    concerns: Callable[[Snapshot, Selection], bool]


def rules_changed(snapshot: Snapshot, selection: Selection, known: int) -> list[str]:
    """Return what changed in the rules of a selection, in words, since the first ``known`` of ``RULES`` were in force."""
    return [rule.change for rule in RULES[known:] if rule.concerns(snapshot, selection)]


def _has_corrections(snapshot: Snapshot, selection: Selection) -> bool:
    corrected = f"run in (select run from corrections where not {IS_DRAWN})"
    return selection.grading_in_force == REVIEWED and _any_run(snapshot, selection, corrected)


def _has_ages(snapshot: Snapshot, selection: Selection) -> bool:
    return not selection.cluster and default_cluster(snapshot, selection.dataset) == AGES


def _has_other_states(snapshot: Snapshot, selection: Selection) -> bool:
    return _any_run(snapshot, selection, f"{' + '.join(STORED_STATES)} > 0")


def _have_different_questions(snapshot: Snapshot, selection: Selection) -> bool:
    return selection.common in (None, True) and coverage(snapshot, selection).differs


def _has_derived_difficulty(snapshot: Snapshot, selection: Selection) -> bool:
    return has_difficulties_from_runs(snapshot, selection.dataset)


def _has_forecasts(snapshot: Snapshot, selection: Selection) -> bool:
    return bool(snapshot.rows("select 1 from datasets where dataset = $d and kind = $k", {"d": selection.dataset, "k": FORECAST}))


def _has_runs(snapshot: Snapshot, selection: Selection) -> bool:
    return _any_run(snapshot, selection, "true")


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
        _has_ages,
    ),
    ChangedRule(
        "answers without a confidence, unparsed answers and abstentions count in accuracy, and abstentions as 0 in the net score",
        _has_other_states,
    ),
    ChangedRule(
        "only runs that answered nine tenths of what most runs answered are ranked, and the others no longer decide on which "
        "questions these are measured",
        _have_different_questions,
    ),
    ChangedRule(
        "where difficulty is made of the answers of runs, that of a run is made of the runs of other models",
        _has_derived_difficulty,
    ),
    ChangedRule("accuracy and net score of forecasts are about the likelier side of each", _has_forecasts),
    ChangedRule(
        "intervals and p-values where errors are few, p-values of calibration, bands of reliability diagrams, AUROC of graded "
        "answers, and letters and adjusted p-values, which are adjusted for all metrics",
        _has_runs,
    ),
)
