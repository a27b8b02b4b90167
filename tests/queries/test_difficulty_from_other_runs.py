"""A difficulty that comes from runs is, for each run, made of other models with other answers."""

import numpy as np
import pytest

from clueline.queries.compare import compare
from clueline.queries.engine.gather import gather
from clueline.queries.engine.question_difficulties import UNITS, OtherRuns, RunShares
from clueline.queries.hard_easy_effect import difficulty
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.selection import Selection
from clueline.queries.slices import measure_parts, slices
from tests.helpers.bundle_factory import table, write
from tests.helpers.simulated_evidence import evidence_of, simulated

SLOPE = CATALOGUE["hard_easy_slope"]


def others(shares, models, alike):
    """Return the difficulties from runs with these shares of right answers, NaN where a run has no answer."""

    def read(runs):
        for run in runs:
            known = np.flatnonzero(np.isfinite(shares[run]))
            yield RunShares(known, np.rint(np.array(shares[run])[known] * UNITS).astype(np.int64))

    return OtherRuns(len(next(iter(shares.values()))), models, [*shares], alike, read)


def test_the_same_model_or_answers_are_no_others():
    shares = {"a": [1, 0, 1], "a2": [0, 0, 1], "b": [1, 1, 0], "c": [0.5, 1, np.nan], "d": [1, 1, 0]}
    models = {"a": "A", "a2": "A", "b": "B", "c": "C", "d": "D"}
    made = others(shares, models, {"b": ["d"], "d": ["b"]})
    np.testing.assert_array_equal(made.difficulties("a"), [round(1 - 2.5 / 3, 12), 0, 1])
    np.testing.assert_array_equal(made.difficulties("b"), [0.5, round(2 / 3, 12), np.nan])  # only model A is left for the last


def write_toy(folder):
    """Write three models, one of them twice, on sixty questions, and a copy of the first model's answers."""
    names = [f"q{k}" for k in range(60)]
    chance = np.random.default_rng(5)
    ease = chance.random(60)
    answers = []
    for model in ("one", "two", "three"):
        guesses = np.where(chance.random(60) < ease, "yes", "no").tolist()
        for name, stated in ((model, 0.5), *(((f"{model} again", 0.7),) if model == "one" else ())):
            answers += answers_of(name, names, guesses, stated)
    questions = table([{"question_id": name, "answer": "yes"} for name in names])
    return write(folder, {"dataset": "toy", "kind": "single"}, questions=questions, clues=None, responses=table(answers))


def answers_of(model, names, guesses, stated=0.7):
    return [
        {"model": model, "question_id": name, "guess": guess, "confidence": stated}
        for name, guess in zip(names, guesses, strict=True)
    ]


@pytest.fixture(scope="module")
def snapshot(importing, tmp_path_factory):
    folder = tmp_path_factory.mktemp("difficulty")
    return importing(folder / "store", write_toy(folder / "toy"), write_board(folder / "board")).snapshot()


def test_the_slope_of_a_run_does_not_use_its_own_answers(snapshot):
    evidence = gather(snapshot, Selection("toy"), [SLOPE])
    models, columns = [run.model for run in evidence.runs], (evidence.sums["correct"], evidence.sums["difficulty"])
    right, given = (dict(zip(models, np.split(column, evidence.starts[1:]), strict=True)) for column in columns)
    expected = 1 - (right["two"] + right["three"]) / 2
    np.testing.assert_allclose(given["one"], expected)
    np.testing.assert_allclose(given["one again"], expected)
    np.testing.assert_allclose(given["two"], 1 - (2 * right["one"] + right["three"]) / 3)


def test_the_slope_has_the_interval_of_the_leaderboard(snapshot):
    cells = {row.run: row.metrics[SLOPE.key] for row in leaderboard(snapshot, Selection("toy"), [SLOPE], True).rows}
    fits = difficulty(snapshot, Selection("toy")).runs
    assert len(fits) == len(cells) == 4
    for fit in fits:
        assert (fit.slope, fit.low, fit.high) == (cells[fit.run].value, cells[fit.run].low, cells[fit.run].high)
    assert {cell.method for cell in cells.values()} == {"jackknife"}, "they have few errors or few right answers"


def test_a_filter_on_difficulty_leaves_nothing_to_test(snapshot):
    hard = Selection("toy", difficulty=(0.5, 1.0))
    assert np.isnan(gather(snapshot, hard, [SLOPE]).values(SLOPE)).all()
    assert gather(snapshot, hard, [SLOPE]).selected_by_answers
    assert slices(snapshot, hard, CATALOGUE["overconfidence"]).slices == []
    first, second = [run for (run,) in snapshot.rows("select run from runs where dataset = 'toy' order by position limit 2")]
    difference = compare(snapshot, hard, first, second, [CATALOGUE["brier"]]).metrics["brier"]
    assert difference.difference is not None and difference.p_value is None and difference.low is None
    assert difference.no_interval.startswith("a filter on difficulty")


BOARD, CONSTANT, QUESTIONS = Selection("board"), "constant", 360


def write_board(folder):
    """Write three models that find the same questions hard, and one that always says yes, as often right as not."""
    chance = np.random.default_rng(13)
    right_ones = np.array(["yes", "no"])[chance.permutation(QUESTIONS) % 2].tolist()
    names = [f"q{k}" for k in range(QUESTIONS)]
    ease = np.where(chance.random(QUESTIONS) < 0.5, 0.15, 0.85)
    others = {"yes": "no", "no": "yes"}
    answers = []
    for number in range(3):
        right = chance.random(QUESTIONS) < ease
        guesses = [answer if is_right else others[answer] for answer, is_right in zip(right_ones, right, strict=True)]
        answers += answers_of(f"model {number}", names, guesses)
    answers += answers_of(CONSTANT, names, ["yes"] * QUESTIONS)
    questions = [
        {"question_id": name, "answer": answer, "category": "ab"[place % 2]}
        for place, (name, answer) in enumerate(zip(names, right_ones, strict=True))
    ]
    return write(folder, {"dataset": "board", "kind": "single"}, questions=table(questions), clues=None, responses=table(answers))


@pytest.mark.parametrize("key", ["overconfidence", "brier", "accuracy"])
def test_a_constant_forecaster_has_no_significant_slice(snapshot, key):
    result = slices(snapshot, BOARD, CATALOGUE[key])
    by_difficulty = [part for part in result.slices if "difficulty" in part.filters]
    of_constant = [part for part in by_difficulty if part.model == CONSTANT]
    assert len(of_constant) >= 6 and all(part.of_others for part in by_difficulty)
    assert all(part.p_adjusted >= 0.05 for part in of_constant)
    hard = [part for part in by_difficulty if part.filters == {"difficulty": "0.67..1"} and part.model != CONSTANT]
    assert len(hard) == 3 and all(part.p_adjusted < 0.05 and part.difference > 0 for part in hard)


def test_parts_are_of_the_difficulties_of_others(snapshot):
    evidence = gather(snapshot, BOARD, [CATALOGUE["overconfidence"], SLOPE])
    given = np.split(evidence.sums["difficulty"], evidence.starts[1:])
    right = np.split(evidence.sums["correct"], evidence.starts[1:])
    only = slices(snapshot, Selection("toy"), CATALOGUE["overconfidence"]).slices
    assert {by for part in only for by in part.filters} == {"difficulty"}
    result = slices(snapshot, BOARD, CATALOGUE["overconfidence"])
    for run, difficulties, correct in zip(evidence.runs, given, right, strict=True):
        (part,) = [part for part in result.slices if part.filters == {"difficulty": "0.33..0.67"} and part.run == run.run]
        inside = (difficulties >= 0.33) & (difficulties <= 0.67)
        assert part.questions == inside.sum()
        assert part.value == pytest.approx(0.7 - correct[inside].mean(), abs=1e-12)


def test_against_another_run_no_part_is_of_difficulty(snapshot):
    (run,) = [run for run, model in snapshot.rows("select run, model from runs") if model == CONSTANT]
    result = slices(snapshot, BOARD, CATALOGUE["brier"], run)
    assert result.slices and all("difficulty" not in part.filters for part in result.slices)
    assert "leave out the answers of both" in result.untested


def test_parts_equal_for_all_runs_are_like_shared_ones():
    evidence = evidence_of(simulated(3, 60, seed=2))
    shared = (np.arange(60) < 20)[:, None]
    for key in ("brier", "overconfidence"):
        one, each = (measure_parts(evidence, CATALOGUE[key], [mask], None) for mask in (shared, np.repeat(shared, 3, axis=1)))
        for values, expected in zip(each, one, strict=True):
            np.testing.assert_allclose(values, expected)
