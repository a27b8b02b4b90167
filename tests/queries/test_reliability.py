"""Reliability diagrams against the rows of the store."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.queries.engine import run_columns
from clueline.queries.engine.gather import gather
from clueline.queries.engine.inference import wilson_interval
from clueline.queries.engine.reliability_diagrams import BIN_TOTALS
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.reliability import reliability, triptych
from clueline.queries.selection import Selection
from tests.helpers import reference_metrics as reference
from tests.helpers.examples import examples
from tests.helpers.strategies import selections

RELAY = Selection("relay", common=False)  # each run on its own questions
EXACT = {"abs": 1e-12}


def cut(pairs, binning):
    """Cut pairs into bins and return (lower, upper, pairs) of each bin, including empty ones."""
    if binning.startswith("mass"):
        count, ranked = int(binning[4:]), sorted(pairs, key=lambda pair: pair[0])
        size, larger = divmod(len(pairs), count)
        groups, start = [], 0
        for index in range(count):
            part = ranked[start : start + size + (index < larger)]
            start += len(part)
            groups.append((part[0][0], part[-1][0], part) if part else (None, None, part))
        return groups
    if binning == "width10r":
        inside = [[pair for pair in pairs if k / 10 < pair[0] <= (k + 1) / 10 or k == pair[0] == 0] for k in range(10)]
        return [(k / 10, (k + 1) / 10, part) for k, part in enumerate(inside)]
    tenths = [(k / 10, (k + 1) / 10, [pair for pair in pairs if k / 10 <= pair[0] < (k + 1) / 10]) for k in range(10)]
    ones = [pair for pair in pairs if pair[0] == 1]
    if binning == "width10+1":
        return [*tenths, (1.0, 1.0, ones)]
    tenths[9][2].extend(ones)
    return tenths


@examples(50)
@given(data=st.data(), dataset=st.sampled_from(["relay", "spans"]))
def test_bins_and_blocks_are_those_of_the_rows(snapshot, rows, offered, data, dataset):
    selection = data.draw(selections(offered[dataset]))
    result = reliability(snapshot, selection)
    answered = {run["run"]: rows[dataset].answered(selection, run["run"]) for run in rows[dataset].kept_runs(selection)}
    answered = {run: list(questions.values()) for run, questions in answered.items() if questions}
    assert result.binning == selection.conventions.binning
    assert [run.run for run in result.runs] == list(answered)
    for run in result.runs:
        pairs = reference.pairs_of(answered[run.run])
        assert (run.questions, run.items) == (len(answered[run.run]), len(pairs))
        expected = cut(pairs, result.binning)
        assert [(bin_.lower, bin_.upper, bin_.items) for bin_ in run.bins] == [(low, up, len(part)) for low, up, part in expected]
        for bin_, (_, _, part) in zip(run.bins, expected, strict=True):
            if part:
                stated, right = (reference.mean(side) for side in zip(*part, strict=True))
                assert [bin_.mean_confidence, bin_.accuracy] == pytest.approx([stated, right], **EXACT)
            else:
                assert (bin_.mean_confidence, bin_.accuracy, bin_.low, bin_.high) == (None,) * 4
        # ECE sums over these bins.
        ece = sum(bin_.items * abs(bin_.mean_confidence - bin_.accuracy) for bin_ in run.bins if bin_.items) / run.items
        assert ece == pytest.approx(reference.ece(answered[run.run], selection.conventions), **EXACT)
        _check_blocks(run.corp, answered[run.run])


def _check_blocks(blocks, answered):
    pairs, fit = reference.pairs_of(answered), reference.recalibrated(answered)
    for block in blocks:
        stated = [c for c, _ in pairs if block.lower <= c <= block.upper]
        assert [fit[c] for c in stated] == pytest.approx([block.calibrated] * len(stated), **EXACT)
        assert (block.items, block.mean_confidence) == (len(stated), pytest.approx(reference.mean(stated), **EXACT))
        assert {block.lower, block.upper} <= {*stated}
    assert sum(block.items for block in blocks) == len(pairs)
    assert [block.lower for block in blocks] == sorted(block.lower for block in blocks)
    assert all(block.upper < other.lower for block, other in pairwise(blocks))
    assert all(block.calibrated <= other.calibrated + 1e-15 for block, other in pairwise(blocks))

    def calibrated(c):
        return next(block.calibrated for block in blocks if block.lower <= c <= block.upper)

    after = reference.mean([(calibrated(c) - y) ** 2 + y * (1 - y) for c, y in pairs])
    assert reference.brier(answered, None) - after == pytest.approx(reference.corp_mcb(answered, None), **EXACT)


@pytest.mark.parametrize("binning", ["width10", "width10r", "width10+1", "mass3"])
def test_intervals_of_bins_are_wilson_s_of_effective_items(snapshot, rows, binning):
    selection = RELAY.replace(conventions=Conventions(binning))
    evidence = gather(snapshot, selection, [BIN_TOTALS, CATALOGUE["corp_mcb"]])
    for index, run in enumerate(reliability(snapshot, selection).runs):
        items = evidence.sorted_items(index)
        question = evidence.places[evidence.starts[index] + items.row]
        columns = (items.confidence.tolist(), items.correct.tolist(), question.tolist())
        labelled = [((c, y), q) for c, y, q in zip(*columns, strict=True)]
        for bin_, (_, _, pairs) in zip(run.bins, cut([pair for pair, _ in labelled], binning), strict=True):
            if not pairs:
                assert (bin_.low, bin_.high) == (None, None)
                continue
            left, of_question = list(labelled), {}
            for pair in pairs:
                place = next(i for i, (other, _) in enumerate(left) if other == pair)
                of_question.setdefault(left.pop(place)[1], []).append(pair[1])
            if binning.startswith("mass"):
                assert 0 <= bin_.low <= bin_.accuracy <= bin_.high <= 1 and bin_.low < bin_.high
                continue  # which of the tied items is in which bin depends on their order
            n, k = len(pairs), len(of_question)
            mean = sum(y for _, y in pairs) / n
            variance = sum((sum(ys) - mean * len(ys)) ** 2 for ys in of_question.values()) / n**2 * k / max(k - 1, 1)
            worth = mean * (1 - mean) / variance if variance > 1e-12 else k
            expected = wilson_interval(np.asarray(mean), np.asarray(min(max(worth, 1), n), float))
            assert [bin_.low, bin_.high] == pytest.approx([float(end) for end in expected], abs=1e-9)


def test_over_a_single_question_there_are_no_bands(snapshot):
    result = reliability(snapshot, RELAY.replace(questions=("r05",))).runs
    assert result
    assert all((bin_.low, bin_.high) == (None, None) for run in result for bin_ in run.bins)
    assert any(bin_.low is not None for run in reliability(snapshot, RELAY).runs for bin_ in run.bins)
    for selection in (RELAY.replace(q="no such text"), RELAY.replace(model=("unheard",), category=("History",))):
        for binning in ("width10", "width10r", "width10+1", "mass3"):
            assert reliability(snapshot, selection.replace(conventions=Conventions(binning))).runs == []


def test_diagrams_of_some_runs_are_those_among_all(snapshot):
    for query, selection in ((reliability, RELAY), (reliability, Selection("relay", common=True)), (triptych, RELAY)):
        for run in query(snapshot, selection).runs:
            assert query(snapshot, selection, shown=[run.run]).runs == [run]


def test_runs_that_are_read_in_batches_give_the_same(snapshot, monkeypatch):
    whole = [query(snapshot, RELAY).runs for query in (reliability, triptych)]
    assert len(whole[0]) > 1
    monkeypatch.setattr(run_columns, "READ_AT_ONCE", 1)
    assert [query(snapshot, RELAY).runs for query in (reliability, triptych)] == whole
