"""Invented tables of answers and their mutants: what else in the file would refute a wrong reading of each.

A mutant is read with the figures of its original, or something is asked. Whatever changes what the file says of an answer leaves
other evidence of it: the texts, another column that grades, or numbers that no scale has.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.helpers.bundle_factory import table

ROWS = 48
Cells = list[object]


@dataclass
class Answers:
    """A table by column, the role of each column, and whether nothing may be asked about it."""

    columns: dict[str, Cells]
    roles: dict[str, str]
    is_plain: bool = True
    is_scaled: bool = False
    done: list[str] = field(default_factory=list)

    def column(self, role: str) -> str | None:
        """The first column of a role."""
        return next((name for name in self.columns if self.roles.get(name) == role), None)

    def rename(self, old: str, new: str) -> bool:
        """Rename a column in its place, unless another one has the name; return whether it was renamed."""
        if new in self.columns:
            return False
        self.columns = {new if name == old else name: cells for name, cells in self.columns.items()}
        self.roles[new] = self.roles.pop(old)
        return True

    @property
    def has_texts(self) -> bool:
        return self.column("guess") is not None and self.column("answer") is not None


# -- originals -----------------------------------------------------------------------------------------------------------


def _draw(random: Random) -> tuple[list[bool], list[float]]:
    right = [random.random() < 0.6 for _ in range(ROWS)]
    right[:4] = [True, False, True, False]
    return right, [round(random.uniform(0.4, 0.99) if r else random.uniform(0.02, 0.8), 2) for r in right]


def lettered(random: Random) -> Answers:
    """Questions with options, letters as answers."""
    right, sure = _draw(random)
    gold = [random.choice("ABCD") for _ in right]
    guesses = [
        letter if r else random.choice([other for other in "ABCD" if other != letter])
        for letter, r in zip(gold, right, strict=True)
    ]
    columns = {"qid": [f"q{n}" for n in range(ROWS)], "question": [f"Which of these is number {n}?" for n in range(ROWS)],
        "gold": gold, "prediction": guesses, "correct": [int(r) for r in right], "confidence": sure}  # fmt: skip
    roles = dict(zip(columns, ("question_id", "question", "answer", "guess", "correct", "confidence"), strict=True))
    return Answers(columns, roles)


def named(random: Random) -> Answers:
    """Short answers that are the reference, or another name."""
    right, sure = _draw(random)
    columns = {"id": [*range(ROWS)], "problem": [f"Which town lies {n} km east?" for n in range(ROWS)],
        "target": [f"Town {n}" for n in range(ROWS)], "response": [f"Town {n if r else n + 100}" for n, r in enumerate(right)],
        "is_correct": right, "conf": sure}  # fmt: skip
    return Answers(
        columns, dict(zip(columns, ("question_id", "question", "answer", "guess", "correct", "confidence"), strict=True))
    )


def judged(random: Random) -> Answers:
    """Free text with a judge's verdict."""
    right, sure = _draw(random)
    columns = {"question": [f"Why is it number {n}?" for n in range(ROWS)],
        "model_output": [f"I think it is because of {n} and {r}." for n, r in enumerate(right)],
        "verdict": ["correct" if r else "incorrect" for r in right], "p_true": sure}  # fmt: skip
    return Answers(columns, dict(zip(columns, ("question", "output", "correct", "confidence"), strict=True)))


def bare(random: Random) -> Answers:
    """Two columns."""
    right, sure = _draw(random)
    return Answers({"confidence": sure, "hit": [int(r) for r in right]}, {"confidence": "confidence", "hit": "correct"})


def abstaining(random: Random) -> Answers:
    """Answers of which some were declined."""
    right, sure = _draw(random)
    declined = [n % 9 == 5 for n in range(ROWS)]
    columns = {"problem": [f"Who was number {n}?" for n in range(ROWS)], "response": [f"It was {n}, I say." for n in range(ROWS)],
        "is_correct": [r and not d for r, d in zip(right, declined, strict=True)],
        "is_incorrect": [not r and not d for r, d in zip(right, declined, strict=True)], "is_not_attempted": declined,
        "confidence": sure}  # fmt: skip
    return Answers(
        columns, dict(zip(columns, ("question", "output", "correct", "wrong", "abstained", "confidence"), strict=True))
    )


def several(random: Random) -> Answers:
    """Two models, which answer the same questions."""
    parts = [lettered(random) for _ in range(2)]
    gold = parts[0].columns["gold"]
    for part in parts:
        right = part.columns["correct"]
        part.columns["gold"] = gold
        part.columns["prediction"] = [g if r else "ABCD"["ABCD".index(str(g)) - 1] for g, r in zip(gold, right, strict=True)]
    columns: dict[str, Cells] = {"model": ["m-one"] * ROWS + ["m-two"] * ROWS}
    columns |= {name: [*parts[0].columns[name], *parts[1].columns[name]] for name in parts[0].columns}
    return Answers(columns, {"model": "model"} | parts[0].roles)


def with_options(random: Random) -> Answers:
    """A probability for each option, of which the greatest is the guess."""
    gold = [random.choice("ABCD") for _ in range(ROWS)]
    weights = [[random.random() + (letter == right) for letter in "ABCD"] for right in gold]
    shares = [[round(weight / sum(row), 6) for weight in row] for row in weights]
    best = ["ABCD"[row.index(max(row))] for row in shares]
    columns: dict[str, Cells] = {"question": [f"Which is number {n}?" for n in range(ROWS)], "target": [*gold]}
    columns |= {f"prob_{letter}": [row[n] for row in shares] for n, letter in enumerate("ABCD")}
    columns |= {"prediction": [*best], "correct": [int(a == b) for a, b in zip(best, gold, strict=True)]}
    return Answers(columns, {"question": "question", "target": "answer", "prediction": "guess", "correct": "correct"}
        | {f"prob_{letter}": "option" for letter in "ABCD"})  # fmt: skip


def forecast(random: Random) -> Answers:
    """Probabilities of yes, and what came true."""
    came_true, sure = _draw(random)
    columns = {"question_id": [f"f{n}" for n in range(ROWS)], "question": [f"Will it be {n} by May?" for n in range(ROWS)],
        "forecast": sure, "resolution": ["yes" if true else "no" for true in came_true]}  # fmt: skip
    return Answers(columns, dict(zip(columns, ("question_id", "question", "probability", "outcome"), strict=True)))


def traced(random: Random) -> Answers:
    """Outputs and grades in JSON, as tools for tracing export them."""
    plain = lettered(random)
    gold, guesses, right, sure = (plain.columns[name] for name in ("gold", "prediction", "correct", "confidence"))
    columns: dict[str, Cells] = {
        "id": [*range(ROWS)],
        "input": [json.dumps({"question": f"Which is number {n}?"}) for n in range(ROWS)],
        "output": [json.dumps({"answer": guess, "confidence": share}) for guess, share in zip(guesses, sure, strict=True)],
        "expected": [json.dumps({"answer": letter}) for letter in gold],
        "scores": [json.dumps([{"name": "correctness", "value": grade}]) for grade in right],
    }
    return Answers(columns, {"id": "question_id", "input": "json", "output": "json", "expected": "json", "scores": "json"})


ORIGINALS = (lettered, named, judged, bare, abstaining, several, with_options, forecast, traced)

# -- mutations -----------------------------------------------------------------------------------------------------------

SYNONYMS = {
    "correct": ["correct", "is_correct", "Correct?", "isRight", "eval.correct", "judge_score", "score", "solved", "em", "grade"],
    "confidence": ["confidence", "conf", "certainty", "p_true", "How sure?", "probability", "confidence_score"],
    "guess": ["guess", "prediction", "model_answer", "Response", "pred", "extracted_answer"],
    "answer": ["answer_key", "gold", "target", "ground_truth", "correct_answer", "reference"],
    "question": ["question", "prompt", "Problem", "query"], "question_id": ["id", "qid", "question_id", "item_id"],
    "model": ["model", "llm", "model_name"], "abstained": ["not_attempted", "is_abstention", "refused", "did_not_answer"],
    "wrong": ["incorrect", "is_wrong", "wrong"],
}  # fmt: skip
NEGATED = {
    "correct": ["incorrect", "is_wrong", "not_correct", "is_incorrect"],
    "abstained": ["attempted", "is_answered", "was_attempted"],
    "wrong": ["not_wrong", "not_incorrect"],
}
SPELLINGS = [("True", "False"), ("yes", "no"), ("1", "0"), ("1.0", "0.0"), ("C", "I"), ("✓", "✗"), ("correct", "incorrect")]
FALSE = {"0", "false", "no", "0.0", "i", "✗", "incorrect", "n"}


def is_yes(cell: object) -> bool:
    return str(cell).lower() not in FALSE


def inverted(cells: Cells) -> Cells:
    yes = {is_yes(cell): cell for cell in cells}
    return [yes.get(not is_yes(cell), cell) for cell in cells]


def rename(answers: Answers, random: Random) -> bool:
    name = random.choice([*answers.columns])
    names = SYNONYMS.get(answers.roles[name], [])
    return bool(names) and answers.rename(name, random.choice(names))


def negate(answers: Answers, random: Random) -> bool:
    """Call a flag by its opposite, and turn its values round."""
    role = random.choice([*NEGATED])
    name = answers.column(role)
    if name is None or not answers.rename(name, new := random.choice(NEGATED[role])):
        return False
    cells = [cell if cell == "" else str(int(not is_yes(cell))) for cell in answers.columns[new]]
    answers.columns[new], answers.roles[new] = cells, "turned"
    return True


def negate_name(answers: Answers, random: Random) -> bool:
    """Call grades by their opposite, which the texts refute."""
    name = answers.column("correct")
    if name is None or not answers.has_texts:
        return False
    answers.is_plain = False
    return answers.rename(name, random.choice(NEGATED["correct"]))


def turn_values(answers: Answers, random: Random) -> bool:
    name = answers.column("correct")
    if name is None or not answers.has_texts:
        return False
    answers.columns[name], answers.is_plain = inverted(answers.columns[name]), False
    return True


def shuffle_grades(answers: Answers, random: Random) -> bool:
    name = answers.column("correct")
    if name is None or not (answers.has_texts or answers.column("wrong")):
        return False
    cells = [*answers.columns[name]]
    random.shuffle(cells)
    answers.columns[name], answers.is_plain = cells, False
    return True


def make_constant(answers: Answers, random: Random) -> bool:
    name = answers.column("correct")
    if name is None or not (answers.has_texts or answers.column("wrong")):
        return False
    answers.columns[name], answers.is_plain = [random.choice([0, 1, "True", "False"])] * len(answers.columns[name]), False
    return True


def mix_scales(answers: Answers, random: Random) -> bool:
    """Write some of the confidences as percentages."""
    name = answers.column("confidence")
    if name is None or answers.is_scaled:
        return False
    answers.is_scaled = True
    few = random.choice([0.1, 0.3, 0.6, 0.9])
    cells = [round(100 * float(str(c)), 4) if random.random() < few else c for c in answers.columns[name]]
    if cells == answers.columns[name]:
        return False
    answers.columns[name], answers.is_plain = cells, False
    return True


def scale(answers: Answers, random: Random) -> bool:
    """Write all confidences on another scale."""
    name = answers.column("confidence")
    if name is None or answers.is_scaled:
        return False
    answers.is_scaled = True
    top, sign = random.choice([(100, ""), (100, "%"), (100, " %"), (10, ""), (10, "/10")])
    cells = [f"{top * float(str(cell)):.4g}{sign}" for cell in answers.columns[name]]
    answers.columns[name], answers.is_plain = cells, answers.is_plain and top == 100
    return True


def fill_with_minus_one(answers: Answers, random: Random) -> bool:
    name = answers.column("confidence")
    if name is None or answers.is_scaled:
        return False
    answers.is_scaled = True
    answers.columns[name] = [-1 if random.random() < 0.2 else cell for cell in answers.columns[name]]
    answers.is_plain = False
    return True


def blank_grades(answers: Answers, random: Random) -> bool:
    """Leave some grades out, which the texts still show."""
    name = answers.column("correct")
    if name is None or not answers.has_texts:
        return False
    answers.columns[name] = ["" if random.random() < 0.3 else cell for cell in answers.columns[name]]
    return True


def drop_grades(answers: Answers, random: Random) -> bool:
    name = answers.column("correct")
    if name is None or not answers.has_texts:
        return False
    del answers.columns[name]
    return True


def drop_texts(answers: Answers, random: Random) -> bool:
    grades = answers.column("correct")
    if (
        not answers.has_texts
        or answers.column("option")
        or grades is None
        or not answers.is_plain
        or "" in answers.columns[grades]
    ):
        return False
    for role in random.choice([("guess",), ("answer",), ("guess", "answer")]):
        del answers.columns[str(answers.column(role))]
    return True


def swap_texts(answers: Answers, random: Random) -> bool:
    """Exchange the names of guesses and reference answers."""
    guess, answer = answers.column("guess"), answers.column("answer")
    if guess is None or answer is None or answers.column("model"):
        return False
    answers.columns[guess], answers.columns[answer] = answers.columns[answer], answers.columns[guess]
    return True


def number_options(answers: Answers, random: Random) -> bool:
    """Write the reference answers, or the guesses, as numbers of options."""
    name = answers.column(random.choice(["guess", "answer"]))
    if name is None or not {*map(str, answers.columns[name])} <= {*"ABCD"} or not answers.has_texts:
        return False
    first = random.choice([0, 1])
    answers.columns[name] = ["ABCD".index(str(cell)) + first for cell in answers.columns[name]]
    return True


def spell(answers: Answers, random: Random) -> bool:
    """Write yes and no in another way."""
    name = answers.column(random.choice(["correct", "abstained", "wrong"]))
    if name is None or len({*map(is_yes, answers.columns[name])}) < 2:
        return False
    yes, no = random.choice(SPELLINGS if answers.roles[name] == "correct" else SPELLINGS[:4])
    answers.columns[name] = [cell if cell == "" else yes if is_yes(cell) else no for cell in answers.columns[name]]
    return True


def state_accuracy(answers: Answers, random: Random) -> bool:
    """State the accuracy of the whole file, or another one."""
    name = answers.column("correct")
    if (
        name is None
        or answers.column("model")
        or answers.column("abstained")
        or not answers.is_plain
        or "" in answers.columns[name]
    ):
        return False
    share = sum(map(is_yes, answers.columns[name])) / ROWS
    is_true = random.random() < 0.5
    answers.columns["accuracy"] = [f"{share if is_true else (share + 0.25) % 1:.4f}"] * ROWS
    answers.roles["accuracy"], answers.is_plain = "figure", False
    return True


def contradict(answers: Answers, random: Random) -> bool:
    """Add another column that grades, and grades differently."""
    if answers.column("correct") is None:
        return False
    name = random.choice(["exact_match", "judge_correct", "is_wrong", "scores", "annotations"])
    if name in answers.columns:
        return False
    grades = [random.randint(0, 1) for _ in next(iter(answers.columns.values()))]
    if name in ("scores", "annotations"):
        cells: Cells = [json.dumps([{"name": "correctness", "score": grade}]) for grade in grades]
    else:
        cells = [*grades]
    answers.columns[name], answers.roles[name], answers.is_plain = cells, "second", False
    return True


FURTHER: dict[str, Callable[[Random, int], object]] = {
    "truncated": lambda random, n: False, "is_completed": lambda random, n: True, "num_tokens": lambda random, n: 40 + n % 7,
    "completion_tokens": lambda random, n: 3 + n % 3, "latency": lambda random, n: round(5 * random.random(), 3),
    "output_file": lambda random, n: f"out/{n}.json", "cosine_similarity": lambda random, n: round(random.random(), 4),
    "temperature": lambda random, n: 0.7, "human_correct": lambda random, n: random.randint(0, 1),
    "finish_reason": lambda random, n: "stop", "difficulty_score": lambda random, n: round(random.random(), 3),
    "metrics.num_turns": lambda random, n: 1, "seed": lambda random, n: 7, "split": lambda random, n: "test",
    "few_shot": lambda random, n: False, "entropy": lambda random, n: round(2 * random.random(), 3),
}  # fmt: skip


def add_columns(answers: Answers, random: Random) -> bool:
    """Add columns that say nothing of right and wrong."""
    rows = len(next(iter(answers.columns.values())))
    for name in random.sample([*FURTHER], random.randint(1, 3)):
        if name not in answers.columns:
            answers.columns[name] = [FURTHER[name](random, n) for n in range(rows)]
            answers.roles[name] = "other"
    return True


def permute(answers: Answers, random: Random) -> bool:
    """Put columns, or rows, in another order."""
    if random.random() < 0.5:
        names = random.sample([*answers.columns], len(answers.columns))
        answers.columns = {name: answers.columns[name] for name in names}
    else:
        order = [*range(len(next(iter(answers.columns.values()))))]
        random.shuffle(order)
        answers.columns = {name: [cells[n] for n in order] for name, cells in answers.columns.items()}
    return True


MUTATIONS = (
    rename, rename, negate, negate_name, turn_values, shuffle_grades, make_constant, mix_scales, scale, fill_with_minus_one,
    blank_grades, drop_grades, drop_texts, swap_texts, number_options, spell, state_accuracy, contradict, add_columns, permute,
)  # fmt: skip
HARMLESS = {"rename", "permute", "negate", "spell", "scale", "add_columns", "drop_texts"}


# -- files ---------------------------------------------------------------------------------------------------------------


def write(answers: Answers, path: Path) -> Path:
    rows = [dict(zip(answers.columns, row, strict=True)) for row in zip(*answers.columns.values(), strict=False)]
    if path.suffix == ".csv":
        text = table(rows)
    elif path.suffix == ".jsonl":
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        text = json.dumps({"results": rows})
    path.write_text(text, encoding="utf-8")
    return path


def draw_original(seed: int) -> Answers:
    """Return one of a few originals."""
    original = ORIGINALS[seed % len(ORIGINALS)]
    return original(Random(seed))


def draw_mutant(seed: int, original: int) -> Answers:
    """Return a mutant of an original, by its number, with what was done to it."""
    random, mutant = Random(seed), draw_original(original)
    wanted = random.choice([1, 1, 2, 3])
    for mutation in random.sample(MUTATIONS, len(MUTATIONS)):
        if wanted and mutation(mutant, random):
            mutant.done.append(mutation.__name__)
            wanted -= 1
    return mutant
