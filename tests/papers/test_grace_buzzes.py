"""The buzzes of the GRACE tournaments: counts, and curves of people only."""

import json
from collections import defaultdict
from itertools import pairwise
from statistics import quantiles

import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.queries.buzzing import Rules, accuracy_by_fraction, buzz
from clueline.queries.selection import Selection
from tests.helpers.small_store import write_csv

CLUE = 20  # words


def bundle(folder, released, *, models=True):
    """Write the release as a bundle. The words of a question are placeholders, and its clues are 20 words long."""
    folder.mkdir()
    (folder / "dataset.json").write_text(json.dumps({"dataset": folder.name, "kind": "incremental"}))
    questions = {f"{row['packet']}/{row['question']}": row for row in released}
    ends = {q: [*range(CLUE, int(row["words"]), CLUE), int(row["words"])] for q, row in questions.items()}
    write_csv(folder / "questions.csv", ["question_id", "subcategory"], [(q, row["category"]) for q, row in questions.items()])
    texts = [(q, t, "word " * (end - start)) for q, to in ends.items() for t, (start, end) in enumerate(pairwise([0, *to]))]
    write_csv(folder / "clues.csv", ["question_id", "clue", "text"], texts)
    kinds = {"H": "human", "M": "model"}
    rows = [(f"{r['packet']}/{r['question']}", "game", r["team"], r) for r in released if models or r["team_kind"] == "H"]
    heard, buzzed = ([[*place, *values(row)] for *place, row in rows] for values in (
        lambda row: [kinds[row["team_kind"]]], lambda row: [row["word"], row["correct"]],
    ))  # fmt: skip
    write_csv(folder / "exposures.csv", ["question_id", "match_id", "team", "team_kind"], heard)
    write_csv(folder / "buzzes.csv", ["question_id", "match_id", "team", "word", "correct"], buzzed)
    return folder


@pytest.fixture(scope="module")
def imported(store, released, tmp_path_factory):
    root = tmp_path_factory.mktemp("grace")
    import_paths(store, [bundle(root / "grace", released), bundle(root / "people", released, models=False)], ImportOptions())
    return store.snapshot()


def test_curves_are_of_people_alone(imported):
    with_models, without = (
        imported.rows("select * exclude (dataset) from curves where dataset = $d order by question_id, clue", {"d": dataset})
        for dataset in ("grace", "people")
    )
    heard = "select count(distinct question_id) from exposures where dataset = 'grace' and team_kind = 'human'"
    assert with_models == without
    assert imported.rows(heard) == [(len({row[0] for row in with_models}),)]


def test_curves_count_what_the_release_says(imported, released):
    buzzes = defaultdict(list)
    for row in released:
        if row["team_kind"] == "H":
            buzzes[f"{row['packet']}/{row['question']}"].append((int(row["word"]), int(row["correct"])))
    curves = imported.rows("""select c.question_id, c.word_end, h.teams, h.buzz_share, h.release_share, h.team_share, h.survival
        from curves h join clues c using (dataset, question_id, clue) where dataset = 'grace'""")
    for question, end, teams, buzz_share, release_share, team_share, survival in curves:
        so_far = [correct for word, correct in buzzes[question] if word < end]
        assert teams == len(buzzes[question])
        assert buzz_share == pytest.approx(sum(so_far) / len(so_far) if so_far else 0)
        assert release_share == pytest.approx(sum(so_far) / len(buzzes[question]))
        # As far as the release says, every team that heard a question buzzed on it: nobody is censored.
        assert team_share == pytest.approx(sum(so_far) / teams)
        assert survival == pytest.approx(team_share)


# -- buzz curves: the release names no team that heard a question and kept silent -------------------------------------


def tallies(released, kind):
    """Return the buzzes of each team as (words heard, words of the question, correct)."""
    buzzes = defaultdict(list)
    for row in released:
        if row["team_kind"] == kind:
            # Word n_words - 1 is the end of the question.
            buzzes[row["team"]].append((int(row["word"]) + 1, int(row["words"]), int(row["correct"])))
    return buzzes


def test_buzz_curves_of_people_by_quartile(imported, released):
    teams = tallies(released, "H")
    totals = {team: sum(correct for *_, correct in buzzes) for team, buzzes in teams.items()}
    cuts = quantiles(totals.values(), n=4, method="inclusive")  # linear interpolation
    members = {f"Q{n + 1}": [team for team in teams if sum(totals[team] > cut for cut in cuts) == n] for n in range(4)}
    curves = {curve.name: curve for curve in buzz(imported, Selection("grace"), Rules()).curves.curves}
    assert [curves[name].teams for name in ("people", "Q1", "Q2", "Q3", "Q4", "M1", "M2", "M3")] == [17, 5, 4, 4, 4, 1, 1, 1]
    assert curves["people"].heard == 1079 + 292
    assert curves["people"].correct[-1] == pytest.approx(1079 / 1371)
    assert curves["people"].incorrect[-1] == pytest.approx(292 / 1371)
    models = {name: [name] for name in ("M1", "M2", "M3")}
    assert sum(curves[name].heard for name in models) == 268 + 110
    every = teams | tallies(released, "M")
    for name, group in (members | models).items():
        buzzes = [buzz for team in group for buzz in every[team]]
        curve = curves[name]
        for step in range(51):
            by_then = [correct for words, length, correct in buzzes if 50 * words <= step * length]
            assert curve.correct[step] == pytest.approx(sum(by_then) / len(buzzes))
            assert curve.incorrect[step] == pytest.approx((len(by_then) - sum(by_then)) / len(buzzes))
    # Teams that answer more questions correctly have more correct buzzes behind each curve.
    assert max(totals[team] for team in members["Q1"]) < min(totals[team] for team in members["Q4"])


def test_models_never_count_among_people(imported):
    results = [buzz(imported, Selection(dataset), Rules()) for dataset in ("grace", "people")]
    for part in (lambda result: result.curves.curves, lambda result: result.habits.teams, lambda result: result.accuracy.teams):
        with_models, without = ([group for group in part(result) if group.kind == "human"] for result in results)
        assert with_models == without


def test_people_answer_correctly_by_each_fraction(imported, released):
    by_question = defaultdict(list)
    for row in released:
        if row["team_kind"] == "H":
            words = int(row["word"]) + 1
            by_question[row["packet"], row["question"]].append((words, int(row["words"]), int(row["correct"])))
    (people, *_) = accuracy_by_fraction(imported, Selection("grace")).teams
    for at, fifth in zip(people.fractions, range(1, 6), strict=True):
        shares = [
            sum(correct for words, length, correct in buzzes if 5 * words <= fifth * length) / len(buzzes)
            for buzzes in by_question.values()
        ]
        assert at.right == pytest.approx(sum(shares) / len(shares))
    assert people.fractions[-1].buzz_accuracy == pytest.approx(1079 / 1371)
