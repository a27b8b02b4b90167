"""What cells of a foreign table mean: numbers, truth values, confidences, answers that agree."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from typing import Any

from clueline.data.readers.shared.evaluation_log import parsed

TAG = re.compile(r"</?(?:b|i|u|em|strong|sub|sup|span|p|br)\s*/?>", re.IGNORECASE)
MISSING = {"", "nan", "none", "null", "na", "n/a", "<na>", "nat", "#n/a", "-"}
NUMBER = re.compile(r"([-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d+)?) ?(%?)")
OUT_OF = re.compile(r"(\d+(?:[.,]\d+)?) ?(?:/|out of|von) ?(10|100)")
ONE_PERCENTAGE = re.compile(r"\D*(\d+(?:[.,]\d+)?) ?%\D*")
VERDICT = re.compile(r"\[RESULT\]\s*\(?(\d)")  # as judges of the Prometheus family write it; the last one counts
LETTER = re.compile(r"\(?([A-Za-z0-9])\)?[.:)]?")
LETTER_WITH_TEXT = re.compile(r"\(?([A-Z])(?:\)|[.:)])\s+\S.*", re.DOTALL)
LABELLED = re.compile(r"\b(?:answer|antwort)\b\W{0,3}[:=]\s*(\S[^\n]*)", re.IGNORECASE)
IN_PARENTHESES = re.compile(r"(.*\S)\s*\(([^()]*)\)", re.DOTALL)
TRUTH = {
    **dict.fromkeys(["true", "yes", "ja", "oui", "sí", "si", "y", "t", "c", "correct", "right", "richtig", "wahr", "pass",
                     "passed", "success", "succeeded", "vrai", "1", "1.0", "✓", "✔", "✔️", "✅", "☑"], 1.0),
    **dict.fromkeys(["partially correct", "partly correct", "partial"], 0.5),
    **dict.fromkeys(["false", "no", "nein", "non", "n", "f", "i", "incorrect", "wrong", "falsch", "fail", "failed", "failure",
                     "faux", "0", "0.0", "✗", "✘", "❌", "✖", "✖️"], 0.0),
}  # fmt: skip
# Words that are about correctness, whatever the name of their column.
VERDICTS = {"correct", "incorrect", "partially correct", "partly correct", "not attempted", "not_attempted"}
YES_AND_NO = {"true", "yes", "ja", "oui", "sí", "si", "false", "no", "nein", "non", "wahr", "falsch", "vrai", "faux"}
ABSTENTIONS = {
    "idk", "i don't know", "i do not know", "abstain", "abstained", "abstention", "refuse", "refused", "refusal", "unsure",
    "weiß nicht", "weiss nicht", "no answer", "declined", "skip", "skipped", "not attempted", "not_attempted", "unattempted",
}  # fmt: skip
DECLINED = ABSTENTIONS - {"unsure"}  # in place of a confidence, which "unsure" is
MAX_LABELS = 40  # different letters or numbers that can be the labels of answers
MAX_CLASSES, MIN_REPEATS = 10, 5  # names of classes at most, each of them repeated so often on average
ROUNDING = 1e-9  # by how much a confidence may exceed its range because of floating-point sums


def given(cell: str | None) -> str | None:
    """Return the text of a cell without spaces around it; None if it is blank or a word for a missing value.

    >>> given(" 0.5 "), given("NaN"), given(None)
    ('0.5', None, None)
    """
    text = (cell or "").strip()
    return None if text.lower() in MISSING else text


def without_markup(text: str) -> str:
    """Return a text without the tags of bold and the like, and with characters in place of their names in HTML.

    What would be nothing without them stays as it is.

    >>> without_markup("<b>Rome</b>"), without_markup("Arts &amp; Letters"), without_markup("<b>"), without_markup("a < b")
    ('Rome', 'Arts & Letters', '<b>', 'a < b')
    """
    plain = html.unescape(TAG.sub("", text)).strip() if "<" in text or "&" in text else text
    return plain or text


def flat(record: dict[str, Any]) -> dict[str, str | None]:
    """Return a record with the values of nested objects under dotted paths. Lists become JSON text."""
    flat: dict[str, str | None] = {}
    stack: list[tuple[str, Any]] = [(str(key), value) for key, value in reversed(record.items())]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict) and value:
            stack += [(f"{path}.{key}", inner) for key, inner in reversed(value.items())]
        else:
            flat[path] = as_text(value)
    return flat


def as_text(value: object) -> str | None:
    """Return a value of JSON or of a workbook as a cell."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case float() if value.is_integer() and abs(value) < 2**53:
            return str(int(value))
        case list() | tuple() | dict():
            return json.dumps(value, ensure_ascii=False, default=str)
        case datetime() | date():
            return value.isoformat()
    return str(value).encode("utf-8", "replace").decode()


def number(text: str | None) -> tuple[float, bool] | None:
    """Return the number in a cell, with a decimal point or comma, and whether a percent sign follows it; None if it is no number.

    So many out of 10, or of 100, are percentages.

    >>> number("85 %"), number(",85"), number("1.5e-3"), number("1,234.5"), number("high")
    ((85.0, True), (0.85, False), (0.0015, False), None, None)
    >>> number("8/10"), number("85 out of 100"), number("3/4")
    ((80.0, True), (85.0, True), None)
    """
    if text is None:
        return None
    if match := NUMBER.fullmatch(text.strip()):
        value = float(match[1].replace(",", "."))
        return (value, bool(match[2])) if math.isfinite(value) else None
    match = OUT_OF.fullmatch(text.strip())
    return (100 * float(match[1].replace(",", ".")) / int(match[2]), True) if match else None


def labelled_answer(output: str) -> str:
    """Return the last answer that an output names as such, in the rest of its line; the whole output if there is none.

    >>> labelled_answer("It is far. Answer: **Nile**"), labelled_answer("Final answer: B."), labelled_answer("Nile")
    ('Nile', 'B.', 'Nile')
    """
    named = LABELLED.findall(output)
    return named[-1].strip(" *") if named else output


def truth(text: str | None) -> float | None:
    """Return what a cell says about correctness, from 0 to 1; None if it says nothing about it.

    >>> truth("Ja"), truth("I"), truth("0,5"), truth("{'feedback': 'good [RESULT] 0 ... [RESULT] 1'}"), truth("5")
    (1.0, 0.0, 0.5, 1.0, None)
    """
    if text is None:
        return None
    if (known := TRUTH.get(text.lower())) is not None:
        return known
    if verdicts := VERDICT.findall(text):
        return float(verdicts[-1]) if verdicts[-1] in "01" else None
    value = number(text)
    return value[0] if value and not value[1] and 0 <= value[0] <= 1 else None


def listed(text: str | None) -> list[str] | None:
    """Return the entries of a list or the values of a mapping, written as Python or JSON; None for any other text.

    >>> listed("['a, b', 2]"), listed('{"A": "x"}'), listed("[1"), listed("word")
    (['a, b', '2'], ['x'], None, None)
    """
    if not text or text[0] not in "[{":
        return None
    entries = parsed(text)
    entries = list(entries.values()) if isinstance(entries, dict) else entries
    return [str(entry) for entry in entries] if isinstance(entries, list) else None


def answer_line(answers: Iterable[str]) -> str | None:
    """Return several answers, any of which is right, as one answer line; None if there are none.

    >>> answer_line(["Istanbul", "Constantinople", "Istanbul"]), answer_line(["A", "C"]), answer_line([])
    ('Istanbul [or Constantinople]', 'A or C', None)
    """
    texts = [text for text in dict.fromkeys(" ".join(re.sub(r"[\[\];]", " ", text).split()) for text in answers) if text]
    if len(texts) < 2 or all(map(LETTER.fullmatch, texts)):
        return " or ".join(texts) or None
    return f"{texts[0]} [or {'; or '.join(texts[1:])}]"


def answer(text: str) -> str:
    """Return an answer in the form in which labels are compared: without case, spaces, and the brackets or point of a letter.

    >>> answer(" (B) "), answer("b."), answer("B) Paris"), answer("Not sure")
    ('b', 'b', 'b', 'not sure')
    """
    text = " ".join(text.split())
    match = LETTER.fullmatch(text) or LETTER_WITH_TEXT.fullmatch(text)
    return match[1].lower() if match else text.casefold().rstrip(".")


def agree(guess: str, reference: str) -> bool:
    """Return whether a guess is a reference answer, which may name several, as in "A or B", or add something in parentheses.

    A guess that names several answers is right only if all of them are. What stands in parentheses counts beside a letter.

    >>> agree("(b)", "A or B"), agree("Yes", "True"), agree("Rome (Italy)", "rome"), agree("A", "B")
    (True, True, True, False)
    >>> agree("A or B", "A"), agree("b/A", "A or B"), agree("Italy", "Rome (Italy)"), agree("Paris", "B (Paris)")
    (False, True, False, True)
    """
    right = _forms(reference)
    return any(
        all(form in right or _say_the_same(form, right) for form in stated)
        for stated in ({answer(guess)}, *({answer(form) for form in forms} for forms in _readings(guess)))
    )


def _say_the_same(form: str, others: set[str]) -> bool:
    return form in YES_AND_NO and any(other in YES_AND_NO and TRUTH[form] == TRUTH[other] for other in others)


def _readings(text: str) -> list[set[str]]:
    """Return the sets of answers that a text can mean: with or without what is in parentheses, beside a letter only that."""
    # Single spaces first: in a long run of them, a pattern that begins with any number would try each place anew.
    parts = [part for part in re.split(r" or | ?[/|] ?", " ".join(text.split())) if part.strip()]
    matches = [IN_PARENTHESES.fullmatch(part) for part in parts]
    readings = [{*parts}, {match[1] if match else part for part, match in zip(parts, matches, strict=True)}]
    if matches and all(match and (LETTER.fullmatch(match[1]) or LETTER.fullmatch(match[2])) for match in matches):
        readings.append({match[2] for match in matches if match})
    return [reading for reading in readings if reading]


def _forms(text: str) -> set[str]:
    forms = {text}.union(*_readings(text))
    first, separator, others = text.partition(" [or ")  # as ``answer_line`` writes them
    if separator and others.endswith("]"):
        forms.update([first, *others.removesuffix("]").split("; or ")])
    return {answer(form) for form in forms}


def are_labels(texts: Sequence[str | None]) -> bool:
    """Return whether answers are labels to be compared as they are (letters, yes and no, few classes), rather than free text.

    >>> are_labels(["A", "B or C"]), are_labels(["Yes", "No"]), are_labels(["Nile", "Rome"]), are_labels(["joy", "anger"] * 9)
    (True, True, False, True)
    """
    forms = [_forms(text) for text in texts if text is not None]
    distinct = set[str]().union(*forms)
    few = len(distinct) <= MAX_CLASSES and len(forms) >= MIN_REPEATS * len(distinct)
    short = {form for form in distinct if len(form) <= 2 or form in YES_AND_NO}
    return few or (len(short) <= MAX_LABELS and all(some & short for some in forms))
