"""Logs with arbitrary values: each is imported or refused with a reason, and nothing else is raised."""

import copy
import csv
import io
import json
import shutil

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clueline.data.importing import ingest
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from tests.helpers import bundle_factory as bundles
from tests.helpers.evaluation_logs import (
    helm_instance,
    helm_joint,
    helm_separate,
    inspect_log,
    inspect_sample,
    inspect_score,
    inspect_tokens,
    judged,
    lm_eval_sample,
    resolutions,
    uqlm_result,
)
from tests.helpers.examples import fixed_examples
from tests.helpers.run_tables import with_runs

CHOICE = inspect_sample(
    "a", {"choice": inspect_score("C", "A", confidence=0.5)}, choices=["x", "y"], target="A", attachments={"1": "text"},
    output=inspect_tokens({"A": 0.5, "B": 0.5}, "A"),
)  # fmt: skip
WRITTEN = inspect_sample(
    "b",
    {"judge": inspect_score({"a": 1}, confidence=0.5) | {"history": [{"value": "I"}]}},
    input=[{"role": "user", "content": "Q"}],
)
DOCUMENTS = {
    "lm-eval": [lm_eval_sample(0, [-1.0, -2.0]), lm_eval_sample(1, [-1.0, -2.0])],
    "inspect": inspect_log([CHOICE, WRITTEN]),
    "helm": {
        "adapter_spec": {"model": "m"},
        "request_states": [helm_joint(helm_instance("a")), *helm_separate(helm_instance("b"), -1.0, -2.0)],
    },
    "judged": {"6a": judged("yes", 85), "6b": judged("no", 15)},
    "forecastbench": resolutions(("a", "2024-08-01", 1.0, True), ("b", "2024-08-01", 0.0, True)),
    "uqlm": uqlm_result(["Which?", "Who?"], ["this", "Ann"], avg=[0.5, 1.0]),
}  # fmt: skip
ANYTHING = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-3, 3), st.floats(), st.text(max_size=3),
        st.sampled_from([10**400, "\ud800", "0.5", "NaN", "-inf", "C", "A", 0.5, 1e300, "x" * 1000]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=4,
)  # fmt: skip


@pytest.fixture(scope="module")
def root(memory_folder):
    """A folder for stores, one of them with questions."""
    questions = "question_id,text,answer\nq1,Which?,this\nq2,Who?,Ann\n"
    bundle = bundles.write(memory_folder / "toy", {"dataset": "toy", "kind": "single"}, questions=questions, clues=None)
    bundles.put(open_store(memory_folder / "with questions", threads=1), bundle)
    return memory_folder


def read_or_refused(root, key, path):
    """Import into a new store. Anything other than a report or a refusal is raised."""
    store = open_store(root / "store", threads=1)
    try:
        ingest.import_paths(store, [path], ImportOptions(form=key, dataset="toy", model="m"))
    except Refused as refused:
        assert refused.problems and all(problem.reason and problem.file.startswith(path.name) for problem in refused.problems)
    else:
        bad = "select * from responses where not confidence between 0 and 1 or not correct between 0 and 1"
        assert with_runs(store.snapshot()).rows(bad) == []
    finally:
        shutil.rmtree(root / "store", ignore_errors=True)


def places(document, path=()):
    """Yield the paths of all values in a document."""
    yield path
    for key in document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ():
        yield from places(document[key], (*path, key))


@st.composite
def changed(draw, document):
    """Return a document in which one to three values are replaced by anything, or removed."""
    result = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 3))):
        *path, last = draw(st.sampled_from([place for place in places(result) if place] or [("x",)]))
        parent = result
        for key in path:
            parent = parent[key]
        if isinstance(parent, dict) and draw(st.booleans()):
            parent.pop(last, None)
        elif isinstance(parent, dict) or last in range(len(parent)):
            parent[last] = draw(ANYTHING)
    return result


@pytest.mark.parametrize("key", DOCUMENTS)
@fixed_examples(15)
@given(data=st.data())
def test_changed_documents(root, key, data):
    document = data.draw(changed(DOCUMENTS[key]))
    path = root / "in" / "log.json"
    lines = document if key == "lm-eval" else [document]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if key == "uqlm":
        shutil.copytree(root / "with questions", root / "store")
    read_or_refused(root, key, path)


CELLS = st.one_of(
    st.text(max_size=4),
    st.sampled_from(["1", "0.5", "yes", "2024-05-01", "multiple_choice", "['a','b']", "[0.5,0.5]", "(" * 3000]),
)


@fixed_examples(20)
@example({"Question Type": "multiple_choice", "MC Options (Current)": "['a']", "Resolution": "a"}, {"Start Time": "2024-05-01"})
@given(
    st.dictionaries(st.sampled_from(["Question ID", "Question Type", "MC Options (Current)", "Resolution"]), CELLS),
    st.dictionaries(st.sampled_from(["Start Time", "End Time", "Probability Yes", "Probability Yes Per Category"]), CELLS),
)
def test_changed_exports_of_metaculus(root, question, forecast):
    folder = root / "in" / "export"
    folder.mkdir(exist_ok=True)
    rows = {
        "question_data": {"Question ID": "1", "Resolution": "yes"} | question,
        "forecast_data": {"Question ID": "1", "Start Time": "2024-05-01", "Probability Yes": "0.5"} | forecast,
    }
    for name, row in rows.items():
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, row)
        writer.writeheader()
        writer.writerow(row)
        (folder / f"{name}.csv").write_bytes(out.getvalue().encode("utf-8", "replace"))
    read_or_refused(root, "metaculus", folder)
