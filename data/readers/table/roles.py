"""Guesses which column of a table has which role: from names, types and values, each with a reason.

What is certain is taken. What is not becomes a ``Problem``, which the analyst answers; no column gets a role in silence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from itertools import takewhile
from string import ascii_uppercase

from clueline.data.importing.column_mapping import ColumnMapping, usual_pattern
from clueline.data.importing.evaluation_times import are_nights, read_times
from clueline.data.plurals import counted
from clueline.data.readers.table.cells import (
    DECLINED,
    ONE_PERCENTAGE,
    YES_AND_NO,
    answer,
    answer_line,
    listed,
    number,
    truth,
    without_markup,
)
from clueline.data.readers.table.columns import MIN_FITTING, SHORT_ID, Column, Table
from clueline.data.readers.table.correctness import OUTCOME_OR_GRADE, UNKNOWN, find_correctness
from clueline.data.readers.table.evidence import is_answer, is_plain, overlap
from clueline.data.readers.table.guessing import Guesses, Guessing
from clueline.data.readers.table.inverted import ask_about_inverted, ask_about_probabilities_of_error
from clueline.data.readers.table.names import (
    EITHER,
    MODEL_NAME,
    NO_CONFIDENCE,
    NO_QUESTION,
    OF_OPTIONS,
    OF_PERSONS,
    OPPOSITES,
    SCORE,
    STRONG_CORRECT,
    UNSURE_OUTCOME,
    has_word,
    roles_of,
    says_nothing,
    tokens,
    words,
)
from clueline.data.readers.table.read import SERIES_BY_KEY, SHEET
from clueline.data.readers.table.reshape import LISTS, LOGITS, ROW, SERIES, SUM_TOLERANCE
from clueline.data.readers.table.scales import ask_for_scale, range_of
from clueline.data.store.answer_states import SCORES

NO_FLAG = {"reason", "cause", "type"}  # words with which a name says why, and not whether
MAX_GROUPS = 1000  # different models, datasets and days in a file
MIN_OF_EACH = 5  # guesses of each of two answers
CONFIDENT = {"conf", "confidence"}  # words with which a share is a confidence, although it was made of a score
MAX_NAME_WORDS = 4  # of the name of a column that is no sentence
MAX_TOLD = 10  # different thresholds that models are told
# Words in names such as prob_A.
OPTION_WORDS = {"p", "prob", "probs", "probability", "conf", "confidence", "option", "choice", "class", "log", "logit", "logprob"}
OPTION_WORDS |= {"loglikelihood"} | LISTS | LOGITS
NUMBERED, LETTERED = {str(n) for n in range(100)}, {*"abcdefghij"}  # options that may be named without occurring
MAX_OPTIONS = 26
OF_ROWS = {"index", "idx", "level", "row", "id"}  # words of columns that number rows, as pandas names them
SHARES = ("unit", "percent", "unclear")  # scales of probabilities
ROLES_OF_ONE = ("confidence", "options")  # of a probability of one option
OF_BINARY = {"positive": "1", "pos": "1", "negative": "0", "neg": "0"}  # what names call the classes 1 and 0
OF_CLASS = re.compile(r"class[\W_]?\d", re.IGNORECASE)  # a class that a name numbers, not the one that was predicted
OPTION_TEXT = re.compile(r"(?:op|opt|option|choice|answer|ans)?[\W_]*([a-j]|\d)", re.IGNORECASE)  # names of their columns
WILL = re.compile(r"(?:will|wird|werden)\b", re.IGNORECASE)  # how questions about the future begin
DEFAULT_SHEET = re.compile(r"(?:sheet|tabelle|feuil|hoja|foglio) ?\d+", re.IGNORECASE)


def guess_roles(table: Table, stated: ColumnMapping, *, graded: bool = False, repeats: bool = False) -> Guesses:
    """Return the roles of the columns of a table.

    ``stated`` has those that the analyst states, which are not questioned. ``graded`` says that the dataset is stored, by whose
    answers guesses can be graded. ``repeats`` says that the analyst states what several rows of one question are.
    """
    state = Guessing(table, stated, graded)
    steps = (
        _read_markup,
        _read_lists,
        _flags,
        _forecast,
        _chosen,
        _answers,
        find_correctness,
        _options,
        _confidences,
        _groups,
        _questions,
    )
    for step in steps:
        step(state)
    _repeats(state, known=repeats)
    # Where nothing can be stated that says what is right, the answers to other questions would make figures of nothing.
    unanswerable = [problem for problem in state.result.unclear if problem.reason == UNKNOWN and not problem.choices]
    state.result.unclear = unanswerable or state.result.unclear
    for column in state.free:
        state.take("attribute", column.name, "")
        state.result.read_as.pop(column.name, None)  # an attribute is what the file says
    names = tuple(name for name, column in state.columns.items() if column.present)
    state.result.mapping = replace(stated, columns=names, roles=state.roles)
    return state.result


def _read_markup(state: Guessing) -> None:
    """Read answers and categories without tags such as those of bold text, and without names of characters in HTML."""
    named = {column.name: column for role in ("answer", EITHER, "guess", "category") for column in state.named(role)}
    stated = {name: state.columns[name] for role in ("answer", "guess", "category") for name in state.roles.get(role, ())}
    for name, column in (named | stated).items():
        if column.is_list or name == state.result.stated_in:
            continue
        cells = [cell and without_markup(cell) for cell in column.cells]
        if cells != [*column.cells]:
            state.read_as(name, cells)


def _read_lists(state: Guessing) -> None:
    """Read each list of reference answers as an answer line, which accepts any of them."""
    for column in [state.columns[name] for name in state.roles.get("answer", ())] or state.named("answer"):
        if column.is_list:
            state.read_as(column.name, [text and answer_line(listed(text) or [text]) for text in column.texts])


def _flags(state: Guessing) -> None:
    for role in ("parsed", "failed", "abstained"):
        if not state.has(role):
            _flag(state, role)
    for role, why in (("choices", "lists"), ("clue", "whole numbers")):
        fitting = [c for c in state.named(role) if (c.is_list if role == "choices" else c.is_numeric and not c.is_index)]
        if len(fitting) == 1 and not state.has(role):
            state.take(role, fitting[0].name, f"by its name, and it holds {why}")


def _flag(state: Guessing, role: str) -> None:
    """Find the column of yes and no with a role. One that is named by the opposite, such as ``unparsed``, is turned round."""
    named = state.named(role, NO_FLAG)
    fitting = [column for column in named if column.is_two_valued]
    messages = [column for column in named if role == "failed" and not column.says_truth and _blank_where(state, column)]
    opposite = [column for column in state.named(OPPOSITES[role], NO_FLAG) if column.is_two_valued]
    if len(messages) == 1 and not fitting:
        state.take(role, messages[0].name, "by its name, and it has a message where nothing was answered")
    elif len(fitting) == 1 and role == "failed" and not _blank_where(state, fitting[0]):
        state.ask("does this say that a call got no answer?", ("failed", "wrong", "attribute"), fitting)
    elif len(fitting) == 1:
        state.take(role, fitting[0].name, "by its name, and it says yes or no")
    elif fitting and role == "abstained":
        _take_any(state, role, fitting)
    elif not fitting and len(opposite) == 1:
        (column,) = opposite
        says = "where nothing was answered" if role == "abstained" else "the opposite"
        state.take(role, column.name, f"by its name, and it says {says}")
        state.read_as(column.name, [None if value is None else f"{1 - value:g}" for value in column.truths])


def _take_any(state: Guessing, role: str, flags: Sequence[Column]) -> None:
    """Let a row be flagged where any of several columns says so."""
    first, *others = flags
    state.take(role, first.name, "by its name, and it says yes or no")
    rows = zip(*(flag.truths for flag in flags), strict=True)
    cells = [None if {*row} == {None} else f"{max(value or 0 for value in row):g}" for row in rows]
    state.read_as(first.name, [*cells], f"or {' or '.join(column.name for column in others)} says so")


def _blank_where(state: Guessing, flag: Column) -> bool:
    """Whether some column is blank in nearly all rows in which a flag is set, but not in the others."""
    rows = [n for n, value in enumerate(flag.truths if flag.is_two_valued else flag.texts) if value]

    def blanks(column: Column) -> int:
        return sum(column.texts[n] is None for n in rows)

    return not rows or any(
        blanks(column) >= MIN_FITTING * len(rows) and len(column.present) > (state.rows - len(rows)) / 2 for column in state.free
    )


def _forecast(state: Guessing) -> None:
    """A question about the future has an outcome, which nobody guesses: the forecast is the probability of yes."""
    outcomes = [column for column in state.named("outcome") if column.says_truth]
    of_yes = any({"yes", "forecast", "forecaster"} & {*tokens(c.name)} or _all(c, WILL.match) for c in state.free)
    if not outcomes and of_yes:
        outcomes = [c for c in state.free if c.is_two_valued and says_nothing(c.name) and not c.is_index and len(c.distinct) > 1]
    if state.has("outcome", "correct", "guess") or (len(outcomes) != 1 and _ask_whether_forecasts(state)):
        return
    if len(outcomes) != 1:
        return
    judged = [column for column in state.named("correct") if is_plain(column) and column.says_truth]
    if state.named("guess") or state.named("answer") or judged:
        return
    (outcome,) = outcomes
    if says_nothing(outcome.name) or ({*tokens(outcome.name)} & UNSURE_OUTCOME and not of_yes):
        state.ask(OUTCOME_OR_GRADE, ("outcome", "correct"), outcomes)
        state.asked_outcome = True
        return
    state.take("outcome", outcome.name, "by its name, and no column holds answers: the confidence is the probability of yes")


def _ask_whether_forecasts(state: Guessing) -> bool:
    """Ask whether a prediction between 0 and 1 is the probability of what a column of true and false says; return whether."""
    if state.has("answer", "confidence") or any(column.says_truth for column in state.named("correct")):
        return False
    named = [*state.named("guess"), *state.named("confidence")]
    shares = [c for c in named if c.scale == "unit" and len(c.distinct) > 2 and any(value % 1 for value in c.numbers)]
    truths = [c for c in (*state.named("answer"), *state.named(EITHER)) if c.says_truth and len(c.distinct) == 2]
    truths = [column for column in truths if {text.lower() for text in column.distinct} <= YES_AND_NO]
    if len(shares) != 1 or len(truths) != 1 or any(map(is_answer, state.named("guess"))):
        return False
    (share,), (came_true,) = shares, truths
    stated, yes = " or ".join(came_true.distinct), _yes_of(came_true)
    reason = f"{came_true.name} says {stated}, and {share.name} is between 0 and 1: is that the probability of {yes}?"
    state.ask(reason, ("outcome", "correct"), truths)
    state.ask(f"is this a probability of what {came_true.name} says?", ("confidence",), shares)
    state.asked_outcome = True
    return True


def _yes_of(column: Column) -> str:
    """Return what a column of yes and no says for yes."""
    return next(text for text in column.distinct if truth(text) == 1)


def _chosen(state: Guessing) -> None:
    """Without a column of guesses, the most probable option is the guess: columns named after the options add up to 1.

    If they differ by one letter, as in ``small_choiceA_probs``, this must explain a column of right and wrong. Otherwise they
    must name all reference answers.
    """
    if state.has("options", "guess") or any(map(is_answer, state.named("guess"))):
        return
    keys = [column] if (column := state.column("answer")) else [*state.named("answer"), *state.named(EITHER)]
    for key in keys:  # of answers of which the name does not say whose they are, only bare ones such as "label"
        if len(tokens(key.name)) > 1 and not key.name_says("answer"):
            continue
        by_option = _named_options(state, key)
        if {answer(text) for text in key.distinct} <= by_option.keys() and _sum_to_one([*by_option.values()]):
            if not state.has("answer"):
                state.take("answer", key.name, "columns of probabilities are named after these")
            _take_options(state, by_option.values())
            return
    families: dict[tuple[str, ...], dict[str, Column]] = {}
    for column in state.free:
        named = words(column.name)
        for letter in (word for word in named if len(word) == 1 and column.scale == "unit"):
            families.setdefault(tuple(word for word in named if word != letter), {})[letter] = column
    for family in (family for family in families.values() if len(family) > 1 and _sum_to_one([*family.values()])):
        shares = {letter: [number(text) or (-1.0, False) for text in column.texts] for letter, column in family.items()}
        chosen = [max(shares, key=lambda letter: shares[letter][n]) for n in range(state.rows)]
        for judged in (column for column in state.free if column.is_two_valued and column.name_says("correct")):
            for key in (column for column in state.free if {answer(text) for text in column.distinct} <= family.keys()):
                if judged.truths == [
                    float(text is not None and answer(text) == guess) for text, guess in zip(key.texts, chosen, strict=True)
                ]:
                    state.take("answer", key.name, f"{judged.name} says yes exactly where this is the most probable option")
                    state.take("correct", judged.name, f"it says yes exactly where {key.name} is the most probable option")
                    _take_options(state, family.values())
                    return


def _take_options(state: Guessing, columns: Iterable[Column]) -> None:
    for column in columns:
        state.take("options", column.name, "it is named after an option, and these columns add up to 1")


def _answers(state: Guessing) -> None:
    """Find the guess and the reference answer. A bare "answer" is the one that no other column is. Forecasts have neither."""
    if state.has("outcome"):
        return

    def plain(role: str) -> list[Column]:
        return [column for column in state.named(role) if is_answer(column)]

    references = [stated] if (stated := state.column("answer")) else plain("answer")
    guesses = [stated] if (stated := state.column("guess")) else plain("guess")
    offered = _option_columns(state)
    either = [c for c in plain(EITHER) if not (c.is_two_valued and tokens(c.name) == ("label",)) and c not in offered]
    guess, reference = min(guesses, key=lambda column: column.length, default=None), next(iter(references), None)
    if guess and reference and len(guesses) + len(references) > 2:
        # Of a reasoning and the answer extracted from it, the latter has the values of the reference.
        pairs = [(a, b) for a in guesses for b in references]
        guess, reference = max(pairs, key=lambda pair: (overlap(*pair), -pair[0].length))
    why = "by its name"
    if guess and not reference:
        named = [c for c in state.named("correct") if {*tokens(c.name)} <= STRONG_CORRECT and is_answer(c) and not c.says_truth]
        reference = next((column for column in named if overlap(guess, column)), None)
    if guess and not reference:
        shared = [c for c in either if overlap(guess, c) or _translation(state, guess, c)]
        if len(shared) == 1:
            reference, why = shared[0], f"it is an answer, and {guess.name} is the model's"
    elif (right := reference) and not guess:
        guess = min(either, key=lambda column: (-overlap(column, right), column.length), default=None)
    elif not guess and len(either) == 1:
        guess, reference = (None, either[0]) if tokens(either[0].name) == ("label",) else (either[0], None)
    for role, chosen, reason in (("answer", reference, why), ("guess", guess, "by its name")):
        if chosen and not state.has(role):
            state.take(role, chosen.name, reason)
    if guess and reference and (other := _translation(state, guess, reference)):
        state.read_as(*other)


def _translation(state: Guessing, guess: Column, reference: Column) -> tuple[str, list[str | None], str] | None:
    """Read two columns in one form, if one names options by letters, and the other by numbers or their texts.

    Returns the column that is read in another way, its cells, and how they are read; None if the two agree or cannot be compared.
    """
    if overlap(guess, reference):
        return None
    for one, other in ((guess, reference), (reference, guess)):
        if not {answer(text) for text in one.distinct} <= LETTERED:
            continue
        numbers = {int(text) for text in other.distinct if text.isdecimal()}
        first = 0 if 0 in numbers else 1
        if len(numbers) == len(other.distinct) and 0 < max(numbers) < MAX_OPTIONS:
            letters = [text and ascii_uppercase[int(text) - first] for text in other.texts]
            return other.name, letters, f"{first} is option A"
        rows = zip(other.texts, _option_texts(state), strict=False)
        places = [next((n for n, option in enumerate(o) if text and answer(option) == answer(text)), None) for text, o in rows]
        if sum(place is not None for place in places) >= MIN_FITTING * max(1, len(other.present)):
            letters = [text if n is None else ascii_uppercase[n] for n, text in zip(places, other.texts, strict=True)]
            return other.name, letters, "its texts are those of the options"
    return None


def _option_texts(state: Guessing) -> list[list[str]]:
    """Return the texts of the options of each row: from a column of lists, or from a column for each; empty if there are none."""
    if column := state.column("choices"):
        return [listed(text) or [] for text in column.texts]
    return [[text or "" for text in row] for row in zip(*(column.texts for column in _option_columns(state)), strict=True)]


def _option_columns(state: Guessing) -> list[Column]:
    """Return the columns with the text of each option, such as ``option_1`` and ``option_2``, in their order."""
    named = {match[1].lower(): column for column in state.free if (match := OPTION_TEXT.fullmatch(column.name))}
    for keys in (ascii_uppercase.lower(), "1234567890", "0123456789"):
        columns = [column for column in takewhile(bool, (named.get(key) for key in keys)) if column and column.scale == "none"]
        if len(columns) > 1:
            return columns
    return []


def _options(state: Guessing) -> None:
    """Find columns named after the options that guesses name, with a probability for each."""
    key = state.column("guess") or state.column("answer")
    if key and not state.has("options"):
        named = _named_options(state, key)
        shares = [*named.values()]
        if _is_of_two(state, shares) and "true" in named:  # the model may also have been asked whether its answer is right
            state.ask("is this the probability of the answer true, or that the answer is right?", ROLES_OF_ONE, shares)
        elif _is_of_two(state, shares):
            state.take("options", shares[0].name, "it is named after one of two options; the other has the rest")
        elif len(shares) > 1 and _sum_to_one(shares) and {answer(text) for text in key.distinct} <= named.keys():
            _take_options(state, shares)
        elif len(shares) > 1:
            names = ", ".join(column.name for column in shares)
            state.result.notes.append(f"{names}: named after options, but they do not add up to 1; kept as attributes")
            for column in shares:
                state.take("attribute", column.name, "")
    columns = [state.columns[name] for name in state.roles.get("options", ())]
    state.result.options_sum_to_one = _sum_to_one(columns) or _is_of_two(state, columns)


def _named_options(state: Guessing, key: Column) -> dict[str, Column]:
    """Return columns of shares by the option that they are named after; empty if two are named after one.

    ``key`` holds guesses or reference answers. Of numbers and letters, others may be options as well.
    """
    labels = {answer(text) for text in key.distinct}
    if not labels or len(labels) > MAX_OPTIONS:
        return {}
    if labels <= NUMBERED or labels <= LETTERED:
        labels = {*(NUMBERED if labels <= NUMBERED else LETTERED)}
    named = [(option, c) for c in state.free if c.scale in SHARES and (option := option_name(c.name, labels))]
    return dict(named) if len({option for option, _ in named}) == len(named) else {}


def _is_of_two(state: Guessing, columns: Sequence[Column]) -> bool:
    """Whether this is one column of probabilities, named after one of the two options that guesses and answers name."""
    labels = {answer(text) for role in ("guess", "answer") if (column := state.column(role)) for text in column.distinct}
    return len(columns) == 1 and len(labels) == 2 and option_name(columns[0].name, labels) is not None


def options_named(names: Iterable[str], answers: Iterable[str | None]) -> dict[str, str]:
    """Return the option that each column is named after, as answers spell it. Other columns are left out.

    >>> options_named(["prob_a", "prob_c", "length"], ["A", None, "B"])
    {'prob_a': 'A', 'prob_c': 'C'}
    """
    spelled = {number: number for number in NUMBERED} | {letter: letter.upper() for letter in LETTERED}
    spelled |= {answer(text): text for text in answers if text}
    return {name: spelled[option] for name in names if (option := option_name(name, spelled))}


def option_name(name: str, labels: Iterable[str]) -> str | None:
    """Return the option that a column is named after, in the form of ``answer``; None if there is none.

    >>> option_name("prob_B", {"a", "b"}), option_name("Yes_Prob", {"yes", "no"}), option_name("length", {"a"})
    ('b', 'yes', None)
    >>> option_name("small_choiceB_probs", {"a", "b"})
    'b'
    """
    labels = {*labels}
    letters = [word for word in words(name) if len(word) == 1]
    letter, last = letters[0] if len(letters) == 1 else "", name.rpartition(".")[2]
    forms = (_option_word(name, labels), answer(name), letter, _option_word(last, labels))
    return next((form for form in forms if form in labels), None)


def _option_word(name: str, labels: Set[str]) -> str:
    """Return the only word of a name that is not about options in general; blank if there are several."""
    named = [word for word in re.findall(r"[^\W_]+", name.lower()) if word not in OPTION_WORDS]
    if {"0", "1"} <= labels:
        named = [OF_BINARY.get(word, word) for word in named]
    return named[0] if len(named) == 1 else ""


def _sum_to_one(columns: Sequence[Column]) -> bool:
    whole = 100 if any(column.scale == "percent" for column in columns) else 1
    sums = []
    for row in zip(*(column.texts for column in columns), strict=True):
        numerals = [number(text) for text in row if text is not None]
        if numerals:
            sums.append(sum(value[0] / (100 if value[1] else whole) for value in numerals if value))
    return bool(sums) and sum(abs(total - 1) <= SUM_TOLERANCE for total in sums) >= 0.95 * len(sums)


def _confidences(state: Guessing) -> None:
    """Find the columns that say how sure the model is, or ask for one."""
    forbidden = NO_CONFIDENCE if state.has("outcome") or state.asked_outcome else NO_CONFIDENCE | OF_OPTIONS
    named = [column for column in state.free if _is_named_confidence(column, forbidden)]
    named = sorted(named, key=lambda column: -roles_of(column.name).get("confidence", 0))
    stated = [state.columns[name] for name in state.roles.get("confidence", ())]
    # One whose name says nothing is another confidence beside these.
    for column in () if any(column.name_says("confidence") for column in stated) else named:
        if column.scale != "none" and not (column.is_two_valued and len(named) > 1):
            range_ = "percentages" if column.scale == "percent" else "between 0 and 1"
            state.take("confidence", column.name, f"by its name, and its numbers are {range_}")
        elif read := _only_percentages(column):
            state.read_as(column.name, read)
            state.take("confidence", column.name, "by its name, and its texts state one percentage each")
        elif column.has_words or (column.says_truth and len(column.distinct) > 1):
            state.take("confidence", column.name, "by its name, and it says how sure the model is in words")
        elif not column.is_numeric and not state.stated.pattern and (fitting := usual_pattern(column.present)):
            state.ask(f"its texts state confidences, as in {fitting[0]!r}", columns=[column], hint="pattern")
    if not state.has_confidence and not state.has("outcome"):
        _scores(state, named)
    for name in state.roles.get("confidence", ()):
        _ask_what_it_means(state, state.columns[name])
        _turn_to_guess(state, state.columns[name])
    ask_about_inverted(state)
    shares = [c for c in state.free if c.scale in ("unit", "percent") and len(c.distinct) > 2 and not c.is_index]
    shares = [c for c in shares if not {*tokens(c.name)} & NO_CONFIDENCE]
    unnamed = [c for c in shares if says_nothing(c.name) and any(value % 1 for value in c.numbers)]
    of_errors = not state.has_confidence and not state.has("outcome") and ask_about_probabilities_of_error(state)
    if not state.has_confidence and not of_errors:
        _ask_for_confidence(state, unnamed, [c for c in shares if "id" not in tokens(c.name)])
    for column in unnamed if state.has_confidence else ():
        could_be_told = ["threshold"] if len(column.distinct) <= MAX_TOLD else []
        reason = "its numbers could be another confidence, and its name says nothing"
        state.ask(reason, ("confidence", *could_be_told, "attribute"), [column])


def _ask_what_it_means(state: Guessing, column: Column) -> None:
    """Ask what the words of a column of confidences mean, its only negative number, and numbers that may be percentages."""
    known = state.stated.words
    words = [word.lower() for word in column.distinct if number(word) is None and word.lower() not in DECLINED]
    unknown = sorted({*words} - known.keys())
    if unknown and (column.has_words or column.says_truth or (known and not column.is_numeric)):
        reason = f"it says how sure the model is in words: {', '.join(unknown)}; which probability does each mean?"
        state.ask(reason, columns=[column], hint="words", choices=[f"{word}=?" for word in unknown])
    elif not column.is_numeric and not words:
        state.ask("this column holds no numbers", columns=[column], hint=None)
    if column.filler and column.filler not in known and column.scale != "none":
        cells = counted(column.distinct[column.filler], "cell holds", "cells hold")
        reason = f"{cells} {column.filler}, which is no confidence: was none stated there?"
        state.ask(reason, columns=[column], hint="words", choices=[f"{column.filler}=none"])
    ask_for_scale(state, column)


def _ask_for_confidence(state: Guessing, unnamed: Sequence[Column], shares: Sequence[Column]) -> None:
    """Ask which column is a confidence or another score; ``shares`` could be one, above all those that are ``unnamed``."""
    numeric = [c for c in state.free if c.is_numeric]
    scores = [c for c in numeric if any(map(c.name_says, (SCORE, *SCORES)))]
    mute = [c for c in numeric if c.scale in ("none", "unclear") and says_nothing(c.name) and not c.is_index]
    shares = [c for c in shares if c not in scores and not is_named_grade(c)]
    state.result.offered = state.offered_pattern()
    why = f"; {state.result.offered}" if state.result.offered else ""
    why += f"; {', '.join(c.name for c in scores)}: a measure of uncertainty, which is no probability" if scores else ""
    worded = [c for c in state.free if c.has_words and says_nothing(c.name)]
    others = [c for c in shares if not (is_answer(c) and any(map(c.name_says, ("guess", "answer", EITHER))))]
    if candidates := [*unnamed, *worded] or [c for c in shares if not roles_of(c.name)] or others:
        state.ask(f"no column is certain to be a confidence{why}", ["confidence"], candidates)
    elif scores or mute:
        unclear = [f"confidence={column.name}" for column in mute if column.scale == "unclear"]
        state.ask(f"no column is certain to be a confidence{why}", SCORES, [*mute, *scores], choices=unclear)
    else:
        state.result.notes.append("no column holds a confidence; the answers are kept without one")


def is_named_grade(column: Column) -> bool:
    """Whether a name is that of a grade, such as ``factual_correctness``, and says nothing of a confidence.

    >>> [is_named_grade(Column(name, ["0.5"])) for name in ("factual_correctness", "conf_correct", "score")]
    [True, False, False]
    """
    return has_word(column.name, STRONG_CORRECT) and not has_word(column.name, CONFIDENT | OPTION_WORDS)


def _turn_to_guess(state: Guessing, column: Column) -> None:
    """Let a column be about the guess that is the probability of one of two answers: above one half where that one is guessed."""
    guess = state.column("guess")
    if guess is None or len(guess.distinct) != 2 or column.scale not in ("unit", "percent"):
        return
    whole = 100 if column.scale == "percent" else 1
    shares = [numeral and numeral[0] / (100 if numeral[1] else whole) for numeral in map(number, column.texts)]
    pairs = [*zip(guess.texts, shares, strict=True)]
    for answered in guess.distinct:
        rows = [(text == answered, share > 0.5) for text, share in pairs if text is not None and share not in (None, 0.5)]
        times = Counter(guessed for guessed, _ in rows)
        if min(times[True], times[False]) >= MIN_OF_EACH and all(above is guessed for guessed, above in rows):
            turned = [share if share is None or text in (None, answered) else 1 - share for text, share in pairs]
            how = f"above one half exactly where {guess.name} is {answered}, so it is taken as the probability of {answered}"
            state.read_as(column.name, [None if share is None else repr(whole * share) for share in turned], how)
            return


def _is_named_confidence(column: Column, forbidden: Set[str]) -> bool:
    """Whether a name says that a column holds confidences, or shares that were made of a score, as ``conf_entropy``."""
    roles, named_words = roles_of(column.name), {*tokens(column.name)}
    if len(tokens(column.name)) > MAX_NAME_WORDS:  # a question, in which "a" is no option
        forbidden = {word for word in forbidden if len(word) > 1}
    of_score = bool(named_words & CONFIDENT) and roles.keys() <= {"confidence", SCORE, *SCORES}
    of_score = of_score and column.scale in ("unit", "percent")
    named = column.name_says("confidence") or of_score
    return bool(named) and not named_words & forbidden and not column.is_index and not OF_CLASS.search(column.name)


def _only_percentages(column: Column) -> list[str | None]:
    """Return the percentages of texts such as "High (85%)", if nearly all have one and no other number; otherwise empty."""
    shares = [text and (match[1] + "%" if (match := ONE_PERCENTAGE.fullmatch(text)) else None) for text in column.texts]
    return shares if sum(map(bool, shares)) >= MIN_FITTING * max(1, len(column.present)) else []


def _scores(state: Guessing, named: Sequence[Column]) -> None:
    """Find numbers that are no probabilities. The name says whether they grow with how sure the model is, or it is asked."""
    numeric = [column for column in state.free if column.is_numeric and not state.is_of_part(column)]
    scored = [(role, column) for column in numeric for role in SCORES if column.name_says(role)]
    for role, column in scored:
        direction = "high" if SCORES[role] > 0 else "low"
        state.take(role, column.name, f"by its name: no probability, but a score that is {direction} where the model is sure")
    for column in named if not scored else ():
        if column.is_numeric and column.scale == "none":
            state.ask(f"{range_of(column)}: is the model sure where they are high, or where they are low?", SCORES, [column])
    others = [c for c in state.free if c.scale == "unit" and len(c.distinct) > 2 and not {*tokens(c.name)} & NO_CONFIDENCE]
    others = [c for c in others if not roles_of(c.name) or c.name_says(SCORE)]
    if scored and others:
        names = ", ".join(column.name for column in others)
        state.result.notes.append(f"{names}: kept as attributes; these could be confidences or scores as well")


def _groups(state: Guessing) -> None:
    """Find the columns that say which run or category a row belongs to."""
    most = min(MAX_GROUPS, max(1, state.rows // 2))
    for role in ("model", "dataset", "category"):
        if state.has(role):
            continue
        fitting = [c for c in state.named(role) if not c.is_list and c.length <= 100 and len(c.distinct) <= most]
        fitting = [c for c in fitting if not c.is_numeric] or ([] if role == "model" else fitting)
        if role == "model" and not fitting:
            unnamed = [c for c in state.free if not roles_of(c.name)]
            fitting = [c for c in unnamed if all(MODEL_NAME.search(f"{text} ") for text in c.distinct)]
        finest = [c for c in fitting if all(_determines(c, other) for other in fitting)]
        if finest:
            state.take(role, finest[0].name, "by its name" if finest[0].name_says(role) else "its values are names of models")
        elif fitting and role == "category":
            state.take(role, fitting[0].name, "by its name")
        elif fitting:
            state.ask(f"several columns could name the {role}", [role], fitting)
    of_runs, of_questions = ("model", "elicitation"), ("dataset", "category")
    for column in state.free:
        if column.name == SERIES:
            reason = f"names of columns begin or end with {', '.join(column.distinct)}: what are these?"
            state.ask(reason[:400], of_runs, [column])
        elif column.name == SERIES_BY_KEY:
            reason = f"rows stand below {', '.join(column.distinct)}: what are these?"
            named = [*state.named("question"), *state.named("question_id")]
            again = any(len({*zip(column.texts, c.texts, strict=True)}) > len({*c.texts}) for c in named)
            first = (*of_runs, *of_questions) if again or not named else (*of_questions, *of_runs)
            state.ask(reason[:400], (*first, "question_id", "attribute"), [column])
    sheet = state.columns.get(SHEET)
    if sheet and not state.has("model") and sheet in state.free and not _all(sheet, DEFAULT_SHEET.fullmatch):
        state.take("model", SHEET, "the sheets have the same columns, and no column names a model")


def _determines(column: Column, other: Column) -> bool:
    """Whether rows with the same value of ``column`` have the same value of ``other``."""
    pairs = {*zip(column.texts, other.texts, strict=True)}
    return len(pairs) == len({first for first, _ in pairs})


def _questions(state: Guessing) -> None:
    """Find the id and the text of the question."""
    if not state.has("question"):
        texts = [c for c in state.named("question") if not c.is_numeric and not c.is_list and len(c.distinct) > 1]
        texts = [column for column in texts if not state.is_of_part(column)]
        if not texts:
            texts = [c for c in state.free if not roles_of(c.name) and _all(c, lambda text: " " in text and "?" in text)]
            texts = texts if len(texts) == 1 else []
        if texts:
            best = max(texts, key=lambda c: (c.name_says("question"), len(c.distinct)))
            if best.holds_ids and not state.named("question_id", NO_QUESTION):
                state.take("question_id", best.name, "by its name, and its values are ids")
                return
            state.take("question", best.name, "by its name" if best.name_says("question") else "its texts are questions")
    if state.has("question_id"):
        return
    text = state.column("question")
    if text is None and ROW in state.columns:
        state.take("question_id", ROW, "the numbers of the rows; no column names the questions")
        return
    for column in state.named("question_id", NO_QUESTION):
        whole = all(not value % 1 for value in column.numbers)
        if len(column.present) == state.rows and len(column.distinct) > 1 and whole and _identifies(state, column, text):
            state.take("question_id", column.name, "by its name")
            return
    if text is not None:
        _tell_same_texts_apart(state, text)
    if text is None:
        for column in state.free:
            if column.is_index and (column.name.startswith("Unnamed: ") or tokens(column.name) in (("index",), ("row",))):
                state.take("question_id", column.name, "the numbers of the rows; no column names the questions")
                break
        repeated = [c for c in state.free if says_nothing(c.name) and _looks_like_ids(c, state.rows)]
        repeated += [c for c in state.free if c not in repeated and is_answered_by_every_model(state, c)]
        if repeated:
            reason = "its values repeat as those of a question that is answered several times: does it name the question?"
            column = repeated[0]
            role = "question" if _all(column, lambda text: " " in text) else "question_id"
            state.ask(reason, (role, "attribute"), [column])


def _tell_same_texts_apart(state: Guessing, text: Column) -> None:
    """Find the ids of questions of which several have one text, such as those of several passages: their answers differ."""
    reference = state.column("answer")
    if reference is None or _determines(text, reference):
        return
    fitting = [column for column in state.free if _names_each_row(state, column)]
    numbered = [column for column in fitting if {*tokens(column.name)} & OF_ROWS or column.name.startswith("Unnamed: ")]
    if numbered:
        reason = "the same text has several reference answers, and these values tell its questions apart"
        state.take("question_id", numbered[0].name, reason)
    elif fitting:
        reason = f"the same text in {text.name} has several reference answers: which column names the question?"
        state.ask(reason, ["question_id"], fitting)


def _names_each_row(state: Guessing, column: Column) -> bool:
    """Whether a column could name the question: each model has one row for each value, and the same text and reference answer."""
    models, known = state.column("model"), [state.column(role) for role in ("question", "answer")]
    of_models = models.texts if models else [None] * state.rows
    apart = len({*zip(of_models, column.texts, strict=True)}) == state.rows == len(column.present)
    short = not column.is_list and all(map(SHORT_ID.fullmatch, column.distinct)) and not any(v % 1 for v in column.numbers)
    return apart and short and all(_determines(column, other) for other in known if other)


def _all(column: Column, fits: Callable[[str], object]) -> bool:
    """Whether nearly all values of a column fit."""
    return sum(bool(fits(text)) for text in column.distinct) >= MIN_FITTING * max(1, len(column.distinct))


def _identifies(state: Guessing, ids: Column, text: Column | None) -> bool:
    """Whether an id belongs to one text or, without texts, one reference answer, and a text that is asked again has one id."""
    unique, known = len(ids.distinct) == state.rows, text or state.column("answer")
    if known is None or (text is None and unique):
        return True
    of_dataset = state.column("dataset")
    keys = zip(ids.texts, of_dataset.texts if of_dataset else [None] * state.rows, strict=True)
    pairs = {*zip(keys, known.texts, strict=True)}
    one_text = len(pairs) == len({key for key, _ in pairs})
    return one_text and not (text and unique and len(text.distinct) < state.rows / 1.5)


def is_answered_by_every_model(state: Guessing, column: Column) -> bool:
    """Whether each model has one row for each value of a column, and each value one reference answer, if there are any."""
    models, reference = state.column("model"), state.column("answer")
    if models is None or len(models.distinct) < 2 or len(column.distinct) < 2 or len(column.present) < state.rows:
        return False
    crossed = len({*zip(models.texts, column.texts, strict=True)}) == state.rows == len(models.distinct) * len(column.distinct)
    return crossed and (reference is None or _determines(column, reference))


def _looks_like_ids(column: Column, rows: int) -> bool:
    counts = {*column.distinct.values()}
    whole = all(not value % 1 for value in column.numbers)
    return len(column.distinct) >= 10 and len(counts) == 1 and 1 not in counts and len(column.present) == rows and whole


def _repeats(state: Guessing, *, known: bool) -> None:
    """Find what tells several answers to a question apart: a sample, a told threshold, an elicitation or a day."""
    question = state.column("question_id") or state.column("question")
    if question is not None and "question_id" in state.result.asked:
        return
    if question is None:
        persons = [c for c in state.free if {*tokens(c.name)} & OF_PERSONS and 1 < len(c.distinct) <= state.rows / 2]
        if len(persons) == 1 and not state.has("model"):
            state.ask("it names people: is each of them a run of its own?", ("model", "attribute"), persons)
        models = state.column("model")
        if models and len(models.distinct) > 1:
            state.result.notes.append(f"no column names the question, so each row is one, which only one {models.name} answered")
        return
    roles = ("dataset", "model", "clue", "sample", "threshold", "elicitation", "date")
    columns = [question, *(column for role in roles if (column := state.column(role)))]

    def repeats(*further: Column) -> int:
        return state.rows - len({*zip(*(column.texts for column in (*columns, *further)), strict=True)})

    left = repeats()
    for role in ("sample", "threshold", "elicitation", "date"):
        for column in () if state.has(role) or not left else state.named(role):
            if role == "date":
                times = read_times(column.distinct)
                days = [times[text].date() if times and text else None for text in column.texts]
                fitting = times is not None and are_nights(question.texts, days)
            else:
                fitting = len(column.distinct) <= MAX_GROUPS and not column.is_index
            if fitting and (fewer := repeats(column)) < left:
                state.take(role, column.name, "by its name, and it tells several answers to a question apart")
                columns, left = [*columns, column], fewer
                break
    if left and not known:
        apart = [c for c in state.free if 1 < len(c.distinct) <= state.rows // 2 and not repeats(c)]
        again = f"{counted(left, 'row answers', 'rows answer')} a question of {question.name} again"
        reason = f"{again}: which column tells these answers apart?" if apart else f"{again}, and no column tells them apart"
        of_persons = bool(apart) and bool({*tokens(apart[0].name)} & OF_PERSONS)
        by = ["model", "elicitation", "sample"]
        if apart and (of_persons or apart[0].is_numeric):
            by = ["sample", "model", "elicitation"] if of_persons else ["elicitation", "sample", "model"]
        apart_by = [role for role in by if not state.has(role)]
        state.ask(reason, apart_by if apart else (), apart or [question], hint="respondents" if of_persons else "repeats")
