"""What the server draws of the upload page: the form's settings by mode, and the questions to answer."""

import json
from typing import get_args

import pytest

from clueline.dashboard.cli import progress as progress_and_refusals
from clueline.dashboard.uploads import import_process
from clueline.data.importing.report import Hint
from clueline.queries.metrics import METRICS
from tests.helpers.drawn_pages import attributes, drawn, hrefs, words


def test_the_form_knows_datasets_and_limits(app, client):
    (form,) = (json.loads(text) for text in attributes(drawn(app, "upload", "dataset=tone"), "data-form"))
    datasets = client.get("/api/v1/datasets").get_json()["datasets"]
    assert form["datasets"] == [[dataset["dataset"], dataset["title"]] for dataset in datasets] and form["chosen"] == "tone"
    assert form["most"] == 1024 and [key for key, _ in form["metrics"]] == [metric.key for metric in METRICS]


def test_every_dataset_offers_its_questions(app, client):
    links = hrefs(drawn(app, "upload"))
    for dataset in client.get("/api/v1/datasets").get_json()["datasets"]:
        for form in ("csv", "jsonl"):
            link = f"/api/v1/datasets/{dataset['dataset']}/prompts.{form}"
            assert link in links and client.get(link).status_code == 200


@pytest.mark.parametrize("mode", ["token", "open"])
def test_a_token_is_asked_for_by_mode(app_taking_uploads, mode):
    assert attributes(drawn(app_taking_uploads(mode), "upload"), "data-mode") == [mode]


def test_where_uploads_are_off_the_page_says_so(app_taking_uploads):
    content = drawn(app_taking_uploads("off"), "upload")
    assert "CLUELINE_UPLOADS=off" in words(content) and not attributes(content, "data-form")


@pytest.fixture(scope="module")
def page_hints(app):
    """The hints of the upload page. Pages can be imported only once there is an app."""
    from clueline.dashboard.views import upload

    return upload.HINTS


def test_every_hint_has_a_text(page_hints):
    for hints in (progress_and_refusals.HINTS, import_process.REMEDIES, page_hints):
        assert {*hints} == {*get_args(Hint)} and all(hints.values())


def test_only_the_command_line_names_flags(page_hints):
    # A password in a flag would stay in the shell's history.
    assert {hint for hint, text in progress_and_refusals.HINTS.items() if "--" not in text} == {"dataset_upload", "password"}
    assert not any("--" in text for hints in (import_process.REMEDIES, page_hints) for text in hints.values())
