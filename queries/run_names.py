"""Names of runs: as short as possible, and never the same for two runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from clueline.data.store import Snapshot
from clueline.data.store.run_tags import LABEL

UNTOLD = (LABEL, "notes")  # tags that are not facts to tell runs apart by
DAY, MINUTE = 10, 16  # characters of a time
FACT = re.compile(r"(?!\d{4}-\d)[-+.\d%]+|yes|no|true|false", re.IGNORECASE)  # a value that says little without its name; no date


class RunParts(msgspec.Struct, frozen=True):
    """What can tell a run from others. ``facts`` are tags, and attributes of which all its responses have the same value."""

    model: str
    elicitation: str
    label: str
    facts: dict[str, str]
    imported_at: str  # YYYY-MM-DD HH:MM


class DatasetParts(msgspec.Struct):
    """The runs of a dataset, by id. ``alike``: two have the same model and elicitation.

    ``names`` are those of runs that are not withdrawn, and ``beside`` the same in a table with a column of elicitations.
    """

    runs: dict[str, RunParts]
    alike: bool
    names: dict[str, str]
    beside: dict[str, str]


def run_parts(snapshot: Snapshot, dataset: str) -> DatasetParts:
    """Return what can tell the runs of a dataset apart."""
    rows = snapshot.rows(
        """select run, model, elicitation, strftime(imported_at, '%Y-%m-%d %H:%M'), withdrawn_at is null from runs
            where dataset = $d order by position""",
        {"d": dataset},
    )
    facts: dict[str, dict[str, str]] = {run: {} for run, *_ in rows}
    told = """select run, tag, value from tags where dataset = $d union all
        select run, attribute, any_value(value) from response_attributes where dataset = $d
            group by 1, 2 having count(*) = 1 and count(value) = 1 order by 2"""
    for run, name, value in snapshot.rows(told, {"d": dataset}):
        facts[run][name] = value
    runs = {
        run: RunParts(
            model, way, facts[run].get(LABEL, ""), {key: facts[run][key] for key in facts[run] if key not in UNTOLD}, at
        )
        for run, model, way, at, _ in rows
    }
    alike = len({(part.model, part.elicitation) for part in runs.values()}) < len(runs)
    shown = {run: runs[run] for run, *_, here in rows if here}
    return DatasetParts(runs, alike, distinct_names(shown), distinct_names(shown, elicitation=False))


def dataset_of_run(snapshot: Snapshot, run: str) -> str | None:
    """Return the dataset of a run; None if the snapshot does not show it."""
    return next((dataset for (dataset,) in snapshot.rows("select dataset from runs where run = $run", {"run": run})), None)


def distinct_names(runs: Mapping[str, RunParts], *, elicitation: bool = True) -> dict[str, str]:
    """Return a name of each run: its model, what its label says, and whatever else is needed to tell it from the others.

    A label that all share is left out, and an elicitation that all runs of the model share. Where that is not enough, facts
    follow that differ, else the time of the import, and at last the id. If ``elicitation`` is false, it stands next to the name,
    in a column of its own, so names of runs with different elicitations can be the same.

    >>> part = RunParts("gpt", "verbalized", "", {"prompt": "terse"}, "2026-01-01 10:00")
    >>> other = msgspec.structs.replace(part, facts={"prompt": "long"})
    >>> distinct_names({"a1": part, "b2": other, "c3": msgspec.structs.replace(part, model="bert", elicitation="token")})
    {'a1': 'gpt · terse', 'b2': 'gpt · long', 'c3': 'bert'}
    >>> distinct_names({"a1": part, "b2": msgspec.structs.replace(part, elicitation="token")}, elicitation=False)
    {'a1': 'gpt', 'b2': 'gpt'}
    """
    parts = {run: [part.model] for run, part in runs.items()}
    if len({part.label for part in runs.values()}) > 1:
        for run, part in runs.items():
            parts[run] += [part.label] if part.label else []
    if elicitation:
        ways = Counter(model for model, _ in {(part.model, part.elicitation) for part in runs.values()})
        for run, part in runs.items():
            parts[run] += [part.elicitation] if ways[part.model] > 1 else []
    facts = sorted({fact for part in runs.values() for fact in part.facts})
    telling: list[dict[str, str]] = [
        *({run: _written(fact, part.facts.get(fact)) for run, part in runs.items()} for fact in facts),
        *({run: part.imported_at[:length] for run, part in runs.items()} for length in (DAY, MINUTE)),
        {run: run for run in runs},
    ]
    for values in telling:
        for group in _alike(runs, parts):
            if len({values[run] for run in group}) > 1:
                for run in group:
                    parts[run].append(values[run])
    return {run: " · ".join(words) for run, words in parts.items()}


def _written(fact: str, value: str | None) -> str:
    if value is None:
        return f"no {fact}"
    return f"{fact} {value}" if FACT.fullmatch(value) else value


def _alike(runs: Mapping[str, RunParts], parts: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the groups of runs whose names and elicitations are still the same."""
    stated = {run: (runs[run].elicitation, *words) for run, words in parts.items()}
    counts = Counter(stated.values())
    return [[run for run, name in stated.items() if name == shared] for shared, count in counts.items() if count > 1]
