"""Which runs and questions count where runs answered different ones, in the same way at every address."""

import csv
import io
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.registry.addresses import ROUTES
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from tests.helpers.drawn_pages import markup
from tests.helpers.stores import seed_without_models

BY_DEFAULT = [
    "leaderboard", "agreement", "breakdown?by=category", "by-clue", "decide", "deferring", "difficulty", "finding",
    "recalibration?method=platt", "people", "reliability", "release-dates", "slices", "triptych", "unsolved", "which-ece",
    "which-h",
]  # fmt: skip
WHERE_NAMED = [
    "buzz", "buzz/categories", "buzz/median", "compare?a={a}&b={b}", "confidently-wrong", "gradings/reviewed", "items?limit=1000",
    "pairs?metrics=brier,auroc,calscore", "power?a={a}&b={b}&metrics=brier", "questions?limit=1000&metrics=brier",
]  # fmt: skip


@pytest.fixture(scope="module")
def partial(seeded, tmp_path_factory):
    """The bundled data plus three Pyramid runs: one answered most subcategories, one all others, and one few questions."""
    folder = tmp_path_factory.mktemp("partial")
    app = create_app(Settings(store=str(seeded), workers=1))
    client = app.test_client()
    runs = [row["run"] for row in client.get("/api/v1/leaderboard?dataset=pyramid").json["rows"]]
    questions = client.get("/api/v1/questions?dataset=pyramid&limit=1000").json["questions"]
    subcategories = sorted({question["subcategory"] for question in questions})
    kept = subcategories[:-1]
    ids = [question["question_id"] for question in questions if question["subcategory"] in kept]
    rows = list(csv.DictReader(io.StringIO(client.get(f"/api/v1/runs/{runs[0]}/responses.csv").text)))
    store = open_store(folder / "store")
    seed_without_models(store)
    rest = [question["question_id"] for question in questions if question["question_id"] not in ids]
    for model, answered in (("partial", ids), ("few", ids[:5]), ("rest", rest)):
        path = folder / f"{model}.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, ["question_id", "clue", "guess", "confidence"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(row for row in rows if row["question_id"] in answered)
        import_paths(store, [path], ImportOptions(dataset="pyramid", model=model, elicitation="logit"))
    app = create_app(Settings(store=str(folder / "store"), workers=1))
    names = {row["model"]: row["run"] for row in app.test_client().get("/api/v1/runs?dataset=pyramid").json["runs"]}
    assert len(ids) > 10 * len(rest) > 0
    return SimpleNamespace(
        app=app, client=app.test_client(), runs=[*runs, names["partial"]], partial=names["partial"], few=names["few"],
        rest=names["rest"], ids=ids, kept=kept, others=subcategories[len(kept) :], all=len(questions),
    )  # fmt: skip


def answer_of(partial, address, keys):
    """Return the answer of a JSON address without the parts that repeat its selection."""
    address = address.format(a=partial.runs[0], b=partial.partial)
    response = partial.client.get(f"/api/v1/{address}{'&' if '?' in address else '?'}dataset=pyramid{keys}")
    assert response.status_code == 200, response.json
    answer = response.json
    answer.pop("selection", None)
    if address == "leaderboard":
        answer = {"rows": [row for row in answer["rows"] if row["ranked"]]}
        for row in answer["rows"]:
            del row["answered"], row["answered_clues"]
    return answer


def explicit_keys(partial):
    """Return the explicit selection that ``common=1`` must be equal to."""
    return "".join([*(f"&subcategory={quote(name)}" for name in partial.kept), *(f"&run={run}" for run in partial.runs)])


@pytest.mark.parametrize("address", [*BY_DEFAULT, *WHERE_NAMED])
def test_common_equals_selecting_the_common_questions(partial, address):
    assert answer_of(partial, address, "&common=1") == answer_of(partial, address, f"{explicit_keys(partial)}&common=0")


# What is told of people's questions here is on a question that all runs answered.
@pytest.mark.parametrize("address", [address for address in BY_DEFAULT if address != "finding"])
def test_rankings_are_of_runs_that_take_part(partial, address):
    """By default, each on all that it answered."""
    runs = "".join(f"&run={run}" for run in partial.runs)
    assert answer_of(partial, address, "") == answer_of(partial, address, runs)
    if address not in ("slices", "unsolved"):  # the others answered too little to be tested, or to solve one more
        assert answer_of(partial, address, "") != answer_of(partial, address, "&common=0")
    if address not in ("people", "release-dates"):  # nobody voted, and no run has a date
        assert answer_of(partial, address, "") != answer_of(partial, address, "&common=1")


@pytest.mark.parametrize("address", WHERE_NAMED)
def test_elsewhere_each_run_has_its_own_questions(partial, address):
    assert answer_of(partial, address, "") == answer_of(partial, address, "&common=0")


def test_every_address_with_a_selection_is_tested(partial):
    # These concern one question, no run, or each run by itself.
    other = {
        "questions/<dataset>/<path:question_id>",
        "clue-steps/<dataset>/<path:question_id>",
        "datasets/<dataset>/prompts",
        "gradings",
        "teams",
        # A table of confidently-wrong.
        "confidently-wrong/answers",
    }
    paths = {route.address.removeprefix("GET /api/v1/").rsplit(".", 1)[0] for route in ROUTES if route.selection}
    assert paths - other == {address.partition("?")[0] for address in (*BY_DEFAULT, *WHERE_NAMED)}


def test_a_run_that_answered_few_is_not_ranked(partial):
    board = partial.client.get("/api/v1/leaderboard?dataset=pyramid&intervals=1&metrics=accuracy,brier").json
    rows = {row["run"]: row for row in board["rows"]}
    assert (board["questions"], board["common"]) == (partial.all, None)
    assert rows[partial.partial]["answered"] == len(partial.ids) and rows[partial.partial]["ranked"]
    assert {run: row["questions"] for run, row in rows.items() if row["ranked"]} == dict.fromkeys(partial.runs, partial.all) | {
        partial.partial: len(partial.ids)
    }
    common = partial.client.get("/api/v1/leaderboard?dataset=pyramid&common=1&metrics=brier").json
    assert common["common"] == len(partial.ids)
    assert {row["questions"] for row in common["rows"] if row["ranked"]} == {len(partial.ids)}
    few = rows[partial.few]
    assert (few["answered"], few["questions"], few["ranked"]) == (5, 5, False)
    assert (
        few["unranked"] == f"answered {few['answered_clues']} of {board['clues']}" and rows[partial.partial]["unranked"] is None
    )
    assert all(cell["rank"] is None and cell["low"] is None and cell["letters"] is None for cell in few["metrics"].values())
    own = partial.client.get("/api/v1/leaderboard?dataset=pyramid&common=0&metrics=accuracy,brier").json
    own_rows = {row["run"]: row for row in own["rows"]}
    assert own["common"] is None and all(row["ranked"] for row in own["rows"])
    for key, cell in few["metrics"].items():
        assert cell["value"] == own_rows[partial.few]["metrics"][key]["value"]


def test_slices_refuse_a_run_that_answered_too_few(partial):
    refused = partial.client.get(f"/api/v1/slices?dataset=pyramid&against={partial.few}")
    assert refused.status_code == 400 and "takes no part here: answered " in refused.json["error"]["message"]
    assert partial.client.get(f"/api/v1/slices?dataset=pyramid&common=0&against={partial.few}").status_code == 200


def test_the_csv_table_says_how_much_each_run_answered(partial):
    text = partial.client.get("/api/v1/leaderboard.csv?dataset=pyramid&metrics=brier").text
    rows = {row["model"]: row for row in csv.DictReader(io.StringIO(text))}
    assert (rows["few"]["answered"], rows["few"]["ranked"], rows["few"]["brier_rank"]) == ("5", "false", "")
    assert rows["few"]["unranked"].startswith("answered ")
    assert (rows["partial"]["answered"], rows["partial"]["ranked"], rows["partial"]["unranked"]) == (
        str(len(partial.ids)), "true", "",
    )  # fmt: skip


def test_every_run_takes_part_where_the_address_says_so(partial):
    board = partial.client.get("/api/v1/leaderboard?dataset=pyramid&common=all").json
    assert board["common"] == 0 and board["rows"] == []  # one run answered only what another did not
    names = "".join(f"&run={run}" for run in (*partial.runs, partial.few))
    board = partial.client.get(f"/api/v1/leaderboard?dataset=pyramid&common=all{names}").json
    assert (
        board["common"] == 5
        and {row["questions"] for row in board["rows"]} == {5}
        and all(row["ranked"] for row in board["rows"])
    )
    link = f'href="/?dataset=pyramid{names}&common=all"'
    assert link in drawn(partial, "/", f"{names}&common=1") and "No question was answered by all" in drawn(
        partial, "/reliability", "&common=all"
    )


def drawn(partial, path, query):
    return markup(partial.app, path, f"dataset=pyramid{query}")


def test_a_notice_gives_counts_and_links_the_other_view(partial):
    text = drawn(partial, "/", "&sort=brier")
    board = partial.client.get("/api/v1/leaderboard?dataset=pyramid&metrics=brier&common=1").json
    assert "Each is measured on all that it answered. A mean ranks after it is adjusted" in text
    assert 'href="/?dataset=pyramid&sort=brier&common=1"' in text
    assert "adjusted for the questions that each run skipped, 95 % interval" in text
    assert "few (answered " in text and f"partial ({len(partial.ids)} of {partial.all}; " in text
    text = drawn(partial, "/", "&sort=brier&common=1")
    shares = f"{len(partial.ids)} of {partial.all} questions ({board['common_clues']} of {board['clues']} clues)"
    assert f"measured on the {shares} that all {len(partial.runs)} runs answered" in text
    few, some = (
        next(row["answered_clues"] for row in board["rows"] if row["run"] == run) for run in (partial.few, partial.partial)
    )
    assert f"few (answered {few} of {board['clues']})" in text
    assert f"partial ({len(partial.ids)} of {partial.all}; {some} of {board['clues']} clues)" in text
    assert 'href="/?dataset=pyramid&sort=brier&common=0"' in text
    assert "Not ranked, because they answered too little" in text and f">5 of {partial.all}" in text
    own = drawn(partial, "/", "&common=0&sort=brier")
    assert f"from 3 to {partial.all} of {partial.all}" in own and "Not ranked, because" not in own
    assert 'href="/?dataset=pyramid&sort=brier&common=1"' in own


def test_each_page_states_its_default_for_common(partial):
    words = {True: "Each is measured on all that it answered", False: "A run that skips hard questions looks better"}
    defaults = {}
    for page in PAGES.values():
        if page.name in ("question", "nowhere"):  # one shows a single question, the other none
            continue
        text = drawn(partial, page.path, "")
        assert [shown for shown, line in words.items() if line in text] == ([] if page.common is None else [page.common])
        defaults[page.name] = page.common
    assert {name for name, common in defaults.items() if common} == {
        "decide",
        "leaderboard",
        "reliability",
        "difficulty",
        "slices",
        "people",
        "which-ece",
        "by-clue",
    }


def test_a_comparison_points_to_the_leaderboards_values(partial):
    """A pair is measured on what both answered, a ranking each on its own. The page links from one view to the other."""
    two = f"&a={partial.runs[0]}&b={partial.runs[1]}"
    text = drawn(partial, "/compare", two)
    assert f"{partial.all} questions answered by both" in text and "The leaderboard has other values" in text
    assert f'href="/compare?dataset=pyramid{two}&common=1"' in text
    common = drawn(partial, "/compare", f"{two}&common=1")
    assert f"{len(partial.ids)} questions answered by both" in common and "The leaderboard has" not in common
    assert "The leaderboard has" not in drawn(partial, "/compare", f"{two}&common=0")
    board = partial.client.get("/api/v1/leaderboard?dataset=pyramid&metrics=brier&common=1").json
    pair = partial.client.get(f"/api/v1/compare?dataset=pyramid{two}&metrics=brier&common=1").json
    values = {row["run"]: row["metrics"]["brier"]["value"] for row in board["rows"]}
    assert [pair["metrics"]["brier"][side] for side in "ab"] == [pytest.approx(values[run]) for run in partial.runs[:2]]


def test_where_no_run_takes_part_the_page_says_so(partial):
    parts = "".join(f"&subcategory={quote(name)}" for name in (partial.kept[-1], partial.others[0]))  # three questions each
    query = f"{parts}&revealed=1..1&run={partial.partial}&run={partial.rest}"
    text = drawn(partial, "/reliability", query)
    assert "No run answered enough to be compared" in text and "common=0" in text
    board = partial.client.get(f"/api/v1/leaderboard?dataset=pyramid{query}").json
    assert [row["ranked"] for row in board["rows"]] == [False, False]
    listed = drawn(partial, "/", query)
    assert "No run can be ranked: none answered nine tenths of the " in listed and listed.count(">3 of 6<") == 2
    assert "No run answered enough" not in drawn(partial, "/reliability", f"{query}&common=0")
