"""Every number in a sentence of a page is one that the API gives of the same answers, on boards with few and with many of all."""

import json
import random
import re
from statistics import fmean
from urllib.parse import urlencode

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from clueline.queries.metrics import CATALOGUE
from tests.helpers.bundle_factory import put
from tests.helpers.drawn_pages import drawn, plain, walk
from tests.helpers.full_board import FAILED, NAMES, SEED, TEAMS, people, write_board

TWO = {"m0 verbalized": 1, "m1 verbalized": 1}
BOARDS = {
    "many": {},
    "nobody": {"teams": ()},
    "one-team": {"teams": ("Ash",), "runs": TWO},
    "two-teams": {"teams": ("Ash", "Birch"), "runs": {"m1 verbalized": 1}},
    "failed": {"runs": TWO, "all_failed": True},
}
NUMBER = re.compile(r"(?<![\w.])[-\u2212]?\d+(?:,\d{3})*(?:\.\d+)?(?:\s?%)?")
# What sentences say whatever the data: levels of intervals and tests, ends of axes, and rules.
CONSTANT = {"95 %", "90 %", "80 %", "5 %", "0.05", "0", "1", "0.5", "0.1", "10", "5", "100 %"}
NAMED = re.compile("|".join(re.escape(metric.label) for metric in CATALOGUE.values() if re.search(r"\d", metric.label)))
POINTS = " points "
SENTENCES = ("P", "Figcaption", "H1", "H2", "H3")


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sentences")
    store = open_store(folder / "store", threads=1)
    for name, options in BOARDS.items():
        put(store, write_board(folder, name, **options))
    return create_app(Settings(store=store.url, workers=1))


def text_of(part):
    if isinstance(part, list):
        return " ".join(map(text_of, part))
    if isinstance(part, dict):
        return text_of(part.get("props", {}).get("children") or "")
    return "" if part is None else str(part)


def sentences(content):
    """Yield the sentences of a page: paragraphs, notes, captions and headings."""
    for part in walk(plain(content)):
        props = part.get("props", {})
        if part.get("type") in SENTENCES or "note" in (props.get("className") or "").split():
            yield " ".join(text_of(props.get("children") or "").split())


def numbers(answer, pool):
    """Add the numbers of an answer, and how many there are in its lists."""
    if isinstance(answer, dict):
        for value in answer.values():
            numbers(value, pool)
    elif isinstance(answer, list):
        pool.add(float(len(answer)))
        for value in answer:
            numbers(value, pool)
    elif isinstance(answer, int | float) and not isinstance(answer, bool):
        pool.add(float(answer))


def is_known(word, known, *, points):
    """Whether a number as it is printed is one of some, rounded as it is, or a share of one, or the share of the rest.

    ``points`` says whether the sentence also tells differences in percentage points.
    """
    digits = word.rstrip("% \u00a0").replace(",", "").replace("\u2212", "-")
    decimals = len(digits.partition(".")[2])
    shown = float(digits)
    for value in known:
        forms = (100 * value, 100 * (1 - value)) if word.endswith("%") else (value, -value)
        if points and not decimals:
            forms = (*forms, 100 * value, -100 * value)
        if any(abs(round(form, decimals) - shown) < 1e-9 for form in forms):
            return True
    return False


def asked(page, dataset, runs):
    """Return the query, the item and the API's addresses of a page, with their queries."""
    selected = {"dataset": dataset}
    if page.name == "question":
        query, item = {}, (dataset, FAILED)
    elif page.name == "run":
        query, item = {}, (dataset, runs[0])
    elif page.name == "model":
        query, item = {}, (None, "m1")
    else:
        query, item = selected, ()
    addresses = {}
    pair = urlencode({"a": runs[0], "b": runs[-1]})
    more_keys = {"compare": pair, "power": pair, "leaderboard": "intervals=1", "breakdown": "intervals=1"}
    if BOARDS[dataset].get("teams", TEAMS):
        more_keys["confidently-wrong"] = "before=1"  # as the page has it, where people played
    for view in page.views:
        path = view.path.replace("<dataset>", dataset).replace("<path:question_id>", FAILED).replace("<path:name>", "m1")
        of_dataset = view.selected and path == view.path
        before = "before=1" if BOARDS[dataset].get("teams", TEAMS) else ""
        more = {
            "confidently-wrong": before,
            "compare": pair,
            "power": pair,
            "leaderboard": "intervals=1",
            "breakdown": "intervals=1",
        }.get(path, "")
        addresses[path] = "&".join(filter(None, [urlencode(selected) if of_dataset else "", more]))
    return urlencode(query), item, addresses


def counts_of_people(teams):
    """Return how often teams buzzed right and wrong, and the mean share that was right, with and without unstated ends."""
    heard, buzzes = people(random.Random(SEED), teams)
    right = {(buzz["question_id"], buzz["team"]) for buzz in buzzes if buzz["correct"] == "true"}
    shares = []
    for plays in (heard, [play for play in heard if play["end_stated"] == "true"]):
        of_questions = [[(name, play["team"]) in right for play in plays if play["question_id"] == name] for name in NAMES]
        shares.append(fmean(fmean(of_question) for of_question in of_questions if of_question))
    return {len(right), len(buzzes) - len(right), *shares}


@pytest.mark.parametrize("dataset", BOARDS)
def test_sentences_have_the_numbers_of_the_api(app, dataset):
    client = app.test_client()
    known_runs = [run["run"] for run in client.get(f"/api/v1/runs?dataset={dataset}").json["runs"]]
    teams = BOARDS[dataset].get("teams", TEAMS)
    everywhere = {float(len(NAMES)), float(len(known_runs)), float(len(teams))}  # the size of the dataset
    numbers(client.get(f"/api/v1/leaderboard?dataset={dataset}&common=1").json, everywhere)  # what a link to it says
    for run in known_runs:
        numbers(client.get(f"/api/v1/runs/{run}/grades").json, everywhere)
    if teams:
        everywhere |= counts_of_people(teams)
    strange = {}
    for name, page in PAGES.items():
        if not page.views:
            continue
        query, item, addresses = asked(page, dataset, known_runs)
        known = {*everywhere, NAMES.index(FAILED) + 1.0}
        for path, keys in addresses.items():
            answer = client.get(f"/api/v1/{path}?{keys}")
            assert answer.status_code in (200, 400, 404), answer.text
            numbers(json.loads(answer.text), known)
        for sentence in sentences(drawn(app, name, query, *item)):
            points = POINTS in sentence
            words = [word for word in NUMBER.findall(NAMED.sub("", sentence)) if word not in CONSTANT]
            unknown = [word for word in words if not is_known(word, known, points=points)]
            if unknown:
                strange[name, sentence] = unknown
    assert strange == {}
