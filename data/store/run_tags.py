"""Tags of runs: what is known about a model apart from its answers, such as whether it reasons or when it was released.

Tags come with an import and can be changed later: neither a run's id nor any metric depends on them.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from clueline.data.store.audit import new_event
from clueline.data.store.cache_validity_tokens import renew_revisions
from clueline.data.store.gradings import dataset_of
from clueline.data.store.store import Store

DATE = "date"  # the tag that says on which day a run was made
BASELINE = "baseline"  # the tag whose value is a name for a run that others are compared with, such as "prod"
LABEL = "label"  # the tag that says what tells a run from others of its model
MAX_TAG_LENGTH, MAX_VALUE_LENGTH = 100, 500  # characters: an address can hold both
MAX_TAGS = 100  # of one run


class BadTag(ValueError):
    """A tag or its value cannot be stored; the message says why."""


def checked_tag(tag: str, value: str) -> tuple[str, str]:
    """Return a tag and its value, without the spaces around them. Raises ``BadTag`` if one cannot be stored.

    >>> checked_tag(" reasoning", "yes ")
    ('reasoning', 'yes')
    """
    tag, value = tag.strip(), value.strip()
    for text, what, longest in (
        (tag, "the name of a tag", MAX_TAG_LENGTH),
        (value, f"the value of the tag {tag!r}", MAX_VALUE_LENGTH),
    ):
        if not text:
            raise BadTag(f"{what} is missing; a tag is written NAME=VALUE, such as reasoning=yes")
        if len(text) > longest:
            raise BadTag(f"{what} has more than {longest} characters")
        if not text.isprintable():
            raise BadTag(f"{what} contains a non-printing character")
    return tag, value


def read_tag(text: str) -> tuple[str, str]:
    """Return the tag and the value of a text such as ``reasoning=yes``. The value can contain equals signs. Raises ``BadTag``."""
    tag, _, value = text.partition("=")
    return checked_tag(tag, value)


def change_tags(store: Store, run: str, changes: Mapping[str, str | None], by: str | None) -> bool:
    """Set tags of a run, remove those whose value is None, and return whether any changed. Raises ``BadTag``, ``NoSuchRun``."""
    removed = {tag for tag, value in changes.items() if value is None}
    wanted = dict(checked_tag(tag, value) for tag, value in changes.items() if value is not None)

    def after(connection: duckdb.DuckDBPyConnection) -> tuple[dict[str, str], bool]:
        now = tags_of(connection, run)
        tags = {tag: value for tag, value in now.items() if tag not in removed} | wanted
        if len(tags) > MAX_TAGS:
            raise BadTag(f"a run has at most {MAX_TAGS} tags")
        return tags, tags != now

    connection = store.snapshot().connection
    dataset = dataset_of(connection, run)  # before the catalogue is copied
    if not after(connection)[1]:
        return False

    def change(connection: duckdb.DuckDBPyConnection) -> bool:
        dataset_of(connection, run)  # it may have been deleted meanwhile
        tags, changed = after(connection)
        if changed:
            connection.execute("delete from tags where run = $run", {"run": run})
            rows = [[dataset, run, tag, value] for tag, value in tags.items()]
            if rows:
                connection.executemany("insert into tags (dataset, run, tag, value) values (?, ?, ?, ?)", rows)
            renew_revisions(connection, [dataset])
        return changed

    return store.write(change, lambda changed: [new_event("tagged", by, dataset=dataset, run=run)] if changed else [])


def tags_of(connection: duckdb.DuckDBPyConnection, run: str) -> dict[str, str]:
    """Return the values of a run's tags by tag, ordered by tag."""
    return dict(connection.execute("select tag, value from tags where run = $run order by tag", {"run": run}).fetchall())
