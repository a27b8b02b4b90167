"""The papers of the metrics as BibTeX."""

import re

from clueline.queries.metrics import CATALOGUE
from clueline.queries.metrics.bibliography import ENTRIES, NAMES, STANDARD, bibtex, citation_keys


def test_every_source_has_an_entry():
    assert [metric.key for metric in CATALOGUE.values() if metric.source != STANDARD and not citation_keys(metric.source)] == []


def test_every_paper_of_a_source_has_an_entry():
    """A source has at least as many citation keys as names with a year."""
    for metric in CATALOGUE.values():
        papers = re.findall(r"[A-Z][\w&., ]*?(?:19|20)\d\d", re.sub(r"\(arXiv [\d.]+\)", "", metric.source))
        assert len(papers) <= len(citation_keys(metric.source)), metric.source


def test_entries_are_bibtex():
    assert set(NAMES.values()) == set(ENTRIES)
    for key, entry in ENTRIES.items():
        assert re.match(rf"@\w+{{{key},\n", entry) and entry.endswith("\n}"), key
        assert entry.count("{") == entry.count("}")
        assert re.search(r"^  year +=", entry, re.MULTILINE) and re.search(r"^  author +=", entry, re.MULTILINE)


def test_a_paper_is_listed_once():
    text = bibtex(CATALOGUE.values(), ("dimitriadis2021stable",))
    keys = re.findall(r"^@\w+{(\w+),$", text, re.MULTILINE)
    assert len(keys) == len(set(keys)) == len(ENTRIES)
