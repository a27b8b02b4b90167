"""The key ``cluster`` at every address: all intervals, tests and bands depend on it, and nothing else does."""

import re
from urllib.parse import quote

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.registry.addresses import ROUTES
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.metrics import METRICS
from tests.helpers.clustered_bundle import clustered_bundle
from tests.helpers.drawn_pages import everything, markup
from tests.helpers.json_api import error, get, table

RANKED = "calscore,brier,accuracy,auroc,ece,ks,net_score,hmr"
# The keys with which an address states all its intervals; none where it states no interval.
KEYS = {
    "/api/v1/leaderboard": f"metrics={RANKED},overconfidence,hard_easy_slope,aurc,smooth_ece&intervals=1",
    "/api/v1/breakdown": f"metrics={RANKED}&intervals=1&by=category",
    "/api/v1/buzz": "threshold=0.5",
    "/api/v1/by-clue": "",
    "/api/v1/deferring": "",
    "/api/v1/buzz/median": "threshold=0.5",
    "/api/v1/compare": f"a=A&b=B&metrics={RANKED}",
    "/api/v1/pairs": f"metrics={RANKED}",
    "/api/v1/decide": "",
    "/api/v1/difficulty": "",
    "/api/v1/finding": "",
    "/api/v1/power": "a=A&b=B&metrics=brier,accuracy&d=0.05",
    "/api/v1/release-dates": "metric=brier",
    "/api/v1/reliability": "",
    "/api/v1/slices": "metric=brier",
    "/api/v1/triptych": "",
    "/api/v1/which-ece": "intervals=1",
}
FURTHER = [
    ("/api/v1/slices", "metric=brier&against=A"), ("/api/v1/reliability", "band=pointwise"),
    ("/api/v1/reliability", "binning=mass15"), ("/api/v1/leaderboard", "metrics=ece&intervals=1&binning=mass3"),
]  # fmt: skip
# The questions of "gradings/reviewed" were drawn one by one, so they are the units there, whatever the cluster.
WITHOUT = {
    "confidently-wrong",
    "gradings/reviewed", "buzz/categories", "gradings", "people", "items", "questions", "agreement", "teams", "unsolved",
    "recalibration", "which-h", "clue-steps/<dataset>/<path:question_id>", "questions/<dataset>/<path:question_id>",
}  # fmt: skip
UNCERTAIN = re.compile(r"(.*_)?(low|high)|p_(value|adjusted|holm|spiegelhalter|kuiper|ks)|error|detectable|spread")
# Fields that follow from these, and values that are judged on other clusters than those that they are fitted to.
FOLLOWS = re.compile(
    r"selection|no_(interval|band)|replicates|method|letters|may_be_best|(un)?tested|missing|needed|target|curve|units|best_score|slices|shown|band|"
    r"first|worst"  # where a run is shown to be overconfident, in by-clue
)


@pytest.fixture(scope="module")
def packets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packets")
    import_paths(open_store(folder / "store"), [clustered_bundle(folder / "bundle")], ImportOptions())
    return create_app(Settings(store=str(folder / "store"), workers=1))


@pytest.fixture(scope="module")
def asked(packets):
    client = packets.test_client()
    runs = [row["run"] for row in get(client, "/api/v1/leaderboard?dataset=packets&metrics=brier")["rows"]]

    def ask(path, keys, cluster):
        keys = keys.replace("=A", f"={runs[0]}").replace("=B", f"={runs[1]}")
        return get(client, f"{path}?dataset=packets&{keys}&cluster={cluster}")

    return ask


def leaves(value, path=()):
    """Yield the path and value of each number, text or null of an answer, except those of the cross-fitted ECE."""
    if isinstance(value, dict) and "ece_debiased" in (value.get(name) for name in ("key", "a", "b")):
        return
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, (*path, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from leaves(part, (*path, index))
    else:
        yield path, value


def uncertain(answer):
    """Return the numbers of all intervals, tests and bands, by kind: the names on their paths, without runs and places."""
    kinds = {}
    for path, value in leaves(answer):
        names = [name for name in path if isinstance(name, str)]
        if UNCERTAIN.fullmatch(names[-1]) and "missing" not in names:
            kinds.setdefault(tuple(names), []).append(value)
    return kinds


def test_every_address_with_a_selection_is_here(packets):
    paths = {route.address.removeprefix("GET /api/v1/") for route in ROUTES if route.selection}
    known = {path.removeprefix("/api/v1/") for path in KEYS} | WITHOUT
    assert {path for path in paths if not path.endswith((".csv", ".jsonl"))} == known


@pytest.mark.parametrize(("path", "keys"), [*KEYS.items(), *FURTHER])
def test_only_intervals_tests_and_bands_follow_the_cluster(asked, path, keys):
    answers = {cluster: asked(path, keys, cluster) for cluster in ("question", "packet", "half", "everything")}
    single, clustered = uncertain(answers["question"]), uncertain(answers["packet"])
    stated = {kind: values for kind, values in single.items() if not {*values} <= {0, 1, None}}
    assert stated
    same = {kind for kind, values in stated.items() if clustered.get(kind) == values}
    assert not {kind for kind in same if not kind[-1].startswith("rank_")}  # a rank is a small whole number
    # One cluster gives no interval, test or band.
    assert not [kind for kind, values in uncertain(answers["everything"]).items() if any(value is not None for value in values)]
    for cluster in ("packet", "half"):  # few clusters give intervals with a width
        ends = uncertain(answers[cluster])
        for kind, lows in ends.items():
            if kind[-1].endswith("low") and not kind[-1].startswith("rank_"):
                highs = ends[*kind[:-1], kind[-1].removesuffix("low") + "high"]
                for low, high in zip(lows, highs, strict=True):
                    assert (low is None) == (high is None) and (low is None or low < high or "band" in kind), kind

    def others(answer):
        return {
            place: value for place, value in leaves(answer)
            if not any(FOLLOWS.fullmatch(part) or UNCERTAIN.fullmatch(part) for part in place if isinstance(part, str))
        }  # fmt: skip

    assert others(answers["packet"]) == others(answers["everything"]) == others(answers["question"])


@pytest.mark.parametrize("path", sorted(WITHOUT - {part for part in WITHOUT if "<" in part}))
def test_addresses_without_intervals_ignore_the_cluster(asked, path):
    single, clustered = (asked(f"/api/v1/{path}", "", cluster) for cluster in ("question", "packet"))
    assert not [values for values in uncertain(single).values() if any(value is not None for value in values)]
    if path != "recalibration":  # which is cross-fitted
        assert {**clustered, "selection": None} == {**single, "selection": None}


def test_cross_fitting_keeps_clusters_whole(asked):
    single, clustered = (asked("/api/v1/recalibration", "metrics=brier", cluster)["runs"] for cluster in ("question", "packet"))
    for one, other in zip(single, clustered, strict=True):
        assert one["metrics"]["brier"]["before"] == other["metrics"]["brier"]["before"]
        assert one["metrics"]["brier"]["after"] != other["metrics"]["brier"]["after"]
    reason = {run["missing"] for run in asked("/api/v1/recalibration", "metrics=brier", "everything")["runs"]}
    assert reason == {"fitting and judging need at least two clusters of questions"}


def test_reasons_say_that_there_is_one_cluster(asked):
    reason = "its questions are all in one cluster, which does not show how much the value would vary over others"
    for row in asked("/api/v1/leaderboard", f"metrics={RANKED}&intervals=1", "everything")["rows"]:
        for cell in row["metrics"].values():
            assert (cell["value"] is None, cell["no_interval"], cell["letters"]) == (False, reason, None)
    for cell in asked("/api/v1/compare", "a=A&b=B&metrics=brier", "everything")["metrics"].values():
        assert cell["no_interval"] == reason
    for cell in asked("/api/v1/power", "a=A&b=B&metrics=brier", "everything")["metrics"]:
        assert cell["missing"] == reason
    answer = asked("/api/v1/slices", "metric=brier", "everything")
    assert (answer["tested"], answer["untested"]) == (0, reason)
    for run in asked("/api/v1/reliability", "", "everything")["runs"]:
        assert run["no_interval"] == run["no_band"] == reason
    for run in asked("/api/v1/difficulty", "", "everything")["runs"]:
        assert run["slope"] is not None and run["no_interval"] == reason
    for run in asked("/api/v1/buzz", "threshold=0.5", "everything")["explorer"]["runs"]:
        assert run["no_interval"] == dict.fromkeys(("expected_wins", "score", "win", "loss"), reason)
    for run in asked("/api/v1/buzz/median", "threshold=0.5", "everything")["runs"]:
        assert {share["no_interval"] for share in (run["earlier"], *run["within"])} == {reason}


@pytest.mark.parametrize(
    ("keys", "cluster", "words"), [("", "everything", "all in one cluster"), ("q=q00", "question", "a single question")]
)
def test_no_number_is_missing_without_a_reason(packets, asked, keys, cluster, words):
    for run in asked("/api/v1/triptych", keys, cluster)["runs"]:
        missing = {name for name, value in run.items() if value is None}
        assert missing == run["missing"].keys() and words in run["missing"]["p_kuiper"]
    for path in ("triptych", "difficulty", "reliability", "buzz", "buzz/median"):
        rows = table(packets.test_client(), f"/api/v1/{path}.csv?dataset=packets&cluster={cluster}&{keys}")
        assert any(words in (row.get("no_interval") or row.get("missing") or "") for row in rows) or path == "difficulty", path
    for path in ("/reliability", "/buzz"):
        page = everything(packets, path, f"dataset=packets&cluster={cluster}&{keys}")
        assert re.search(rf"because [^\"<]*{words}", page), path


def test_bins_and_bands_say_why_they_have_none(asked):
    """One question has bins without intervals; with several, both are there."""
    for keys, reasons in (("q=q00", ["a single question does not show how much the value would vary over others"]), ("", [None])):
        runs = asked("/api/v1/reliability", keys, "question")["runs"]
        assert [*{run["no_interval"] for run in runs}] == reasons and {run["no_band"] for run in runs} == {None}


def test_every_metric_has_its_value_under_any_cluster(asked):
    def values(cluster):
        keys = f"metrics={','.join(metric.key for metric in METRICS)}&intervals=1&binning=mass15"
        answer = asked("/api/v1/leaderboard", keys, cluster)
        return [(key, cell["value"]) for row in answer["rows"] for key, cell in row["metrics"].items() if key != "ece_debiased"]

    single = values("question")
    for cluster in ("packet", "pair", "everything"):
        assert values(cluster) == single


def test_a_cluster_of_single_questions_changes_nothing(asked):
    """Questions without the attribute are units of their own, and ``pair`` joins few of them."""
    single, paired, default = (asked("/api/v1/power", "a=A&b=B&metrics=brier", name) for name in ("question", "pair", ""))
    assert default["metrics"] == single["metrics"]
    assert [row["metrics"][0]["units"] for row in (single, paired)] == [48, 44]
    assert single["metrics"][0]["questions"] == paired["metrics"][0]["questions"] == 48


def test_power_counts_questions_in_clusters_of_the_same_size(asked):
    (single,), (clustered,) = (
        asked("/api/v1/power", "a=A&b=B&metrics=accuracy&d=0.05", cluster)["metrics"] for cluster in ("question", "packet")
    )
    assert (clustered["questions"], clustered["units"]) == (48, 12)
    assert clustered["needed"] % 4 == 0 and clustered["needed"] > single["needed"]
    assert clustered["detectable"] > single["detectable"]


def test_an_unknown_attribute_is_refused(packets):
    client = packets.test_client()
    answer = error(client, "/api/v1/leaderboard?dataset=packets&cluster=room", 400)
    assert (answer["code"], answer["field"]) == ("unknown_value", "cluster")
    assert answer["message"] == "Questions of dataset 'packets' have no attribute 'room', so it cannot be their cluster."
    assert answer["allowed"] == ["question", "everything", "half", "packet", "pair"]
    (dataset,) = (row for row in get(client, "/api/v1/datasets")["datasets"] if row["dataset"] == "packets")
    assert dataset["clusters"] == answer["allowed"]
    assert "high" in next(iter(table(client, "/api/v1/slices.csv?dataset=packets&metric=brier&cluster=packet")))


def test_pages_with_intervals_say_what_the_unit_is(packets, asked):
    run = asked("/api/v1/leaderboard", "metrics=brier", "")["rows"][0]["run"]

    def text(path, cluster):
        return markup(packets, path, f"dataset=packets&cluster={cluster}")

    unit = (
        "Questions with the same “packet” depend on each other, so intervals, tests and bands count 12 clusters, not 48 questions"
    )
    stating = set()
    for name, page in PAGES.items():
        path = f"/runs/{run}" if name == "run" else page.path
        if name in ("question", "nowhere"):
            continue
        if unit in text(path, "packet"):
            stating.add(name)
            assert "All questions here are in one cluster, of the same “everything”" in text(path, "everything")
        assert "depend on each other, so" not in text(path, "")
    assert stating == {
        "leaderboard", "run", "compare", "decide", "which-ece", "reliability", "buzz", "by-clue", "difficulty", "slices",
    }  # fmt: skip


def test_ages_are_the_default_of_lifeeval(app, client):
    (dataset,) = (row for row in get(client, "/api/v1/datasets")["datasets"] if row["dataset"] == "lifeeval")
    assert dataset["clusters"] == ["ages", "question"]
    keys = "dataset=lifeeval&metrics=brier,accuracy&intervals=1"
    default, ages, single = (
        get(client, f"/api/v1/leaderboard?{keys}{more}") for more in ("", "&cluster=ages", "&cluster=question")
    )
    assert default["rows"] == ages["rows"]
    for row, other in zip(ages["rows"], single["rows"], strict=True):
        for metric in ("brier", "accuracy"):
            cell, of_questions = row["metrics"][metric], other["metrics"][metric]
            assert cell["value"] == of_questions["value"]
            assert cell["high"] - cell["low"] > of_questions["high"] - of_questions["low"]
    assert (
        "Questions with the same 5 years of age depend on each other, so intervals, tests and bands count 21 clusters, not 808 "
        "questions."
    ) in markup(app, "/", "dataset=lifeeval")
    text = markup(app, "/across")
    assert text.count("On LifeEval, intervals count clusters of questions with the same 5 years of age.") == 1
    units = {column["dataset"]: column["cluster"] for column in get(client, "/api/v1/across?metric=brier")["datasets"]}
    assert units["lifeeval"] == "ages" and units["tone"] == "question"
    cited = get(client, f"/api/v1/cite?view={quote('/?dataset=lifeeval', safe='')}")
    assert "Questions with the same 5 years of age are one cluster" in cited["methods"]
