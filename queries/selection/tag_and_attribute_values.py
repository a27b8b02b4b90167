"""The values of keys that each dataset names itself, such as ``tag.reasoning``, for users to choose from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from data.store import Snapshot
from queries.selection.filters import Filter, NamedFilter
from queries.selection.view_parameters_base import named_key

MAX_VALUES = 1000  # values of a key; more are too many to choose from


def named_values(
    snapshot: Snapshot, dataset: str, filters: Iterable[tuple[str, Filter[Any]]]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """Return the values of each named key in a dataset, sorted as numbers or texts, and the keys with too many values."""
    values: dict[str, tuple[str, ...]] = {}
    many: list[str] = []
    for field, kind in filters:
        if isinstance(kind, NamedFilter):
            # A null value stands for the values of a run that has too many of them.
            rows = snapshot.rows(
                f"""select {kind.name}, count(*) > {MAX_VALUES} or count(value) < count(*) as many,
                    case when not many then list(value order by try_cast(value as double), value) end from (
                    select distinct {kind.name}, value from {kind.facts} where dataset = $d
                ) group by 1 order by 1""",
                {"d": dataset},
            )
            many += [named_key(field, name) for name, too_many, _ in rows if too_many]
            values |= {named_key(field, name): tuple(texts) for name, too_many, texts in rows if not too_many}
    return values, tuple(many)
