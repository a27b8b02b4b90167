"""Tables 6 and 7 of GRACE, computed by the product for questions whose people give the printed human curves."""

import json
import re

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.dashboard.shell import draw
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.queries.calscore_steps import clue_steps
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import records
from tests.helpers.small_store import write_csv

# Correct and incorrect buzzes at each clue, and the number of teams that never buzz. In table 6, h is correct / all buzzes so
# far (0.1, 0.2, 0.5, 0.9); in table 7, the increments are correct buzzes / teams (0.1, 0.1, 0.2, 0.3).
PEOPLE = {"six": ([(1, 9), (2, 3), (12, 3), (120, 0)], 0), "seven": ([(1, 0), (1, 0), (2, 0), (3, 0)], 3)}


def as_printed(value, text):
    return abs(value - float(text)) <= 0.5 * 10.0 ** -len(text.partition(".")[2]) + 1e-9


@pytest.fixture(scope="module")
def tables(published):
    return {"six": published("grace_table6"), "seven": published("grace_table7")}


@pytest.fixture(scope="module")
def imported(store, tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("grace") / "example"
    folder.mkdir()

    (folder / "dataset.json").write_text(json.dumps({"dataset": "example", "kind": "incremental"}))
    write_csv(folder / "questions.csv", ["question_id"], [[name] for name in PEOPLE])
    write_csv(folder / "clues.csv", ["question_id", "clue", "text"], [(q, t, "two words ") for q in PEOPLE for t in range(4)])
    exposures, buzzes = [], []
    for name, (clues, silent) in PEOPLE.items():
        kinds = [(t, ok) for t, counts in enumerate(clues) for ok, many in zip((1, 0), counts, strict=True) for _ in range(many)]
        for number, (clue, correct) in enumerate([*kinds, *[(None, None)] * silent]):
            exposures.append((name, f"room {number}", f"team {number}", "human"))
            if clue is not None:
                buzzes.append((name, f"room {number}", f"team {number}", 2 * clue, correct))
    write_csv(folder / "exposures.csv", ["question_id", "match_id", "team", "team_kind"], exposures)
    write_csv(folder / "buzzes.csv", ["question_id", "match_id", "team", "word", "correct"], buzzes)
    answers = [("six", row["clue"], row["model_guess"], row["confidence_printed"], (int(row["correct_printed"]) + 1) // 2)
               for row in tables["six"]]  # fmt: skip
    answers += [("seven", row["clue"], row["system_guess"], row["confidence_printed"], row["correct_inferred"])
                for row in tables["seven"]]  # fmt: skip
    run = folder.parent / "run.csv"
    write_csv(run, ["question_id", "clue", "guess", "confidence", "correct"], answers)
    import_paths(store, [folder], ImportOptions())
    import_paths(store, [run], ImportOptions(dataset="example", model="the paper's", elicitation="verbalized"))
    return store


def worked(imported, name):
    (run,) = clue_steps(imported.snapshot(), Selection("example"), name).runs
    return run


@pytest.fixture(scope="module")
def results(published):
    return {row["quantity"]: row["computed"] for row in published("grace_tables6_7_results")}


def test_table_6(imported, tables, results):
    run = worked(imported, "six")
    for step, row in zip(run.steps, tables["six"], strict=True):
        assert step.h == pytest.approx(float(row["h_implied"]))
        assert step.signed == pytest.approx(float(row["g_times_c"]), abs=1e-12)
        assert as_printed(step.adjusted, row["calscore_c_printed"])
    assert sum(step.adjusted for step in run.steps) == pytest.approx(float(results["sum of per-clue values"]))
    assert run.mean == pytest.approx(float(results["mean of per-clue values"]))
    assert run.scaled == pytest.approx(float(results["r(mean)"]))
    assert run.calscore == pytest.approx(float(results["CalScore by eq. 1 = 1 - r(mean)"]))


def test_table_7(imported, tables, results):
    run = worked(imported, "seven")
    for step, row in zip(run.steps, tables["seven"], strict=True):
        assert step.increment == pytest.approx(float(row["h_t_printed"]))
        assert step.buzz_mass == pytest.approx(float(row["b_t_computed"]), abs=1e-12)
        assert as_printed(step.buzz_mass, row["b_t_printed"])
        assert step.gained == pytest.approx(float(row["k_t_computed"]), abs=1e-12) and as_printed(step.gained, row["sh_printed"])
    assert sum(step.gained for step in run.steps) == pytest.approx(float(results["sum K_t"]))
    assert run.remainder == pytest.approx(float(results["(1 - sum h) * sum b g"]))
    assert run.reward == pytest.approx(float(results["reward (eq. 2, h as increments)"]))
    assert run.calscore2 == pytest.approx(float(results["CalScore^2 = 1 - reward"]))
    assert run.steps[-1].right == pytest.approx(float(results["unadjusted S_q = sum b g"]))


def test_the_page_and_the_table_show_them(imported):
    app = create_app(Settings(store=imported.url, workers=1))
    rows = records(app.test_client().get("/api/v1/clue-steps/example/seven.csv").text)
    assert [round(float(row["gained"]), 4) for row in rows] == [0, 0.063, 0.1692, 0.27]
    answer = app.test_client().get("/api/v1/clue-steps/example/seven").json
    assert [step["gained"] for step in answer["runs"][0]["steps"]] == [float(row["gained"]) for row in rows]
    with app.test_request_context("/"):
        drawn = json.loads(draw({"path": "/questions/example/seven", "query": "", "page": True}))
    html = re.sub(r"<[^>]*>", " ", " ".join(drawn["fragments"].values()))
    assert "The reward is 0.772" in html and "CalScore² = 1 − reward = 0.228" in html
