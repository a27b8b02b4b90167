"""What a dataset offers to filter by. Parameters and filters are checked against it."""

from __future__ import annotations

import msgspec

IMPORTED = "imported"  # the people who were imported with a dataset, in place of a human collection


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
    values: dict[str, tuple[str | int, ...]]  # of each column that a filter chooses from, by its key
    difficulty: tuple[float, float] | None  # least and greatest
    difficulty_source: str | None
    runs: tuple[tuple[str, str, str], ...]  # run, model, elicitation in order of import; withdrawn ones left out
    withdrawn: tuple[str, ...]
    failed: int = 0  # failed calls of all runs
    head_to_head: bool = False  # at most one team of a room can be right
    imported: tuple[str, ...] = ()  # all runs, also withdrawn ones, in order of import
    gradings: tuple[str, ...] = ()  # names of the gradings that some run has
    response_attributes: tuple[str, ...] = ()  # names of the attributes that are of responses, not of questions
    many_valued: tuple[str, ...] = ()  # keys of which there are too many values to choose from
    people_imported: bool = False  # whether human teams came with the dataset
    human_collections: tuple[tuple[str, str], ...] = ()  # run and name of each, newest first, also withdrawn ones

    def human_collection(self, people: str) -> tuple[str, str] | None:
        """Run and name of the human collection that an address chooses; None where it chooses the people who were imported.

        Args:
            people: of a selection: blank for the imported people or, where there are none, the newest collection.
        """
        if people:
            return next((part for part in self.human_collections if part[0] == people), None)
        if self.people_imported:
            return None
        return next((part for part in self.human_collections if part[0] not in self.withdrawn), None)

    @property
    def all_runs(self) -> tuple[str, ...]:
        """Ids of the runs in order of import, then of the withdrawn ones."""
        return (*(run for run, _, _ in self.runs), *self.withdrawn)

    @property
    def quizbowl(self) -> bool:
        """Whether texts and answer lines may have the markup of quizbowl. Elsewhere tags and underscores are what they are."""
        return self.kind == "incremental"

    @property
    def models(self) -> tuple[str, ...]:
        """Models in order of import."""
        return self._texts("model")

    @property
    def elicitations(self) -> tuple[str, ...]:
        """Elicitations in order of import."""
        return self._texts("elicitation")

    @property
    def categories(self) -> tuple[str, ...]:
        """Categories in ascending order."""
        return self._texts("category")

    @property
    def subcategories(self) -> tuple[str, ...]:
        """Subcategories in ascending order."""
        return self._texts("subcategory")

    @property
    def radii(self) -> tuple[int, ...]:
        """Radii in ascending order."""
        return tuple(value for value in self.values.get("radius", ()) if isinstance(value, int))

    def _texts(self, key: str) -> tuple[str, ...]:
        return tuple(str(value) for value in self.values.get(key, ()))
