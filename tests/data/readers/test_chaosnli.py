"""Files of ChaosNLI: items with votes, and predictions whose class order only the analyst knows."""

import gzip
import json

import pytest

from clueline.data.importing.report import Refused
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows

CLASSES = ("entailment", "contradiction", "neutral")  # in the order of the predictions
COUNTS = {"a#1": (60, 30, 10), "b#2": (0, 50, 50), "c#3": (45, 45, 10)}
MAJORITY = {"a#1": "e", "b#2": "c", "c#3": "e"}
PROBS = {"a#1": (0.7, 0.1, 0.2), "b#2": (0.1, 0.30000000000000004, 0.6), "c#3": (0.25, 0.5, 0.25)}
TEXT = {"premise": "A man sleeps.", "hypothesis": "A man dreams."}


def item(uid, /, **changes):
    counts = COUNTS.get(uid, (1, 0, 0))
    counter = {letter: count for letter, count in zip("enc", counts, strict=True) if count}
    fields = {
        "uid": uid, "label_counter": counter, "majority_label": MAJORITY.get(uid, "e"), "label_dist": [n / 100 for n in counts],
        "label_count": list(counts), "entropy": 1.0, "example": TEXT | {"uid": uid},
    }  # fmt: skip
    return {key: value for key, value in (fields | changes).items() if value is not ...}


def prediction(uid, /, **changes):
    probs = PROBS.get(uid, (1.0, 0.0, 0.0))
    pred = probs.index(max(probs))
    fields = {"index": 0, "true": 0, "pred": pred, "conf": max(probs), "logits": [0.0] * 3, "probs": list(probs), "uid": uid}
    return {key: value for key, value in (fields | changes).items() if value is not ...}


def write(path, rows):
    content = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


@pytest.fixture
def items(tmp_path):
    return write(tmp_path / "items.jsonl", map(item, COUNTS))


def reported(store, *paths, **options):
    """Return the problems of a refusal, and check that it left the store unchanged."""
    version = store.version()
    refused = bundles.refusal(store, *paths, **options)
    assert store.version() == version
    return [(problem.line, problem.column, problem.reason) for problem in refused.problems]


def test_a_majority_label_that_was_outvoted_is_warned_of(tried, tmp_path):
    report = tried(write(tmp_path / "items.jsonl", [item("a#1", majority_label="c"), item("b#2"), item("c#3")]))
    assert report.warnings == [
        "items.jsonl: 1 item has a majority_label that fewer people chose than another; it is kept as the answer"
    ]


def test_items(tried, items):
    report = tried(items, dataset="nli")
    assert report.lines == [
        "items.jsonl: read as chaosnli", "dataset nli: 3 questions imported", "dataset nli: 300 votes imported",
    ]  # fmt: skip
    assert tried.rows("select dataset, kind, classes, simulated from datasets") == [
        ("nli", "votes", ["entailment", "neutral", "contradiction"], False)
    ]
    assert tried.rows("select question_id, answer, text, clues from questions order by position") == [
        (uid, answer, "Premise: A man sleeps.\nHypothesis: A man dreams.", 1)
        for uid, answer in (("a#1", "entailment"), ("b#2", "contradiction"), ("c#3", "entailment"))
    ]
    votes = {(question, name): count for question, name, count in tried.rows("select question_id, class, votes from votes")}
    names = ("entailment", "neutral", "contradiction")
    assert votes == {(uid, name): n for uid, counts in COUNTS.items() for name, n in zip(names, counts, strict=True)}


def test_the_earlier_of_two_tied_classes_is_the_answer(tried, tmp_path):
    tried(write(tmp_path / "items.jsonl", [item(uid, majority_label=...) for uid in COUNTS]))
    assert tried.rows("select dataset, question_id, answer from questions order by position") == [
        ("chaosnli", "a#1", "entailment"), ("chaosnli", "b#2", "neutral"), ("chaosnli", "c#3", "entailment"),
    ]  # fmt: skip


def test_predictions_are_put_into_the_datasets_class_order(store, items, tmp_path):
    bundles.put(store, items, dataset="nli")
    path = write(tmp_path / "one.json.gz", [prediction("c#3"), prediction("z#9"), prediction("a#1")])
    two = write(tmp_path / "two.json.gz", [prediction("b#2"), prediction("y#8")])
    report = bundles.put(store, path, two, dataset="nli", model="RoBERTa", classes=CLASSES)
    assert report.lines[2:] == [
        f"run {report.runs[0]} (RoBERTa, softmax, nli): 3 items of 3 questions imported; "
        "2 rows skipped: not a question of this dataset"
    ]
    assert rows(
        store, "select question_id, guess, confidence, correct, graded, options, option_names from responses order by 1"
    ) == [
        ("a#1", "entailment", 0.7, 1.0, "answer", [0.7, 0.2, 0.1], None),
        ("b#2", "neutral", 0.6, 0.0, "answer", [0.1, 0.6, 0.30000000000000004], None),
        ("c#3", "contradiction", 0.5, 0.0, "answer", [0.25, 0.25, 0.5], None),
    ]
    assert rows(store, "select elicitation, skipped from runs") == [("softmax", '{"not a question of this dataset": 2}')]


def test_items_and_predictions_together(store, items, tmp_path):
    path = write(tmp_path / "one.json.gz", map(prediction, COUNTS))
    report = bundles.put(store, items, path, dataset="nli", model="m", elicitation="mean", classes=CLASSES)
    assert rows(store, "select elicitation, items, missing_questions, skipped from runs") == [("mean", 3, 0, None)]
    assert rows(store, "select classes from datasets") == [(["entailment", "neutral", "contradiction"],)]
    version = store.version()
    assert bundles.put(store, items, path, dataset="nli", model="m", elicitation="mean", classes=CLASSES).runs == report.runs
    assert store.version() == version


def test_a_contradicted_class_order_is_warned_of(store, items, tmp_path):
    bundles.put(store, items, dataset="nli")
    # Labels 0, 1, 0 are entailment, contradiction, entailment if the order is right.
    path = write(tmp_path / "one.jsonl", [prediction(uid, true=true) for uid, true in zip(COUNTS, (0, 1, 0), strict=True)])
    assert bundles.put(store, path, dataset="nli", model="right", classes=CLASSES).warnings == []
    wrong = bundles.put(store, path, dataset="nli", model="wrong", classes=("entailment", "neutral", "contradiction"))
    assert wrong.warnings == [
        "one.jsonl: are the classes in the right order? Read as entailment,neutral,contradiction, the file's labels (`true`) are "
        "the answers of 2 questions; as entailment,contradiction,neutral, of 3"
    ]


BAD_OPTIONS = [
    ({"dataset": "nowhere", "model": "m", "classes": CLASSES},
     "there is no dataset 'nowhere' for these answers; import its items first"),
    ({"dataset": "nli", "classes": CLASSES}, "which model predicted this?"),
    ({"dataset": "nli", "model": "m"},
     "which class does each probability belong to? The file does not say, and a wrong guess would go unnoticed; name "
     "the classes in the file's order; the dataset has entailment, neutral, contradiction"),
    *(({"dataset": "nli", "model": "m", "classes": classes},
       "the classes given must name each class of dataset 'nli' once, in the file's order: entailment, neutral, contradiction")
      for classes in (("entailment", "neutral"), ("e", "n", "c"), ("neutral", "neutral", "contradiction"))),
]  # fmt: skip


def test_missing_or_wrong_options_are_refused(store, items, tmp_path):
    bundles.put(store, items, dataset="nli")
    for options, reason in BAD_OPTIONS:
        assert reported(store, write(tmp_path / "one.json.gz", [prediction("a#1")]), **options) == [(None, None, reason)]


BAD_PREDICTIONS = [
    ({"probs": [0.5, 0.5]}, "probs", "must be 3 numbers, one for each of the classes given"),
    ({"probs": "much"}, "probs", "must be a list of finite numbers"),
    ({"probs": [1.5, -0.25, -0.25], "pred": 0}, "probs", "must be at least 0"),
    ({"probs": None}, "probs", "a value is required here"),
    ({"pred": 1}, "pred", "is not the class with the greatest probability in probs"),
    ({"pred": 3}, "pred", "must be below 3, the number of classes"),
    ({"uid": None}, "uid", "a value is required here"),
    ({"uid": "c#3"}, "question_id", "this run has an answer to this question and clue already"),
]


def test_bad_predictions(store, items, tmp_path):
    bundles.put(store, items, dataset="nli")
    for changes, column, reason in BAD_PREDICTIONS:
        path = write(tmp_path / "one.jsonl", [prediction("c#3"), prediction("a#1", **changes)])
        assert reported(store, path, dataset="nli", model="m", classes=CLASSES) == [(2, column, reason)]


def test_predictions_of_other_items_only_are_refused(store, items, tmp_path):
    bundles.put(store, items, dataset="nli")
    path = write(tmp_path / "one.jsonl", [prediction("z#9"), prediction("y#8")])
    assert reported(store, path, dataset="nli", model="m", classes=CLASSES) == [
        (None, "uid", "none of its predictions (2) is for a question of dataset 'nli'")
    ]


@pytest.mark.parametrize(
    ("changes", "column", "reason"),
    [
        ({"label_count": [1, 2], "label_counter": ...}, "label_count",
         "must be three numbers: votes for entailment, neutral, contradiction"),
        ({"label_count": [0.5, 2, 1], "label_counter": ...}, "label_count", "votes are whole numbers"),
        ({"label_count": [-1, 2, 1], "label_counter": ...}, "label_count", "must be at least 0"),
        ({"label_count": [0, 0, 0], "label_counter": {}}, "label_count", "nobody voted"),
        ({"label_counter": {"n": 1}}, "label_counter", "disagrees with label_count"),
        ({"majority_label": "x"}, "majority_label", "must be one of: e, n, c"),
        ({"example": {"premise": "Alone."}}, "example", "must hold a premise and a hypothesis"),
        ({"example": None}, "example", "a value is required here"),
        ({"uid": "a#1"}, "question_id", "this question is in the file already"),
    ],
)  # fmt: skip
def test_bad_items(store, tmp_path, changes, column, reason):
    path = write(tmp_path / "items.jsonl", [item("a#1"), item("d#4", **changes)])
    assert (2, column, reason) in reported(store, path)


def test_files_of_neither_kind_are_refused(store, tmp_path):
    path = write(tmp_path / "other.jsonl", [{"uid": "a", "label": "e"}])
    with pytest.raises(Refused, match=r"neither ChaosNLI items \(uid, label_count\) nor predictions \(uid, probs\)"):
        bundles.put(store, path, form="chaosnli")
    with pytest.raises(Refused, match="name them one by one"):
        bundles.put(store, tmp_path, form="chaosnli")


ABDUCTIVE = {
    "uid": "066e-1", "label_counter": {"2": 63, "1": 37}, "majority_label": 2, "label_count": [37, 63],
    "example": {"obs1": "It rained.", "obs2": "He was dry.", "hyp1": "He ran.", "hyp2": "He stayed in.", "source": "abdnli_dev"},
    "old_label": 2,
}  # fmt: skip


def test_alphanli_has_two_classes(store, tmp_path):
    bundles.put(store, write(tmp_path / "alpha.jsonl", [ABDUCTIVE]))
    assert rows(store, "select dataset, title, classes from datasets") == [("chaosnli-alphanli", "ChaosNLI-alphaNLI", ["1", "2"])]
    assert rows(store, "select text, answer from questions") == [
        ("Observation 1: It rained.\nObservation 2: He was dry.\nHypothesis 1: He ran.\nHypothesis 2: He stayed in.", "2")
    ]
    assert rows(store, "select class, votes from votes order by 1") == [("1", 37), ("2", 63)]
    predicted = {"uid": "066e-1", "probs": [0.75, 0.25], "pred": 0}
    bundles.put(store, write(tmp_path / "p.jsonl", [predicted]), model="m", classes=("2", "1"))
    assert rows(store, "select dataset, guess, options from responses join runs using (run, dataset)") == [
        ("chaosnli-alphanli", "2", [0.25, 0.75])
    ]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (ABDUCTIVE | {"label_count": [1, 2, 3]}, "must be two numbers: votes for 1, 2"),
        (ABDUCTIVE | {"label_count": [37, 62]}, "disagrees with label_count"),
        (ABDUCTIVE | {"majority_label": "e"}, "must be one of: 1, 2"),
        (ABDUCTIVE | {"example": {"obs1": "It rained."}}, "must hold an obs1 and an obs2 and a hyp1 and a hyp2"),
    ],
)
def test_bad_items_of_alphanli(store, tmp_path, row, reason):
    assert reason in [problem[2] for problem in reported(store, write(tmp_path / "alpha.jsonl", [row]))]


@pytest.mark.parametrize(
    ("uid", "source", "dataset", "title"),
    [
        ("193596775.jpg#3r1n", None, "chaosnli-snli", "ChaosNLI-SNLI"), ("x", "snli_agree_3", "chaosnli-snli", "ChaosNLI-SNLI"),
        ("132539e", None, "chaosnli-mnli", "ChaosNLI-MNLI"), ("x", "mnli_agree_3", "chaosnli-mnli", "ChaosNLI-MNLI"),
        ("x", None, "chaosnli", "ChaosNLI"),
    ],
)  # fmt: skip
def test_parts_of_the_release_have_titles_of_their_own(tried, tmp_path, uid, source, dataset, title):
    example = TEXT | ({"source": source} if source else {})
    tried(write(tmp_path / "items.jsonl", [item(uid, example=example, label_counter={"e": 1})]))
    assert tried.rows("select dataset, title from datasets") == [(dataset, title)]
