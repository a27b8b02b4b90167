"""Metrics of whole distributions: kernels, columns and leaderboard against reference code, libraries and hand-worked figures."""

import csv
import json

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cityblock

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.queries.engine.distribution_columns import class_named, run_distributions
from clueline.queries.engine.gather import gather
from clueline.queries.engine.run_columns import dense
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.metrics.kernels import distributions as kernels
from clueline.queries.selection import Selection
from tests.helpers import reference_metrics, reference_vote_metrics
from tests.helpers.examples import examples
from tests.helpers.run_tables import with_runs
from tests.helpers.small_polls import YES_NO, write_polls
from tests.helpers.small_store import write_csv

VOTES = [metric for metric in METRICS if "whole distribution" in metric.needs]
POLLS = Selection("polls", common=False)
MANY = examples(30)


def cells(polled, selection, *keys):
    board = leaderboard(polled, selection, [CATALOGUE[key] for key in keys])
    return {row.model: row.metrics for row in board.rows}


# -- from the store ----------------------------------------------------------------------------------------------------


def test_the_store_is_as_varied_as_these_tests_need(polled, polled_rows):
    answered = {
        run["model"]: list(polled_rows["polls"].answered(POLLS, run["run"]).values()) for run in polled_rows["polls"].runs
    }
    items = reference_vote_metrics.whole(answered["list"])
    assert len(items) == 14 and len(reference_vote_metrics.voted(answered["list"])) == 12
    assert 0 < len(reference_vote_metrics.whole(answered["sparse"])) < 14 and not reference_vote_metrics.whole(answered["plain"])
    assert sum(reference_vote_metrics.drawn(item) is not None for item in items) == 11
    assert any(len({*item.votes.values()}) < 3 and len({*item.shares.values()}) < 3 for item in items)  # ties on both sides
    every = [question for questions in answered.values() for question in questions]
    assert 0 < reference_vote_metrics.rank_cs(every, None) < reference_vote_metrics.rank_cs_tied(every, None) < 1
    sizes = with_runs(polled).rows("select distinct len(option_names) from responses where dataset = 'quiz' order by 1")
    assert sizes == [(2,), (3,), (4,)]


def test_maps_are_read_in_the_order_of_the_classes(polled, polls_folder):
    result = with_runs(polled).rows(
        "select question_id, options, option_names from responses join runs using (run) where model = 'map' order by 1"
    )
    with (polls_folder / "responses" / "map.csv").open(encoding="utf-8", newline="") as lines:
        stated = {row["question_id"]: json.loads(row["options"]) for row in csv.DictReader(lines)}
    assert result == [(name, [shares[value] for value in YES_NO], None) for name, shares in stated.items()]
    assert len({*map(tuple, stated.values())}) > 1  # the maps are in several orders


def test_missing_values_have_reasons_and_counts(polled):
    result = cells(polled, POLLS, *(metric.key for metric in VOTES))
    assert {key: (cell.value, cell.questions, cell.missing) for key, cell in result["plain"].items()} == {
        metric.key: (None, 0, metric.undefined) for metric in VOTES
    }
    counts = {key: cell.questions for key, cell in result["list"].items()}
    # p08 has neither votes nor an answer, p07 has an answer but no votes, and p06 has eleven votes.
    assert counts == {metric.key: 12 for metric in VOTES} | {"nbr": 13, "kl_ref": 11, "tvd_ref": 11}
    few = cells(polled, POLLS.replace(questions=("p06", "p07")), "dist_ce", "kl_ref", "nbr")["list"]
    assert (few["kl_ref"].value, few["kl_ref"].missing) == (None, CATALOGUE["kl_ref"].undefined)
    assert (few["dist_ce"].questions, few["nbr"].questions) == (1, 2)
    assert few["dist_ce"].missing is few["nbr"].missing is None


def test_the_reference_does_not_depend_on_the_selection(polled):
    whole = gather(polled, POLLS, VOTES)
    for selection in (POLLS.replace(category=("even",)), POLLS.replace(model=("map",)), POLLS.replace(q="p1")):
        part = gather(polled, selection, VOTES)
        for question, bins in zip(part.questions, dense(part.statistics["reference_bins"]), strict=True):
            if bins.any():
                same = dense(whole.statistics["reference_bins"])[whole.questions == question]
                assert {*map(tuple, same[same.any(axis=1)])} == {tuple(bins)}


@pytest.mark.parametrize("binning", ["width10", "width10r", "width10+1", "mass3", "mass15"])
@pytest.mark.parametrize("dataset", ["polls", "quiz"])
def test_metrics_of_votes_accept_stacked_replicates(polled, dataset, binning):
    evidence = gather(polled, Selection(dataset, conventions=Conventions(binning)), VOTES)
    chance = np.random.default_rng(0)
    end = evidence.starts[1]
    weights = chance.multinomial(end, np.ones(end) / end, size=(4, 5)).astype(float)
    for metric in VOTES:
        reads = {name: dense(evidence.statistics[name])[:end] for name in metric.reads(evidence.conventions)}
        value = metric.contributions(reads, evidence.conventions)
        totals = {name: np.tensordot(weights, column, axes=(2, 0)) for name, column in value.items()}
        result = metric.value(totals, evidence.conventions)
        assert result.shape == (4, 5)
        repeated = {name: np.repeat(column, weights[1, 2].astype(int), axis=0).sum(axis=0) for name, column in value.items()}
        assert result[1, 2] == pytest.approx(metric.value(repeated, evidence.conventions), abs=1e-12, nan_ok=True)
        plain = metric.value({name: column.sum(axis=0) for name, column in value.items()}, evidence.conventions)
        assert plain == pytest.approx(evidence.values(metric)[0], abs=1e-15, nan_ok=True)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("no", 1), ("No", 1), ("no [accept nay]", 1), ("the Maybe", 2), ("yes [or no]", -1), ("Rome", -1), (None, -1),
        ("nay [accept no]", 1),
    ],
)  # fmt: skip
def test_the_right_class_is_the_one_that_the_answer_names(answer, expected):
    assert class_named(answer, ["yes", "no", "maybe"]) == expected


def test_distributions_are_compared_once_for_each_run(polled):
    names = [run for (run,) in polled.rows("select run from runs where dataset = 'polls' order by position")]
    first, second = (run_distributions(polled, "polls", names) for _ in range(2))
    assert all(part is other for part, other in zip(first, second, strict=True))
    assert [len(part) for part in first] == [14, 14, 0, 5, 14] and all(part.nbytes for part in first)


def test_other_votes_give_other_metrics(importing, tmp_path):
    folder = tmp_path / "polls"
    write_polls(folder)

    def metrics(store):
        evidence = gather(store.snapshot(), POLLS, VOTES)
        return {metric.key: evidence.values(metric) for metric in VOTES}

    store = importing(tmp_path / "store", folder)
    before = metrics(store)
    with (folder / "votes.csv").open(encoding="utf-8", newline="") as lines:
        head, *rows = csv.reader(lines)
    votes = [int(row[2]) for row in rows]
    write_csv(folder / "votes.csv", head, [[*row[:2], count] for row, count in zip(rows, votes[::-1], strict=True)])
    import_paths(store, [folder], ImportOptions(replace=True))
    after, alone = metrics(store), metrics(importing(tmp_path / "other", folder))
    for key, values in after.items():
        np.testing.assert_array_equal(values, alone[key])
    assert not np.allclose(after["dist_ce"], before["dist_ce"], equal_nan=True)


# -- kernels -----------------------------------------------------------------------------------------------------------


@st.composite
def tables(draw, most=8):
    """Draw shares and votes of a few items over the same classes, with many ties."""
    classes, items = draw(st.integers(2, 5)), draw(st.integers(1, most))
    parts = st.lists(st.integers(0, 6), min_size=classes, max_size=classes).filter(any)
    smooth = st.lists(st.floats(1e-3, 1), min_size=classes, max_size=classes)
    shares = [np.array(draw(parts | smooth), float) for _ in range(items)]
    votes = [draw(parts) for _ in range(items)]
    return np.array([first / first.sum() for first in shares]), np.array(votes, dtype=np.int64) * draw(
        st.sampled_from([1, 7, 20])
    )


@MANY
@given(table=tables())
def test_kernels_are_what_their_definitions_say(table):
    shares, votes = table
    names = [f"c{k}" for k in range(shares.shape[1])]
    items = [
        reference_vote_metrics.Whole(
            "d", "q", dict(zip(names, f.tolist(), strict=True)), dict(zip(names, v.tolist(), strict=True)), None, ()
        )
        for f, v in zip(*table, strict=True)
    ]
    answered = [[reference_metrics.Answered([], None, [item])] for item in items]
    pi = kernels.vote_shares(votes)

    def value(definition):
        return pytest.approx([definition(first, None) for first in answered], abs=1e-14)

    assert kernels.total_variation(shares, pi) == value(reference_vote_metrics.dist_ce)
    assert kernels.entropy(shares) - kernels.entropy(pi) == value(reference_vote_metrics.ent_ce)
    assert kernels.same_ranking(shares, votes).astype(float) == value(reference_vote_metrics.rank_cs)
    assert kernels.compatible_ranking(shares, votes).astype(float) == value(reference_vote_metrics.rank_cs_tied)
    gold = np.array([names.index(item.gold) for item in items])
    assert kernels.quadratic_score(shares, gold) == value(reference_vote_metrics.nbr)
    orders = [(reference_vote_metrics.ascending(item.shares), reference_vote_metrics.ascending(item.votes)) for item in items]
    assert kernels.pairs_in_another_order(shares, votes).tolist() == [
        sum((a.index(x) < a.index(y)) != (b.index(x) < b.index(y)) for i, x in enumerate(names) for y in names[:i])
        for a, b in orders
    ]


@MANY
@given(table=tables())
def test_libraries_agree(table):
    shares, votes = table
    pi = kernels.vote_shares(votes)
    assert kernels.entropy(shares) == pytest.approx(scipy.stats.entropy(shares, axis=1), abs=1e-13)
    assert kernels.total_variation(shares, pi) == pytest.approx([cityblock(*both) / 2 for both in zip(shares, pi, strict=True)])
    same = scipy.stats.rankdata(shares, "ordinal", axis=1) == scipy.stats.rankdata(votes, "ordinal", axis=1)
    assert (kernels.same_ranking(shares, votes) == same.all(axis=1)).all()
    first, other = votes.sum(axis=0).astype(float), (votes[0] + 1).astype(float)
    assert kernels.kl_divergence(first + 1, other + 1) == pytest.approx(scipy.stats.entropy(first + 1, other + 1), abs=1e-13)


@pytest.mark.parametrize("distance, place", [(0, 0), (0.05, 1), (0.1 + 0.2, 9), (0.10000000000000002, 3), (0.0999999999999999, 3),
                                             (0.0999999, 2), (7 / 30, 7), (0.97, 29), (1, 29)])  # fmt: skip
def test_an_error_at_the_edge_of_a_bin_lies_above_it(distance, place):
    assert kernels.error_bin(np.array([distance])) == [place]


# -- the reference -----------------------------------------------------------------------------------------------------


@MANY
@given(table=tables(), keys=st.lists(st.integers(0, 2**64 - 1), min_size=8, max_size=8))
def test_drawn_votes_are_a_subset_of_the_votes(table, keys):
    votes = table[1]
    drawn = kernels.draw_votes(votes, np.array(keys[: len(votes)], dtype=np.uint64))
    enough = votes.sum(axis=1) >= 20
    assert (drawn.sum(axis=1) == np.where(enough, 20, 0)).all()
    assert ((drawn >= 0) & (drawn <= votes)).all()


def test_drawn_votes_are_hypergeometric():
    keys = np.array([kernels.draw_key("d", f"q{index}") for index in range(20_000)], dtype=np.uint64)
    drawn = kernels.draw_votes(np.tile([30, 50, 20], (len(keys), 1)), keys)
    for k, votes in enumerate((30, 50, 20)):
        expected = scipy.stats.hypergeom(100, votes, 20)
        places = [n for n in range(21) if expected.pmf(n) * len(keys) >= 5]
        seen = np.array([(drawn[:, k] == n).sum() for n in places])
        wanted = expected.pmf(places) * seen.sum() / expected.pmf(places).sum()
        assert scipy.stats.chisquare(seen, wanted).pvalue > 0.001


def test_a_draw_is_the_same_on_every_machine():
    # blake2b of "polls\np00", then twenty steps of splitmix64, computed by the reference code of another file.
    item = reference_vote_metrics.Whole("polls", "p00", {}, {"yes": 60, "no": 30, "maybe": 10}, None, ())
    keys = np.array([kernels.draw_key("polls", "p00")], dtype=np.uint64)
    drawn = kernels.draw_votes(np.array([[60, 30, 10]]), keys)[0].tolist()
    assert drawn == [*reference_vote_metrics.drawn(item).values()] == [13, 6, 1]
    # (|0.65 - 0.6| + |0.3 - 0.3| + |0.05 - 0.1|) / 2, exactly
    assert kernels.reference_distance(np.array(drawn), np.array([60, 30, 10])) == 0.05
