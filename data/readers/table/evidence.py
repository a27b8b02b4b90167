"""What in a table says which answers are right: columns that grade, and the comparison of guesses with reference answers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence, Set
from dataclasses import dataclass

from clueline.data.readers.table.cells import agree, answer, are_labels, number
from clueline.data.readers.table.columns import Column
from clueline.data.readers.table.names import (
    ABOVE_GRADES,
    BESIDE_CORRECT,
    LISTS_OF_GRADES,
    MODEL_NAME,
    OF_ERRORS,
    OTHERS_CORRECT,
    STRONG_CORRECT,
    WEAK_CORRECT,
    has_word,
    roles_of,
    tokens,
    words,
)

MIN_REPEATED = 4  # rows in which a figure of many answers is repeated at least
FIGURE_TOLERANCE = 0.00501  # by how much a stated figure may differ from the answers, for it is rounded
MIN_RANKED = 10  # answers of each kind, right and wrong, by which it is judged whether confidences rank them
MAX_SPARSER = 10  # times as many cells as another column of right and wrong has, which then counts alone
OF_NUMBERS = frozenset({"n", "count", "num", "number", "total", "std", "stdev", "stderr"})
OF_MEANS = frozenset({"accuracy", "acc", "mean", "avg", "average", "rate", "overall"})
OF_ANY_SCORE = frozenset({"score", "reward", "ok", "okay", "success"})  # words of scores that need not be about the answer
HALLUCINATION = frozenset({"hallucination", "hallucinated"})  # of which an answer that is wrong may be free


@dataclass
class Grading:
    """What one source says about the answers: 1 right, 0 wrong, or between; None where it says nothing."""

    column: Column
    role: str  # of the column: ``correct`` or ``wrong``
    truths: list[float | None]

    @property
    def choice(self) -> str:
        return f"{self.role}={self.column.name}"

    @property
    def figure(self) -> str:
        return f"by {self.column.name}, {right_of(self.truths)}"


def right_of(truths: Sequence[float | None]) -> str:
    """Say how many answers are right.

    >>> right_of([1.0, 0.0, None, 0.5])
    '1.5 of 3 right'
    """
    stated = [value for value in truths if value is not None]
    return f"{sum(stated):,g} of {len(stated):,} right"


def is_constant(truths: Sequence[float | None]) -> bool:
    return len({*truths} - {None}) < 2


def grading_of(column: Column) -> Grading:
    """Return what a column says about the answers by its name: a column of errors says which are wrong."""
    if not says_wrong(column):
        return Grading(column, "correct", column.truths)
    return Grading(column, "wrong", [None if value is None else 1 - value for value in column.truths])


def says_wrong(column: Column) -> bool:
    """Whether the name of a column of yes and no says that yes is wrong.

    >>> says_wrong(Column("error_q20", ["1"])), says_wrong(Column("not_wrong", ["1"])), says_wrong(Column("ok", ["1"]))
    (True, False, False)
    """
    roles = roles_of(column.name)
    return "correct" not in roles and ("wrong" in roles or has_word(column.name, OF_ERRORS))


def is_plain(column: Column) -> bool:
    """Whether no word of a name says that this is the correctness of something else, such as of the grammar."""
    named = {*tokens(MODEL_NAME.sub(" ", f"{column.name} "))}
    negated = column.name_says("correct") > 0 and not named & (STRONG_CORRECT | WEAK_CORRECT)  # such as ``not_wrong``
    return negated or stands_below(column, ABOVE_GRADES) or named <= STRONG_CORRECT | WEAK_CORRECT | BESIDE_CORRECT


def stands_below(column: Column, above: frozenset[str]) -> bool:
    """Whether a part of the path before the last one is one of some words, as ``scores`` in ``scores.ExactMatch``."""
    return bool(above & {*words(column.name.rpartition(".")[0])})


def is_aggregate(column: Column, groups: Sequence[Column]) -> bool:
    """Whether a column repeats a figure of many answers, such as the accuracy of a file or of each model, in each row."""
    grades = 0.5 if has_word(column.name, OF_MEANS) else 0.25  # answers have such grades in themselves
    if len(column.present) < MIN_REPEATED or not any(value % grades for value in column.numbers):
        return False
    if len(column.distinct) == 1:
        return True
    return any(_is_figure_of(column, group) for group in groups if 1 < len(group.distinct) <= len(column.present) / MIN_REPEATED)


def _is_figure_of(column: Column, group: Column) -> bool:
    pairs = {*zip(group.texts, column.texts, strict=True)}
    return len(pairs) == len(group.distinct)


def candidates_of(columns: Sequence[Column], counted: Sequence[bool]) -> list[Column]:
    """Return the columns that say by their names, and in cells of right and wrong, whether answers are right.

    Of columns that say the same of all answers, the shortest is kept. ``counted`` says which rows hold an answer. Columns of
    which the name also fits other scores count if all of their cells say right or wrong. Of these, one that says the same of all
    answers counts only if no other column grades, and so does one that need not be about the answer, such as ``score``.
    """
    plain = [column for column in columns if column.says_truth and is_plain(column)]
    strong = [column for column in plain if has_word(column.name, STRONG_CORRECT) or not has_word(column.name, WEAK_CORRECT)]
    weak = [column for column in plain if column not in strong and column.is_two_valued]
    varying = [column for column in weak if not is_constant(column.truths)]
    graders = [*strong, *(column for column in varying if has_word(column.name, WEAK_CORRECT - OF_ANY_SCORE))]
    kept = next(filter(None, (different(some, counted) for some in (graders, varying, weak))), [])
    most = max((len(column.present) for column in kept), default=0)
    return [column for column in kept if len(column.present) >= most / MAX_SPARSER]


def different(columns: Sequence[Column], counted: Sequence[bool]) -> list[Column]:
    """Leave out columns that say the same of all answers as an earlier one. Of these, the shortest is kept."""
    kept: dict[tuple[float | None, ...], Column] = {}
    for column in sorted(columns, key=lambda column: column.length):
        of_answers = tuple(value for value, counts in zip(column.truths, counted, strict=True) if counts)
        kept.setdefault(of_answers, column)
    return [*kept.values()]


def contradicting(gradings: Sequence[Grading], counted: Sequence[bool]) -> int:
    """Return in how many rows some gradings contradict each other. ``counted`` says which rows hold an answer."""
    rows = zip(*(grading.truths for grading in gradings), strict=True)
    return sum(counts and len({*row} - {None}) > 1 for row, counts in zip(rows, counted, strict=True))


def of_errors(columns: Sequence[Column]) -> list[Grading]:
    """Return the gradings of columns that say which answers are wrong, without those that say the same of all."""
    errors = [column for column in columns if not has_word(column.name, HALLUCINATION)]
    return [grading_of(column) for column in errors if not is_constant(column.truths)]


def is_answer(column: Column) -> bool:
    """Whether the values of a column can be answers: texts or whole numbers, but no numbers of the rows."""
    return bool(column.present) and not column.is_list and not any(value % 1 for value in column.numbers) and not column.is_index


def pairs_of(guess: Column | None, reference: Column | None) -> list[tuple[str, str]]:
    """Return each guess with its reference answer, where there are both."""
    rows = zip(guess.texts, reference.texts, strict=True) if guess and reference else ()
    return [(a, b) for a, b in rows if a is not None and b is not None]


def overlap(guess: Column, reference: Column) -> float:
    """Return the share of guesses that are among the reference answers, or agree with the one of their row."""
    known = {answer(text) for text in reference.distinct}
    pairs = pairs_of(guess, reference)
    return sum(answer(a) in known or agree(a, b) for a, b in pairs) / max(1, len(pairs))


def compared(guess: Column | None, reference: Column | None) -> list[float | None] | None:
    """Return whether each guess is its reference answer by the text; None if one of the columns is lacking."""
    if guess is None or reference is None:
        return None
    pairs = zip(guess.texts, reference.texts, strict=True)
    return [None if a is None or b is None else float(agree(a, b)) for a, b in pairs]


def proves(column: Column, agreed: Sequence[float | None]) -> bool:
    """Whether a column says yes exactly where guesses are right, and both occur: otherwise any constant would agree."""
    pairs = [(a, b) for a, b in zip(column.truths, agreed, strict=True) if a is not None and b is not None]
    return len({b for _, b in pairs}) == 2 and all(a == b for a, b in pairs)


def refuted(truths: Sequence[float | None], guess: Column, reference: Column, counted: Sequence[bool]) -> list[bool]:
    """Return whether texts refute the grade of each answer that is graded and can be compared.

    A guess that is its reference answer is called wrong or, of labels, another one is called right. ``counted`` says which rows
    hold an answer.
    """
    labels = {answer(text) for text in reference.distinct} if are_labels(reference.texts) else set()
    rows = zip(truths, guess.texts, reference.texts, counted, strict=True)
    stated = [(grade, a, b) for grade, a, b, counts in rows if counts and None not in (grade, a, b)]
    return [_refutes(grade, str(a), str(b), labels) for grade, a, b in stated]


def _refutes(grade: float | None, guess: str, reference: str, labels: Set[str]) -> bool:
    if agree(guess, reference):
        return grade == 0
    return grade == 1 and answer(guess) in labels


def figures_of(columns: Sequence[Column], groups: Sequence[Column]) -> list[Column]:
    """Return the columns with the accuracy of the whole file or of each group, as their names say."""
    named = [c for c in columns if has_word(c.name, OF_MEANS) and c.name_says("correct") and not has_word(c.name, OTHERS_CORRECT)]
    return [column for column in named if is_plain(column) and is_aggregate(column, groups)]


def differing_figure(column: Column, truths: Sequence[float | None]) -> tuple[float, float] | None:
    """Return the first stated accuracy that grades do not have, with what they have; None if all fit.

    It may be of all answers, or of those that are graded.
    """
    rows: dict[str, list[float | None]] = {}
    for text, value in zip(column.texts, truths, strict=True):
        if text is not None:
            rows.setdefault(text, []).append(value)
    for text, grades in rows.items():
        stated = number(text)
        given = [value for value in grades if value is not None]
        if stated is None or not given:
            continue
        share = stated[0] / 100 if stated[1] or stated[0] > 1 else stated[0]
        means = [sum(given) / len(given), sum(given) / len(grades)]
        if all(abs(share - mean) > FIGURE_TOLERANCE for mean in means):
            return share, means[0]
    return None


def is_doubtful(truths: Sequence[float | None], agreed: Sequence[float | None]) -> bool:
    """Whether grades are the same for all answers, while comparing texts tells right answers from wrong ones.

    Texts of another form than the reference answers are never equal, which contradicts no column that calls them right.
    """
    stated = {*truths} - {None}
    right = {value for value in agreed if value is not None}
    return (stated == {1.0} and right == {0.0, 1.0}) or (stated == {0.0} and 1.0 in right)


def unnamed_grades(columns: Sequence[Column]) -> list[Column]:
    """Return columns of yes and no that stand among grades, as in ``scores.quality``, but are not named as correctness.

    How many grades there are is none.
    """
    among = [column for column in columns if column.is_two_valued and not roles_of(column.name)]
    among = [column for column in among if not has_word(column.name, OF_NUMBERS)]
    return [
        column
        for column in among
        if stands_below(column, LISTS_OF_GRADES) or (stands_below(column, ABOVE_GRADES) and not is_constant(column.truths))
    ]


def unread_grades(columns: Sequence[Column]) -> list[Column]:
    """Return columns with lists of grades that could not be read beyond doubt."""
    return [
        column for column in columns if {*tokens(column.name)} & LISTS_OF_GRADES and column.is_list and _holds_objects(column)
    ]


def _holds_objects(column: Column) -> bool:
    return any(text.lstrip("[ ").startswith("{") and text.startswith("[") for text in column.present)


def auroc(pairs: Sequence[tuple[float, object]]) -> float | None:
    """Return how often a right answer is surer than a wrong one; None if there are too few of either.

    >>> auroc([(0.9, 1), (0.8, 1), (0.8, 0), (0.1, 0)] * 5)
    0.875
    """
    right = sum(grade == 1 for _, grade in pairs)
    wrong = sum(grade == 0 for _, grade in pairs)
    if min(right, wrong) < MIN_RANKED:
        return None
    of_surety: dict[float, Counter[object]] = defaultdict(Counter)
    for surety, grade in pairs:
        of_surety[surety][grade] += 1
    wins, below = 0.0, 0
    for surety in sorted(of_surety):
        grades = of_surety[surety]
        wins += grades[1] * (below + grades[0] / 2)
        below += grades[0]
    return wins / (right * wrong)
