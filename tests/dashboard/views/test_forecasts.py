"""Pages of a dataset of forecasts: the Brier score leads, and the bias towards yes is not called overconfidence."""

import re

import numpy as np
import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from tests.helpers.drawn_pages import as_text, drawn, everything, markup
from tests.helpers.json_api import get

QUESTIONS = 60
PROBABILITIES = {"sharp": (0.1, 0.9), "vague": (0.4, 0.6), "believer": (0.5, 0.95)}  # of yes, by outcome


@pytest.fixture(scope="module")
def forecasts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecasts")
    chance = np.random.default_rng(3)
    lines = ["question_id,text,category,model,probability,outcome"]
    for question in range(QUESTIONS):
        outcome = question % 3 == 0
        for model, stated in PROBABILITIES.items():
            p = np.clip(stated[outcome] + chance.normal(0, 0.2), 0.01, 0.99)
            lines.append(f"q{question},Will it rain?,{'ab'[question % 2]},{model},{p:.2f},{outcome:d}")
    (folder / "forecasts.csv").write_text("\n".join(lines) + "\n")
    import_paths(open_store(folder / "store"), [folder / "forecasts.csv"], ImportOptions(dataset="rain"))
    return create_app(Settings(store=str(folder / "store"), workers=1))


def text_of(app, page):
    """Return all texts of a page and of its figures."""
    return as_text(drawn(app, page, "dataset=rain"))


@pytest.mark.parametrize("page", ["leaderboard", "reliability", "difficulty", "slices", "decide", "questions", "compare"])
def test_no_page_speaks_of_overconfidence(forecasts, page):
    text = text_of(forecasts, page)
    named = re.compile(r"Overconfiden(?!ce reward R_O)|Overconf\.|(?<!Definition of) overconfiden")
    contexts = [text[max(0, at.start() - 150) : at.end() + 150] for at in named.finditer(text)]
    assert not contexts


def test_the_brier_score_leads(forecasts):
    board = get(forecasts.test_client(), "/api/v1/leaderboard?dataset=rain")
    assert board["primary"] == "brier"
    by_brier = sorted(board["rows"], key=lambda row: row["metrics"]["brier"]["value"])
    text = text_of(forecasts, "leaderboard")
    assert re.findall(r'"data-run": "([0-9a-f]+)"', text)[:3] == [row["run"] for row in by_brier]
    assert "by Brier score" in text and "Bias to yes" in text


@pytest.mark.parametrize("path", ["/", "/reliability", "/difficulty", "/slices", "/decide", "/compare", "/which-ece"])
@pytest.mark.parametrize("narrowed", [True, False])
def test_pages_say_what_is_meant_and_not_tested(forecasts, path, narrowed):
    """Difficulties come from runs here, because nobody played and none is stated."""
    page = markup(forecasts, path, "dataset=rain" + "&difficulty=0..0.5" * narrowed)
    assert page.count("No tests, bands or slopes are given") == narrowed
    assert page.count("about the likelier side of each forecast") == 1


def test_every_page_draws(forecasts):
    for page in PAGES:
        if page not in ("question", "run", "model", "nowhere"):
            assert drawn(forecasts, page, "dataset=rain" if page not in ("metrics", "upload") else "")


def test_the_notice_links_to_a_section(forecasts):
    (link,) = re.findall(r'href="(/docs/[^"#]+)#forecasts"', markup(forecasts, "/", "dataset=rain"))
    assert 'id="forecasts"' in forecasts.test_client().get(link).text


WORDS_OF_ACCURACY = re.compile(
    r"share right|Accuracy at \d|Acc\. at|[Aa]ccuracy of the|accuracy %|(of|at) their accuracy|accuracy smoothed"
)


@pytest.mark.parametrize("page", ["leaderboard", "reliability", "which-ece", "decide", "run"])
def test_only_the_likelier_side_has_an_accuracy(forecasts, page):
    """What is compared with a probability of yes is an outcome, which can be a share."""
    run = get(forecasts.test_client(), "/api/v1/runs?dataset=rain")["runs"][0]["run"]
    path = f"/runs/{run}" if page == "run" else PAGES[page].path
    query = "dataset=rain" + "&metrics=accuracy_at_80,brier" * (page == "leaderboard")
    text = everything(forecasts, path, query)
    assert not [text[max(0, at.start() - 100) : at.end() + 100] for at in WORDS_OF_ACCURACY.finditer(text)]
    assert "ean outcome" in text


def test_diagrams_say_probability_of_yes(forecasts):
    for page in ("reliability", "which-ece"):
        text = text_of(forecasts, page)
        assert '"probability of yes"' in text and '"mean outcome"' in text and "Mean outcome" in text, page
    assert "mean outcome of the likelier side" in text_of(forecasts, "decide")


def test_citations_name_metrics_of_forecasts(forecasts):
    client = forecasts.test_client()
    decide = get(client, "/api/v1/cite?view=/decide%3Fdataset%3Drain")
    assert "Outcome at 80 %" in decide["columns"] and "Accuracy" in decide["columns"]
    assert "Mean outcome at 80 % coverage" in decide["methods"] and "Accuracy at 80" not in decide["methods"]
    diagrams = get(client, "/api/v1/cite?view=/reliability%3Fdataset%3Drain")
    assert {"Mean probability of yes", "Mean outcome"} < {*diagrams["columns"]} and "Accuracy" not in diagrams["columns"]
