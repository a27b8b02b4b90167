"""The values of keys that each dataset names itself, such as ``tag.reasoning``: what there is to choose from."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from data.store import Snapshot
from queries.selection.filters import Filter, NamedFilter
from queries.selection.parameters import named_key

MAX_VALUES = 1000  # of a key: more are no choice


def named_values(
    snapshot: Snapshot, dataset: str, filters: Iterable[tuple[str, Filter[Any]]]
) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The values that a dataset has of each named key, by key: numbers by size, texts sorted; and the keys with too many.

    Args:
        snapshot: the store.
        dataset: its id.
        filters: fields and their kinds. Those that are not named are left alone.
    """
    values: dict[str, tuple[str, ...]] = {}
    many: list[str] = []
    for field, kind in filters:
        if isinstance(kind, NamedFilter):
            # A null value stands for those of a run that has too many.
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
