"""What holds at every address: its documented keys and no others, named errors, CSV with the values of the JSON, its fields."""

import re
import shutil
from typing import Annotated
from urllib.parse import quote

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.cli import api_docs
from clueline.dashboard.registry.addresses import ROUTES
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.dashboard.views.upload import DatasetUploadParameters
from clueline.data.store.gradings import Correction, correct_grades, draw_for_review
from clueline.data.store.run_tags import change_tags
from clueline.data.store.stored_selections import selection_id
from clueline.data.store.tokens_and_readers import Tokens
from clueline.queries.breakdown import breakdown
from clueline.queries.buzzing import Rules, buzz, people_median
from clueline.queries.compare import compare, comparisons
from clueline.queries.human_votes import people
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.power import power
from clueline.queries.question import question
from clueline.queries.rankings import agreement
from clueline.queries.recalibration import recalibration
from clueline.queries.reliability import reliability
from clueline.queries.selection import Selection, dataset_conventions
from clueline.queries.selection.parameter_kinds import Text
from clueline.queries.selection.view_parameters_base import Parameters, key_forms, split_key
from clueline.queries.teams import human_teams
from tests.helpers.examples import examples
from tests.helpers.json_api import error, get, plain, table
from tests.helpers.openapi_calls import call_every_address, drawing
from tests.helpers.paths import ROOT

API = "/api/v1/"
KEYS, KEYS_OF_UPLOADS = key_forms(Selection.kinds()), key_forms(DatasetUploadParameters.kinds())
TEXT = api_docs.PATH.read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`[A-Z]+ /.*?`) \|.*\|(.*)\|$", re.MULTILINE)
TWO_RUNS = "a=RUN&b=OTHER"
NEEDED = {"compare": TWO_RUNS, "power": TWO_RUNS}  # keys that an address must have
# Keys with which an address, and its table, show all that they can.
QUERIES = {
    "across/groups": "pool=kind", "across": "pool=kind", "breakdown": "by=difficulty&intervals=1", "buzz": "threshold=0.5",
    "compare": TWO_RUNS, "items": "limit=1000", "leaderboard": "intervals=1", "people": "dataset=tone",
    "power": f"{TWO_RUNS}&metrics=brier,accuracy&d=0.05", "questions": "limit=1000", "recalibration": "method=platt",
    "which-ece": "intervals=1", "gradings/reviewed": "grading=reviewed",
}  # fmt: skip


def documented():
    """Return address -> the keys that it takes."""
    documented_keys = {}
    for cell, takes in ROW.findall(TEXT):
        keys = {*re.findall(r"`([^`]+)`", takes), *(KEYS if "selection" in takes else ())}
        for address in re.findall(r"`([^`]+)`", cell):
            assert address not in documented_keys, f"{address} stands there twice"
            documented_keys[address] = keys
    return documented_keys


MODEL = "BM25"  # of Pyramid
READ = sorted(address.removeprefix("GET ") for address in documented() if address.startswith("GET /api/"))
SELECTED = [address.removeprefix(API) for address in READ if {*KEYS} <= documented()[f"GET {address}"]]


SELECTION = selection_id([("dataset", "pyramid")])


@pytest.fixture(scope="module")
def holder(seeded, tmp_path_factory):
    """A client with a token, on the bundled datasets with tags, a corrected grade and answers that were drawn for review."""
    folder = shutil.copytree(seeded, tmp_path_factory.mktemp("addresses") / "store", ignore=shutil.ignore_patterns("cache"))
    app = create_app(Settings(store=str(folder), workers=1))
    store = app.extensions["clueline"].store
    runs = [run for (run,) in store.snapshot().rows("select run from runs where dataset = 'pyramid' order by position")]
    for number, run in enumerate(runs):
        change_tags(store, run, {"kind": "even" if number % 2 else "odd", "released": f"202{number}"}, None)
    draw_for_review(store, runs[0], 50, 7, "ann")
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {Tokens(store.register).create('reader', 'admin')}"
    stored = client.post(f"{API}selections", data="dataset=pyramid", content_type="application/x-www-form-urlencoded")
    assert stored.json["selection"] == SELECTION, stored.text
    (first, *_) = get(client, f"{API}items?dataset=pyramid&run={runs[0]}&limit=1")["items"]
    correct_grades(store, runs[0], [Correction(first["question_id"], first["guess"], 1 - first["correct"])], "ann")
    return client


@pytest.fixture(scope="module")
def runs(client):
    """Ids of the runs of Pyramid."""
    return [run["run"] for run in get(client, f"{API}runs?dataset=pyramid")["runs"]]


def path_of(address, runs):
    """Return the path of an address below the API, with values for its variable parts."""
    parts = {"dataset": "pyramid", "question_id": "lit-08", "run_id": runs[0], "name": MODEL, "selection_id": SELECTION}
    return API + re.sub("<(?:path:)?([a-z_]+)>", lambda part: quote(parts[part[1]]), address.removeprefix(API))


def with_runs(text, runs):
    return text.replace("RUN", runs[0]).replace("OTHER", runs[1])


def query_of(address, runs, queries=QUERIES):
    return with_runs(queries.get(address.removeprefix(API).removesuffix(".csv"), ""), runs)


# -- docs/api.md: its tables are generated, and have every address and key, and no others ------------------------------------


def test_the_tables_are_written_by_the_app(app):
    assert api_docs.write_tables(TEXT) == TEXT, "run python -m clueline.dashboard.cli.api_docs"
    with pytest.raises(ValueError, match="keys of pages"):
        api_docs.write_tables(TEXT.replace("<!-- keys of pages, generated -->", ""))


def test_a_new_address_or_key_is_noticed(app, monkeypatch):
    class ColourParameters(Parameters, frozen=True):
        colour: Annotated[str, Text("which colour")] = ""

    route = api_docs.Route("GET /api/v1/colours", "Colours.", ColourParameters)
    monkeypatch.setattr(api_docs, "ROUTES", [*api_docs.ROUTES, route])
    rewritten = api_docs.write_tables(TEXT)
    assert rewritten != TEXT
    assert "| `GET /api/v1/colours` | Colours. | `colour` |" in rewritten
    assert "| `colour` | which colour | `/api/v1/colours` |" in rewritten


def test_every_key_has_a_meaning(app):
    structs = [Selection, *(route.takes for route in ROUTES), *(page.parameters for page in PAGES.values())]
    assert all(kind.about for struct in structs for kind in struct.kinds().values())


def test_the_documented_addresses_are_those_of_the_app(app):
    served = {
        f"{method} {re.sub('<[a-z]+:', '<', str(rule))}"
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith(("api.", "login")) and rule.endpoint != "api.unknown_address"
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    assert set(documented()) == served
    assert "(docs/api.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_key_is_documented():
    def listed(start, end):
        rows = re.findall(r"^\| (`.*?) \|", TEXT[TEXT.index(start) : TEXT.index(end)], re.MULTILINE)
        return sorted(cell for row in rows for cell in re.findall(r"`([^`]+)`", row))

    assert listed("## The selection", "## What there is") == sorted(KEYS)
    assert listed("## Uploading", "| status |") == sorted(KEYS_OF_UPLOADS)
    assert documented()["POST /api/v1/runs"] == set(KEYS_OF_UPLOADS) - {"title"}
    assert documented()["POST /api/v1/datasets"] == set(KEYS_OF_UPLOADS)


@pytest.mark.parametrize("address", READ)
def test_it_takes_the_documented_keys_and_no_others(holder, runs, address):
    path = path_of(address, runs)
    assert holder.get(f"{path}?{query_of(address, runs)}").status_code == 200
    problem = error(holder, f"{path}?colour=red", 400)
    assert (problem["code"], problem["field"]) == ("unknown_key", "colour")
    assert set(problem["allowed"]) == documented()[f"GET {address}"]


# -- errors -------------------------------------------------------------------------------------------------------------------

# Every key of a selection with an invalid value: the code of the error, and the allowed values if they are a list.
BAD_VALUES = [
    ("dataset", "nowhere", "unknown_value", ["pyramid", "lifeeval", "tone"]), ("run", "0123", "unknown_value", None),
    ("model", "GPT", "unknown_value", None), ("elicitation", "logit", "unknown_value", ["softmax", "margin"]),
    ("tag.reasoning", "yes", "unknown_key", []), ("attr.language", "fr", "unknown_key", []),
    ("category", "Cookery", "unknown_value", ["Arts", "Geography", "History", "Literature", "Science", "Social Science"]),
    ("category", "", "unknown_value", None), ("subcategory", "Soups", "unknown_value", None),
    ("radius", "5", "unknown_value", []), ("grading", "mine", "unknown_value", ["graded"]),
    ("primary", "mean_confidence", "unknown_value", None),
    ("people", "nobody", "unknown_value", ["imported"]), ("cluster", "packet", "unknown_value", ["question"]),
    *(("difficulty", text, "bad_value", []) for text in
      ("hard", "0.5", "0.9..0.1", "0..1.5", "-0.5..1", "nan..1", "0..0.5..1", "")),
    ("revealed", "..0.5", "bad_value", []), ("revealed", "0..inf", "bad_value", []), ("q", "x" * 501, "bad_value", []),
    ("binning", "width7", "unknown_value", ["width10", "width10r", "width10+1", "mass15"]),
    ("binning", "mass1", "unknown_value", None), ("binning", "mass101", "unknown_value", None),
    ("human", "everyone", "unknown_value", ["buzz_share", "release_share", "team_share", "survival"]),
    ("failed", "yes", "unknown_value", ["0", "1"]), ("undisputed", "yes", "unknown_value", ["0", "1"]),
    ("nights", "yes", "unknown_value", ["0", "1"]),
    ("t", "1", "bad_value", []), ("t", "half", "bad_value", []),
    *(("beta", text, "bad_value", []) for text in ("0", "-1", "1e999", "two")),
    *(("common", text, "unknown_value", ["0", "1", "all"]) for text in ("2", "", "yes")),
]  # fmt: skip
# The own keys of addresses: what is asked, the key that the error names, its code, and whether it lists what is allowed.
BAD_KEYS = """
leaderboard?metrics=beauty metrics unknown_value
leaderboard?metrics=brier, metrics unknown_value
leaderboard?intervals=yes intervals unknown_value
leaderboard?intervals=1&intervals=1 intervals repeated_key
leaderboard?sort=brier sort unknown_key
leaderboard?published=lifeeval-table-2 published unknown_key
compare a missing_key
compare.csv a missing_key
compare?a=x b missing_key
compare?a=x&b=y a unknown_value
compare?a=x&a=x&b=y a repeated_key
pairs?a=x a unknown_value
pairs?b=x b unknown_key
pairs?metrics=beauty metrics unknown_value
power?a=RUN&b=OTHER&d=0 d bad_value
agreement?metrics=brier,beauty metrics unknown_value
agreement?intervals=1 intervals unknown_key
reliability?metrics=brier metrics unknown_key
breakdown?by=colour by unknown_value
breakdown?intervals=2 intervals unknown_value
breakdown?metrics=beauty metrics unknown_value
recalibration?method=beta method unknown_value
recalibration?metrics=beauty metrics unknown_value
recalibration.csv?method=platt&method=platt method repeated_key
people?metrics=brier metrics unknown_key
teams?team=Nobody team unknown_value
questions?sort=brier:nobody sort unknown_value
questions?sort=text&sort=position sort repeated_key
across?datasets=nowhere datasets unknown_value
across?rows=teams rows unknown_value
questions?limit=1001 limit bad_value
published?metric=beauty metric unknown_value
published?table=grace-table-99 table unknown_value
published?dataset=pyramid dataset unknown_key
runs?dataset=nowhere dataset unknown_value
runs.csv?dataset=nowhere dataset unknown_value
runs?dataset=pyramid&dataset=pyramid dataset repeated_key
runs?model=BM25 model unknown_key
questions/pyramid/lit-01?metrics=brier metrics unknown_key
questions/pyramid/lit-01?threshold=2 threshold bad_value
questions/pyramid/lit-01?threshold=nobody:0.5 threshold unknown_value
questions/pyramid/lit-01?scale=percent scale unknown_value
questions/pyramid/lit-01?curve=steep curve unknown_value
"""
# The same, as JSON and as CSV.
BAD_KEYS_OF_TABLES = """
questions?metrics=beauty metrics unknown_value
questions?sort=beauty sort unknown_value
questions?limit=0 limit bad_value
questions?limit=ten limit bad_value
questions?limit=-1 limit bad_value
questions?cursor=x cursor bad_value
buzz?threshold=2 threshold bad_value
buzz?threshold=half threshold bad_value
buzz?threshold=0.1&threshold=0.2 threshold repeated_key
buzz?threshold=nobody:0.1 threshold unknown_value
buzz?threshold=0.5&scale=logprob threshold bad_value
buzz?scale=percent scale unknown_value
buzz?curve=people curve unknown_value
buzz?curve=dataset&curve=dataset curve repeated_key
compare?a=RUN&b=OTHER&margin=-1 margin bad_value
compare?a=RUN&b=OTHER&margin=two margin bad_value
compare?a=RUN&b=OTHER&margin=nan margin bad_value
compare?a=RUN&b=OTHER&margin=1e7 margin bad_value
compare?a=RUN&b=OTHER&margin= margin bad_value
"""
BAD_LINES = [*BAD_KEYS.split("\n"), *BAD_KEYS_OF_TABLES.split("\n"), *BAD_KEYS_OF_TABLES.replace("?", ".csv?").split("\n")]


@pytest.mark.parametrize("address", SELECTED)
def test_a_bad_value_of_the_selection_is_named(client, runs, address):
    """All are tried where selections are read in different ways, and every seventh at the other addresses."""
    path, first = f"{path_of(address, runs)}?{query_of(address, runs, NEEDED)}", SELECTED.index(address)
    every = 1 if address in ("leaderboard", "questions/<dataset>/<question_id>.csv", "datasets/<dataset>/prompts.csv") else 7
    for key, value, code, allowed in BAD_VALUES[first % every :: every]:
        problem = error(client, f"{path}&{key}={quote(value)}", 400)
        assert (problem["code"], problem["field"]) == (code, key), value
        if allowed is not None:
            assert problem["allowed"] == (["pyramid"] if key == "dataset" and "<dataset>" in address else allowed)
    for key in [key for key, kind in Selection.kinds().items() if not kind.repeatable][first % every :: every]:
        problem = error(client, f"{path}&{key}=x&{key}=y", 400)
        assert (problem["code"], problem["field"]) == ("repeated_key", key)


def test_bad_values_cover_every_key_of_the_selection():
    assert {split_key(key)[0] for key, *_ in BAD_VALUES} == set(Selection.kinds())


@pytest.mark.parametrize("line", [line for line in BAD_LINES if line])
def test_a_bad_value_of_an_own_key_is_named(client, runs, line):
    asked, field, code = line.split()
    problem = error(client, API + with_runs(asked, runs), 400)
    assert (problem["field"], problem["code"]) == (field, code)
    assert problem["allowed"] or code != "unknown_value" or field == "team"  # there can be very many


@pytest.mark.parametrize(("address", "code", "field"), [
    *((f"questions/pyramid/lit-99{ending}", "unknown_question", "question_id") for ending in ("", ".csv")),
    *((f"questions/nowhere/lit-01{ending}", "unknown_dataset", "dataset") for ending in ("", ".csv")),
    *((f"datasets/nowhere/prompts.{form}", "unknown_dataset", "dataset") for form in ("csv", "jsonl")),
    *((f"runs/0123{ending}", "unknown_run", "run") for ending in
      ("", "/responses.csv", "/responses.jsonl", "/responses.parquet", "/grades")),
])  # fmt: skip
def test_what_is_not_there_is_not_found(client, address, code, field):
    problem = error(client, f"{API}{address}", 404)
    assert (problem["code"], problem["field"]) == (code, field)


@pytest.mark.parametrize("address", ["/v1", "/v1/", "/v2/datasets", "/v1/nothing", "/v1/datasets/", "/v1/runs/0/responses.xml"])
def test_unknown_addresses_name_those_that_there_are(client, address):
    assert "/api/v1/leaderboard" in error(client, f"/api{address}", 404)["allowed"]


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_other_methods_get_the_error_envelope(client, method):
    for address in ("leaderboard", "leaderboard.csv", "questions/pyramid/lit-01"):
        answer = getattr(client, method)(f"{API}{address}")
        assert answer.status_code == 405 and answer.mimetype == "application/json"
        assert (answer.headers["Allow"], answer.json["error"]["allowed"]) == ("GET", ["GET"])
        assert method.upper() in answer.json["error"]["message"]


# -- answers ------------------------------------------------------------------------------------------------------------------

PYRAMID, FEW = Selection("pyramid"), tuple(CATALOGUE[key] for key in ("brier", "calscore", "auroc"))
SOME = "metrics=brier,calscore,auroc"
DATASET_CURVE = Rules(curve="dataset")
ANSWERS = {
    "leaderboard?dataset=lifeeval": lambda s, a, b: leaderboard(s, Selection("lifeeval"), METRICS),
    "leaderboard?intervals=1": lambda s, a, b: leaderboard(s, PYRAMID, METRICS, True),
    "leaderboard?category=History&category=Arts&elicitation=softmax": lambda s, a, b: leaderboard(
        s, Selection("pyramid", category=("History", "Arts"), elicitation=("softmax",)), METRICS),
    "leaderboard?difficulty=0.5..0.7&revealed=0..0.5": lambda s, a, b: leaderboard(
        s, Selection("pyramid", difficulty=(0.5, 0.7), revealed=(0.0, 0.5)), METRICS),
    "leaderboard?human=survival&binning=mass15&beta=2": lambda s, a, b: leaderboard(
        s, Selection("pyramid", conventions=Conventions("mass15", "survival", 2.0)), METRICS),
    "leaderboard?dataset=lifeeval&radius=5&radius=20&q=woman": lambda s, a, b: leaderboard(
        s, Selection("lifeeval", radius=(5, 20), q="woman"), METRICS),
    "leaderboard?q=zzzz": lambda s, a, b: leaderboard(s, Selection("pyramid", q="zzzz"), METRICS),
    f"compare?{SOME}&{TWO_RUNS}": lambda s, a, b: compare(s, PYRAMID, a, b, FEW),
    f"pairs?{SOME}": lambda s, a, b: comparisons(s, PYRAMID, None, FEW),
    f"pairs?{SOME}&a=OTHER": lambda s, a, b: comparisons(s, PYRAMID, b, FEW),
    f"power?{SOME}&{TWO_RUNS}&d=0.02": lambda s, a, b: power(s, PYRAMID, a, b, FEW, 0.02),
    f"agreement?{SOME}": lambda s, a, b: agreement(s, PYRAMID, FEW),
    "reliability?": lambda s, a, b: reliability(s, PYRAMID),
    f"breakdown?{SOME}": lambda s, a, b: breakdown(s, PYRAMID, "category", FEW),
    f"breakdown?{SOME}&by=difficulty": lambda s, a, b: breakdown(s, PYRAMID, "difficulty", FEW),
    f"recalibration?{SOME}": lambda s, a, b: recalibration(s, PYRAMID, "temperature", FEW),
    f"recalibration?{SOME}&method=platt": lambda s, a, b: recalibration(s, PYRAMID, "platt", FEW),
    "people?dataset=tone&binning=mass2": lambda s, a, b: people(s, Selection("tone", conventions=Conventions("mass2"))),
    "teams?team=Yew": lambda s, a, b: human_teams(s, PYRAMID, "Yew"),
    "buzz?": lambda s, a, b: buzz(s, PYRAMID, DATASET_CURVE),
    "buzz?curve=polynomial": lambda s, a, b: buzz(s, PYRAMID, Rules()),
    "buzz?threshold=0.5&curve=dataset&human=survival": lambda s, a, b: buzz(
        s, Selection("pyramid", conventions=Conventions(human="survival")), Rules(curve="dataset", threshold=0.5)),
    "buzz?category=Arts&revealed=0..0.5&elicitation=margin&scale=confidence&curve=polynomial": lambda s, a, b: buzz(
        s, Selection("pyramid", category=("Arts",), revealed=(0.0, 0.5), elicitation=("margin",)), Rules()),
    "buzz?scale=logprob&threshold=-0.03": lambda s, a, b: buzz(s, PYRAMID, Rules("logprob", "dataset", threshold=-0.03)),
    "buzz?dataset=lifeeval": lambda s, a, b: buzz(s, Selection("lifeeval"), Rules()),
    "buzz/median?threshold=0.5&curve=dataset": lambda s, a, b: people_median(s, PYRAMID, Rules(curve="dataset", threshold=0.5)),
    "buzz/median?dataset=lifeeval": lambda s, a, b: people_median(s, Selection("lifeeval"), Rules()),
}  # fmt: skip


@pytest.mark.parametrize("asked", ANSWERS)
def test_an_answer_is_that_of_the_query(client, snapshot, runs, asked):
    address = f"{API}{with_runs(asked, runs)}"
    answer = get(client, address)
    assert answer == plain(ANSWERS[asked](snapshot, *runs[:2])) == get(client, address)  # the second time from the cache
    assert answer["data_version"] == snapshot.version
    assert answer["selection"]["dataset"] == ["lifeeval" if "lifeeval" in asked else "tone" if "tone" in asked else "pyramid"]


@pytest.mark.parametrize(("dataset", "name"), [("pyramid", "lit-01"), ("lifeeval", "5")])
def test_a_question_is_that_of_the_query(client, snapshot, dataset, name):
    answer = get(client, f"{API}questions/{dataset}/{name}")
    selection = Selection(dataset)
    selection = selection.replace(conventions=dataset_conventions(snapshot, selection))
    points = {"runs": [run | {"buzzpoint": None} for run in answer["runs"]]}  # the service adds them
    assert answer | points == plain(question(snapshot, selection, name))


def leaves(value, path=(), run=None):
    """Yield the names on the path of each text, number or null of an answer, the run that it is about, and itself as in CSV."""
    if isinstance(value, dict):
        run = value.get("run", run)
        for name, part in value.items():
            yield from leaves(part, (*path, name), run if isinstance(run, str) else None)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part, path, run)
    else:
        yield path, run, "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


# Names that programs of others read, at least these.
ABOUT, OF_RUNS, CELL = (
    "data_version selection",
    "run model elicitation questions items",
    "value low high rank rank_low rank_high missing",
)
DIFFERENCE = "a b difference low high p_value p_holm replicates missing better no_interval"
FIELDS = {
    "datasets": "dataset title kind simulated questions runs human_teams human_buzzes votes voted categories radii "
                "licence source",
    "leaderboard": f"{ABOUT} {OF_RUNS} {CELL} clues common common_clues primary other_metrics gradings disputed share "
                   "metric leaders rows failed metrics answered answered_clues ranked note",
    "questions": "questions question_id text category difficulty runs next total",
    "questions/<dataset>/<question_id>": "dataset question_id text answer category subcategory difficulty human teams buzz_share "
        "release_share team_share survival buzzes word correct team model_buzzes clues clue word_end char_end runs run model "
        "elicitation metrics guess confidence buzz_mass contribution",
    "compare": f"{ABOUT} {DIFFERENCE} run model elicitation primary other_metrics questions metrics pairs question_id",
    "pairs": f"{ABOUT} {DIFFERENCE} run model elicitation primary other_metrics questions metrics comparisons",
    "agreement": f"{ABOUT} metrics left_out pairs a b tau missing runs",
    "reliability": f"{ABOUT} {OF_RUNS} binning runs bins lower upper mean_confidence accuracy low high corp calibrated",
    "breakdown": f"{ABOUT} {OF_RUNS} {CELL} by parts rows failed metrics",
    "recalibration": f"{ABOUT} method folds runs run model elicitation missing metrics before after edges changes "
                     "improved worsened well_calibrated sacrificed slope intercept losers question_id clue correct",
    "people": f"{ABOUT} classes reference_votes distance_edges entropy_edges missing rows run model elicitation questions "
              "name bins lower upper items mean_share chosen histograms reference distance entropy ranking",
    "runs": "run dataset model elicitation imported_by imported_at file_name sha256 items questions missing_questions skipped "
            "withdrawn_at",
}  # fmt: skip


@pytest.mark.parametrize("address", FIELDS)
def test_an_answer_has_its_fields(holder, runs, address):
    answer = get(holder, f"{path_of(address, runs)}?{query_of(address, runs)}")

    def names(value):
        if isinstance(value, dict):
            return {*value}.union(*map(names, value.values()))
        return set().union(*map(names, value)) if isinstance(value, list) else set()

    assert {*FIELDS[address].split()} <= names(answer)


TABLES = sorted(
    address.removeprefix(API).removesuffix(".csv")
    for address in READ
    # No two of the datasets here are parts of a benchmark; test_across_api has some that are.
    if address.endswith(".csv") and not address.endswith(("prompts.csv", "responses.csv", "collections.csv"))
)
# Columns that state in words, as JSON or from several values what the answer has, and runs that are not all in the table.
OWN_COLUMNS = {
    "across/groups": {"runs"}, "gradings/reviewed": {"metric"}, "buzz": {"missing"}, "decide": {"model"},
    "people": {"lower", "upper", "items", "reference_items"},
    "runs": {"skipped", "decisions", "tags", "attributes", "same_answers"}, "metrics": {"axioms", "notes"},
    "triptych": {"missing"},
}  # fmt: skip


@pytest.mark.parametrize("address", TABLES)
def test_a_table_has_the_values_of_the_json(holder, runs, address):
    """Each cell is a value that the JSON has under the name of its column, about the same run, and no run is lacking."""
    query = query_of(address, runs)
    rows = table(holder, f"{path_of(address, runs)}.csv?{query}")
    answer = get(holder, f"{path_of(re.sub('/(groups|answers)$', '', address), runs)}?{query}")
    stated, last, every = {}, {}, {""}
    for way, run, text in leaves(answer):
        for name in way:
            for about in {run, None}:
                stated.setdefault((name, about), set()).add(text)
        last.setdefault(way[-1], set()).add(text)
        every |= {text, *way}
    names = {name for name, _ in stated}
    assert rows
    for column in rows[0].keys() - OWN_COLUMNS.get(address, set()):
        name = max((name for name in names if column == name or column.endswith(f"_{name}")), key=len, default=None)
        for row in rows:
            own = stated.get((name, row.get("run") or None)) or stated.get((name, None)) or every
            cell = row[column].removeprefix("'")
            assert cell in own or cell in names or cell == "" or own.issuperset(cell.split(";")), (column, row)
        assert any(row[column] for row in rows) or last.get(column, {""}) <= {""}, f"{column} is empty"
    listed = {row.get("run", "") for row in rows} - {""}
    # Runs with one grading, without votes, or never sure and wrong.
    if listed and address not in ("gradings", "gradings/reviewed", "people", "confidently-wrong/answers"):
        assert listed == stated["run", None] - {""}


def test_every_answer_is_as_described(app):
    statuses, faults = call_every_address(app, drawing(examples(2)))
    assert not faults, "\n\n".join(f"{address}: {fault}" for address, fault in faults.items())
    assert statuses[200] > 20 and statuses[400] > 20, statuses
