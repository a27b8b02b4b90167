"""A metric of a run has the same value wherever it is shown, whatever the states of the answers."""

import json
import re

import numpy as np
import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.dashboard.shell import draw
from clueline.dashboard.ui.text import short
from clueline.data.store import open_store
from clueline.data.store.answer_states import OTHER_STATES
from clueline.data.store.run_tags import change_tags
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.player_result import PlayedClue, player_result
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import put, table, write
from tests.helpers.json_api import get

QUESTIONS, CLUES = 24, 2
BESIDE_CONFIDENCES = [state for state in OTHER_STATES if state != "scored"]  # states of a run that has confidences
MODELS = ("clear", "shy", "vague", "worse")
OF_QUESTIONS = [metric for metric in METRICS if metric.single and metric.direction != "none"]
OF_DECIDE = ("aurc", "augrc", "prr", "accuracy_at_50", "accuracy_at_80", "accuracy_at_90")
SHOWN = {"brier": "brier", "mcb": "corp_mcb", "dsc": "corp_dsc", "unc": "corp_unc", "auroc": "auroc"}  # in /triptych
ACROSS = ("accuracy", "accuracy_attempted", "net_score", "brier", "ece")


def answers(draw_from, states):
    """Return rows of one run. At most four of its 48 answers are in another state, one of each kind that is given."""
    rows = [
        {"question_id": f"q{n:02}", "clue": clue, "guess": "x", "confidence": round(draw_from.uniform(0.2, 1), 2),
         "correct": int(draw_from.random() < 0.6), "state": ""}
        for n in range(QUESTIONS) for clue in range(CLUES)
    ]  # fmt: skip
    for index, state in zip(draw_from.choice(len(rows), len(states), replace=False), states, strict=True):
        rows[index] |= {"confidence": "", "state": state}
        rows[index]["correct"] = int(state == "no_confidence") if state != "failed" else ""
    return table(rows)


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    root, draw_from = tmp_path_factory.mktemp("same"), np.random.default_rng(1)
    store = open_store(root / "store")
    questions = [
        {"question_id": f"q{n:02}", "category": f"part {n % 2}", "whole": "yes", "difficulty": round(draw_from.random(), 2)}
        for n in range(QUESTIONS)
    ]
    clues = [
        {"question_id": f"q{n:02}", "clue": clue, "word_end": 5 + 5 * clue} for n in range(QUESTIONS) for clue in range(CLUES)
    ]
    facts = {"dataset": "quiz", "kind": "incremental", "title": "Quiz"}
    put(store, write(root / "quiz", facts, questions=table(questions), clues=table(clues)))
    for number, model in enumerate(MODELS):
        path = root / f"{model}.csv"
        path.write_text(answers(draw_from, {"shy": ["abstained"] * 3, "vague": BESIDE_CONFIDENCES}.get(model, [])))
        put(store, path, dataset="quiz", model=model)
        ((run,),) = store.snapshot().rows("select run from runs where model = $m", {"m": model})
        change_tags(store, run, {"released": f"202{number}", "kind": model}, None)
    return create_app(Settings(store=store.url, workers=1))


@pytest.fixture(params=["", "&failed=1"], ids=["", "failed"])
def failed(request):
    return request.param


def of_rows(rows):
    return {(row["run"], key): cell["value"] for row in rows for key, cell in row["metrics"].items()}


def board(client, query, metrics=tuple(CATALOGUE)):
    """Return the values on the leaderboard, by run and metric."""
    rows = get(client, f"/api/v1/leaderboard?dataset=quiz&metrics={','.join(metrics)}{query}")["rows"]
    return of_rows(rows)


def shown(client, common, failed):
    """Return the values of metrics at each address, by run and metric."""
    query = f"?dataset=quiz{common}{failed}"
    runs = [run["run"] for run in get(client, "/api/v1/runs?dataset=quiz")["runs"]]
    first, second = runs[0], runs[2]
    tables = {"breakdown": of_rows(get(client, f"/api/v1/breakdown{query}&by=attr.whole")["parts"][0]["rows"])}
    for pair in get(client, f"/api/v1/pairs{query}")["comparisons"]:
        for side in "ab":
            values = {(pair[side]["run"], key): cell[side] for key, cell in pair["metrics"].items()}
            tables[f"pairs {pair['a']['model']} {pair['b']['model']} {side}"] = values
    pair = get(client, f"/api/v1/compare{query}&a={first}&b={second}")
    for side in "ab":
        tables[f"compare {side}"] = {(pair[side]["run"], key): cell[side] for key, cell in pair["metrics"].items()}
    power = get(client, f"/api/v1/power{query}&a={first}&b={second}")["metrics"]
    tables["power"] = {(first, second, row["metric"]): row["difference"] for row in power}
    tables["recalibration"] = {
        (run["run"], key): change["before"]
        for run in get(client, f"/api/v1/recalibration{query}&method=platt")["runs"]
        for key, change in run["metrics"].items()
    }
    decisions = get(client, f"/api/v1/decide{query}")
    tables["decide"] = {(run["run"], key): run["metrics"][key]["value"] for run in decisions["runs"] for key in OF_DECIDE}
    at_half = decisions["thresholds"].index(0.5)
    tables["decide, net score"] = {(run["run"], "net_score"): run["net_score"]["values"][at_half] for run in decisions["runs"]}
    triptych = get(client, f"/api/v1/triptych{query}")["runs"]
    tables["triptych"] = {(run["run"], key): run[name] for run in triptych for name, key in SHOWN.items()}
    tables["which-ece"] = {
        (error["run"], variant["key"]): error["value"]
        for variant in get(client, f"/api/v1/which-ece{query}")["variants"]
        for error in variant["runs"]
    }
    fits = get(client, f"/api/v1/difficulty{query}")["runs"]
    tables["difficulty"] = {(run["run"], "hard_easy_slope"): run["slope"] for run in fits}
    for key in ACROSS:
        across = get(client, f"/api/v1/across?metric={key}&rows=runs&pool=kind{failed}")
        tables[f"across {key}"] = {(row["cells"]["quiz"]["run"], key): row["cells"]["quiz"]["value"] for row in across["rows"]}
        tables[f"groups {key}"] = {
            (group["cells"]["quiz"]["runs"][0], key): group["cells"]["quiz"]["mean"] for group in across["groups"]
        }
        dated = get(client, f"/api/v1/release-dates{query}&metric={key}")["runs"]
        tables[f"release-dates {key}"] = {(run["run"], key): run["value"] for run in dated}
        parts = get(client, f"/api/v1/slices{query}&metric={key}")["slices"]
        tables[f"slices {key}"] = {(part["run"], key): part["reference"] for part in parts}
    return tables


ON_SHARED = ("pairs", "compare", "power")  # addresses of what two runs both answered, unless common says more
ON_OWN = ("across", "groups")  # addresses that always measure each run on all that it answered


@pytest.mark.parametrize("common", ["", "&common=1"])
def test_every_address_has_the_values_of_the_leaderboard(app, common, failed):
    client = app.test_client()
    expected = board(client, f"{common}{failed}")
    assert len({run for run, _ in expected}) == len(MODELS)
    assert (expected != board(client, failed)) == bool(common)
    wrong, compared = [], 0
    for address, values in shown(client, common, failed).items():
        assert values, address
        if address.startswith(ON_OWN if common else ON_SHARED):
            continue
        for (*runs, key), value in values.items():
            if key in CATALOGUE:
                known = [expected[run, key] for run in runs]
                right = known[0] if len(known) == 1 else None if None in known else known[0] - known[1]
                compared += right is not None
                if value != (right if right is None else pytest.approx(right, abs=1e-9)):
                    wrong.append((address, *runs, key, value, right))
    assert not wrong, wrong
    assert compared > 500


def test_questions_have_the_values_of_the_leaderboard(app, failed):
    client, keys = app.test_client(), [metric.key for metric in OF_QUESTIONS]
    rows = get(client, f"/api/v1/questions?dataset=quiz&metrics={','.join(keys)}&limit=100{failed}")["questions"]
    for row in rows:
        name = row["question_id"]
        expected = board(client, f"&q={name}&common=0{failed}", keys)
        page = get(client, f"/api/v1/questions/quiz/{name}?{failed[1:]}")["runs"]
        own = {(run["run"], key): run["metrics"][key] for run in page for key in keys}
        listed = {(run, key): value for run, values in row["runs"].items() for key, value in values.items()}
        for place, value in expected.items():
            approx = value if value is None else pytest.approx(value, abs=1e-9)
            assert (listed[place], own[place]) == (approx, approx), (name, place)


def test_pages_have_the_values_of_the_leaderboard(app, failed):
    def rows(path, query):
        """Return the texts of the cells of each row of the tables of a page, by that of the first."""
        with app.test_request_context("/"):
            html = " ".join(json.loads(draw({"path": path, "query": query, "page": True}))["fragments"].values())
        cells = [re.split(r"</t[hd]>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]
        texts = [[re.sub("<[^>]*>", "", cell) for cell in row] for row in cells]
        return {row[0]: row for row in texts}

    client = app.test_client()
    own, expected = board(client, failed), board(client, f"&common=1{failed}")
    runs = [run["run"] for run in get(client, "/api/v1/runs?dataset=quiz")["runs"]]
    page = rows("/compare", f"dataset=quiz&common=1&a={runs[0]}&b={runs[2]}{failed}")
    of_run = rows(f"/runs/{runs[2]}", failed[1:])
    for key in ("accuracy", "accuracy_attempted", "net_score", "brier", "ece"):
        name = CATALOGUE[key].name
        assert page[name][1:3] == [short(expected[runs[0], key]), short(expected[runs[2], key])], key
        assert of_run[name][1].partition(" of ")[0] == short(own[runs[2], key]), key


def test_players_are_compared_by_the_same_values(app):
    client = app.test_client()
    expected = board(client, "&common=0")
    played = tuple(PlayedClue(f"q{n:02}", clue, 0.5, 1.0) for n in range(QUESTIONS) for clue in range(CLUES))
    result = player_result(app.extensions["clueline"].snapshot(), Selection("quiz"), played)
    by_model = {row.model: row for row in result.standings}
    assert by_model.keys() == {"You", "clear", "worse"}, "vague and shy lack confidences"
    assert result.left_out == 2
    for row in result.standings:
        for key, value in row.metrics.items():
            if row.run is not None and value is not None:
                assert value == pytest.approx(expected[row.run, key], abs=1e-9), key
