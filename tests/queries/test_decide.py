"""What answers are worth at each threshold, against the leaderboard and the rows of the store."""

import numpy as np
import pytest

from queries.decide import decide
from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE, Conventions
from queries.selection import Selection
from queries.selection.parameter_kinds import BadRequest
from tests.helpers.bundle_factory import put

RELAY, PYRAMID = Selection("relay"), Selection("pyramid")


@pytest.fixture(scope="module")
def decisions(bundled):
    return decide(bundled, PYRAMID)


@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 0.9])
def test_net_scores_are_those_of_the_leaderboard(bundled, decisions, t):
    board = leaderboard(bundled, PYRAMID.replace(conventions=Conventions(t=t)), [CATALOGUE["net_score"]], True)
    place = decisions.thresholds.index(t)
    for row, run in zip(board.rows, decisions.runs, strict=True):
        cell = row.metrics["net_score"]
        assert row.run == run.run
        assert run.net_score.values[place] == pytest.approx(cell.value, abs=1e-12)
        assert (run.net_score.low[place], run.net_score.high[place]) == pytest.approx((cell.low, cell.high), abs=1e-9)


def test_metrics_are_those_of_the_leaderboard(bundled, decisions):
    board = leaderboard(bundled, PYRAMID, [CATALOGUE[key] for key in ("aurc", "prr")], True)
    for row, run in zip(board.rows, decisions.runs, strict=True):
        for key, cell in row.metrics.items():
            shown = run.metrics[key]
            assert (shown.value, shown.low, shown.high) == (cell.value, cell.low, cell.high)


def test_murphy_and_net_score_are_the_same_decision(decisions):
    t = np.array(decisions.thresholds[:-1])
    for run in decisions.runs:
        accuracy = 1 - run.risks[-1]
        loss = 2 * (1 - t) * (accuracy - np.array(run.net_score.values))
        assert run.murphy[:-1] == pytest.approx(loss, abs=1e-12)
        assert (np.array(run.best_score.values) >= np.array(run.net_score.values) - 1e-12).all()


def test_the_difference_is_that_of_the_two_best(decisions):
    runs = {run.run: run for run in decisions.runs}
    difference = decisions.difference
    area = {run.run: np.mean(run.murphy) for run in decisions.runs}
    assert [difference.a.run, difference.b.run] == sorted(area, key=area.get)[:2]
    expected = np.array(runs[difference.a.run].murphy) - np.array(runs[difference.b.run].murphy)
    assert difference.difference == pytest.approx(expected, abs=1e-12)
    assert all(low <= value <= high for low, value, high in zip(difference.low, expected, difference.high, strict=True))
    for stretch in difference.shown:
        inside = slice(*(decisions.thresholds.index(end) + late for late, end in enumerate((stretch.start, stretch.end))))
        worse = difference.high if stretch.better == difference.a.run else [-low for low in difference.low]
        assert all(value < 0 for value in worse[inside])


def test_stretches_cover_every_threshold_once(decisions):
    stretches = decisions.difference.stretches
    assert (stretches[0].start, stretches[-1].end) == (0, 1)
    places = [round(100 * end) for stretch in stretches for end in (stretch.start, stretch.end)]
    assert places[1:-1:2] == [start - 1 for start in places[2::2]]


def test_swapping_the_runs_flips_the_sign(bundled, decisions):
    a, b = decisions.difference.a.run, decisions.difference.b.run
    turned = decide(bundled, PYRAMID, b, a).difference
    assert turned.difference == pytest.approx([-value for value in decisions.difference.difference], abs=1e-15)
    assert turned.low == pytest.approx([-value for value in decisions.difference.high], abs=1e-9)


def test_a_run_that_knows_everything_is_better_at_every_t(importing, tmp_path):
    rows = [(f"q{index}", answer, index) for index, answer in enumerate(["right", "wrong"] * 20)]
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "dataset.json").write_text('{"dataset": "toy", "title": "Toy", "kind": "single"}')
    (tmp_path / "toy" / "questions.csv").write_text("question_id,answer\n" + "".join(f"{name},right\n" for name, _, _ in rows))
    lines = ["model,elicitation,question_id,guess,confidence,correct"]
    for name, answer, index in rows:
        correct = int(answer == "right")
        lines.append(f"knows,verbalized,{name},{answer},{correct},{correct}")
        lines.append(f"guesses,verbalized,{name},{answer},{(index * 7 % 41) / 41:.3f},{correct}")
    (tmp_path / "runs.csv").write_text("\n".join(lines) + "\n")
    store = importing(tmp_path / "store", tmp_path / "toy")
    put(store, tmp_path / "runs.csv", dataset="toy")
    difference = decide(store.snapshot(), Selection("toy")).difference
    assert difference.a.model == "knows"
    assert {stretch.better for stretch in difference.stretches} == {difference.a.run, None}
    assert difference.dominant in (None, difference.a.run) and difference.shown


def test_people_earn_by_their_buzzes(bundled, decisions):
    people = decisions.people
    ((heard, right, wrong),) = bundled.rows(
        """select count(*), count(*) filter (b.correct), count(*) filter (not b.correct)
        from exposures e left join buzzes b using (dataset, question_id, match_id, team)
        where e.dataset = 'pyramid' and e.team_kind = 'human'"""
    )
    assert (people.heard, people.right, people.wrong) == pytest.approx((heard, right / heard, wrong / heard))
    assert people.net_score.values[75] == pytest.approx((right - 3 * wrong) / heard, abs=1e-9)
    assert decide(bundled, Selection("lifeeval")).people is None


def test_unknown_runs_are_refused(bundled):
    for a, b, field in (("nobody", "", "a"), ("", "nobody", "b")):
        with pytest.raises(BadRequest) as caught:
            decide(bundled, PYRAMID, a, b)
        assert caught.value.field == field


def test_an_empty_selection_has_no_runs(snapshot):
    assert decide(snapshot, RELAY.replace(q="zzzz")).runs == []
