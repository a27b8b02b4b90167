"""Buzzing on a store against its definition, over random selections."""

import bisect
import json
import math
import random
from itertools import pairwise

import msgspec
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from clueline.data.importing import ingest
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries import buzzing
from clueline.queries.buzzing import CURVES, SCALES, BuzzParameters, Rules, buzz, people_median
from clueline.queries.engine import run_columns
from clueline.queries.metrics import HUMAN_CURVES, Conventions
from clueline.queries.selection import Selection, read_address, read_facets
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers import reference_buzzing as reference
from tests.helpers.examples import examples
from tests.helpers.reference_metrics import Rows
from tests.helpers.run_tables import with_runs
from tests.helpers.small_store import write_csv
from tests.helpers.strategies import selections

MANY = examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
TOSSUPS = Selection("tossups")
CONFIDENCES = (0.0, 1.0, 0.1, 0.3, 0.1 + 0.2, 1 / 3, 0.5, 0.7, 0.95)
WORD = "word "


def write_tossups(folder):
    """Write 14 tossups of one to five uneven clues. Nobody heard the last three. Some rooms break off, some buzz at the end."""
    chance = random.Random("tossups")
    ends = {}
    for index in range(14):
        lengths = [chance.randint(2, 6) for _ in range(1 + index % 5)]
        ends[f"t{index:02}"] = [sum(lengths[: clue + 1]) for clue in range(len(lengths))]
    categories = [[q, ("Arts", "Science")[i % 2]] for i, q in enumerate(ends)]
    write_csv(folder / "questions.csv", ["question_id", "category"], categories)
    texts = [[q, t, WORD * (end - start)] for q, upto in ends.items() for t, (start, end) in enumerate(pairwise([0, *upto]))]
    write_csv(folder / "clues.csv", ["question_id", "clue", "text"], texts)
    heard, buzzes = [], []
    for name in list(ends)[:11]:
        words = ends[name][-1]
        for match in ("m1", "m2"):
            for team in ("Ash", "Birch", "Cedar", "Dogwood", "Elder", "Robot"):
                if chance.random() < 0.3:
                    continue
                silent = chance.random() < 0.4
                upto = chance.randint(0, words) if silent and chance.random() < 0.6 else ""
                heard.append([name, match, team, "model" if team == "Robot" else "human", upto, "Ash" if upto != "" else ""])
                if not silent:
                    word = words if chance.random() < 0.2 else chance.randint(0, words)
                    buzzes.append([name, match, team, word, "true" if chance.random() < 0.6 else "false"])
    write_csv(folder / "exposures.csv", ["question_id", "match_id", "team", "team_kind", "heard_words", "ended_by"], heard)
    write_csv(folder / "buzzes.csv", ["question_id", "match_id", "team", "word", "correct"], buzzes)
    places = [(q, t) for q, upto in ends.items() for t in range(len(upto))]
    header = ["question_id", "clue", "guess", "confidence", "token_logprobs", "correct", "model"]

    def logprobs():
        tokens = [round(-(chance.random() ** 6), 3) for _ in range(chance.randint(1, 3))]
        return json.dumps(tokens) if chance.random() < 0.8 else ""

    runs = {
        "plain": [[*place, "x", chance.choice(CONFIDENCES), "", chance.choice((0, 1))] for place in places],
        "graded": [[*place, "x", chance.random(), logprobs(), chance.choice((0, 0.25, 1))] for place in places],
        "partial": [
            [*place, "x", chance.choice(CONFIDENCES), logprobs(), chance.choice((0, 1))]
            for place in places
            if place[0] != "t03" and chance.random() < 0.6
        ],
        "unheard": [[*place, "x", chance.random(), "", 1] for place in places if place[0] in ("t12", "t13")],
        "never": [[*place, "x", 0, "[-0.5]", 0] for place in places],
    }
    for model, rows in runs.items():
        write_csv(folder / "responses" / f"{model}.csv", header, [[*row, model] for row in rows])
    (folder / "dataset.json").write_text(json.dumps({"dataset": "tossups", "title": "Tossups", "kind": "incremental"}))


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    root = tmp_path_factory.mktemp("tossups")
    write_tossups(root / "tossups")
    for name, kind in (("flat", "incremental"), ("one", "single")):
        write_csv(root / name / "questions.csv", ["question_id", "text", "answer"], [["q1", "A word", "yes"]])
        (root / name / "dataset.json").write_text(json.dumps({"dataset": name, "kind": kind}))
    opened = open_store(root / "store", threads=2)
    ingest.import_paths(opened, [root / "tossups", root / "flat", root / "one"], ImportOptions())
    return opened.snapshot()


@pytest.fixture(scope="module")
def offered(snapshot):
    return read_facets(snapshot, "tossups")


class Tossups:
    """Rows of the store in the form that the reference definitions take."""

    def __init__(self, snapshot):
        self.rows = Rows.read(snapshot, "tossups")
        self.played = snapshot.frame(
            """select e.question_id, e.team, e.team_kind, e.heard_words, b.word, b.correct, b.clue from exposures e
            left join buzzes b using (dataset, question_id, match_id, team) where e.dataset = 'tossups'"""
        ).to_dicts()

    def words(self, name):
        return max(clue["word_end"] for (question, _), clue in self.rows.clues.items() if question == name)

    def length(self, name):
        return sum(question == name for question, _ in self.rows.clues)

    def kept(self, selection):
        return [question["question_id"] for question in self.rows.kept_questions(selection)]

    def exposures(self, selection, kind):
        kept = set(self.kept(selection))
        return [row for row in self.played if row["team_kind"] == kind and row["question_id"] in kept]

    def questions(self, selection, run, scale="confidence"):
        """Return the questions that a run was asked, by id and in order."""
        low, high = selection.revealed or (0, 1)
        human = selection.conventions.human or "team_share"
        questions_by_name = {}
        for name in self.kept(selection):
            clues = []
            for index in range(self.length(name)):
                response, clue = self.rows.responses.get((run, name, index)), self.rows.clues[name, index]
                if response is None or not low <= clue["revealed"] <= high:
                    continue
                tokens = response["token_logprobs"]
                score = response["confidence"] if scale == "confidence" else None if tokens is None else sum(tokens)
                curve = self.rows.curves.get((name, index))
                clues.append(
                    {"clue": index, "score": score, "correct": response["correct"], "h": curve and curve[human]}
                    | {key: clue[key] for key in ("word_end", "revealed")}
                )
            teams = [
                (None if row["word"] is None else (row["word"], row["correct"]), row["heard_words"])
                for row in self.played
                if row["team_kind"] == "human" and row["question_id"] == name
            ]
            if clues:
                questions_by_name[name] = reference.Question(clues, self.words(name), teams, self.length(name))
        return questions_by_name


@pytest.fixture(scope="module")
def tossups(snapshot):
    return Tossups(snapshot)


def same(actual, expected):
    assert actual == (None if expected is None else pytest.approx(expected, abs=1e-11))


# -- against the definitions -------------------------------------------------------------------------------------------


@MANY
@given(data=st.data(), scale=st.sampled_from(SCALES), curve=st.sampled_from(CURVES))
def test_the_explorer_over_random_selections(snapshot, offered, tossups, data, scale, curve):
    selection = data.draw(selections(offered))
    tau = data.draw(st.sampled_from([None, 0.0, 0.1, 0.3, 1.0]) | st.floats(0, 1))
    tau = -tau if tau is not None and scale == "logprob" else tau
    result = buzz(snapshot, selection, Rules(scale, curve, tau))
    expected_questions = {
        run["run"]: tossups.questions(selection, run["run"], scale) for run in tossups.rows.kept_runs(selection)
    }
    assert [run.run for run in result.explorer.runs] == [
        run for run, questions in expected_questions.items() if questions and not result.missing
    ]
    for run, habit in zip(result.explorer.runs, result.habits.runs, strict=True):
        questions = list(expected_questions[run.run].values())
        items = [clue for question in questions for clue in question.clues]
        assert (run.questions, run.items) == (len(questions), len(items))
        assert run.heard == sum(bool(question.teams) for question in questions)
        assert run.unscored == sum(clue["score"] is None for clue in items)
        scored = run.unscored < run.items
        if scored and (curve == "polynomial" or run.heard):
            assert run.curve.thresholds == sorted(set(run.curve.thresholds))
            tried = reference.thresholds(questions, 0.0 if scale == "confidence" else None)
            greatest = max(reference.expected_wins(questions, t, curve) for t in tried)
            same(run.optimum.expected_wins, greatest)
            same(reference.expected_wins(questions, run.optimum.threshold, curve), greatest)
            if run.optimum.until is not None:
                same(reference.expected_wins(questions, math.nextafter(run.optimum.until, -math.inf), curve), greatest)
                assert reference.expected_wins(questions, run.optimum.until, curve) < greatest
            if run.optimum.open_below:
                same(reference.expected_wins(questions, min(tried) - 5, curve), greatest)
            assert run.curve.steps == len(run.curve.thresholds)
            for at in {*tried[:: max(len(tried) // 5, 1)], tried[-1]}:  # every score, not only those where something changes
                step = max(bisect.bisect_right(run.curve.thresholds, at) - 1, 0)  # without a floor, the first also holds below
                expected = reference.outcome(questions, at, curve)
                same(run.curve.expected_wins[step], expected["expected_wins"])
                assert (run.curve.score is None) == (run.curve.win is None) == (run.heard == 0)
                if run.heard:
                    same(run.curve.score[step], expected["score"])
                    same(run.curve.win[step], expected["win"])
        else:
            assert run.optimum is None and set(run.missing) & {"optimum", "threshold"}
        used = run.outcome.threshold
        assert used == (None if not scored else tau if tau is not None else run.optimum and run.optimum.threshold)
        assert run.outcome.optimal == (tau is None)
        numbers = {
            name: value for name, value in msgspec.structs.asdict(run.outcome).items() if name not in ("optimal", "second")
        }
        assert all((value is None) == (name in run.missing) for name, value in numbers.items())
        assert all((getattr(habit, name) is None) == (name in habit.missing) for name in type(habit).__struct_fields__[4:])
        if used is not None:
            for name, value in reference.outcome(questions, used, curve).items():
                same(getattr(run.outcome, name), value)
            for name, value in reference.habit(questions, used).items():
                same(getattr(habit, name), value)


@MANY
@given(data=st.data())
def test_shares_before_people_over_random_selections(snapshot, offered, tossups, data):
    selection = data.draw(selections(offered))
    tau = data.draw(st.sampled_from([0.0, 0.1, 0.3, 1.0]))
    result = people_median(snapshot, selection, Rules(threshold=tau))
    category = {question["question_id"]: question["category"] for question in tossups.rows.questions}
    for run in result.runs:
        asked = tossups.questions(selection, run.run)
        heard = {name: question for name, question in asked.items() if question.teams}
        assert run.questions == len(heard) and (run.missing is None) == bool(heard)
        assert run.unanswered == sum(math.isinf(reference.median_time(question)) for question in heard.values())
        if not heard:
            assert (run.earlier, run.within, run.categories) == (None, [], [])
            continue
        same(run.earlier.share, reference.by_median(heard.values(), tau))
        for words, share in zip(result.words, run.within, strict=True):
            same(share.share, reference.by_median(heard.values(), tau, words))
        assert [part.category for part in run.categories] == sorted({category[name] for name in heard})
        for part in run.categories:
            of_category = [question for name, question in heard.items() if category[name] == part.category]
            assert part.questions == len(of_category)
            same(part.earlier.share, reference.by_median(of_category, tau))
        for share, count in [(run.earlier, run.questions), *((part.earlier, part.questions) for part in run.categories)]:
            assert (share.low is None) == (share.high is None) == (count < 2)
            assert count < 2 or (share.low <= share.share <= share.high and share.low < share.high)


@MANY
@given(data=st.data())
def test_curves_and_accuracy_over_random_selections(snapshot, offered, tossups, data):
    selection = data.draw(selections(offered))
    result = buzz(snapshot, selection, Rules(threshold=0.3))
    kept = tossups.kept(selection)
    if not kept:
        assert result.missing and result.curves.missing and not result.curves.curves
        return
    groups = {"people": tossups.exposures(selection, "human"), "Robot": tossups.exposures(selection, "model")}
    totals = {row["team"]: 0 for row in groups["people"]}
    for row in groups["people"]:
        totals[row["team"]] += bool(row["correct"])
    for number in (1, 2, 3, 4):
        members = {team for team in totals if reference.quartile(totals, team) == number}
        groups[f"Q{number}"] = [row for row in groups["people"] if row["team"] in members]

    def heard_at(row):
        return min(row["word"] + 1, tossups.words(row["question_id"])) / tossups.words(row["question_id"])

    teams_differ = result.curves.teams_p is not None and result.curves.teams_p < 0.05
    for curve in result.curves.curves:
        if curve.kind == "run":
            questions = list(tossups.questions(selection, curve.name).values())
            hits = [clue for clue in (reference.buzzed(question, 0.3) for question in questions) if clue]
            heard, buzzes = len(questions), [(clue["revealed"], clue["correct"]) for clue in hits]
        else:
            rows = groups.pop(curve.name)
            heard, buzzes = len(rows), [(heard_at(row), float(row["correct"])) for row in rows if row["word"] is not None]
            assert curve.teams == len({row["team"] for row in rows})
        shown = heard > 0 and (teams_differ or curve.kind != "human" or curve.name == "people")
        assert curve.heard == heard and (curve.missing is None) == shown == (curve.correct is not None)
        for index in (0, 7, 25, 49, 50) if shown else ():
            right, wrong = reference.cumulative(buzzes, heard, result.curves.revealed[index])
            assert curve.correct[index] == pytest.approx(right, abs=1e-12)
            assert curve.incorrect[index] == pytest.approx(wrong, abs=1e-12)
    assert set(groups) <= {"Robot"}  # a model team that heard nothing has no curve

    for run in result.accuracy.runs:
        questions = list(tossups.questions(selection, run.run).values())
        for at in run.fractions:
            accuracy, count = reference.by_fraction(questions, at.revealed)
            same(at.accuracy, accuracy)
            assert (at.questions, at.left_out) == (count, len(questions) - count)
            assert (at.missing is None) == (accuracy is not None)
    people = tossups.exposures(selection, "human")
    by_question = {name: [row for row in people if row["question_id"] == name] for name in kept}
    for at in result.accuracy.teams[0].fractions:
        by_then = [row for row in people if row["word"] is not None and heard_at(row) <= at.revealed]
        same(
            at.right,
            reference.mean(
                sum(row["correct"] for row in by_then if row in rows) / len(rows) for rows in by_question.values() if rows
            ),
        )
        same(at.buzz_accuracy, reference.mean(float(row["correct"]) for row in by_then))
        assert (at.buzzes, at.left_out) == (len(by_then), sum(not rows for rows in by_question.values()))


@MANY
@given(data=st.data())
def test_habits_of_people_over_random_selections(snapshot, offered, tossups, data):
    selection = data.draw(selections(offered))
    groups = {group.name: group for group in buzz(snapshot, selection, Rules()).habits.teams}
    by_team = {}
    for row in tossups.exposures(selection, "human"):
        name = row["question_id"]
        length = tossups.length(name)
        ends = [tossups.rows.clues[name, clue]["word_end"] for clue in range(length)]
        upto = ends[-1] if row["heard_words"] is None else max(row["heard_words"], 1)
        seen = 1 + (row["clue"] if row["word"] is not None else next(t for t, end in enumerate(ends) if end >= upto))
        score = 0 if row["word"] is None else 20 - 20 * seen / length if row["correct"] else -5
        by_team.setdefault(row["team"], []).append((seen, row["word"] is not None, bool(row["correct"]), score))
    scores = {team: reference.mean(score for *_, score in rows) for team, rows in by_team.items()}
    halves = {
        "people": list(by_team),
        "upper half": [team for team in by_team if reference.upper(scores, team)],
        "lower half": [team for team in by_team if not reference.upper(scores, team)],
    }
    for name, teams in halves.items():
        group = groups.get(name)
        if group is None:
            assert not tossups.kept(selection)
            continue
        assert group.teams == len(teams)
        assert group.given_correct is group.given_incorrect is None
        assert {"given_correct", "given_incorrect"} <= set(group.missing)
        rates = {team: [sum(column) for column in zip(*by_team[team], strict=True)] for team in teams}
        same(group.buzz_rate, reference.mean(buzzes / seen for seen, buzzes, _, _ in rates.values()))
        same(group.correct_rate, reference.mean(right / seen for seen, _, right, _ in rates.values()))
        same(group.incorrect_rate, reference.mean((buzzes - right) / seen for seen, buzzes, right, _ in rates.values()))
        same(group.survey_score, reference.mean(scores[team] for team in teams))


# -- results and missing values ----------------------------------------------------------------------------------------


def test_a_run_can_have_a_threshold_of_its_own(snapshot):
    runs = [run.run for run in buzz(snapshot, TOSSUPS, Rules()).explorer.runs]
    rules = Rules(threshold=0.5, thresholds=((runs[1], 0.25),))
    own = buzz(snapshot, TOSSUPS, rules).explorer.runs
    assert [run.outcome.threshold for run in own] == [0.5, 0.25, 0.5, 0.5, 0.5]
    for curve in (None, *HUMAN_CURVES):
        selection = TOSSUPS.replace(conventions=Conventions(human=curve))
        named = [buzz(snapshot, selection, Rules(curve=rule)).explorer.human_curve for rule in ("dataset", "polynomial")]
        assert named == [curve or "team_share", None]
    mixed = buzz(snapshot, TOSSUPS, Rules(thresholds=((runs[1], 0.25),))).explorer.runs
    assert [run.outcome.optimal for run in mixed] == [True, False, True, True, True]


def test_the_explorer_lists_the_scales_with_scores(snapshot):
    sql = "select distinct model from responses join runs using (run, dataset) where token_logprobs is not null"
    both = with_runs(snapshot).rows(sql)
    assert "plain" not in {model for (model,) in both} and both
    for rules in (Rules(), Rules("logprob")):
        assert buzz(snapshot, TOSSUPS, rules).explorer.scales == ["confidence", "logprob"]
        assert buzz(snapshot, TOSSUPS.replace(model=("plain",)), rules).explorer.scales == ["confidence"]
    assert buzz(snapshot, TOSSUPS.replace(category=("Nowhere",)), Rules()).explorer.scales == []


def test_missing_values_have_reasons(snapshot):
    runs = {run.model: run for run in buzz(snapshot, TOSSUPS, Rules(curve="dataset")).explorer.runs}
    unheard = runs["unheard"]
    assert unheard.heard == 0 and unheard.optimum is None and unheard.outcome.threshold is None
    assert "no human team" in unheard.missing["expected_wins"] and "choose one" in unheard.missing["threshold"]
    polynomial = {run.model: run for run in buzz(snapshot, TOSSUPS, Rules()).explorer.runs}["unheard"]
    assert polynomial.outcome.expected_wins is not None and set(polynomial.missing) == {"score", "win", "loss", "unsure"}
    logprob = {run.model: run for run in buzz(snapshot, TOSSUPS, Rules("logprob")).explorer.runs}
    assert "log-probabilities" in logprob["plain"].missing["threshold"] and logprob["plain"].curve is None
    never = runs["never"]  # a confidence of 0 passes no threshold
    assert (never.outcome.buzzes, never.outcome.expected_wins, never.optimum.until) == (0, 0, None)
    assert set(never.missing) == {"accuracy", "revealed"}


@pytest.mark.parametrize(
    ("selection", "reason"),
    [(Selection("flat"), "clue by clue"), (Selection("one"), "clue by clue"), (TOSSUPS.replace(q="zebra"), "no questions")],
    ids=str,
)
def test_without_clues_or_questions_all_parts_say_why(snapshot, selection, reason):
    result = buzz(snapshot, selection, Rules())
    assert reason in result.missing
    assert result.missing == result.explorer.missing == result.curves.missing == result.accuracy.missing == result.habits.missing
    assert result.explorer.runs == result.curves.curves == result.accuracy.runs == result.habits.runs == result.habits.teams == []


def test_a_long_curve_is_thinned_and_keeps_its_optimum(snapshot, monkeypatch):
    (whole,) = buzz(snapshot, TOSSUPS.replace(model=("graded",)), Rules()).explorer.runs
    monkeypatch.setattr("clueline.queries.buzzing.thresholds.MAX_STEPS", 5)
    (thin,) = buzz(snapshot, TOSSUPS.replace(model=("graded",)), Rules()).explorer.runs
    assert thin.curve.steps == whole.curve.steps == len(whole.curve.thresholds) > 20
    assert 5 <= len(thin.curve.thresholds) <= 6 and thin.optimum == whole.optimum
    assert thin.optimum.threshold in thin.curve.thresholds
    wins = dict(zip(whole.curve.thresholds, whole.curve.expected_wins, strict=True))
    assert all(wins[at] == value for at, value in zip(thin.curve.thresholds, thin.curve.expected_wins, strict=True))


def test_accuracy_by_fraction_reads_runs_in_batches(snapshot, monkeypatch):
    together = buzz(snapshot, TOSSUPS, Rules("logprob", "dataset"))
    assert msgspec.json.decode(msgspec.json.encode(together), type=type(together)) == together
    whole, read, run_items = together.accuracy, [], run_columns.run_items

    def counted(snapshot, dataset, runs, *options):
        read.append(len(runs))
        return run_items(snapshot, dataset, runs, *options)

    monkeypatch.setattr(run_columns, "run_items", counted)
    monkeypatch.setattr(run_columns, "READ_AT_ONCE", 1)
    assert buzzing.accuracy_by_fraction(snapshot, TOSSUPS) == whole
    assert read == [1] * len(whole.runs)


# -- rules in an address -----------------------------------------------------------------------------------------------


def parse_rules(values, offered):
    pairs = [(key, text) for key, texts in values.items() for text in texts]
    return read_address(pairs, lambda dataset: offered, BuzzParameters).parameters.rules


def test_rules_are_read(offered):
    first, second = offered.runs[0][0], offered.runs[1][0]
    assert parse_rules({}, offered) == Rules(curve="dataset")
    assert parse_rules({}, msgspec.structs.replace(offered, human_teams=0)) == Rules()
    assert parse_rules({"threshold": ["0.5"], "scale": ["confidence"], "curve": ["polynomial"]}, offered) == Rules(threshold=0.5)
    rules = parse_rules({"threshold": [f"{second}:-1e-3", "-0.03", f"{first}:0"], "scale": ["logprob"]}, offered)
    assert rules.threshold == -0.03
    assert (rules.threshold_of(first), rules.threshold_of(second), rules.threshold_of("another")) == (0, -0.001, -0.03)


INVALID = {
    "bad_value": [{"threshold": [text]} for text in ("1.5", "-0.1", "nan", "")]
    + [{"threshold": [text], "scale": ["logprob"]} for text in ("0.1", "-1e999")],
    "repeated_key": [{"threshold": ["0.1", "0.2"]}, {"threshold": ["RUN:0.1", "RUN:0.2"]}, {"scale": ["confidence", "logprob"]}],
    "unknown_value": [{"threshold": ["nobody:0.1"]}, {"threshold": [":0.1"]}, {"scale": ["percent"]}, {"curve": ["parabola"]}],
}


@pytest.mark.parametrize(("code", "values"), [(code, values) for code, cases in INVALID.items() for values in cases])
def test_invalid_rules_name_their_field(offered, code, values):
    values = {key: [text.replace("RUN", offered.runs[0][0]) for text in texts] for key, texts in values.items()}
    with pytest.raises(BadRequest) as caught:
        parse_rules(values, offered)
    assert (caught.value.code, caught.value.field) == (code, next(iter(values)))


@pytest.mark.parametrize("scale", ["confidence", "logprob"])
def test_best_thresholds_are_those_of_the_explorer(bundled, scale):
    first, second, *_ = (run.run for run in buzz(bundled, Selection("pyramid"), Rules()).explorer.runs)
    arts, lives = Selection("pyramid", category=("Arts",)), Selection("lifeeval")
    for selection, rules in (
        (arts, Rules(scale=scale)), (lives, Rules(scale=scale)), (arts, Rules(scale=scale, curve="dataset")),
        (arts, Rules(scale=scale, threshold=0.5)), (arts, Rules(scale=scale, thresholds=((first, 0.3), (second, 0.6)))),
    ):  # fmt: skip
        explorer = buzz(bundled, selection, rules).explorer
        thresholds = {run.run: run.outcome.threshold for run in explorer.runs if run.outcome.optimal}
        expected = {run: threshold for run, threshold in thresholds.items() if threshold is not None}
        assert buzzing.best_thresholds(bundled, selection, rules) == expected
