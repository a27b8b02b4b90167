"""Models: the things that runs are of. Several names, as files state them, can be names of one model.

A run keeps the name that its file states. So its id, and addresses that filter by that name, do not depend on models.

A name on one dataset is a *node*, and nodes of one model share a number, which nobody sees. What is said of a model, such as the
name by which it is called, is said of those of its nodes that whoever says it can see. Readers see the nodes on datasets that
they may read, and the last that was said of one of these. So models of datasets that somebody may not read do not exist for them:
another model can have the same name, until somebody who sees both makes them one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations, count
from typing import NamedTuple

import duckdb
import polars as pl

from clueline.data.duckdb_and_polars import execute_with
from clueline.data.store.audit import Action, AuditEvent, new_event
from clueline.data.store.snapshot import Snapshot, once_per_snapshot, rows_without
from clueline.data.store.store import Store

FACTS = ("organisation", "released", "sizes", "notes")
NAME = "name"  # the fact by which a model is called
MAX_NAME, MAX_FACT = 200, 2000  # characters
RELEASED = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
GIVEN = "(name, dataset) in (select name, dataset from given)"  # SQL: whether a row is of one of some nodes
DATED = re.compile(r"[-@:_ ](20\d{6}|20\d\d[-.]\d\d[-.]\d\d|latest)$")


class BadModel(ValueError):
    """A change to models that cannot be made; the message says why."""


class NoSuchModel(BadModel):
    """No run has this name, and no model is called so."""


class SeveralModels(BadModel):
    """Several models have this name; ``labels`` tell them apart."""

    def __init__(self, name: str, labels: Sequence[str]) -> None:
        super().__init__(f"several models are called {name!r}; say which: {', '.join(map(repr, labels))}")
        self.labels = list(labels)


class Node(NamedTuple):
    """A name that runs on a dataset have."""

    name: str
    dataset: str


class Statement(NamedTuple):
    """The value of a fact, None if it was removed, and the number of the statement."""

    value: str | None
    stated: int


class KnownModel(NamedTuple):
    """A model as somebody sees it: the nodes on datasets that they may read.

    ``label`` is its name or, where they see several models of this name, the name with what tells it from the others. ``names``
    are those of its runs; there are none of nodes whose runs were deleted. ``facts`` include its name, if one was stated.
    """

    number: int
    label: str
    name: str
    names: list[str]
    nodes: list[Node]
    facts: dict[str, Statement]

    def fact(self, fact: str) -> str | None:
        return self.facts[fact].value if fact in self.facts else None

    @property
    def datasets(self) -> list[str]:
        return sorted({node.dataset for node in self.nodes})


def read_models(connection: duckdb.DuckDBPyConnection, hidden: Collection[str] = ()) -> list[KnownModel]:
    """Return the models that have runs, by label. ``hidden`` are datasets that the reader may not read."""
    nodes: dict[int, list[Node]] = defaultdict(list)
    names: dict[int, set[str]] = defaultdict(set)
    number_of: dict[Node, int] = {}
    shown = rows_without(hidden)
    sql = f"""select name, dataset, model, (name, dataset) in (select model, dataset from runs)
        from model_names where {shown} order by name, dataset"""
    for name, dataset, number, has_runs in connection.execute(sql).fetchall():
        node = Node(name, dataset)
        number_of[node] = number
        nodes[number].append(node)
        if has_runs:
            names[number].add(name)
    facts = _facts(connection, hidden, number_of)
    called = {number: _called(facts[number], names[number]) for number in names}
    labels = _labels(called, nodes)
    models = [
        KnownModel(number, labels[number], called[number], sorted(names[number]), nodes[number], facts[number])
        for number in called
    ]
    return sorted(models, key=lambda model: (model.label.lower(), model.label))


@once_per_snapshot
def known_models(snapshot: Snapshot) -> list[KnownModel]:
    """Return the models of the runs that a snapshot shows, by label."""
    return read_models(snapshot.connection, snapshot.hidden)


def _facts(
    connection: duckdb.DuckDBPyConnection, hidden: Collection[str], number_of: Mapping[Node, int]
) -> dict[int, dict[str, Statement]]:
    """Return the last statement of each fact of each model that is shown."""
    facts: dict[int, dict[str, Statement]] = defaultdict(dict)
    sql = f"select name, dataset, fact, value, stated, needs from model_facts where {rows_without(hidden)} order by stated"
    for name, dataset, fact, value, stated, needs in connection.execute(sql).fetchall():
        if not {*(needs or ())} & {*hidden}:
            facts[number_of[Node(name, dataset)]][fact] = Statement(value, stated)
    return facts


def _called(facts: Mapping[str, Statement], names: Collection[str]) -> str:
    stated = facts[NAME].value if NAME in facts else None
    return stated or min(names)


def _labels(called: Mapping[int, str], nodes: Mapping[int, Sequence[Node]]) -> dict[int, str]:
    """Return what tells models apart, by number: their names or, of several of one name, the name with a dataset of each."""
    alike: dict[str, list[int]] = defaultdict(list)
    for number, name in called.items():
        alike[name].append(number)
    labels = {number: name for name, numbers in alike.items() for number in numbers if len(numbers) == 1}
    for name, numbers in alike.items():
        for number in numbers if len(numbers) > 1 else ():
            others = [other for other in numbers if other != number]
            elsewhere = {node.dataset for other in others for node in nodes[other]}
            own = [node.dataset for node in nodes[number] if node.dataset not in elsewhere]
            told = chain(sorted(own), (f"{node.name} on {node.dataset}" for node in nodes[number]), map(str, count(2)))
            taken = {*alike, *labels.values()}
            labels[number] = next(label for text in told if (label := f"{name} ({text})") not in taken)
    return labels


def find_model(models: Sequence[KnownModel], name: str) -> KnownModel:
    """Return the model with this label, or else the one that is called so or has runs of this name.

    Raises ``NoSuchModel`` or ``SeveralModels``.
    """
    matches = [model for model in models if model.label == name]
    matches = matches or [model for model in models if model.name == name]
    matches = matches or [model for model in models if name in model.names]
    if not matches:
        raise NoSuchModel(f"no model is called {name!r}")
    if len(matches) > 1:
        raise SeveralModels(name, [model.label for model in matches])
    return matches[0]


def plain_name(name: str) -> str:
    """Return a name without its provider, capitals and date. Names of which the same is left may be one model's.

    >>> {plain_name(name) for name in ("openai/Opus-5-20251101", "hf/opus_5-latest", "Opus 5", "opus-5-2025-11-01")}
    {'opus-5'}
    """
    return re.sub(r"[\s_]+", "-", DATED.sub("", name.strip().rpartition("/")[2].strip().lower()))


Pair = tuple[Node, Node]  # in order


def distinct_pairs(connection: duckdb.DuckDBPyConnection) -> set[Pair]:
    """Return the pairs of nodes of which somebody said that they are not one model's."""
    rows = connection.execute("select name, dataset, other, other_dataset from distinct_models").fetchall()
    return {(Node(name, dataset), Node(other, elsewhere)) for name, dataset, other, elsewhere in rows}


def proposals(models: Sequence[KnownModel], distinct: Collection[Pair] = ()) -> list[list[str]]:
    """Return groups of labels of models that are probably one: some of their names have the same ``plain_name``.

    Groups are sorted, and do not overlap. Names of two models are not proposed again if a pair of their nodes is ``distinct``.
    """
    number_of = {node: model.number for model in models for node in model.nodes}
    apart = {
        frozenset([(number_of[node], node.name), (number_of[other], other.name)])
        for node, other in distinct
        if node in number_of and other in number_of
    }
    groups: dict[str, set[str]] = {model.label: {model.label} for model in models}  # models of one group share the set
    for one, other in _alike(models):
        if frozenset([(one[0].number, one[1]), (other[0].number, other[1])]) not in apart:
            group = groups[one[0].label] | groups[other[0].label]
            groups.update(dict.fromkeys(group, group))
    return [list(group) for group in sorted({tuple(sorted(group)) for group in groups.values() if len(group) > 1})]


Named = tuple[KnownModel, str]  # a model and one of its names


def _alike(models: Iterable[KnownModel]) -> Iterator[tuple[Named, Named]]:
    """Yield pairs of names of different models that look like one model's."""
    alike: dict[str, list[Named]] = defaultdict(list)
    for model in models:
        for name in model.names:
            alike[plain_name(name)].append((model, name))
    for named in alike.values():
        for one, other in combinations(named, 2):
            if one[0].number != other[0].number:
                yield one, other


def add_names(connection: duckdb.DuckDBPyConnection, hidden: Collection[str] = ()) -> None:
    """Give each node of a run that has no model the one that whoever imported the run can see under this name, or a new one.

    ``hidden`` are datasets that they may not read. If they see several models of the name, it is a new one, too.
    """
    sql = """select distinct model, dataset from runs where (model, dataset) not in (select name, dataset from model_names)
        order by all"""
    new = [Node(*row) for row in connection.execute(sql).fetchall()]
    if not new:
        return
    with_name: dict[str, set[int]] = defaultdict(set)
    called: dict[str, set[int]] = defaultdict(set)
    for model in read_models(connection, hidden):
        called[model.name].add(model.number)
    nodes = connection.execute(f"select name, model from model_names where {rows_without(hidden)}").fetchall()
    for name, number in nodes:
        with_name[name].add(number)
    free = _next(connection, "model_names", "model")
    rows = []
    for node in new:
        known = with_name.get(node.name) or called.get(node.name) or set()
        number = min(known) if len(known) == 1 else free
        free = max(free, number + 1)
        with_name[node.name].add(number)
        rows.append((*node, number))
    table = pl.DataFrame(rows, schema={"name": pl.String, "dataset": pl.String, "model": pl.Int32}, orient="row")
    execute_with(connection, table, "insert into model_names by name from given")


def merge(store: Store, models: Collection[str], goal: str, by: str | None, hidden: Collection[str] = ()) -> bool:
    """Make all names of some models, which can also be named by one of their names, names of one model.

    ``goal`` is this model, which keeps its facts and gets those that it lacks from the others, or a new name for it. Returns
    whether anything changed. ``by`` names the caller's token, None the operating-system user. Models of ``hidden`` datasets are
    none: they are neither found nor changed, and their names are free. Raises ``BadModel`` or ``StoreError``.
    """

    def change(connection: duckdb.DuckDBPyConnection) -> _Change | None:
        known = read_models(connection, hidden)
        given = [find_model(known, name) for name in models]
        into = _goal(known, given, goal)
        parts = list({model.number: model for model in ([into] if into else []) + given}.values())
        name = goal
        if into and (into not in given or goal in (into.label, into.name)):
            name = into.name
        if into and name == into.name and len(parts) == 1:
            return None
        for part in reversed(parts):  # what is said of the first counts most
            _state_again(connection, part.facts)
        if into is None or name != into.name or NAME not in into.facts:
            _call(connection, [node for part in parts for node in part.nodes], name)
        numbers = {"numbers": [part.number for part in parts], "number": parts[0].number}
        connection.execute("update model_names set model = $number where model in $numbers", numbers)
        return _Change(name, sorted({name for part in parts for name in part.names}), parts)

    goal = _checked(goal)
    return _write(store, change, "merged_models", by)


def _goal(known: Sequence[KnownModel], given: Sequence[KnownModel], goal: str) -> KnownModel | None:
    """Return the model that others become; None if no model has this name. Raises ``SeveralModels``."""
    try:
        return find_model(known, goal)
    except SeveralModels as error:
        own = [model for model in given if model.label in error.labels]
        if {model.label for model in own} != {*error.labels}:
            raise
        return own[0]  # all of them become one
    except NoSuchModel:
        return None


def rename(store: Store, model: str, new: str, by: str | None, hidden: Collection[str] = ()) -> bool:
    """Give a model another name, which no other model has that the caller sees. Arguments and errors as for ``merge``."""
    new = _checked(new)

    def change(connection: duckdb.DuckDBPyConnection) -> _Change | None:
        known = read_models(connection, hidden)
        chosen = find_model(known, model)
        if chosen.name == new:
            return None
        if any(new in (other.label, other.name, *other.names) for other in known if other.number != chosen.number):
            raise BadModel(f"another model is called {new!r}; to make them one, merge them")
        _call(connection, chosen.nodes, new)
        return _Change(new, [chosen.name], [chosen])

    return _write(store, change, "renamed_model", by)


def split(store: Store, name: str, by: str | None, hidden: Collection[str] = (), dataset: str | None = None) -> bool:
    """Make a name, perhaps only that of runs on one ``dataset``, a model of its own again. Returns False if it is one already.

    Arguments and errors as for ``merge``.
    """

    def change(connection: duckdb.DuckDBPyConnection) -> _Change | None:
        having = [
            model
            for model in read_models(connection, hidden)
            if any(node.name == name and dataset in (None, node.dataset) for node in model.nodes)
        ]
        if not having:
            raise NoSuchModel(f"no run{f' on {dataset!r}' if dataset else ''} has the model name {name!r}")
        if len(having) > 1:
            raise SeveralModels(name, [model.label for model in having])
        (model,) = having
        moved = [node for node in model.nodes if node.name == name and dataset in (None, node.dataset)]
        if len(moved) == len(model.nodes):
            return None
        execute_with(connection, _table(moved), f"delete from model_facts where {GIVEN}")
        number = {"number": _next(connection, "model_names", "model")}
        execute_with(connection, _table(moved), f"update model_names set model = $number where {GIVEN}", number)
        return _Change(name, [], [model])

    return _write(store, change, "split_model", by)


def dismiss(store: Store, models: Collection[str], by: str | None, hidden: Collection[str] = ()) -> bool:
    """Keep some models, which look like one, from being proposed as one again. Arguments and errors as for ``merge``."""

    def change(connection: duckdb.DuckDBPyConnection) -> _Change | None:
        known = read_models(connection, hidden)
        given = list({(model := find_model(known, name)).number: model for name in models}.values())
        pairs = {
            (min(node, other), max(node, other))
            for (one, name), (two, another) in _alike(given)
            for node in one.nodes
            for other in two.nodes
            if (node.name, other.name) == (name, another)
        }
        new = sorted(pairs - distinct_pairs(connection))
        if not new:
            return None
        rows = [(*node, *other) for node, other in new]
        connection.executemany("insert into distinct_models values (?, ?, ?, ?)", rows)
        labels = sorted(model.label for model in given)
        return _Change(labels[0], labels, given)

    return _write(store, change, "dismissed_proposal", by)


def describe(store: Store, model: str, facts: Mapping[str, str | None], by: str | None, hidden: Collection[str] = ()) -> bool:
    """Set facts of a model (``FACTS``); None or a blank removes one. Arguments and errors as for ``merge``."""
    wanted = {fact: (text or "").strip() or None for fact, text in facts.items()}
    for fact, text in wanted.items():
        if fact not in FACTS:
            raise BadModel(f"a model has no {fact!r}; it has {', '.join(FACTS)}")
        if text and len(text) > MAX_FACT:
            raise BadModel(f"{fact} has more than {MAX_FACT:,} characters")
    if (released := wanted.get("released")) and not RELEASED.fullmatch(released):
        raise BadModel(f"released is a year, a month or a day, such as 2025-11 or 2025-11-01, not {released!r}")

    def change(connection: duckdb.DuckDBPyConnection) -> _Change | None:
        chosen = find_model(read_models(connection, hidden), model)
        new = {fact: text for fact, text in wanted.items() if text != chosen.fact(fact)}
        for fact, text in new.items():
            _state(connection, chosen.nodes, fact, text)
        return _Change(chosen.name, list(wanted), [chosen]) if new else None

    return _write(store, change, "described_model", by)


class _Change(NamedTuple):
    """What the audit says of a change: the name of a model, the names that it concerns, and the models as they were."""

    model: str
    names: Sequence[str]
    models: Sequence[KnownModel]


def _write(store: Store, change: Callable[[duckdb.DuckDBPyConnection], _Change | None], action: Action, by: str | None) -> bool:
    """Write a change, which returns None if it changed nothing. It changes no dataset, so no revision."""

    def events(made: _Change | None) -> list[AuditEvent]:
        if made is None:
            return []
        datasets = sorted({dataset for model in made.models for dataset in model.datasets})
        return [new_event(action, by, model=made.model, names=", ".join(made.names) or None, datasets=datasets)]

    return store.write(change, events) is not None


def _checked(name: str) -> str:
    name = name.strip()
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise BadModel(f"the name of a model has 1 to {MAX_NAME} printing characters")
    return name


def _call(connection: duckdb.DuckDBPyConnection, nodes: Sequence[Node], name: str) -> None:
    """Call a model by a name. One that its runs have is said only of these, because only their readers may know it."""
    _state(connection, [node for node in nodes if node.name == name] or nodes, NAME, name)


def _state(connection: duckdb.DuckDBPyConnection, nodes: Sequence[Node], fact: str, value: str | None) -> None:
    stated = {"fact": fact, "value": value, "stated": _next(connection, "model_facts", "stated")}
    execute_with(connection, _table(nodes), f"delete from model_facts where fact = $fact and {GIVEN}", {"fact": fact})
    execute_with(
        connection, _table(nodes), "insert into model_facts select name, dataset, $fact, $value, $stated, null from given", stated
    )


def _state_again(connection: duckdb.DuckDBPyConnection, facts: Mapping[str, Statement]) -> None:
    """Let statements count more than all others, each for whoever sees it anyway."""
    for fact, statement in facts.items():
        renewed = {"fact": fact, "new": _next(connection, "model_facts", "stated"), "old": statement.stated}
        connection.execute("update model_facts set stated = $new where fact = $fact and stated = $old", renewed)


def _next(connection: duckdb.DuckDBPyConnection, table: str, column: str) -> int:
    return int(connection.execute(f"select coalesce(max({column}), 0) + 1 from {table}").fetchall()[0][0])


def _table(nodes: Sequence[Node]) -> pl.DataFrame:
    return pl.DataFrame(list(nodes), schema={"name": pl.String, "dataset": pl.String}, orient="row")
