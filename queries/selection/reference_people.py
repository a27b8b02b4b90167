"""The people that the runs of a dataset are measured against: those who were imported with it, or a human collection.

Of some imported plays without a buzz, nobody stated where they ended. They count as heard to the end. ``STATED_ENDS`` are the
imported people without these plays: whatever rests on people has a second value by them.

A human collection is a run of respondents who say at which clues they would buzz; ``collect`` creates one from a session. So
collections have versions, and are withdrawn, exported and backed up like any run. The imported people and each collection are
separate; they are never added up.
"""

from __future__ import annotations

from typing import NamedTuple

from clueline.data.human_curves import UNSTATED_END
from clueline.data.store import Snapshot
from clueline.queries.selection.facets import IMPORTED


class HumanCollection(NamedTuple):
    """A run whose respondents say at which clues they would buzz."""

    run: str
    name: str
    withdrawn: bool


def human_collections(snapshot: Snapshot, dataset: str) -> list[HumanCollection]:
    """Return the human collections of a dataset, newest first, withdrawn ones included."""
    runs = snapshot.rows(
        """select run, model, withdrawn_at is not null from runs where dataset = $d and respondents
        order by position desc""",
        {"d": dataset},
    )
    if not runs:
        return []
    responses = snapshot.with_grading("").responses([run for run, *_ in runs])
    stated = {run for (run,) in snapshot.rows(f"select distinct run from {responses} where buzz is not null")}
    return [HumanCollection(*row) for row in runs if row[0] in stated]


def has_people(snapshot: Snapshot, dataset: str) -> bool:
    """Return whether a human team heard any question of a dataset: one that was imported or, with people, one of these."""
    sql = "select 1 from exposures where dataset = $d and team_kind = 'human' limit 1"
    return bool(snapshot.rows(sql, {"d": dataset}))


def count_unstated_ends(snapshot: Snapshot, dataset: str) -> int:
    """Count the plays of people without a buzz, of which nobody stated where they ended: they count as heard to the end."""
    # Where there is none, as in most datasets, the column says so without a look at the buzzes.
    if not snapshot.rows("select 1 from exposures where dataset = $d and not end_stated limit 1", {"d": dataset}):
        return 0
    sql = f"select count(*) from exposures e where e.dataset = $d and e.team_kind = 'human' and {UNSTATED_END}"
    return int(snapshot.rows(sql, {"d": dataset})[0][0])


def with_people(snapshot: Snapshot, dataset: str, people: str) -> Snapshot:
    """Return the snapshot with the human data of only those people that an address names.

    ``people`` is ``imported``, ``STATED_ENDS``, or the id of the run of a human collection. Blank means the imported people if
    there are any, else the newest collection that is not withdrawn.
    """
    run = people
    if not people and not has_people(snapshot, dataset):
        run = next((part.run for part in human_collections(snapshot, dataset) if not part.withdrawn), "")
    return snapshot.with_people(dataset, run) if run not in ("", IMPORTED) else snapshot
