"""Runs pooled by a tag, against means of the leaderboard and a simulation of the intervals."""

import numpy as np
import pytest

from clueline.data.sufficient_statistics import Items, sums
from clueline.queries.across import mean_interval, run_groups
from clueline.queries.engine.evidence import Evidence, Run
from clueline.queries.engine.rows import Rows
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers.bundle_factory import CLUES, QUESTIONS, write
from tests.helpers.simulation import board

METRIC = CATALOGUE["brier"]
KINDS = {"alpha": "chat", "beta": "chat", "gamma": "reasoning", "delta": None, "short": "reasoning"}
RESPONSES = "model,elicitation,question_id,clue,guess,confidence\n" + "".join(
    f"{model},verbalized,{question},{clue},{guess},{0.15 * place + 0.1 * clue + 0.1:.2f}\n"
    for place, model in enumerate(KINDS)
    for question, guess in (("q1", "Paris"), ("q2", "nobody"))
    for clue in range(2)
    if model != "short" or (question, clue) == ("q1", 0)
)
TAGS = "model,elicitation,tag,value\n" + "".join(f"{model},verbalized,kind,{kind}\n" for model, kind in KINDS.items() if kind)


@pytest.fixture(scope="module")
def tagged(importing, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagged")
    bundle = write(folder / "toy", questions=QUESTIONS, clues=CLUES, responses=RESPONSES, tags=TAGS)
    return importing(folder / "store", bundle).snapshot()


@pytest.mark.parametrize("key", ["brier", "accuracy", "ece", "auroc", "calscore"])
def test_means_are_those_of_the_leaderboard(tagged, key):
    metric = CATALOGUE[key]
    result = run_groups(tagged, Selection("toy"), "kind", metric)
    board = leaderboard(tagged, Selection("toy"), [metric]).rows
    assert [group.value for group in result.groups] == ["chat", "reasoning"]
    for group in result.groups:
        members = [row for row in board if row.ranked and KINDS[row.model] == group.value]
        values = [row.metrics[key].value for row in members]
        assert group.runs == [row.run for row, value in zip(members, values, strict=True) if value is not None]
        assert group.mean == (pytest.approx(np.mean(values), abs=1e-12) if group.runs else None)
    assert result.untagged == 1
    assert not {row.run for row in board if row.model == "short"} & {run for group in result.groups for run in group.runs}


def test_a_distance_from_calibration_has_no_interval(tagged):
    with pytest.raises(BadRequest, match="has a tag 'colour'") as refused:
        run_groups(tagged, Selection("toy"), "colour", CATALOGUE["brier"])
    assert refused.value.allowed == ["kind"]
    for key, known in (("ece", False), ("brier", True)):
        groups = run_groups(tagged, Selection("toy"), "kind", CATALOGUE[key]).groups
        assert {group.low is not None for group in groups} == {known}
        assert not known or all(group.low <= group.mean <= group.high for group in groups)


def evidence(seed, runs, questions):
    """Evidence of equal runs that share which questions are hard, with one clue per question."""
    confidence, correct = board(np.random.default_rng(seed), runs, questions, 1)
    items = Items(confidence.ravel(), correct.ravel(), np.arange(runs * questions + 1), {})
    ids = np.array([f"q{question}" for question in range(questions)], dtype=object)
    return Evidence(
        runs=tuple(Run(f"r{run}", f"m{run}", "stated") for run in range(runs)),
        selected_questions=ids,
        conventions=Conventions(),
        source=Rows(
            run=np.repeat(np.arange(runs), questions),
            places=np.tile(np.arange(questions), runs),
            sums=dict(sums(items, ("items", *METRIC.reads(Conventions())))),
        ),
    )


@pytest.mark.parametrize(("questions", "studies"), [(20, 600), (100, 300)])
def test_intervals_of_means_cover(questions, studies):
    """Each method is used at its own number of questions; treating runs as independent would give too narrow intervals."""
    runs = 4
    confidence, correct = board(np.random.default_rng(99), runs, 200_000, 1)
    expected = ((confidence - correct) ** 2).mean()
    ends = np.array([mean_interval(evidence(seed, runs, questions), METRIC) for seed in range(studies)])
    covered = ((ends[:, 0] <= expected) & (expected <= ends[:, 1])).mean()
    assert 0.92 < covered < 0.98, covered
