"""The words about intervals and tests, the simulations behind them, and Sakai's examples."""

import re

import pytest

from clueline.queries.interval_coverage_in_simulations import KINDS, measured_claims
from clueline.queries.metric_definitions import SYSTEMS, sakai_examples
from clueline.queries.metrics import CATALOGUE
from tests.helpers.paths import ROOT

MARKDOWN = ROOT / "benchmarks" / "inference.md"


def test_each_kind_is_one_sentence():
    for kind in KINDS:
        assert kind.words.endswith(".") and not re.search(r"[.?!] [A-Z]", kind.words), kind.key
    assert len({kind.key for kind in KINDS}) == len(KINDS)
    claims = [claim for kind in KINDS for claim in kind.claims]
    assert len(claims) == len(set(claims)) and {claim.claim for claim in measured_claims()} <= set(claims)


def test_the_page_shows_the_numbers_of_the_document():
    rows = re.findall(
        r"^\| (.+?) \| (.+?) \| ([.\d]+) \| ([.\d]+) \| ([.\d]+) \| ([\d,]+) \|$", MARKDOWN.read_text(), re.MULTILINE
    )
    shown = [(c.claim, c.setting, c.nominal, c.measured, c.noise, c.boards) for c in measured_claims()]
    assert [(*row[:2], *map(float, row[2:5]), int(row[5].replace(",", ""))) for row in rows] == shown


def test_each_copy_is_worse_in_one_way():
    for example in sakai_examples():
        assert [system.system for system in example.systems] == list(SYSTEMS)
        original = example.systems[0].items
        for system in example.systems[1:]:
            changes = [
                "U" if correct else "O"
                for (before, _), (after, correct) in zip(original, system.items, strict=True)
                if (after < before if correct else after > before)
            ]
            assert "".join(sorted(changes, reverse=True)) == system.axiom
            assert sum(a != b for a, b in zip(original, system.items, strict=True)) == len(changes)


def test_what_the_examples_refute():
    """HMR detects every copy; ECE misses some, but none in example 3; accuracy ties where UO asks for strictness."""
    refuted = {(e.example, s.system): s.refuted for e in sakai_examples() for s in e.systems if s.axiom}
    assert not any("hmr" in keys for keys in refuted.values())
    assert {place for place, keys in refuted.items() if "ece" in keys} == {(1, "Z"), (1, "W"), (2, "Y"), (2, "W")}
    assert {place for place, keys in refuted.items() if "accuracy" in keys} == {(1, "W"), (2, "W"), (3, "W")}
    for keys in refuted.values():
        for key in keys:
            assert key == "accuracy" or not CATALOGUE[key].axioms


@pytest.mark.parametrize(
    ("example", "system", "key", "value"), [(1, "X", "hmr", 0.557), (2, "X", "ks_sequential", 0.078), (3, "Y", "ece", 0.433)]
)
def test_values_as_the_paper_prints_them(example, system, key, value):
    (result,) = [s.values[key] for e in sakai_examples() if e.example == example for s in e.systems if s.system == system]
    assert result == pytest.approx(value, abs=0.0005)
