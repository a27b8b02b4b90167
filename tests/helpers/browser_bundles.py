"""Datasets that are hard to display, written as bundles."""

import csv
import io
import json

from tests.helpers.bundle_factory import write

SCRIPT = "<script>alert(1)</script>"
IMAGE = "<img src=x onerror=alert(2)>"
BOLD = "<b>bold</b> & \"quoted\" 'text'"
TURNED = "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd"
IDS = ("a/b?c#d %2F é", "100%", "x+y=z&w", "a//b/", '"><i>', "\u202eabc", "日本 語")
ODD = 'who\'s asked, "net" & 50%'  # an attribute
RUNS = 12


def sheet(header, rows, *more):
    """Return rows as CSV below the names of their columns, which are separated by spaces; ``more`` are further columns."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows([[*header.split(), *more], *rows])
    return out.getvalue()


def write_nasty(folder):
    """Write questions whose ids are not plain path segments, and whose texts and answers look like markup."""
    clues = (f"First {SCRIPT} clue {TURNED}.", f"Second {IMAGE} clue.", f"Third {BOLD} clue.")
    words = [sum(len(text.split()) for text in clues[: end + 1]) for end in range(3)]
    heard = [[name, "m", team] for name in IDS for team in (IMAGE, "Plain")]
    write(
        folder,
        {"dataset": "nasty", "title": f"Nasty {BOLD}", "kind": "incremental", "simulated": True, "note": f"Made up. {IMAGE}"},
        questions=sheet(
            "question_id answer category",
            [[name, f"{SCRIPT} {BOLD}", ("A&B=C;D", IMAGE)[n % 2], ("yes", "no", "")[n % 3]] for n, name in enumerate(IDS)],
            ODD,
        ),
        clues=sheet(
            "question_id clue text word_end", [[name, clue, clues[clue], words[clue]] for name in IDS for clue in range(3)]
        ),
        exposures=sheet("question_id match_id team team_kind", [[*one, "human"] for one in heard]),
        buzzes=sheet(
            "question_id match_id team word correct",
            [[*one, words[1] if one[2] == "Plain" else 1, str(one[2] == "Plain").lower()] for one in heard],
        ),
        responses=sheet(
            "question_id clue guess confidence correct model elicitation",
            [
                [name, clue, guess, 0.2 + 0.3 * clue, clue // 2, model, "verbalized"]
                for model, guess in ((BOLD, IMAGE), (SCRIPT, TURNED), ("plain", SCRIPT))
                for name in IDS
                for clue in range(3)
            ],
        ),
    )


def write_crowd(folder, name):
    """Write more runs than there are colours."""
    questions = [f"c{index}" for index in range(6)]
    texts = [[one, f"What is {one}? It is what {one} is.", one, ("Odd", "Even")[at % 2]] for at, one in enumerate(questions)]
    answers = [
        [one, clue, one if (run + index) % 3 else "else", round((run + index + clue) % 11 / 11, 3), f"model {run:02}"]
        for run in range(RUNS)
        for index, one in enumerate(questions)
        for clue in range(2)
    ]
    write(
        folder,
        {"dataset": name, "title": name.title(), "kind": "incremental"},
        questions=sheet("question_id text answer category", texts),
        clues=None,
        responses=sheet("question_id clue guess confidence model", answers),
    )


def write_tokens(folder):
    """Write three runs, two of them with token log-probabilities, on eight questions that three teams played."""
    questions = [f"t{index}" for index in range(8)]
    heard = [[name, "m", team, "human", ""] for name in questions for team in ("Ash", "Birch")]
    heard += [[name, "m", "Cedar", "human", 7] for name in questions]  # others ended the question
    buzzes = [[name, "m", "Ash", 6 + index, "true"] for index, name in enumerate(questions)]
    buzzes += [[name, "m", "Birch", 9 + index, str(index % 2 == 0).lower()] for index, name in enumerate(questions)]
    answers = []
    for run, model in enumerate(("talker", "teller", "silent")):
        for index, name in enumerate(questions):
            for clue in range(4):
                sure = (clue + 1) / (5 + (index + run) % 3)
                logprobs = "" if model == "silent" else json.dumps([round(-1.5 * (1 - sure), 4), round(-0.4 * (1 - sure), 4)])
                answers.append([name, clue, name if (index + clue + run) % 4 else "else", round(sure, 4), logprobs, model])
    write(
        folder,
        {"dataset": "tokens", "title": "Tokens", "kind": "incremental"},
        questions=sheet("question_id answer", [[name, name] for name in questions]),
        clues=sheet("question_id clue text", [[name, at, "one two three four five"] for name in questions for at in range(4)]),
        exposures=sheet("question_id match_id team team_kind heard_words", heard),
        buzzes=sheet("question_id match_id team word correct", buzzes),
        responses=sheet("question_id clue guess confidence token_logprobs model", answers),
    )
