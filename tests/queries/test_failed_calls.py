"""Failed calls: left out as if never made, or counted as wrong by accuracy and as 0 by the net score."""

import csv
import json
import random
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.queries.breakdown import breakdown
from clueline.queries.buzzing import Rules, buzz
from clueline.queries.by_clue import by_clue
from clueline.queries.compare import compare
from clueline.queries.engine.gather import gather
from clueline.queries.hard_easy_effect import difficulty
from clueline.queries.human_votes import people
from clueline.queries.items import items
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.question import question
from clueline.queries.questions import question_table, sparklines
from clueline.queries.recalibration import recalibration
from clueline.queries.reliability import reliability
from clueline.queries.runs import run, runs, unanswered_questions
from clueline.queries.selection import Selection, read_facets, read_selection
from clueline.queries.slices import slices
from tests.helpers import reference_metrics as reference
from tests.helpers.examples import examples
from tests.helpers.reference_metrics import Rows
from tests.helpers.small_store import write_relay
from tests.helpers.strategies import selections

SHARE = 0.3  # share of the calls that fail
KINDS = ("failed", "without", "counted")  # a dataset each: as it is, without the failed calls, and with wrong answers instead


def _crash(folder, kind):
    """Write the relay under another name with calls that failed at random: the same ones for each kind."""
    write_relay(folder)
    for number in (1, 6):  # a run like another one, and one that another module withdraws
        (folder / "responses" / f"{number}.csv").unlink()
    (folder / "dataset.json").write_text(json.dumps({"dataset": kind, "title": "Relay", "kind": "incremental"}))
    chance = random.Random("crashes")
    for path in sorted((folder / "responses").glob("*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for place, row in enumerate(rows):
            whole_question = row["model"] == "unheard" and row["question_id"] == "r10"
            row["failed"] = ""
            if whole_question or (chance.random() < SHARE and row["model"] != "sure"):
                marks = {"guess": "ERROR", "confidence": "0"}, {"guess": "", "confidence": "", "failed": "true"}
                row.update(marks[place % 2], correct="0")
                if kind == "counted":
                    row.update(guess="wrong", confidence="0", failed="")
                elif kind == "without":
                    row["question_id"] = None
        rows = [row for row in rows if row["question_id"] is not None]
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory, importing):
    root = tmp_path_factory.mktemp("crashed")
    for kind in KINDS:
        _crash(root / kind, kind)
    return importing(root / "store", *(root / kind for kind in KINDS)).snapshot()


@pytest.fixture(scope="module")
def crashed_rows(crashed):
    return Rows.read(crashed, "failed")


@pytest.fixture(scope="module")
def ids(crashed):
    """Model and elicitation by run id, for the runs of all three datasets."""
    rows = crashed.rows("select run, model || '/' || elicitation from runs")
    ((failed, items),) = crashed.rows("select sum(failed), sum(items) from runs where dataset = 'failed'")
    assert failed > 40 and 0.2 < failed / (failed + items) < 0.4
    return dict(rows)


def plain(result, ids):
    """Return a result as JSON, with run names in place of ids and without fields that say whether failed calls exist or count."""
    text = msgspec.json.encode(result).decode()
    text = re.sub(r'"[0-9a-f]{16}"', lambda match: json.dumps(ids[match[0][1:-1]]) if match[0][1:-1] in ids else match[0], text)
    return _without(json.loads(text))


def _without(value):
    if isinstance(value, dict):
        return {
            key: _without(part)
            for key, part in value.items()
            if key not in ("failed", "shares", "selection", "guess", "data_version", "unranked")
        }
    return [_without(part) for part in value] if isinstance(value, list) else value


@examples(25)
@given(data=st.data())
def test_every_metric_is_that_of_its_definition(crashed, crashed_rows, data):
    """Over random selections, with and without a filter on clues; failed calls are left out or counted."""
    selection = data.draw(selections(read_facets(crashed, "failed")))
    board = leaderboard(crashed, selection, METRICS)
    runs_kept = [row["run"] for row in crashed_rows.kept_runs(selection)]
    with_, without = (
        {name: [*crashed_rows.answered(selection.replace(failed=failed), name).values()] for name in runs_kept}
        for failed in (True, False)
    )
    assert [row.run for row in board.rows] == [name for name in runs_kept if with_[name]]
    for row in board.rows:
        assert row.failed == sum(len(q.items) for q in with_[row.run]) - sum(len(q.items) for q in without[row.run])
        assert row.items or (row.failed and not row.ranked)  # a run without an answer is listed to show that its calls failed
    for metric in METRICS:
        counted = with_ if selection.failed and metric.counted.with_failed else without
        for row in board.rows:
            expected = _expected(metric, counted[row.run], without[row.run], selection.conventions)
            assert row.metrics[metric.key].value == expected, metric.key


def _expected(metric, questions, answered, conventions):
    """Return a metric as it is defined, None if no item counts."""
    if metric.key == "attempted":
        items, attempted = (sum(len(q.items) for q in part) for part in (questions, answered))
        return pytest.approx(attempted / items) if items else None
    if metric.key == "accuracy_attempted":
        questions = answered
    value = reference.METRICS[metric.key](questions, conventions) if questions else float("nan")
    return None if value != value else pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize(
    ("address", "failed"),
    [("", "1"), ("revealed=0..0.4&binning=mass3", "1"), ("category=Science&binning=width10r", "0")],
)
def test_every_view_equals_a_dataset_without_failures(crashed, ids, address, failed):
    """To the digit, every view (not only metrics) is that of a dataset in which nothing failed.

    If failed calls count, those metrics that count them are those of a dataset with wrong answers of confidence 0 instead.
    """
    counting = [metric for metric in METRICS if metric.counted.with_failed and not metric.key.endswith("attempted")]
    others = [metric for metric in METRICS if not metric.counted.with_failed]
    pairs = [tuple(pair.split("=")) for pair in address.split("&") if pair]

    def read(dataset, *more):
        return read_selection([("dataset", dataset), *pairs, *more], lambda name: read_facets(crashed, name))

    here, elsewhere = read("failed", ("failed", failed)), read("without")
    twin = [[run for run, _, _ in read_facets(crashed, dataset).runs][:2] for dataset in ("failed", "without")]
    shown = METRICS if failed == "0" else others
    rules = Rules()
    for query in (
        lambda s, _: leaderboard(crashed, s, shown, intervals=failed == "0"),  # they take half of the time
        lambda s, _: breakdown(crashed, s, "category", shown),
        lambda s, _: breakdown(crashed, s, "clue", shown),
        lambda s, _: by_clue(crashed, s, "revealed"),
        lambda s, _: items(crashed, s, clue=1, limit=1000),
        lambda s, _: reliability(crashed, s),
        lambda s, _: difficulty(crashed, s),
        lambda s, _: buzz(crashed, s.replace(failed=False), rules),
        lambda s, _: people(crashed, s),
        lambda s, _: recalibration(crashed, s, "temperature", others),
        lambda s, _: items(crashed, s.replace(failed=False), limit=1000),
        lambda s, _: sparklines(crashed, s, ("r03", "r10", "r11")),
        lambda s, runs: compare(crashed, s, *runs, shown),
        lambda s, _: slices(crashed, s, CATALOGUE["brier"]),
        lambda s, _: [list(row.values())[7:] for row in question_table(crashed, s, shown)[0].to_dicts()],
    ):
        assert plain(query(here, twin[0]), ids) == plain(query(elsewhere, twin[1]), ids)
    if failed == "1":
        for query in (
            lambda s: leaderboard(crashed, s, counting, intervals=not here.revealed).rows,
            lambda s: breakdown(crashed, s, "category", counting),
        ):
            assert plain(query(here), ids) == plain(query(read("counted")), ids)


def test_without_failures_the_switch_changes_nothing(crashed, ids):
    boards = [leaderboard(crashed, Selection("without", failed=failed), METRICS) for failed in (False, True)]
    assert plain(boards[0], ids) == plain(boards[1], ids)
    assert all(row.failed == 0 for row in boards[1].rows)


def test_a_question_of_failed_calls_alone_is_not_answered(crashed):
    (name,) = [row.run for row in runs(crashed, "failed").runs if row.model == "unheard"]
    facts = run(crashed, name)
    assert (facts.questions, facts.missing_questions) == (1, 11) and facts.failed > 0
    assert "r10" in unanswered_questions(crashed, name).questions
    evidence = gather(crashed, Selection("failed", run=(name,)), METRICS)
    assert list(evidence.questions) == ["r11"]
    counted = Selection("failed", run=(name,), failed=True).for_metrics([CATALOGUE["accuracy"]])
    assert list(gather(crashed, counted, [CATALOGUE["accuracy"]]).questions) == ["r10", "r11"]


def test_a_question_shows_which_calls_failed(crashed):
    (name,) = [row.run for row in runs(crashed, "failed").runs if row.model == "unheard"]
    left_out = question(crashed, Selection("failed", run=(name,)), "r10").runs[0]
    assert all(clue.failed and clue.guess is None and clue.contribution is None for clue in left_out.clues)
    assert set(left_out.metrics.values()) == {None}
    assert {clue.confidence for clue in left_out.clues} == {None} and {clue.state for clue in left_out.clues} == {"failed"}


def test_partly_failed_questions_add_up(crashed):
    """Buzz mass sums to 1, and exactly the clues that count have a contribution."""
    for failed in (False, True):
        for answers in question(crashed, Selection("failed", failed=failed), "r05").runs:
            counted = [clue for clue in answers.clues if not clue.failed]
            if counted:
                assert sum(clue.buzz_mass for clue in answers.clues) == pytest.approx(1)
                assert all((clue.contribution is None) == (clue not in counted) for clue in answers.clues)


def test_the_control_is_shown_only_where_calls_failed(crashed):
    kind = Selection.kinds()["failed"]
    control = kind.control("failed", False, read_facets(crashed, "failed"))
    assert control.options == (("", "left out"), ("1", "counted as wrong in accuracy"))
    assert kind.control("failed", False, read_facets(crashed, "without")) is None
    assert Selection("failed", failed=True).pairs() == [("dataset", "failed"), ("failed", "1")]
    assert Selection("failed").pairs() == [("dataset", "failed")]
