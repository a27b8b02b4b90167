"""docs/papers.md names tests that exist, and lists every table and figure whose numbers were collected from the papers."""

import re

import pytest

from tests.helpers.bundle_factory import records
from tests.helpers.paths import ROOT

TEXT = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL))
PAPERS = {"GRACE": "GRACE", "LifeEval": "LifeEval", "Baan": "Baan et al."}


def section(paper):
    """Return the part of the page about a paper, which is named as in the files."""
    return next(SECTIONS[title] for name, title in PAPERS.items() if paper.startswith(name))


def is_named(place, text):
    """Return whether a row of the page is about a place, such as ``fig. 10`` or ``Table 5 (no evidence)``."""
    kind, _, number = place.partition(" (")[0].rpartition(" ")
    kind = {"Tables": "Table", "App. N": "App. N"}.get(kind, kind).rstrip(".")
    rows = [row.split("|")[1] for row in text.splitlines() if row.startswith("| ")]
    return any(kind.lower() in row.lower() and re.search(rf"(?<![\w.]){re.escape(number)}(?!\w)", row) for row in rows)


def test_every_test_that_is_named_exists():
    names = set(re.findall(r"`(test_\w+)`", TEXT))
    texts = (path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    defined = {name for text in texts for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}
    assert names and sorted(names - defined) == []
    assert [path for path in re.findall(r"`(tests/\w[\w/]*\.py)`", TEXT) if not (ROOT / path).is_file()] == []


def test_every_published_table_is_listed():
    listed = records((ROOT / "queries" / "facts" / "published_tables.csv").read_text(encoding="utf-8"))
    tables = [(row["paper"], row["table"]) for row in listed]
    assert tables and [table for paper, table in tables if table not in section(paper)] == []


@pytest.mark.parametrize(
    ("name", "place"), [("baan_figure_numbers", "place"), ("lifeeval_text_numbers", "place"), ("published_metrics", "table")]
)
def test_every_collected_number_is_listed(published, name, place):
    places = sorted({(row["paper"], row[place]) for row in published(name)})
    assert places and [key for key in places if not is_named(key[1], section(key[0]))] == []
