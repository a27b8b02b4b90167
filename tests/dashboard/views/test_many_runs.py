"""Pages of a dataset with more runs than colours can distinguish."""

import re
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.dashboard.ui.figure import end_labels
from clueline.dashboard.ui.runs import COLOURS, MAX_HIGHLIGHTED, RunColours, RunStyle, run_colours
from clueline.data.store import open_store
from tests.helpers.bundle_factory import put, table, write
from tests.helpers.colour_vision import VISIONS, contrast, difference, lab
from tests.helpers.drawn_pages import divided, drawn, words
from tests.helpers.json_api import get

RUNS = 18
CSS = Path(__file__).parents[3] / "assets" / "clueline.css"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """An app whose only dataset has eighteen runs. The higher the number in a run's name, the better the run."""
    folder = tmp_path_factory.mktemp("crowd")
    names = [f"q{index}" for index in range(RUNS)]
    questions = [{"question_id": name, "answer": "yes", "category": "AB"[name > "q5"]} for name in names]
    clues = [{"question_id": name, "clue": clue, "text": "Is it?"} for name in names for clue in (0, 1)]
    answers = [
        {"question_id": name, "clue": clue, "guess": "yes" if place <= run else "no", "confidence": 0.9 if place <= run else 0.1}
        | {"model": f"model {run}"}
        for run in range(RUNS)
        for place, name in enumerate(names)
        for clue in (0, 1)
    ]
    tables = {"questions": table(questions), "clues": table(clues), "responses": table(answers)}
    store = open_store(folder / "store")
    put(store, write(folder / "bundle", {"dataset": "crowd", "kind": "incremental"}, **tables))
    return create_app(Settings(store=store.url, workers=1))


def runs_of(app):
    """Return run id by the number in the run's name."""
    facets = app.extensions["clueline"].facets("crowd")
    return {int(model.split()[1]): run for run, model, _ in facets.runs}


def line_colours(app, page, query="", *item):
    """Return run id -> the colours of its lines on a page."""
    colours = {}
    for spec in divided(app, page, query, *item).figures.values():
        for trace in spec["data"]:
            if isinstance(trace.get("meta"), str) and "line" in trace:
                colours.setdefault(trace["meta"], set()).add(trace["line"]["color"])
    return {run: shades for run, shades in colours.items()}


def test_the_best_eight_have_colours(crowd):
    runs = runs_of(crowd)
    shades = line_colours(crowd, "leaderboard", "sort=accuracy")
    coloured = {run for run, shade in shades.items() if shade != {"var(--run-other)"}}
    assert coloured == {runs[number] for number in range(RUNS - MAX_HIGHLIGHTED, RUNS)}
    assert len(shades) == RUNS


def test_a_run_has_one_colour_on_all_pages(crowd):
    runs, seen = runs_of(crowd), {}
    for page in ("leaderboard", "reliability", "difficulty", "buzz"):
        for query in ("", "category=A", f"run={runs[11]}", f"pin={runs[0]}&pin={runs[3]}"):
            for run, shades in line_colours(crowd, page, query).items():
                seen.setdefault(run, set()).update(shades)
    own = run_colours(crowd.extensions["clueline"].facets("crowd"), list(runs.values())).own
    assert all(shades <= {own[run], "var(--run-other)"} for run, shades in seen.items())
    assert own[runs[11]] in seen[runs[11]] and own[runs[0]] in seen[runs[0]]


@pytest.mark.parametrize("number", [None, 9])
def test_the_run_in_focus_is_in_colour_and_named_on_every_page(crowd, number):
    """By default it is the one of the finding, which is not among the best eight."""
    runs, finding = runs_of(crowd), get(crowd.test_client(), "/api/v1/finding?dataset=crowd")["finding"]
    focus, query = (finding["run"], "") if number is None else (runs[number], f"focus={runs[number]}")
    for page in ("leaderboard", "difficulty", "decide"):
        shades = line_colours(crowd, page, query)
        assert shades[focus] != {"var(--run-other)"}, page
        coloured = [run for run, shade in shades.items() if shade != {"var(--run-other)"}]
        assert len(coloured) == MAX_HIGHLIGHTED, page
    figures = divided(crowd, "decide", query).figures
    label = next(f"model {place}" for place, run in runs.items() if run == focus)
    for name in ("net", "murphy", "risk-coverage"):
        labels = [note["text"] for note in figures[name]["layout"]["annotations"] if note.get("name") == "end-label"]
        assert label in labels, name


def test_only_pinned_runs_have_colours(crowd):
    runs = runs_of(crowd)
    shades = line_colours(crowd, "buzz", f"pin={runs[0]}&pin={runs[1]}")
    assert {run for run, shade in shades.items() if shade != {"var(--run-other)"}} == {runs[0], runs[1]}


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", (*range(MAX_HIGHLIGHTED - 1), RUNS - 1)), ("focus={9}", (*range(MAX_HIGHLIGHTED - 1), 9)),
        ("panels=all", range(RUNS)), ("pin={2}&pin={9}", (2, 9)),
        ("run={0}&run={1}&run={2}", (0, 1, 2)),
    ],
)  # fmt: skip
def test_diagrams_show_the_runs_in_colour(crowd, query, shown):
    """Eighteen would fill many screens. All runs have the same calibration error, so the first ones are the best.

    The run in focus is never left out: by default the one that the finding is about, here the last.
    """
    runs = runs_of(crowd)
    address = query.format(*(runs[number] for number in range(RUNS)))
    pages = (("reliability", "", ("reliability",)), ("reliability", "tab=decomposition", ("smooth", "discrimination")))
    for page, tab, figures in (*pages, ("difficulty", "", ("hard-easy",))):
        every = divided(crowd, page, f"{address}&{tab}").figures
        for name in figures:
            titles = [note["text"] for note in every[name]["layout"]["annotations"]]
            numbers = sorted(int(title.split()[1]) for title in titles if title.startswith("model"))
            assert len(numbers) == every[name]["layout"]["meta"]["panels"] == len(shown)
            if page == "reliability" or (address and "focus" not in address):  # on the other page, other runs are the best
                assert numbers == [*shown], name
            assert {*shown} & {9, RUNS - 1} <= {*numbers}


@pytest.mark.parametrize(
    ("selection", "page_only"), [("", ""), ("common=0", "panels=all"), ("category=A", "tab=tests"), ("", "tab=decomposition")]
)
def test_reliability_counts_the_runs_of_the_answer(crowd, selection, page_only):
    answer = get(crowd.test_client(), f"/api/v1/reliability?dataset=crowd&{selection}")
    text = words(drawn(crowd, "reliability", f"dataset=crowd&{selection}&{page_only}"))
    assert f"; {len(answer['runs'])} runs" in text


def test_coloured_lines_have_labels(crowd):
    for page, names in (("buzz", {"wins", "curves"}), ("difficulty", {"revealed"})):
        figures = divided(crowd, page).figures
        for name in names:
            labels = [note["text"] for note in figures[name]["layout"]["annotations"] if note.get("name") == "end-label"]
            panels = figures[name]["layout"].get("meta", {}).get("panels", 1)
            assert len(labels) == MAX_HIGHLIGHTED * panels, name


def test_a_question_has_its_best_and_worst_run_in_colour(crowd):
    """A third is the run that is surest and wrong. Runs that are chosen have their own colours."""
    runs = runs_of(crowd)
    shades = line_colours(crowd, "question", "", "crowd", "q9")
    assert len(shades) == RUNS and 2 <= sum(shade != {"var(--run-other)"} for shade in shades.values()) <= 3
    two = line_colours(crowd, "question", f"run={runs[3]}&run={runs[7]}", "crowd", "q9")
    assert {*two} == {runs[3], runs[7]} and len(set.union(*two.values()) - {"var(--run-other)"}) == 2


def test_a_withdrawal_does_not_change_other_runs_colours(crowd):
    facets = crowd.extensions["clueline"].facets("crowd")
    first, *others = facets.imported
    gone = type(facets)(**{name: getattr(facets, name) for name in facets.__struct_fields__} | {
        "runs": facets.runs[1:], "withdrawn": (first,),
    })  # fmt: skip
    before, after = (run_colours(known, others).own for known in (facets, gone))
    assert before == after


@pytest.fixture(params=["light", "dark"])
def theme(request):
    """The colours of a theme, by name."""
    light, dark = CSS.read_text().split(':root[data-theme="dark"]')[:2]
    return dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6});", light if request.param == "light" else dark.split("\n}")[0]))


def test_both_themes_have_a_colour_for_every_place(theme):
    shades = {name: shade for name, shade in theme.items() if re.fullmatch(r"run-\d+", name)}
    assert sorted(int(name[4:]) for name in shades) == list(range(1, COLOURS + 1))
    assert len(set(shades.values())) == COLOURS


@pytest.mark.parametrize("vision", VISIONS)
def test_everybody_can_tell_the_first_eight_apart(theme, vision):
    first = [theme[f"run-{place}"] for place in range(1, MAX_HIGHLIGHTED + 1)]
    seen = [lab(shade, vision) for shade in first]
    assert min(difference(one, other) for one, other in combinations(seen, 2)) >= 12
    assert min(contrast(shade, theme[ground]) for shade in first for ground in ("paper", "ground")) >= 3


def test_differences_of_colours_are_those_of_the_paper():
    """Pairs 1, 8, 13 and 25 of Sharma, Wu and Dalal 2005, Table 1."""
    pairs = [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425), ((50, -1, 2), (50, 0, 0), 2.3669),
        ((50, 2.49, -0.001), (50, -2.49, 0.0009), 7.1792), ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ]  # fmt: skip
    assert [round(difference(one, other), 4) for one, other, _ in pairs] == [expected for *_, expected in pairs]


def test_lines_of_similar_colours_differ_in_their_dashes():
    styles = [RunStyle({}, RunColours({"A": f"var(--run-{place})"}, ("A",))) for place in range(1, 10)]
    dashes = [style.line("A")["dash"] for style in styles]
    assert dashes == ["solid"] * 4 + ["7px,2px"] * 4 + ["solid"]


def test_labels_of_lines_that_meet_do_not_overlap():
    ends = [(f"run {index}", 0.5, "red") for index in range(8)]
    heights = [label["y"] for label in end_labels(ends, 0, 1, 300)]
    gaps = [after - before for before, after in pairwise(heights)]
    assert min(gaps) > 0.04 and min(heights) >= 0 and max(heights) <= 1
    downwards = [label["y"] for label in end_labels([("first", 1, "red"), ("last", 9, "red")], 10, 0, 300)]
    assert downwards == [1, 9]
