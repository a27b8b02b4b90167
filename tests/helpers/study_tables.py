"""Invented tables in the shapes in which calibration studies release them, drawn anew, and the figures of what was imported."""

import csv
import io
import json
import random
from pathlib import Path

import numpy as np

from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE
from queries.selection import Selection
from tests.helpers.paths import ROOT

FOLDER = ROOT.parent / "shared" / "tables"
FIGURES = ("accuracy", "mean_confidence", "brier", "ece", "auroc")
WORDS = (("very uncertain", 0.1), ("somewhat uncertain", 0.4), ("somewhat certain", 0.7), ("very certain", 0.95))
# Other names that studies give to a column. A name of "" says nothing.
NAMES = {
    "category": ["topic", "domain"], "correct_answer": ["gold", "ground_truth", "answer_key", "y_true"],
    "extracted_answer": ["prediction", "model_answer", "y_pred"], "subject": ["category", "topic"],
    "verbal_numerical_confidence": ["stated_confidence", "verbal_probability"], "question_id": ["qid", "id", "uid", ""],
    "logit_perplexity_confidence": ["token_probability", "p_true", ""], "model_name": ["llm", "model", "system", ""],
    "trial_index": ["trial", "epoch", "seed", ""], "predicted_letter": ["prediction", "guess", ""],
    "correct_letter": ["gold", "key", ""], "is_correct": ["correct", "hit", "score", ""],
    "confidence": ["certainty", "conf", "probability", ""], "threshold": ["tau", ""],
    "question": ["prompt", "query", "Frage", ""], "answer": ["gold", "target"],
    "predicted_answer": ["prediction", "response", ""], "target": ["gold", "reference"],
    "seq_prob": ["sequence_probability", ""], "extracted_judge_score": ["is_correct", "judge_correct", ""],
    "Answer": ["Prediction", "Response", ""], "Stated_Confidence": ["Certainty", ""], "Correct_Answer": ["Truth", ""],
    "Score": ["correct", ""], "Question ID": ["qid", ""], "model": ["LLM", ""], "dataset": ["benchmark", ""],
    "p_max": ["confidence", "certainty", ""], "hit": ["correct", "right", ""], "Modell": ["model", ""],
    "Konfidenz": ["Sicherheit", ""], "richtig": ["korrekt", ""], "forecaster": ["agent", ""],
    "entropy": ["perplexity", "Unsicherheit", "semantic_entropy", ""], "llm_answer": ["response", "prediction"],
    "probability_yes": ["p_yes", "forecast", ""], "resolution": ["outcome", ""],
}  # fmt: skip
FURTHER = {  # columns that tables of studies also have
    "latency": lambda draw, n: f"{5 * draw.random():.3f}", "temperature": lambda draw, n: draw.choice(["0.7", "1.0"]),
    "difficulty_score": lambda draw, n: f"{draw.random():.3f}", "cosine": lambda draw, n: f"{draw.random():.4f}",
    "flagged": lambda draw, n: str(draw.randint(0, 1)), "human_correct": lambda draw, n: str(draw.randint(0, 1)),
    "annotator_confidence": lambda draw, n: f"{draw.random():.2f}",
    "created": lambda draw, n: f"2026-11-{1 + n % 28:02}T10:00:00",
    "batch": lambda draw, n: str(n // 10), "comment": lambda draw, n: draw.choice(["", "checked"]),
}  # fmt: skip


def draw_tables(folder: Path, seed: int) -> dict:
    """Write the tables with another seed, without the workbook, and return the figures that numpy computes."""
    source = (FOLDER / "make.py").read_text(encoding="utf-8").replace("20261125)", f"{seed})")
    script = folder / "make.py"
    script.write_text(source.partition("# 12 A workbook")[0], encoding="utf-8")
    names = {"__file__": str(script), "__name__": "drawn"}
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), names)
    return names["expected"]


def change_csv(path: Path, draw: random.Random) -> None:
    """Rename, add and permute columns of a CSV, and write it with another delimiter."""
    encoding = "cp1252" if path.name.startswith("semicolons") else "utf-8"
    text = path.read_text(encoding=encoding)
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=";" if encoding == "cp1252" else ","))
    columns = [[name, *(row[n] for row in rows[1:])] for n, name in enumerate(rows[0])]
    names = set(rows[0])
    for column in columns:
        new = draw.choice(NAMES.get(column[0], [column[0]])) or f"col_{len(names)}"
        if draw.random() < 0.5 and new not in names:
            names.add(new)
            column[0] = new
    for name in draw.sample(list(FURTHER), draw.randint(0, 4)):
        columns.append([name, *(FURTHER[name](draw, n) for n in range(len(rows) - 1))])
    draw.shuffle(columns)
    with path.open("w", encoding=draw.choice(["utf-8", "utf-8-sig", "utf-16"]), newline="") as out:
        csv.writer(out, delimiter=draw.choice(",;\t|")).writerows(zip(*columns, strict=True))


def change_lines(path: Path, draw: random.Random) -> None:
    """Add a key to the objects of JSON Lines, and permute them."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    name = draw.choice(list(FURTHER))
    changed = [{name: FURTHER[name](draw, n)} | line for n, line in enumerate(lines)]
    keys = draw.sample(list(changed[0]), len(changed[0]))
    path.write_text("".join(json.dumps({key: line[key] for key in keys}) + "\n" for line in changed), encoding="utf-8")


def figures(store, report) -> list[dict[str, float | None]]:
    """Return the figures of each imported run, as the leaderboard shows them."""
    snapshot, measured = store.snapshot(), []
    for dataset in report.datasets:
        board = leaderboard(snapshot, Selection(dataset, common=False), [CATALOGUE[key] for key in FIGURES])
        measured += [{key: cell.value for key, cell in row.metrics.items()} for row in board.rows if row.run in report.runs]
    return measured


def names_of_tables() -> list[str]:
    """Return the file names of the tables that go in, some of them with words of confidence that have to be stated."""
    return sorted(path.name for path in FOLDER.glob("*.*") if path.suffix not in (".py", ".json"))


def words_of(name: str) -> tuple[tuple[str, float], ...]:
    """Return what words of confidence mean in a table."""
    return WORDS if name == "stated_in_words.csv" else ()


def expected_runs(name: str) -> list[dict[str, float]]:
    """Return the figures of each run of a table, as numpy computes them."""
    return list(json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))[name].values())


def expected_figures(expected: dict[str, float]) -> dict[str, float]:
    """Return the figures that a run should have, by the keys of metrics."""
    accuracy = expected.get("accuracy", expected.get("accuracy_of_all_answers", expected.get("accuracy_at_half")))
    return {key: expected[key] for key in FIGURES if key in expected} | {"accuracy": accuracy}


def same_figures(measured: list[dict], expected: list[dict]) -> bool:
    """Whether the runs are the expected ones, in any order, to nine digits."""

    def fits(one, other):
        return all(one[key] is not None and np.isclose(one[key], value, rtol=0, atol=1e-9) for key, value in other.items())

    wanted = [expected_figures(run) for run in expected]
    return len(measured) == len(wanted) and all(any(fits(one, other) for one in measured) for other in wanted)
