"""The tables of ``invented_tables`` with other names, columns and encodings, and the figures of what was imported."""

import csv
import io
import json
import random
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.selection import Selection
from tests.helpers.invented_tables import WORDS, write_workbook

FIGURES = ("accuracy", "mean_confidence", "brier", "ece", "auroc")
# Other names that studies give to a column.
NAMES = {
    "category": ["topic", "domain"], "correct_answer": ["gold", "ground_truth", "answer_key", "y_true"],
    "extracted_answer": ["prediction", "model_answer", "y_pred"], "subject": ["category", "topic"],
    "verbal_numerical_confidence": ["stated_confidence", "verbal_probability"], "question_id": ["qid", "id", "uid"],
    "logit_perplexity_confidence": ["token_probability", "p_true"], "model_name": ["llm", "model", "system"],
    "trial_index": ["trial", "epoch", "seed"], "predicted_letter": ["prediction", "guess"],
    "correct_letter": ["gold", "key"], "is_correct": ["correct", "hit", "score"], "internal_prob_answer": [],
    "confidence": ["certainty", "conf", "probability"], "threshold": ["tau"], "question": ["prompt", "query", "Frage"],
    "answer": ["gold", "target"], "predicted_answer": ["prediction", "response"], "target": ["gold", "reference"],
    "seq_prob": ["sequence_probability"], "extracted_judge_score": ["is_correct", "judge_correct"],
    "Answer": ["Prediction", "Response"], "Stated_Confidence": ["Certainty"], "Correct_Answer": ["Truth"],
    "Score": ["correct"], "Question ID": ["qid"], "model": ["LLM"], "dataset": ["benchmark"],
    "p_max": ["confidence", "certainty"], "hit": ["correct", "right"], "Modell": ["model"], "Konfidenz": ["Sicherheit"],
    "richtig": ["korrekt"], "forecaster": ["agent"], "entropy": ["perplexity", "Unsicherheit", "semantic_entropy"],
    "llm_answer": ["response", "prediction"], "probability_yes": ["p_yes", "forecast"], "resolution": ["outcome"],
    "How sure?": ["confidence"], "OK?": ["correct"], "Gold": ["reference_answer"], "Model answer": ["prediction"],
}  # fmt: skip
# Columns by role; the others are attributes.
BY_ROLE = {
    "question_id": "question_id,Question ID,id,prompt_id,Item", "question": "question,Frage,Question,question_title",
    "answer": "correct_answer,correct_letter,answer,target,Correct_Answer,Gold", "sample": "trial_index",
    "guess": "extracted_answer,predicted_letter,predicted_answer,Answer,Antwort,Model answer", "threshold": "threshold",
    "correct": "is_correct,extracted_judge_score,correct,Score,hit,richtig,OK?", "outcome": "resolution", "dataset": "dataset",
    "confidence": "verbal_numerical_confidence,logit_perplexity_confidence,verbal_linguistic_confidence,confidence,seq_prob,"
    "ts_seq_confidence,Stated_Confidence,p_max,Konfidenz,probability_yes,How sure?", "uncertainty": "entropy",
    "model": "model_name,model,Modell,forecaster", "parsed": "parse_ok,correct_format",
}  # fmt: skip
ROLES = {name: role for role, names in BY_ROLE.items() for name in names.split(",")}
MUTE = {*ROLES} - {
    "answer",
    "target",
    "prompt_id",
    "Item",
    "Antwort",
    "Question",
    "question_title",
    "verbal_linguistic_confidence",
}
FURTHER = {  # columns that tables of studies also have
    "latency": lambda draw, n: f"{5 * draw.random():.3f}", "temperature": lambda draw, n: draw.choice(["0.7", "1.0"]),
    "difficulty_score": lambda draw, n: f"{draw.random():.3f}", "cosine": lambda draw, n: f"{draw.random():.4f}",
    "flagged": lambda draw, n: str(draw.randint(0, 1)), "human_correct": lambda draw, n: str(draw.randint(0, 1)),
    "annotator_confidence": lambda draw, n: f"{draw.random():.2f}",
    "created": lambda draw, n: f"2026-11-{1 + n % 28:02}T10:00:00",
    "batch": lambda draw, n: str(n // 10), "comment": lambda draw, n: draw.choice(["", "checked"]),
}  # fmt: skip


def renamed(name: str, draw: random.Random, taken: set[str]) -> str:
    """Return another name that says the same, in another style of writing."""
    words = draw.choice([*NAMES.get(name, []), name]).replace("_", " ").split() or [f"Unnamed: {len(taken)}"]
    styles = ["_".join(words), " ".join(words).title(), words[0] + "".join(map(str.title, words[1:])), "-".join(words).upper()]
    new = draw.choice(styles if name in NAMES else [name])
    return name if new in taken else draw.choice(["", "", "eval."]) + new if name in NAMES else new


def change(columns: dict[str, list[str]], draw: random.Random) -> tuple[dict[str, list[str]], dict[str, str]]:
    """Rename, add and permute columns; one of them gets a name that says nothing. Return them, and what each was called."""
    mute = draw.choice([None, *(name for name in columns if name in MUTE)])
    was: dict[str, str] = {}
    for name in columns:
        was["col_7" if name == mute else renamed(name, draw, {*was, *columns})] = name
    changed = {new: columns[name] for new, name in was.items()}
    for name in draw.sample(list(FURTHER), draw.randint(0, 4)):
        changed[name] = [FURTHER[name](draw, n) for n in range(len(next(iter(columns.values()))))]
    order = draw.sample(list(changed), len(changed))
    return {name: changed[name] for name in order}, was


def change_csv(path: Path, draw: random.Random) -> tuple[Path, dict[str, str]]:
    """Change a CSV, and write it with another delimiter and encoding or as a workbook. Return where, and what columns were."""
    encoding = "cp1252" if path.name.startswith("semicolons") else "utf-8"
    rows = csv.reader(io.StringIO(path.read_text(encoding=encoding), newline=""), delimiter=";" if encoding == "cp1252" else ",")
    header, *cells = rows
    columns, was = change(dict(zip(header, map(list, zip(*cells, strict=True)), strict=True)), draw)
    table = [[*columns], *zip(*columns.values(), strict=True)]
    if find_spec("python_calamine") and draw.random() < 0.2:
        path = path.with_suffix(".xlsx")
        write_workbook(path, {"Sheet1": [*draw.choice([[], [["Our results"]]]), *table]})
        return path, was
    with path.open("w", encoding=draw.choice(["utf-8", "utf-8-sig", "utf-16"]), newline="") as out:
        csv.writer(out, delimiter=draw.choice(",;\t|")).writerows(table)
    return path, was


def change_lines(path: Path, draw: random.Random) -> tuple[Path, dict[str, str]]:
    """Add a key to the objects of JSON Lines, and permute them."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    name = draw.choice(list(FURTHER))
    changed = [{name: FURTHER[name](draw, n)} | line for n, line in enumerate(lines)]
    keys = draw.sample(list(changed[0]), len(changed[0]))
    path.write_text("".join(json.dumps({key: line[key] for key in keys}) + "\n" for line in changed), encoding="utf-8")
    return path, {}


def change_book(path: Path, draw: random.Random) -> tuple[Path, dict[str, str]]:
    """Change the workbook, on every sheet in the same way, and write it as another one."""
    from python_calamine import load_workbook

    book, state = load_workbook(path), draw.getstate()
    sheets = {}
    for sheet in book.sheet_names:
        draw.setstate(state)
        title, header, *rows = [row for row in book.get_sheet_by_name(sheet).to_python() if any(row)]
        columns, was = change(dict(zip(header, zip(*rows, strict=True), strict=True)), draw)
        sheets[sheet] = [title, [*columns], *zip(*columns.values(), strict=True)]
    write_workbook(path.with_name("drawn.xlsx"), sheets)
    return path.with_name("drawn.xlsx"), was


def answer_of(message: str, was: dict[str, str]) -> list[str]:
    """Return the command of a message that asks about one column, with the answer that fits what the column was."""
    command, others = re.search(r"^For example: clueline (.*)(?:\ninstead .*: (.*))?", message, re.M).groups()
    words = shlex.split(command)
    if "--column" not in words:
        return words
    *start, first = words
    choices = [first, *(shlex.split(other)[1] for other in (others or "").split(", or ") if "--column" in other)]
    fitting = [c for c in choices if c.partition("=")[0] == ROLES.get(was.get(c.partition("=")[2], ""), "attribute")]
    assert len(fitting) == 1, message
    return [*start, fitting[0]]


def figures(store) -> list[dict[str, float | None]]:
    """Return the figures of each run in a store, as the leaderboard shows them."""
    snapshot, measured = store.snapshot(), []
    for dataset in snapshot.states:
        board = leaderboard(snapshot, Selection(dataset, common=False, nights=True), [CATALOGUE[key] for key in FIGURES])
        measured += [{key: cell.value for key, cell in row.metrics.items()} for row in board.rows]
    return measured


def words_of(name: str) -> tuple[tuple[str, float], ...]:
    """Return what words of confidence mean in a table."""
    return WORDS if name == "stated_in_words.csv" else ()


def same_figures(measured: list[dict], expected: list[dict]) -> bool:
    """Whether the runs are the expected ones, in any order, to nine digits."""

    def fits(one, other):
        return all(one[key] is not None and np.isclose(one[key], value, rtol=0, atol=1e-9) for key, value in other.items())

    return len(measured) == len(expected) and all(any(fits(one, other) for one in measured) for other in expected)
