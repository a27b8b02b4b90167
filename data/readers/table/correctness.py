"""Finds what says whether answers are right, or asks for it. No source of grades counts while another contradicts it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from clueline.data.plurals import counted
from clueline.data.readers.table.cells import VERDICTS, agree, answer, are_labels, number
from clueline.data.readers.table.columns import Column
from clueline.data.readers.table.evidence import (
    Grading,
    candidates_of,
    compared,
    contradicting,
    different,
    differing_figure,
    figures_of,
    grading_of,
    is_aggregate,
    is_answer,
    is_constant,
    is_doubtful,
    is_plain,
    of_errors,
    overlap,
    pairs_of,
    proves,
    refuted,
    right_of,
    says_wrong,
    unnamed_grades,
    unread_grades,
)
from clueline.data.readers.table.guessing import Guessing
from clueline.data.readers.table.names import OF_FIGURES, OF_PERSONS, OTHERS_CORRECT, has_word, roles_of, says_nothing, tokens

MAX_REFUTED = 0.02  # share of answers of which texts may refute the grade, as graders and those who type do err
MIN_CONSTANT = 20  # answers from which it is said that all are graded alike
MIN_COMPARED = 10  # guesses of which one at least should be right
# Words of columns that hold no answers: those of intervals, and of people.
NO_ANSWERS = OF_PERSONS | {"lower", "upper", "low", "high", "interval", "person", "people", "rater"}
LETTERS_OF_GRADES = {"A": "1", "B": "0", "C": "none"}  # correct, incorrect, not attempted
REWARDS = frozenset({"reward", "rewards"})  # words of grades that need not be right or wrong
OF_GROUPS = ("model", "dataset", "category", "sample")  # roles of columns of which a figure may be repeated in each row
OUTCOME_OR_GRADE = "is this what came true, of which the confidence was the probability, or whether an answer was right?"
UNKNOWN = "no column is certain to say whether answers are right, or to hold answers or reference answers"


def find_correctness(state: Guessing) -> None:
    """Find the column that says whether answers are right, or ask for what is lacking. The first case that fits decides."""
    _read_percentages(state)
    if state.has("correct", "wrong", "outcome") or state.asked_outcome:
        return
    groups = [column for column in state.free if any(map(column.name_says, OF_GROUPS))]
    figures = figures_of(state.free, groups)
    _find(state, groups)
    _check_figures(state, figures)


def _find(state: Guessing, groups: Sequence[Column]) -> None:
    of_answers = [column for column in state.named("correct", OTHERS_CORRECT) if not is_aggregate(column, groups)]
    candidates = candidates_of(of_answers, _answered(state))
    agreed = _agreement(state)
    gradings = [*map(grading_of, candidates), *of_errors([c for c in state.named("wrong") if c.is_two_valued])]
    if candidates and (rows := contradicting(gradings, _answered(state))):
        _ask_which_counts(state, gradings, rows)
    elif (proven := _proven(state, of_answers, agreed)) and _all_say(proven, candidates):
        guess, reference = (state.roles[role][0] for role in ("guess", "answer"))
        state.take("correct", proven.name, f"it says yes exactly where {guess} is {reference}")
    elif candidates:
        _take_named(state, candidates)
    else:
        _find_unnamed(state, of_answers, agreed)


def _all_say(proven: Column, candidates: Sequence[Column]) -> bool:
    """Whether all columns that are named after correctness say what a column says that agrees with texts."""
    return not contradicting([*map(grading_of, (proven, *candidates))], [True] * len(proven.texts))


def _check_figures(state: Guessing, figures: Sequence[Column]) -> None:
    """Ask where the file states an accuracy that its answers do not have: either is another thing than it seems to be."""
    truths = _truths(state)
    for column in figures if truths and not state.result.unclear else ():
        if differing := differing_figure(column, truths):
            stated, own = differing
            reason = f"it states the accuracy {stated:g}, but the answers that are read have {own:.4g}: is it of something else?"
            others = [f"correct={name}" for name in _others_that_grade(state)]
            state.ask(reason, ["attribute"], [column], choices=others)


def _others_that_grade(state: Guessing) -> list[str]:
    return [column.name for column in state.free if column.is_two_valued and not is_constant(column.truths)]


def _truths(state: Guessing) -> list[float | None]:
    """Return which answers are right as far as columns say so or labels agree; empty if that is not known yet."""
    if column := state.column("correct"):
        return column.truths if column.says_truth else []
    if column := state.column("wrong"):
        return grading_of(column).truths if says_wrong(column) else [value and 1 - value for value in column.truths]
    return list(_agreement(state) or [])


def _read_percentages(state: Guessing) -> None:
    """Read grades of 0 and 100 as 0 and 1."""
    for column in (*state.named("correct"), *filter(None, [state.column("correct")])):
        if {*column.numbers} in ({0, 100}, {0, 50, 100}):
            state.read_as(column.name, [numeral and f"{numeral[0] / 100:g}" for numeral in map(number, column.texts)])


def _answered(state: Guessing) -> list[bool]:
    """Return which rows hold an answer, as far as a column says so."""
    abstained = state.column("abstained")
    return [True] * state.rows if abstained is None else [value != 1 for value in abstained.truths]


def _agreement(state: Guessing) -> list[float | None] | None:
    """Return whether each guess is its reference answer, if these are labels; None for free text, or without both columns."""
    guess, reference = state.column("guess"), state.column("answer")
    return compared(guess, reference) if reference and are_labels(reference.texts) else None


def _ask_which_counts(state: Guessing, gradings: Sequence[Grading], rows: int) -> None:
    figures = "; ".join(grading.figure for grading in gradings)
    reason = f"several columns say whether answers are right, and differ in {rows:,} rows: {figures}; which one counts?"
    only = {grading.column.name for grading in gradings}
    columns = [gradings[0].column] if len(only) == 1 else []
    state.ask(reason[:400], columns=columns, choices=[grading.choice for grading in gradings])


def _proven(state: Guessing, of_answers: Sequence[Column], agreed: Sequence[float | None] | None) -> Column | None:
    """Return a column of yes and no that says yes exactly where guesses are right."""
    columns = (column for column in (*of_answers, *state.free) if agreed and column.is_two_valued)
    return next((column for column in columns if proves(column, agreed or ())), None)


def _take_named(state: Guessing, candidates: Sequence[Column]) -> None:
    """Take the column whose name says that it grades, unless it may be a figure of many answers, or texts refute it."""
    column, *others = candidates
    figures = [c for c in state.free if has_word(c.name, OF_FIGURES) and c.is_numeric]
    if figures and not any(column.is_two_valued for column in candidates):
        answers = "this looks like a figure of many answers; a table of answers has a row for each"
        state.ask(f"with {figures[0].name} beside it, {answers}", ("correct", "attribute"), [column])
    elif others:
        _ask_which_counts(state, [*map(grading_of, candidates)], 0)
    else:
        _take(state, grading_of(column), "by its name, and it says right or wrong")


def _take(state: Guessing, grading: Grading, why: str) -> None:
    """Take a column that grades, unless it contradicts what comparing texts shows."""
    guess, reference, column = state.column("guess"), state.column("answer"), grading.column
    if is_constant(grading.truths) and len(column.present) >= MIN_CONSTANT:
        state.result.notes.append(f"{grading.figure}: {column.name} says the same of all answers")
    by_text = compared(guess, reference)
    if guess is None or reference is None or by_text is None:
        state.take(grading.role, column.name, why)
        return
    by_comparing = f"by comparing {guess.name} and {reference.name}, {right_of(by_text)}"
    of_rows = refuted(grading.truths, guess, reference, _answered(state))
    differ = f"; they contradict each other in {counted(sum(of_rows), 'row')}" if any(of_rows) else ""
    if sum(of_rows) > max(1, MAX_REFUTED * len(of_rows)) or is_doubtful(grading.truths, by_text):
        state.ask(f"{grading.figure}; {by_comparing}{differ}: which one counts?", (grading.role, "attribute"), [column])
        return
    state.take(grading.role, column.name, why)
    if differ:
        state.result.notes.append(f"{grading.figure}, which counts; {by_comparing}{differ}")


def _find_unnamed(state: Guessing, of_answers: Sequence[Column], agreed: Sequence[float | None] | None) -> None:
    """Find what says which answers are right where no name of a column says that it does."""
    named = [column for column in of_answers if column.says_truth]
    wrong = different([column for column in state.named("wrong") if column.is_two_valued], _answered(state))
    verdicts = [c for c in state.free if len(c.distinct) > 1 and {text.lower() for text in c.distinct} <= VERDICTS]
    verdicts = [column for column in verdicts if not has_word(column.name, OTHERS_CORRECT)]
    graded = [column for column in of_answers if is_plain(column) and column.has_words]
    two_valued = [c for c in state.free if c.is_two_valued and not c.is_index and len(c.distinct) > 1]
    guess, reference = (state.roles.get(role, ("",))[0] for role in ("guess", "answer"))
    if len(wrong) == 1:
        _take(state, grading_of(wrong[0]), "by its name, and it says yes or no")
    elif wrong:
        _ask_which_counts(state, [*map(grading_of, wrong)], contradicting([*map(grading_of, wrong)], _answered(state)))
    elif len(verdicts) == 1:
        _take(state, Grading(verdicts[0], "correct", verdicts[0].truths), "it says correct and incorrect")
    elif agreed is None and graded:
        _grades_in_words(state, graded[0])
    elif unnamed := [*unnamed_grades(state.free), *(c for c in of_answers if has_word(c.name, REWARDS) and len(c.distinct) > 1)]:
        _ask_about_grades(state, [*map(grading_of, unnamed)])
    elif unread := unread_grades(state.free):
        _ask_about_lists(state, unread)
    elif seldom := _seldom_agree(state, doubtful=any(says_nothing(column.name) for column in two_valued)):
        if not two_valued and (offered := state.offered_pattern()):
            state.ask(f"{guess} and {reference} agree {seldom}; {offered}", hint="pattern")
        else:
            reason = f"{guess} and {reference} agree {seldom}: which column says whether answers are right?"
            state.ask(reason, choices=_choices(two_valued), columns=two_valued)
    elif agreed is None and (odd := [column for column in named if column.is_two_valued]):
        state.ask("does this say whether answers are right?", ["correct"], odd)
    elif not state.has("guess", "options") or not (reference or state.graded):
        _ask_for_answers(state, [c for c in two_valued if not roles_of(c.name)] or two_valued or [*filter(is_plain, named)])


def _choices(columns: Sequence[Column]) -> list[str]:
    """Return what can be stated about columns of yes and no: one that is named after errors says which answers are wrong.

    A bare label can say either.
    """
    choices = [grading_of(column).choice for column in columns]
    return choices + [f"wrong={column.name}" for column in columns if tokens(column.name) in (("label",), ("labels",))]


def _ask_about_grades(state: Guessing, gradings: Sequence[Grading]) -> None:
    """Ask whether columns that stand among grades say whether answers are right, and say what each would give."""
    by_text = _figure_by_text(state)
    figures = "; ".join(grading.figure for grading in gradings)
    reason = f"these may be grades, but it is not certain that they are of right and wrong: {figures}{by_text}; which one counts?"
    choices = [grading.choice for grading in gradings if grading.column.says_truth]
    # Where every column of grades is an attribute, the texts decide.
    choices += [f"attribute={gradings[0].column.name}"] if by_text and len(gradings) == 1 else []
    state.ask(reason[:400], choices=choices)


def _ask_about_lists(state: Guessing, columns: Sequence[Column]) -> None:
    names = ", ".join(column.name for column in columns)
    reason = (
        f"{names}: lists of grades, which cannot be read beyond doubt; without them{_figure_by_text(state) or ' nothing grades'}"
    )
    state.ask(reason[:400], ["attribute"], columns)


def _figure_by_text(state: Guessing) -> str:
    guess, reference = state.column("guess"), state.column("answer")
    by_text = compared(guess, reference)
    if not guess or not reference or by_text is None:
        return ""
    return f"; by comparing {guess.name} and {reference.name}, {right_of(by_text)}"


def _ask_for_answers(state: Guessing, two_valued: Sequence[Column]) -> None:
    """Ask for guesses or reference answers where one of them is lacking, or which column says whether answers are right."""
    guess, reference = state.column("guess"), state.column("answer")
    labels = [c for c in two_valued if tokens(c.name) == ("label",) and guess and {*guess.distinct} <= {*c.distinct}]
    if guess and labels:
        reason = f"is this the reference answer, or does it say whether {guess.name} is right?"
        state.ask(reason, ("answer", "correct"), labels)
        return
    for known, role, what in ((reference, "guess", "model's answer"), (guess, "answer", "reference answer")):
        unnamed = [c for c in state.free if is_answer(c) and not roles_of(c.name) and not has_word(c.name, NO_ANSWERS)]
        if texts := [column for column in unnamed if known and _has_answers_of(column, known)]:
            state.ask(f"which column is the {what}, or says whether it is right?", [role], texts)
            return
    if reference and reference.is_two_valued and "answer" not in state.stated.roles and not state.has("guess", "options"):
        del state.roles["answer"]
        state.ask(OUTCOME_OR_GRADE, ("outcome", "correct"), [reference])
        return
    state.ask(UNKNOWN, columns=two_valued, choices=_choices(two_valued))


def _has_answers_of(column: Column, known: Column) -> bool:
    """Whether a column has the same answers as another one. Numbers may be the same by chance: both must have each other's."""
    return overlap(column, known) > 0.5 and (not column.is_numeric or overlap(known, column) > 0.5)


def _grades_in_words(state: Guessing, column: Column) -> None:
    """Take a column of grades in words that the analyst explains, such as A, B and C, or ask what each of them means."""
    if unknown := sorted(word for word in column.distinct if word.lower() not in state.stated.words):
        reason = f"it holds grades: {', '.join(unknown)}; how right is each, from 0 to 1, or none if nothing was answered?"
        meant = _grades_of_letters(state, column)
        choices = [f"{word.lower()}={meant.get(word, '?')}" for word in unknown]
        state.ask(reason, columns=[column], hint="words", choices=choices)
        state.result.asked.add("correct")
    else:
        state.take("correct", column.name, "by its name, and its words mean what was stated")


def _grades_of_letters(state: Guessing, column: Column) -> Mapping[str, str]:
    """Return what the grades of SimpleQA mean, if A stands wherever a guess is its reference answer, and no other letter does."""
    by_text = compared(state.column("guess"), state.column("answer")) or []
    equal = {grade for grade, agreed in zip(column.texts, by_text, strict=False) if agreed}
    return LETTERS_OF_GRADES if equal == {"A"} and column.distinct.keys() <= LETTERS_OF_GRADES.keys() else {}


def _seldom_agree(state: Guessing, *, doubtful: bool) -> str:
    """Say how seldom guesses are their reference answers, if one of the two columns is then probably another; otherwise blank.

    If ``doubtful``, that is where they agree no more often than by chance.
    """
    pairs = pairs_of(state.column("guess"), state.column("answer"))
    if len(pairs) < MIN_COMPARED or not (right := sum(agree(a, b) for a, b in pairs)):
        return "in no row" if len(pairs) >= MIN_COMPARED else ""
    guesses, references = (Counter(map(answer, side)) for side in zip(*pairs, strict=True))
    chance = sum(count * references[form] for form, count in guesses.items()) / len(pairs)
    return f"in {right:,} rows, as often as by chance" if doubtful and right <= chance + 2 * chance**0.5 else ""
