"""Datasets that are hard to display, written as bundles."""

import csv
import json

SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
BOLD = "<b>bold</b> & \"quoted\" 'text'"
TURNED = "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd"
IDS = ("a/b?c#d %2F é", "100%", "x+y=z&w", "a//b/", '"><i>', "\u202eabc", "日本 語")
RUNS = 12


def _write(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([header, *rows])


def write_nasty(folder):
    """Write questions whose ids are not plain path segments, and whose texts and answers look like markup."""
    clues = (f"First {SCRIPT} clue {TURNED}.", f"Second {IMAGE} clue.", f"Third {BOLD} clue.")
    words = [sum(len(text.split()) for text in clues[: end + 1]) for end in range(3)]
    _write(
        folder / "questions.csv",
        ["question_id", "answer", "category"],
        [[name, f"{SCRIPT} {BOLD}", ("A&B=C;D", IMAGE)[index % 2]] for index, name in enumerate(IDS)],
    )
    _write(
        folder / "clues.csv",
        ["question_id", "clue", "text", "word_end"],
        [[name, clue, clues[clue], words[clue]] for name in IDS for clue in range(3)],
    )
    heard = [[name, "m", team, "human"] for name in IDS for team in (IMAGE, "Plain")]
    _write(folder / "exposures.csv", ["question_id", "match_id", "team", "team_kind"], heard)
    _write(
        folder / "buzzes.csv",
        ["question_id", "match_id", "team", "word", "correct"],
        [
            [name, "m", team, words[1] if team == "Plain" else 1, str(team == "Plain").lower()]
            for name in IDS
            for team in (IMAGE, "Plain")
        ],
    )
    _write(
        folder / "responses" / "all.csv",
        ["question_id", "clue", "guess", "confidence", "correct", "model", "elicitation"],
        [
            [name, clue, guess, 0.2 + 0.3 * clue, clue // 2, model, "verbalized"]
            for model, guess in ((BOLD, IMAGE), (SCRIPT, TURNED), ("plain", SCRIPT))
            for name in IDS
            for clue in range(3)
        ],
    )
    facts = {"dataset": "nasty", "title": f"Nasty {BOLD}", "kind": "incremental", "simulated": True, "note": f"Made up. {IMAGE}"}
    (folder / "dataset.json").write_text(json.dumps(facts), encoding="utf-8")


def write_crowd(folder, name="crowd"):
    """Write more runs than there are colours."""
    questions = [f"c{index}" for index in range(6)]
    _write(
        folder / "questions.csv",
        ["question_id", "text", "answer", "category"],
        [
            [name, f"What is {name}? It is what {name} is.", name, ("Odd", "Even")[index % 2]]
            for index, name in enumerate(questions)
        ],
    )
    for run in range(RUNS):
        _write(
            folder / "responses" / f"{run:02}.csv",
            ["question_id", "clue", "guess", "confidence", "model"],
            [
                [name, clue, name if (run + index) % 3 else "else", round((run + index + clue) % 11 / 11, 3), f"model {run:02}"]
                for index, name in enumerate(questions)
                for clue in range(2)
            ],
        )
    (folder / "dataset.json").write_text(json.dumps({"dataset": name, "title": name.title(), "kind": "incremental"}))


def write_tokens(folder):
    """Write three runs, two of them with token log-probabilities, on eight questions that three teams played."""
    questions = [f"t{index}" for index in range(8)]
    _write(folder / "questions.csv", ["question_id", "answer"], [[name, name] for name in questions])
    clues = [[name, clue, "one two three four five"] for name in questions for clue in range(4)]
    _write(folder / "clues.csv", ["question_id", "clue", "text"], clues)
    heard = [[name, "m", team, "human", ""] for name in questions for team in ("Ash", "Birch")]
    heard += [[name, "m", "Cedar", "human", 7] for name in questions]  # others ended the question
    _write(folder / "exposures.csv", ["question_id", "match_id", "team", "team_kind", "heard_words"], heard)
    buzzes = [[name, "m", "Ash", 6 + index, "true"] for index, name in enumerate(questions)]
    buzzes += [[name, "m", "Birch", 9 + index, str(index % 2 == 0).lower()] for index, name in enumerate(questions)]
    _write(folder / "buzzes.csv", ["question_id", "match_id", "team", "word", "correct"], buzzes)
    for run, model in enumerate(("talker", "teller", "silent")):
        rows = []
        for index, name in enumerate(questions):
            for clue in range(4):
                sure = (clue + 1) / (5 + (index + run) % 3)
                logprobs = "" if model == "silent" else json.dumps([round(-1.5 * (1 - sure), 4), round(-0.4 * (1 - sure), 4)])
                rows.append([name, clue, name if (index + clue + run) % 4 else "else", round(sure, 4), logprobs, model])
        header = ["question_id", "clue", "guess", "confidence", "token_logprobs", "model"]
        _write(folder / "responses" / f"{model}.csv", header, rows)
    (folder / "dataset.json").write_text(json.dumps({"dataset": "tokens", "title": "Tokens", "kind": "incremental"}))
