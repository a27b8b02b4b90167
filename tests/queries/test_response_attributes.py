"""Attributes of responses: import, filters, breakdowns and exports."""

import json
import random
from functools import partial
from itertools import product

import msgspec
import numpy as np
import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.query_to_file import export
from clueline.queries.breakdown import breakdown, breakdown_fields, unsolved
from clueline.queries.buzzing import buzz
from clueline.queries.buzzing.curves import accuracy_by_fraction
from clueline.queries.buzzing.parameters import Rules
from clueline.queries.compare import comparisons
from clueline.queries.datasets import datasets
from clueline.queries.decide import decide
from clueline.queries.findings import surest_early_mistake
from clueline.queries.gradings import graded_guesses, gradings
from clueline.queries.hard_easy_effect import difficulty
from clueline.queries.human_votes import people
from clueline.queries.items import items
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.question import question
from clueline.queries.questions import question_table, sparklines
from clueline.queries.recalibration import recalibration
from clueline.queries.reliability import reliability, triptych
from clueline.queries.runs import responses, run
from clueline.queries.selection import Selection, read_facets, read_selection
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.slices import slices
from clueline.queries.which_ece import which_ece
from tests.helpers.bundle_factory import CLUES, FACTS, put, put_file, table, write
from tests.helpers.bundle_factory import in_format as formatted

BRIER = CATALOGUE["brier"]
ODD = "cost in $dataset, it's/~net"
RESPONSES = f"""model,question_id,clue,guess,confidence,prompt,"{ODD}",reasoning
a,q1,0,Rome,0.25,terse,12.5,{"x" * 501}
a,q1,1,Paris,0.5,terse,,
a,q1,2,Paris,1, verbose ,3,
a,q2,0,,0,terse,4,
a,q2,1,Nile,0.75,,,
b,q1,0,Lyon,0.5,,,
"""


def read(snapshot, *pairs):
    return read_selection(pairs, lambda dataset: read_facets(snapshot, dataset))


def stored(importing, folder):
    store = open_store(folder / "store", threads=2)
    endings = {"toy": "csv", "jsonl": "jsonl", "parquet": "parquet"}  # datasets with the same responses in several formats
    put(store, *(
        write(folder / name, FACTS | {"dataset": name}, **{f"responses/run.{ending}": formatted(RESPONSES, ending)})
        for name, ending in endings.items()
    ))  # fmt: skip
    return store


@pytest.fixture
def toy(prefilled):
    return prefilled(stored)


@pytest.mark.parametrize("name", ["toy", "jsonl", "parquet"])
def test_extra_columns_of_responses_become_attributes(toy, name):
    snapshot, three = toy.snapshot(), "3" if name == "toy" else "3.0"
    (a,), (b,) = snapshot.rows("select run from runs where dataset = $d order by position", {"d": name})
    kept = snapshot.rows(f"select attributes from {snapshot.responses([a])} order by question_id, clue")
    assert kept == [
        ({ODD: "12.5", "prompt": "terse"},), ({"prompt": "terse"},), ({ODD: three, "prompt": "verbose"},),
        ({ODD: three.replace("3", "4"), "prompt": "terse"},), (None,),
    ]  # fmt: skip
    assert run(snapshot, a).attributes["prompt"] == ["terse", "verbose"]
    assert run(snapshot, b).attributes == {}
    assert datasets(snapshot).datasets[0].response_attributes == [ODD, "prompt"]
    assert read_facets(snapshot, name).values["attr.prompt"] == ("terse", "verbose")
    selection = read(snapshot, ("dataset", name), ("attr.prompt", "terse"))
    assert selection.pairs() == [("dataset", name), ("attr.prompt", "terse")]
    assert selection.without_filters("questions") == selection
    assert selection.without_filters("responses") == Selection(name)
    assert [kind.sentence(key, selection.value(key)) for key, kind in selection.applied().items()] == ["prompt terse"]


def test_the_report_names_what_is_kept_and_what_is_not(toy, tmp_path):
    text = RESPONSES.replace("0.5", "0.4")
    report = put_file(toy, tmp_path / "run.csv", text.replace("reasoning", "Model").replace("x" * 501, "y"), dataset="toy")
    assert f"run.csv: kept as attributes of responses: {ODD}, prompt" in report.lines
    assert "run.csv: the column Model was not kept: its name is too similar to model" in report.warnings
    warnings = put_file(toy, tmp_path / "run.csv", text, dataset="toy").warnings
    assert any("an attribute has at most 500 characters: reasoning (has 501)" in warning for warning in warnings)


def test_attributes_are_part_of_a_runs_identity(toy, tmp_path):
    plain = "model,question_id,clue,guess,confidence\nc,q1,0,Rome,0.25\nc,q2,0,Rome,0.5\n"
    empty = "model,question_id,clue,guess,confidence,prompt\nc,q1,0,Rome,0.25,\nc,q2,0,Rome,0.5,\n"
    texts = (plain, empty.replace("0.25,", "0.25,terse"), empty.replace("0.25,", "0.25,other"))
    runs = [put_file(toy, tmp_path / "run.csv", text, dataset="toy").runs[0] for text in texts]
    assert len({*runs}) == 3
    assert put_file(toy, tmp_path / "run.csv", empty, dataset="toy").stored == runs[:1]


def test_an_attribute_of_many_values_cannot_be_filtered_by(importing, tmp_path):
    rows = [{"question_id": f"q{n:03}", "answer": "Nile"} for n in range(101)]
    answers = [
        {"model": "a", "question_id": row["question_id"], "guess": "Nile", "confidence": 0.5, "latency": n, "half": n % 2}
        for n, row in enumerate(rows)
    ]
    path = write(
        tmp_path / "toy", {"dataset": "toy", "kind": "single"}, questions=table(rows), clues=None, responses=table(answers)
    )
    store = importing(tmp_path / "store", path)
    snapshot = store.snapshot()
    (name,) = snapshot.rows("select run from runs")[0]
    assert run(snapshot, name).attributes == {"half": ["0", "1"], "latency": None}
    assert snapshot.rows("select value, responses from response_attributes where attribute = 'latency'") == [(None, 101)]
    with pytest.raises(BadRequest, match="'latency' has too many values"):
        read(snapshot, ("dataset", "toy"), ("attr.latency", "7"))
    exported = export(store, responses(snapshot, name, "csv"), "csv").read().decode()
    assert "latency" in exported


QUESTION_ATTRIBUTE = "question_id,answer,prompt\nq1,Paris,x\nq2,Nile,y\n"


def test_an_attribute_name_is_for_questions_or_responses(toy, tmp_path):
    store = open_store(tmp_path / "both", threads=1)
    both = write(tmp_path / "toy", questions=QUESTION_ATTRIBUTE, clues=CLUES, responses=RESPONSES)
    with pytest.raises(Refused, match="the questions of dataset toy have an attribute of this name already"):
        import_paths(store, [both], ImportOptions())
    put(store, write(tmp_path / "toy", questions=QUESTION_ATTRIBUTE, clues=CLUES))
    (tmp_path / "run.csv").write_text(RESPONSES)
    with pytest.raises(Refused, match="the questions of dataset toy have an attribute of this name already"):
        put(store, tmp_path / "run.csv", dataset="toy")
    other = write(tmp_path / "jsonl", questions=QUESTION_ATTRIBUTE, clues=CLUES, facts=FACTS | {"dataset": "jsonl"})
    with pytest.raises(Refused, match="the stored responses of dataset jsonl have an attribute of this name already"):
        import_paths(toy, [other], ImportOptions(replace=True))


# -- a filtered store gives what a store of only the filtered responses gives -----------------------------------------

QUIZ = [
    {"question_id": f"q{n:02}", "answer": "Nile", "category": "Places" if n % 3 else "Science", "difficulty": n / 40}
    for n in range(24)
]
STEPS = table(
    [
        {"question_id": q["question_id"], "clue": c, "text": "some more words", "word_end": 3 * c + 3}
        for q in QUIZ
        for c in range(3)
    ]
)
MATCHES = [(k, q["question_id"], n) for k, q in enumerate(QUIZ) for n in range(4)]
HEARD = table([{"question_id": name, "match_id": f"m{n}", "team": f"T{n}", "team_kind": "human"} for _, name, n in MATCHES])
BUZZED = table(
    [
        {"question_id": name, "match_id": f"m{n}", "team": f"T{n}", "word": (2 * n + k) % 9, "correct": (n + k) % 2}
        for k, name, n in MATCHES
        if n < 3
    ]
)


def quiz_answer(draw):
    """Draw an answer with attributes at random, or a failed call."""
    answer = {"failed": int(draw.random() < 0.05), "prompt": draw.choice(["terse", "terse", "verbose", ""])}
    stated = {
        "guess": draw.choice(["Nile", "Rome"]), "confidence": round(draw.random(), 3),
        "token_logprobs": json.dumps([-draw.random()]), "buzz": int(draw.random() < 0.3),
    }  # fmt: skip
    return answer | (dict.fromkeys(stated, "") if answer["failed"] else stated)


def voted_answer(draw):
    shares = np.array([draw.random() for _ in range(3)])
    options = json.dumps((shares / shares.sum()).tolist()) if draw.random() < 0.9 else ""
    return {"options": options, "guess": "" if options else "yes", "confidence": 0.5, "prompt": draw.choice(["terse", "verbose"])}


def answers(draw, name, samples):
    """Draw the answers of several runs to nearly all clues."""
    questions, clues, models, answer = (
        (VOTED_ON, [0], "ab", voted_answer) if name == "voted" else (QUIZ, range(3), "abc", quiz_answer)
    )
    return [
        {"model": model, "elicitation": "stated", "question_id": q["question_id"], "clue": clue,
         "sample": sample if samples > 1 else "", "shot": draw.choice("01"), **answer(draw)}
        for model, q, clue, sample in product(models, questions, clues, range(samples)) if draw.random() < 0.9
    ]  # fmt: skip


CLASSES = ["yes", "maybe", "no"]
VOTED_ON = [{"question_id": f"v{n:02}", "text": "Which?", "difficulty": n / 20} for n in range(16)]
VOTES = table(
    [
        {"question_id": q["question_id"], "class": name, "votes": (3 * n + 5 * k) % 17}
        for n, q in enumerate(VOTED_ON)
        for k, name in enumerate(CLASSES)
    ]
)
PLAYED = {"questions": table(QUIZ), "clues": STEPS, "exposures": HEARD, "buzzes": BUZZED}
# Kind, number of samples of each answer and tables of each dataset.
SETS = {
    "quiz": ({"kind": "incremental"}, 1, PLAYED),
    "sampled": ({"kind": "incremental"}, 3, PLAYED),
    "voted": ({"kind": "votes", "classes": CLASSES}, 2, {"questions": table(VOTED_ON), "clues": None, "votes": VOTES}),
}


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory):
    """A store with all responses, and one with only the terse ones of shot 1."""
    drawn = {name: answers(random.Random(samples), name, samples) for name, (_, samples, _) in SETS.items()}
    kept = {name: [row for row in rows if row["prompt"] == "terse" and row["shot"] == "1"] for name, rows in drawn.items()}
    stores = []
    for responses_of in (drawn, kept):
        folder = tmp_path_factory.mktemp("stores")
        stores.append(open_store(folder / "store", threads=2))
        put(stores[-1], *(
            write(folder / name, {"dataset": name} | facts, **tables, responses=table(responses_of[name]))
            for name, (facts, _, tables) in SETS.items()
        ))  # fmt: skip
    return [store.snapshot() for store in stores]


@pytest.fixture(params=SETS)
def two_stores(request, snapshots):
    """Both stores, and the id of a dataset."""
    return (*snapshots, request.param)


CONDITIONS = [
    {}, {"failed": True}, {"common": False}, {"conventions": Conventions(binning="mass5")},
    {"conventions": Conventions(binning="width10r", t=0.25)}, {"revealed": (0.5, 1.0)}, {"grading": "graded"},
]  # fmt: skip


def alike(snapshot, selection, query):
    """Return the result of a query, with run names in place of ids and without the fields in which the stores differ."""
    answer = json.loads(msgspec.json.encode(query(snapshot, selection)))
    if isinstance(answer, dict):
        answer = {key: value for key, value in answer.items() if key not in ("data_version", "selection")}
    text = json.dumps(answer)
    for name, model in snapshot.rows("select run, model from runs"):
        text = text.replace(name, model)
    return flat(json.loads(text))


def flat(value, place=""):
    """Flatten nested values by place. Numbers have a tolerance, because sums can be added in another order."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return {inner: leaf for key, part in pairs for inner, leaf in flat(part, f"{place}/{key}").items()}
    return {place: pytest.approx(value, abs=1e-9) if isinstance(value, float) else value}


def terse(snapshot, name, changes):
    pairs = [("dataset", name), ("attr.prompt", "terse"), ("attr.shot", "1")]
    return read(snapshot, *pairs).replace(**changes)


@pytest.mark.parametrize("changes", CONDITIONS, ids=str)
def test_every_metric_is_that_of_the_kept_responses(two_stores, changes):
    whole, kept, name = two_stores
    query = partial(leaderboard, metrics=METRICS if changes else METRICS[::4], intervals=not changes)  # these are slow
    filtered = alike(whole, terse(whole, name, changes), query)
    assert filtered == alike(kept, Selection(name).replace(**changes), query)
    assert changes or filtered != alike(whole, Selection(name), query)


VIEWS = {
    "accuracy by fraction": accuracy_by_fraction,
    "breakdown": partial(breakdown, by="category", metrics=[BRIER], intervals=True),
    "buzz": partial(buzz, rules=Rules()),
    "comparisons": partial(comparisons, a=None, metrics=[BRIER, CATALOGUE["auroc"]]),
    "decide": decide,
    "difficulty": difficulty,
    "early mistake": surest_early_mistake,
    "gradings": gradings,
    "items": items,
    "questions": lambda snapshot, selection: question_table(snapshot, selection, [BRIER])[0].to_dicts(),
    "question": lambda snapshot, selection: question(snapshot, selection, "v03" if selection.dataset == "voted" else "q03"),
    "recalibration": partial(recalibration, method="isotonic", metrics=[BRIER]),
    "reliability": reliability,
    "slices": partial(slices, metric=BRIER),
    "sparklines": partial(sparklines, ids=("q01", "q02")),
    "triptych": triptych,
    "unsolved": unsolved,
    "votes": people,
    "which ece": which_ece,
}


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_that_of_the_kept_responses(two_stores, view):
    whole, kept, name = two_stores
    query = VIEWS[view]
    assert alike(whole, terse(whole, name, {}), query) == alike(kept, Selection(name), query)


def test_guesses_to_review_are_those_of_the_kept_responses(two_stores):
    whole, kept, name = two_stores
    first = "select run from runs where dataset = $d order by position limit 1"
    runs = [snapshot.rows(first, {"d": name})[0][0] for snapshot in (whole, kept)]
    filtered = graded_guesses(whole, terse(whole, name, {}), runs[0], "all")
    assert filtered.guesses == graded_guesses(kept, Selection(name), runs[1], "all").guesses


def test_responses_are_broken_down_by_attributes(two_stores):
    whole, _, name = two_stores
    assert breakdown_fields(read_facets(whole, name))[-2:] == ("attr.prompt", "attr.shot")
    parts = breakdown(whole, Selection(name, common=False), "attr.prompt", [BRIER]).parts
    assert [part.value for part in parts] == ["terse", "verbose", *([] if name == "voted" else [None])]
    result = breakdown(whole, Selection(name), "attr.prompt", [BRIER], intervals=True)
    for part in result.parts[:2]:
        selection = read(whole, ("dataset", name), ("attr.prompt", part.value))
        ranked = [row for row in leaderboard(whole, selection, (BRIER,), intervals=True).rows if row.ranked]
        for row in ranked:  # only a board says what the answers that are missing could change
            row.metrics["brier"].rest_low = row.metrics["brier"].rest_high = None
        assert [(row.run, row.metrics) for row in part.rows] == [(row.run, row.metrics) for row in ranked]
    narrowed = breakdown(whole, read(whole, ("dataset", name), ("attr.prompt", "terse")), "attr.prompt", [BRIER])
    assert [part.value for part in narrowed.parts] == ["terse"]
    tested = slices(whole, Selection(name), BRIER).slices
    assert not [part for part in tested if any(key.startswith("attr.") for key in part.filters)]
