"""What a dataset offers to select: values of filters, and clusters."""

from __future__ import annotations

import msgspec

from clueline.data.dataset_kinds import FORECAST
from clueline.data.store import Snapshot
from clueline.data.store.snapshot import STATED_ENDS

QUESTION = "question"
AGES = "ages"
YEARS = 5  # of the stated age in a block of ages


def default_cluster(snapshot: Snapshot, dataset: str) -> str:
    """Return the unit of a dataset where an address names none: blocks of ages if its questions state an age."""
    stated = snapshot.rows("select 1 from questions where dataset = $d and minimum_age is not null limit 1", {"d": dataset})
    return AGES if stated else QUESTION


def offered_clusters(snapshot: Snapshot, dataset: str) -> tuple[str, ...]:
    """Return what can be the unit in a dataset, its default first: single questions, attributes of questions, blocks of ages."""
    names = snapshot.rows("select distinct attribute from attributes where dataset = $d order by 1", {"d": dataset})
    return tuple(dict.fromkeys([default_cluster(snapshot, dataset), QUESTION, *(name for (name,) in names)]))


IMPORTED = "imported"  # value of ``people``: those who were imported with a dataset, not a human collection
OF_IMPORTED = (
    "",
    IMPORTED,
    STATED_ENDS,
)  # values of ``people`` that can mean these, all of their plays or those with a stated end


class Facets(msgspec.Struct, frozen=True):
    """What a dataset offers to filter by."""

    dataset: str
    title: str
    kind: str
    simulated: bool
    note: str | None
    questions: int
    human_teams: int
    longest: int  # clues of its longest question
    values: dict[str, tuple[str | int, ...]]  # values to choose from, by the key of the filter
    difficulty: tuple[float, float] | None  # lowest and highest
    difficulty_source: str | None  # of its questions; ``runs`` if any difficulty comes from runs
    runs: tuple[tuple[str, str, str], ...]  # run, model, elicitation in order of import; withdrawn ones left out
    withdrawn: tuple[str, ...]
    by_day: tuple[str, ...] = ()  # the runs by their days, those of a day in the order of import
    superseded: tuple[str, ...] = ()  # runs for which a later night stands
    baselines: tuple[tuple[str, str], ...] = ()  # the name and the run of each named baseline, the latest of several by its day
    failed: int = 0  # failed calls of all runs
    head_to_head: bool = False  # whether at most one team of a room can be right
    imported: tuple[str, ...] = ()  # all runs, also withdrawn ones, in order of import
    gradings: tuple[str, ...] = ()  # names of the gradings that some run has
    response_attributes: tuple[str, ...] = ()  # names of the attributes of responses, not of questions
    many_valued: tuple[str, ...] = ()  # keys with too many values to choose from
    people_imported: bool = False  # whether human teams came with the dataset
    unstated_ends: int = 0  # imported plays of people without a buzz, of which nobody stated where they ended
    human_collections: tuple[tuple[str, str], ...] = ()  # run and name of each, newest first, withdrawn ones included
    clusters: tuple[str, ...] = (QUESTION,)  # what can be the unit of intervals and tests, the default first

    def human_collection(self, people: str) -> tuple[str, str] | None:
        """Return run and name of the human collection that an address chooses; None where it chooses the imported people.

        If ``people`` is blank, these are chosen or, if there are none, the newest collection that is not withdrawn.
        """
        if people:
            return next((part for part in self.human_collections if part[0] == people), None)
        if self.people_imported:
            return None
        return next((part for part in self.human_collections if part[0] not in self.withdrawn), None)

    @property
    def all_runs(self) -> tuple[str, ...]:
        """Ids of the runs in order of import, followed by the withdrawn ones."""
        return (*(run for run, _, _ in self.runs), *self.withdrawn)

    @property
    def quizbowl(self) -> bool:
        """Whether texts and answer lines can have quizbowl markup. In other datasets, tags and underscores are plain text."""
        return self.kind == "incremental"

    @property
    def forecasts(self) -> bool:
        return self.kind == FORECAST

    @property
    def has_votes(self) -> bool:
        return self.kind == "votes"

    @property
    def has_teams(self) -> bool:
        return self.human_teams > 0

    @property
    def has_buzzes(self) -> bool:
        """Whether players can choose when to answer its questions, or teams have."""
        return self.longest > 1 or self.has_teams

    @property
    def radii(self) -> tuple[int, ...]:
        return tuple(value for value in self.values.get("radius", ()) if isinstance(value, int))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the values of a key, such as ``category``, as texts."""
        return tuple(map(str, self.values.get(key, ())))
