"""Histograms against the votes of people, compared with reference code item by item."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.queries.human_votes import people
from clueline.queries.selection import Selection
from tests.helpers import reference_vote_metrics as votes
from tests.helpers.examples import examples
from tests.helpers.strategies import selections

POLLS = Selection("polls", common=False)


def place(value, edges):
    return max(k for k in range(len(edges) - 1) if value >= edges[k])


def histogram(values, edges):
    counts = [0] * (len(edges) - 1)
    for value in values:
        counts[place(round(value, 12), edges)] += 1
    return counts


def pairs_turned(shares, other):
    """Count the pairs of classes that two distributions rank differently."""
    a, b = votes.ascending(shares), votes.ascending(other)
    return sum((a.index(x) < a.index(y)) != (b.index(x) < b.index(y)) for i, x in enumerate(a) for y in a[:i])


def expected(shares_and_people, answer, most):
    turned = [pairs_turned(*pair) for pair in shares_and_people]
    return {
        "items": len(shares_and_people),
        "distance": histogram([votes.tvd(*pair) for pair in shares_and_people], answer.distance_edges),
        "entropy": histogram(
            [votes.entropy(f) - votes.entropy(pi) for f, pi in shares_and_people],
            answer.entropy_edges,
        ),
        "ranking": [turned.count(count) for count in range(most * (most - 1) // 2 + 1)],
    }


def plain(histograms):
    return {name: getattr(histograms, name) for name in ("items", "distance", "entropy", "ranking")}


@examples(40)
@given(data=st.data(), dataset=st.sampled_from(["polls", "quiz"]))
def test_histograms_match_reference(polled, polled_rows, polled_offered, data, dataset):
    selection = data.draw(selections(polled_offered[dataset]))
    answer = people(polled, selection)
    answered = {row.run: list(polled_rows[dataset].answered(selection, row.run).values()) for row in answer.rows}
    most = max([len(item.shares) for questions in answered.values() for item in votes.whole(questions)], default=0)
    for row in answer.rows:
        items = votes.voted(answered[row.run])
        if not items:
            assert (row.histograms, row.reference, row.classes, row.questions) == (None, None, [], 0)
            assert row.missing
            continue
        assert row.missing is None and row.questions == votes.used("dist_ce", answered[row.run])
        assert plain(row.histograms) == expected([(item.shares, item.people) for item in items], answer, most)
        drawn = [(votes.drawn(item), item.people) for item in items if votes.drawn(item)]
        reference = [({name: count / 20 for name, count in counts.items()}, pi) for counts, pi in drawn]
        assert (plain(row.reference) if row.reference else None) == (expected(reference, answer, most) if reference else None)
        assert [class_.name for class_ in row.classes] == list(items[0].classes)
        for class_ in row.classes:
            pairs = [(item.shares.get(class_.name, 0.0), float(item.majority == class_.name)) for item in items]
            parts = votes.binned(pairs, selection.conventions.binning)
            assert [part.items for part in class_.bins] == [len(pairs) for pairs in parts]
            for part, inside in zip(class_.bins, parts, strict=True):
                assert part.mean_share == (pytest.approx(votes.mean([p for p, _ in inside])) if inside else None)
                assert part.chosen == (pytest.approx(votes.mean([y for _, y in inside])) if inside else None)
                assert all(part.lower <= p <= part.upper for p, _ in inside)


def test_edges_of_the_histograms(polled):
    answer = people(polled, POLLS)
    assert answer.distance_edges == pytest.approx([k / 30 for k in range(31)])
    assert answer.entropy_edges[20] == 0
    assert (answer.entropy_edges[0], answer.entropy_edges[-1]) == pytest.approx((-math.log(3), math.log(3)))
    assert (answer.classes, answer.reference_votes, answer.missing) == (["yes", "no", "maybe"], 20, None)


def test_missing_histograms_have_reasons(polled):
    assert {row.model: row.missing for row in people(polled, POLLS).rows} == {
        "list": None, "map": None, "sparse": None, "unsure": None, "plain": "the run gives no whole distribution here",
    }  # fmt: skip
    unasked = people(polled, POLLS.replace(questions=("p07", "p08"), model=("list",)))
    assert [row.missing for row in unasked.rows] == ["nobody voted on these questions"] and unasked.missing is None
    relay = people(polled, Selection("relay"))
    assert relay.missing == "the dataset has no human votes" and relay.classes == []
    assert {row.missing for row in relay.rows} == {relay.missing}
