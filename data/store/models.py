"""Models: the things that runs are of. Several names, as files state them, can be names of one model.

A run keeps the name that its file states. So its id, and addresses that filter by that name, do not depend on models.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import combinations

import duckdb

from clueline.data.store.audit import Action, AuditEvent, new_event
from clueline.data.store.store import Store

FACTS = ("organisation", "released", "sizes", "notes")
MAX_NAME, MAX_FACT = 200, 2000  # characters
RELEASED = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
DATED = re.compile(r"[-@:_ ](20\d{6}|20\d\d[-.]\d\d[-.]\d\d|latest)$")


class BadModel(ValueError):
    """A change to models that cannot be made; the message says why."""


class NoSuchModel(BadModel):
    """No run has this name, and no model is called so."""


def plain_name(name: str) -> str:
    """Return a name without its provider, capitals and date. Names of which the same is left may be one model's.

    >>> {plain_name(name) for name in ("openai/Opus-5-20251101", "hf/opus_5-latest", "Opus 5", "opus-5-2025-11-01")}
    {'opus-5'}
    """
    return re.sub(r"[\s_]+", "-", DATED.sub("", name.strip().rpartition("/")[2].strip().lower()))


def proposals(model_of: Mapping[str, str], distinct: Collection[tuple[str, str]] = ()) -> list[list[str]]:
    """Return groups of models that are probably one: some of their names have the same ``plain_name``. Sorted, without overlaps.

    ``model_of`` is the model of each name. ``distinct`` are pairs of names, in order, of which somebody said that they are not
    one model's.

    >>> models = {"lab/opus-5": "lab/opus-5", "Opus-5": "Opus-5", "sonnet": "sonnet"}
    >>> proposals(models), proposals(models, [("Opus-5", "lab/opus-5")])
    ([['Opus-5', 'lab/opus-5']], [])
    """
    groups: dict[str, set[str]] = {}  # by model; models of one group share the set
    alike: dict[str, list[str]] = defaultdict(list)
    for name in sorted(model_of):
        alike[plain_name(name)].append(name)
    for names in alike.values():
        for pair in combinations(names, 2):
            if pair not in distinct:
                group = set().union(*(groups.get(model_of[name], {model_of[name]}) for name in pair))
                groups.update(dict.fromkeys(group, group))
    return [list(group) for group in sorted({tuple(sorted(group)) for group in groups.values() if len(group) > 1})]


def add_names(connection: duckdb.DuckDBPyConnection) -> None:
    """Make a model of each name of a run that is not yet the name of one."""
    connection.execute("""
        insert into models (model) select distinct model from runs
            where model not in (select name from model_names) and model not in (select model from models);
        insert into model_names select distinct model, model from runs where model not in (select name from model_names)""")


def names_of(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """Return the model of each name."""
    return dict(connection.execute("select name, model from model_names order by name").fetchall())


def merge(store: Store, models: Collection[str], goal: str, by: str | None) -> bool:
    """Make all names of some models, which can also be named by one of their names, names of one model.

    ``goal`` is this model, which keeps its facts and gets those that it lacks from the others, or a new name for it. Returns
    whether anything changed. ``by`` names the caller's token, None the operating-system user. Raises ``BadModel`` or
    ``StoreError``.
    """

    def change(connection: duckdb.DuckDBPyConnection) -> str | None:
        given = {_find(connection, name) for name in models}
        model = names_of(connection).get(goal, goal)
        into = goal if model in given or _is_model(connection, goal) else model
        merged = sorted(given - {into})
        if not merged:
            return None
        known = [*([into] if _is_model(connection, into) else []), *merged]
        facts = ", ".join(f"first({fact} order by list_position($known, model)) filter ({fact} is not null)" for fact in FACTS)
        row = connection.execute(f"select {facts} from models where model in $known", {"known": known}).fetchall()[0]
        names = _names(connection, known)
        connection.execute("delete from models where model in $known", {"known": known})
        connection.execute("insert into models values (?, ?, ?, ?, ?)", [into, *row])
        connection.execute("update model_names set model = $into where model in $known", {"into": into, "known": known})
        return ", ".join(names)

    goal = _checked(goal)
    return _write(store, change, "merged_models", by, goal)


def rename(store: Store, model: str, new: str, by: str | None) -> bool:
    """Give a model another name, which no other model has. Arguments and errors as for ``merge``."""
    new = _checked(new)

    def change(connection: duckdb.DuckDBPyConnection) -> str | None:
        old = _find(connection, model)
        if old == new:
            return None
        if _is_model(connection, new) or names_of(connection).get(new, old) != old:
            raise BadModel(f"another model is called {new!r}; to make them one, merge them")
        connection.execute("update models set model = $new where model = $old", {"new": new, "old": old})
        connection.execute("update model_names set model = $new where model = $old", {"new": new, "old": old})
        return old

    return _write(store, change, "renamed_model", by, new)


def split(store: Store, name: str, by: str | None) -> bool:
    """Make a name a model of its own again. Returns False if it is one already. Arguments and errors as for ``merge``."""

    def change(connection: duckdb.DuckDBPyConnection) -> str | None:
        model = names_of(connection).get(name)
        if model is None:
            raise NoSuchModel(f"no run has the model name {name!r}")
        others = [other for other in _names(connection, [model]) if other != name]
        if not others:
            return None
        if model == name:  # the others keep their facts, under one of their own names
            connection.execute("update models set model = $n where model = $m", {"n": others[0], "m": model})
            connection.execute("update model_names set model = $n where model = $m", {"n": others[0], "m": model})
        connection.execute("insert into models (model) values ($n)", {"n": name})
        connection.execute("update model_names set model = name where name = $n", {"n": name})
        return ""

    return _write(store, change, "split_model", by, name)


def dismiss(store: Store, models: Collection[str], by: str | None) -> bool:
    """Keep some models, which look like one, from being proposed as one again. Arguments and errors as for ``merge``."""

    def change(connection: duckdb.DuckDBPyConnection) -> str | None:
        given = sorted({_find(connection, name) for name in models})
        model_of = {name: model for model in given for name in _names(connection, [model])}
        pairs = [pair for pair in combinations(sorted(model_of), 2) if model_of[pair[0]] != model_of[pair[1]]]
        known = set(connection.execute("select name, other from distinct_models").fetchall())
        new = [pair for pair in pairs if pair not in known]
        if new:
            connection.executemany("insert into distinct_models values (?, ?)", new)
        return ", ".join(given) if new else None

    return _write(store, change, "dismissed_proposal", by, min(models, default=""))


def describe(store: Store, model: str, facts: Mapping[str, str | None], by: str | None) -> bool:
    """Set facts of a model (``FACTS``); None or a blank removes one. Arguments and errors as for ``merge``."""
    wanted = {fact: (text or "").strip() or None for fact, text in facts.items()}
    for fact, text in wanted.items():
        if fact not in FACTS:
            raise BadModel(f"a model has no {fact!r}; it has {', '.join(FACTS)}")
        if text and len(text) > MAX_FACT:
            raise BadModel(f"{fact} has more than {MAX_FACT:,} characters")
    if (released := wanted.get("released")) and not RELEASED.fullmatch(released):
        raise BadModel(f"released is a year, a month or a day, such as 2025-11 or 2025-11-01, not {released!r}")

    def change(connection: duckdb.DuckDBPyConnection) -> str | None:
        current = _find(connection, model)
        if not wanted:
            return None
        columns = ", ".join(f"{fact} = ${fact}" for fact in wanted)
        different = " or ".join(f"{fact} is distinct from ${fact}" for fact in wanted)
        sql = f"update models set {columns} where model = $m and ({different}) returning model"
        return ", ".join(wanted) if connection.execute(sql, {**wanted, "m": current}).fetchall() else None

    return _write(store, change, "described_model", by, model)


def _write(
    store: Store, change: Callable[[duckdb.DuckDBPyConnection], str | None], action: Action, by: str | None, model: str
) -> bool:
    """Write a change that returns names for the audit, None if it changed nothing. It changes no dataset, so no revision."""

    def events(names: str | None) -> list[AuditEvent]:
        return [] if names is None else [new_event(action, by, model=model, names=names or None)]

    return store.write(change, events) is not None


def _checked(name: str) -> str:
    name = name.strip()
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise BadModel(f"the name of a model has 1 to {MAX_NAME} printing characters")
    return name


def _find(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """Return the model that is called so or has this name."""
    if _is_model(connection, name):
        return name
    model = names_of(connection).get(name)
    if model is None:
        raise NoSuchModel(f"no model is called {name!r}")
    return model


def _is_model(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    return connection.execute("select 1 from models where model = $m", {"m": name}).fetchone() is not None


def _names(connection: duckdb.DuckDBPyConnection, models: Iterable[str]) -> list[str]:
    sql = "select name from model_names where model in $models order by name"
    return [name for (name,) in connection.execute(sql, {"models": [*models]}).fetchall()]
