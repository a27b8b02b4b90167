"""Every number is of the answers that its count names, on boards whose runs lack answers in every way, at every address."""

import csv
import io
import re
from collections import Counter, defaultdict
from types import SimpleNamespace
from urllib.parse import urlencode

import numpy as np
import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.metrics import CATALOGUE
from tests.helpers.bundle_factory import FACTS, table, write
from tests.helpers.drawn_pages import markup

QUESTIONS = 60
CATEGORIES = ("Arts", "History", "Science")
COUNTED = ("accuracy", "brier", "net_score", "ece", "auroc", "mean_confidence", "accuracy_scored", "overconfidence", "hmr")
HOLES = {
    "one clue": (1, {"m0": {}, "m1": {"failed": 0.05}, "m2": {"absent": 0.04}, "m3": {"unparsed": 0.05, "failed": 0.02}}),
    "states": (1, {
        "m0": {}, "m1": {"no_confidence": 0.06}, "m2": {"abstained": 0.07}, "m3": {"no_confidence": 0.5}, "m4": {"absent": 0.5},
    }),
    "clues": (3, {"m0": {}, "m1": {"failed": 0.04}, "m2": {"absent": 0.03, "abstained": 0.02}, "m3": {"absent": 0.6}}),
}  # fmt: skip


def answers(clues, lacks):
    """Return the rows of runs that lack answers, each with its state; a row that is absent is left out."""
    random = np.random.default_rng(13)
    rows = []
    for model, shares in lacks.items():
        for number in range(QUESTIONS):
            for clue in range(clues):
                state = random.choice([*shares, "answered"], p=[*shares.values(), 1 - sum(shares.values())])
                answered, right = state == "answered", bool(random.random() < 0.3 + 0.2 * (number % 3))
                confidence = round(float(random.random()), 2) if answered else None
                guess = ("yes" if right else "no") if state in ("answered", "no_confidence") else None
                row = {"question_id": f"q{number}", "clue": clue, "guess": guess, "confidence": confidence, "state": str(state)}
                if state != "absent":
                    rows.append(row | {"model": model})
    return rows


@pytest.fixture(scope="module", params=HOLES, ids=str)
def board(request, tmp_path_factory):
    clues, lacks = HOLES[request.param]
    folder, name = tmp_path_factory.mktemp("holes"), "holes"
    rows = answers(clues, lacks)
    names = [f"q{number}" for number in range(QUESTIONS)]
    tables = {
        "questions": table(
            [{"question_id": name, "answer": "yes", "category": CATEGORIES[at % 3]} for at, name in enumerate(names)]
        ),
        "clues": table(
            [
                {"question_id": name, "clue": clue, "text": f"{name} clue {clue}", "word_end": 3 * clue + 3}
                for name in names
                for clue in range(clues)
            ]
        ),
        "responses": table(rows),
    }
    store = open_store(folder / "store")
    import_paths(store, [write(folder / name, FACTS | {"dataset": name}, **tables)], ImportOptions(elicitation="logit"))
    app = create_app(Settings(store=str(folder / "store"), workers=1))
    client = app.test_client()

    def ask(address, **keys):
        query = urlencode(keys if address == "cite" else {"dataset": name, **keys})
        response = client.get(f"/api/v1/{address}?{query}")
        assert response.status_code == 200, response.text
        return response

    return SimpleNamespace(rows=rows, ask=ask, draw=lambda path, query="": markup(app, path, f"dataset={name}{query}"))


def counted(rows, key):
    """Return the answers of each model that a metric counts."""
    states = CATALOGUE[key].counted.states
    by_model = defaultdict(list)
    for row in rows:
        if row["state"] in states:
            by_model[row["model"]].append(row)
    return by_model


def value_of(key, rows):
    """Compute a metric from rows, straight from its definition; None for one that this test does not know."""
    right = np.array([row["guess"] == "yes" for row in rows], float)
    confidence = np.array([row["confidence"] or 0.0 for row in rows])
    return {
        "accuracy": right.mean(),
        "accuracy_scored": right.mean(),
        "brier": ((confidence - right) ** 2).mean(),
        "mean_confidence": confidence.mean(),
        "overconfidence": (confidence - right).mean(),
        "net_score": np.where(confidence > 0.5, 2 * right - 1, 0.0).mean(),
    }.get(key)


def test_a_value_is_of_the_answers_that_its_count_names(board):
    rows, ask = board.rows, board.ask
    answer = ask("leaderboard", metrics=",".join(COUNTED), intervals=1).json
    for key in COUNTED:
        of_models = counted(rows, key)
        for row in answer["rows"]:
            cell, own = row["metrics"][key], of_models[row["model"]]
            assert cell["questions"] == len({answer["question_id"] for answer in own})
            expected = value_of(key, own)
            assert expected is None or cell["value"] == pytest.approx(expected)
    lacking = {row["model"] for row in answer["rows"] if not row["ranked"]}
    assert lacking == {
        model for model, own in counted(rows, "brier").items() if len(own) < 0.9 * len(counted(rows, "brier")["m0"])
    }


EXTREMES = {"accuracy": (0, 1), "brier": (0, 1), "mean_confidence": (0, 1), "overconfidence": (-1, 1), "net_score": (-4, 1)}


def test_the_rest_is_what_other_answers_could_make_of_it(board):
    """Filling each clue that has no item with the worst and the best value there is gives both ends; at t = .8 here."""
    clues = len({(row["question_id"], row["clue"]) for row in board.rows})
    seen = 0
    for row in board.ask("leaderboard", metrics=",".join(EXTREMES), t=0.8).json["rows"]:
        for key, (least, most) in EXTREMES.items():
            cell, own = row["metrics"][key], counted(board.rows, key)[row["model"]]
            missing = clues - len(own)
            if not missing:
                assert (cell["rest_low"], cell["rest_high"]) == (None, None)
                continue
            seen += 1
            total = cell["value"] * len(own)
            assert cell["rest_low"] == pytest.approx((total + missing * least) / clues)
            assert cell["rest_high"] == pytest.approx((total + missing * most) / clues)
    assert seen > 5


def test_tables_count_what_the_leaderboard_counts(board):
    ask = board.ask
    answer = {row["run"]: row for row in ask("leaderboard", metrics=",".join(COUNTED)).json["rows"]}
    for line in csv.DictReader(io.StringIO(ask("leaderboard.csv", metrics=",".join(COUNTED)).text)):
        row = answer[line["run"]]
        assert int(line["questions"]) == row["questions"]
        for key in COUNTED:
            assert int(line.get(f"{key}_questions") or line["questions"]) == row["metrics"][key]["questions"]


def test_parts_add_up_to_the_whole(board):
    """The values of a run's parts, by the answers in each, are its value; the parts' questions are its questions."""
    rows, ask = board.rows, board.ask
    whole = {row["run"]: row for row in ask("leaderboard", metrics="brier,net_score", intervals=0).json["rows"] if row["ranked"]}
    parts = ask("breakdown", by="category", metrics="brier,net_score").json["parts"]
    category_of = {f"q{number}": CATEGORIES[number % 3] for number in range(QUESTIONS)}
    for key in ("brier", "net_score"):
        of_models = counted(rows, key)
        for run, row in whole.items():
            sizes = Counter(category_of[answer["question_id"]] for answer in of_models[row["model"]])
            cells = {
                part["value"]: other["metrics"][key] for part in parts for other in part["rows"] if other["run"] == run
            }  # a run that takes part in the whole takes part in its parts
            assert sum(cell["questions"] for cell in cells.values()) == row["metrics"][key]["questions"]
            mean = sum(sizes[name] * cell["value"] for name, cell in cells.items()) / sum(sizes.values())
            assert mean == pytest.approx(row["metrics"][key]["value"])


def test_a_part_is_adjusted_as_a_board_of_it(board):
    """Runs are compared on the clues that they share, in a part of the questions as on a board of these questions."""
    keys = {"metrics": "brier,net_score,ece", "intervals": 1}
    compared = 0
    for part in board.ask("breakdown", by="category", **keys).json["parts"]:
        alone = board.ask("leaderboard", category=part["value"], **keys).json["rows"]
        ranked = {row["run"]: row for row in alone if row["ranked"]}
        if {row["run"] for row in part["rows"]} != set(ranked):
            continue  # a run can have answered too little of a part
        for row in part["rows"]:
            for key in ("brier", "net_score"):
                same, other = row["metrics"][key], ranked[row["run"]]["metrics"][key]
                compared += same["adjusted"] is not None
                expected = other["value"] if other["adjusted"] is None else other["adjusted"]  # plain where nothing is missing
                assert same["adjusted"] == pytest.approx(expected)
                assert same["rank"] == other["rank"]
    assert compared


def test_views_of_a_run_are_of_the_same_answers(board):
    """A run has one value of a metric, and one number of answers, wherever it is shown."""
    rows, ask = board.rows, board.ask
    answered = counted(rows, "brier")
    whole = {
        row["run"]: row
        for row in ask("leaderboard", metrics="brier,net_score,ece,accuracy_scored,overconfidence").json["rows"]
        if row["ranked"]
    }
    for view in ("reliability", "triptych", "decide", "difficulty", "recalibration", "which-ece"):
        shown = ask(view, **({"method": "platt"} if view == "recalibration" else {})).json["runs"]
        assert {run["run"] for run in shown} == set(whole), view
        for run in shown:
            row = whole[run["run"]]
            if "items" in run:
                assert run["items"] == len(answered[row["model"]]), view
            if view == "reliability":
                assert sum(part["items"] for part in run["bins"]) == len(answered[row["model"]])
            if view == "recalibration":
                assert run["metrics"]["brier"]["before"] == pytest.approx(row["metrics"]["brier"]["value"])
            if view == "decide":
                half = run["net_score"]["values"][50]
                assert half == pytest.approx(row["metrics"]["net_score"]["value"], abs=1e-9)
    for variant in ask("which-ece").json["variants"]:
        if variant["key"] == "ece_width10":
            for run in variant["runs"]:
                assert run["value"] == pytest.approx(whole[run["run"]]["metrics"]["ece"]["value"])
    finding = ask("finding").json["finding"]
    row = whole[finding["run"]]
    assert finding["metric"] == "overconfidence"
    assert finding["value"] == pytest.approx(row["metrics"]["overconfidence"]["value"])
    for run in ask("agreement", metrics="brier,net_score").json["pairs"]:
        assert run["runs"] == len(whole)


def test_a_paper_says_how_many_answers_a_value_is_of(board):
    """LaTeX and the methods name counts of runs, questions and columns that JSON has, and no others."""
    ask = board.ask
    answer = ask("leaderboard", metrics="brier,accuracy", intervals=1).json
    cited = ask("cite", view="/?dataset=holes&metrics=brier,accuracy").json
    ranked = [row for row in answer["rows"] if row["ranked"]]
    assert f"{answer['questions']} questions" in cited["methods"]
    at = cited["columns"].index("Questions")
    printed = {row[0]: row[at] for row in cited["rows"]}
    for row in ranked:
        assert printed[row["model"]] == str(row["questions"])
    others = {row["metrics"]["accuracy"]["questions"] for row in ranked} - {row["questions"] for row in ranked}
    for count in others:
        assert re.search(rf"\b{count}\b", cited["latex"]), cited["latex"]


def test_sentences_of_the_leaderboard_are_of_its_numbers(board):
    """The finding, its picture and the heading name the values and counts that JSON has of the same runs."""
    answer = board.ask("leaderboard", metrics="overconfidence,mean_confidence,accuracy_scored", intervals=1).json
    ranked = {row["run"]: row for row in answer["rows"] if row["ranked"]}
    finding = board.ask("finding").json["finding"]
    row = ranked[finding["run"]]
    text = re.sub(r"<[^>]*>", "", board.draw("/"))
    stated, right = (row["metrics"][key]["value"] for key in ("mean_confidence", "accuracy_scored"))
    assert f"{row['model']}" in text
    assert f"states {100 * stated:.0f} % and is right {100 * right:.0f} %" in text.replace("\u00a0", " ")
    questions = row["metrics"]["overconfidence"]["questions"]
    assert f"over {questions} questions" in text
    assert f"{len(ranked)} runs over {answer['questions']} questions" in text
    assert row["metrics"]["mean_confidence"]["questions"] == row["metrics"]["accuracy_scored"]["questions"] == questions
