"""Answer lines of quizbowl, and which answers they accept.

A line is the answer, then in brackets what else to accept, prompt on or reject, as in
``<b><u>Frankenstein</u></b> [accept The Modern Prometheus; prompt on Shelley's novel]``. Underlined words (``<u>X</u>``, ``_X_``,
``__**X**__``) are the ones that a player must say. Everything here takes time that is linear in the length of a line and a guess.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from anyascii import anyascii
from rapidfuzz import fuzz

from data.importing.quizbowl_words import UNREAD

Verdict = Literal["accept", "prompt", "reject"]
Outcome = Literal["accept", "review", "reject"]
NOT_AN_ANSWER = frozenset({"", "error"})  # an empty guess, and the mark of a failed call
LONGEST_GUESS, LONGEST_CLAUSE = 2000, 2000  # characters; more is no answer
NEAR = 80  # similarity of spelling, 0 to 100, from which a grade is uncertain
SAME = 92  # similarity from which a long word counts as spelled in another way
LONG_WORD = 9  # characters
IDEOGRAPHS = 0x2E80  # from here on, a character is not one of a word's letters, and stays as it is

FUNCTION = "a an the of at in on to and for by with from de la le les el los las der die das du des di"
TITLE = """king queen emperor empress president prime minister sir dame saint lord lady pope prince princess duke duchess count
    countess general admiral captain colonel doctor mr mrs ms miss professor reverend tsar czar sultan chancellor senator"""
CARDINAL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen"""
ORDINAL = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
TEN = "twenty thirty forty fifty sixty seventy eighty ninety"
# What kind of thing an answer is.
KIND = """program project mission novel book poem play film movie painting opera symphony song album band series show game river
    lake sea ocean mountain island city town country nation state province region war battle revolution empire dynasty kingdom
    treaty people language religion theorem theory law equation effect constant reaction process method model test disease
    syndrome award prize company university"""
NUMERAL = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx xxi xxii xxiii"

FUNCTION_WORDS, TITLES, KINDS = frozenset(FUNCTION.split()), frozenset(TITLE.split()), frozenset(KIND.split())
SPELLED = {"st": "saint", "mt": "mount", "ft": "fort", "dr": "doctor", "men": "man", "women": "woman", "children": "child"}
UNITS = {word: n for n, word in enumerate(CARDINAL.split())} | {word: n for n, word in enumerate(ORDINAL.split(), start=1)}
TENS = {word: 10 * n for n, word in enumerate(TEN.split(), start=2)}
COUNTED = UNITS.keys() | TENS.keys()
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
ROMAN = {word: n for n, word in enumerate(NUMERAL.split(), start=1)}

AS_WRITTEN = "the answer line has it"
OTHER_FORM = "the answer line has it, but for articles, plurals, accents, numbers or titles"
REQUIRED = "it has the underlined words, and others only of the answer line, or titles, initials and names of kinds"
INITIALS = "it is the initials of what the answer line has"
OTHER_SPELLING = "it is another spelling of what the answer line has"
TO_PROMPT = "the answer line says to prompt on this"
TO_REJECT = "the answer line says not to accept this"
LACKING = "it lacks underlined words"
NO_ANSWER = "there is no answer"
TOO_LONG = f"it has more than {LONGEST_GUESS:,} characters, too many for an answer"
NO_MATCH = "the answer line has nothing like it"


class Judgement(NamedTuple):
    """What is made of a guess, and the rule that decided, as the end of a sentence."""

    outcome: Outcome
    rule: str


class Phrase(NamedTuple):
    """One way to give an answer.

    Attributes:
        form: the whole, normalised.
        words: its words that carry meaning, in order.
        required: those of them that a player must say.
        marked: whether the line marks the required words.
    """

    form: str
    words: tuple[str, ...]
    required: tuple[str, ...]
    marked: bool


@dataclass(frozen=True)
class AnswerLine:
    """The normalised forms that count, by what to do with them, and their phrases.

    ``uncertain`` are parts of accepted phrases that may be alternatives or not, as in ``accept Paris, France``.
    """

    accept: frozenset[str]
    prompt: frozenset[str]
    reject: frozenset[str]
    phrases: tuple[Phrase, ...] = ()
    prompted: frozenset[tuple[str, ...]] = frozenset()
    rejected: frozenset[tuple[str, ...]] = frozenset()
    uncertain: frozenset[tuple[str, ...]] = frozenset()

    def grade(self, guess: str | None) -> Verdict:
        """The verdict on a guess. ``prompt`` means that a moderator would ask for more, and does not count as right.

        >>> parse_answer_line("Paris [prompt on France]").grade("the City of paris"), parse_answer_line("Paris").grade("Paris!")
        ('reject', 'accept')
        """
        judgement = self._decide(guess)
        if judgement is None or judgement.outcome == "reject":
            return "reject"
        return "accept" if judgement.outcome == "accept" else "prompt"

    def judge(self, guess: str | None) -> Judgement:
        """What to make of a guess, and why.

        >>> parse_answer_line("the <u>Apollo</u> program").judge("Apollo programs")
        Judgement(outcome='accept', rule='the answer line has it, but for articles, plurals, accents, numbers or titles')
        """
        return self._decide(guess) or self._doubt(guess_forms(guess or ""), meaning(guess or ""))

    def _decide(self, guess: str | None) -> Judgement | None:
        """What a rule of the answer line says; None where none speaks of the guess."""
        if len(guess or "") > LONGEST_GUESS:
            return Judgement("reject", TOO_LONG)
        guessed = guess_forms(guess or "")
        if not guessed:
            return Judgement("reject", NO_ANSWER)
        words = meaning(guess or "")
        if guessed & self.reject:
            return Judgement("reject", TO_REJECT)
        if guessed & self.accept:
            return Judgement("accept", AS_WRITTEN)
        if words in self.rejected:
            return Judgement("reject", TO_REJECT)
        if guessed & self.prompt:
            return Judgement("review", TO_PROMPT)
        if words:
            for rule, accepts in RULES:
                if any(accepts(words, phrase) for phrase in self.phrases):
                    return Judgement("accept", rule)
        if words in self.prompted:
            return Judgement("review", TO_PROMPT)
        return None

    def _doubt(self, guessed: frozenset[str], words: tuple[str, ...]) -> Judgement:
        """Whether a guess that no rule accepts should be looked at by a person."""
        if words in self.uncertain:
            return Judgement("review", "it is a part of an answer that may be an alternative of its own")
        given = set(words)
        lacking = False
        for phrase in self.phrases:
            required = set(phrase.required)
            if required and required <= given:
                return Judgement("review", f"it says more than {phrase.form!r}")
            if given and given < set(phrase.words):
                if not phrase.marked:
                    return Judgement("review", f"it has some words in common with {phrase.form!r}")
                lacking = True
        if lacking:
            return Judgement("reject", LACKING)
        spellings = {*guessed, " ".join(words)}
        for phrase in self.phrases:
            for form in {phrase.form, " ".join(phrase.words), " ".join(phrase.required)}:
                # World War I is not World War II.
                same_numbers = _digits(words) in (_digits(phrase.words), _digits(phrase.required))
                if same_numbers and any(fuzz.ratio(guess, form, score_cutoff=NEAR) for guess in spellings):
                    return Judgement("review", f"it is spelled nearly like {phrase.form!r}")
        return Judgement("reject", NO_MATCH)


def _digits(words: Iterable[str]) -> list[str]:
    return [word for word in words if word.isdecimal()]


def _is_other_form(words: tuple[str, ...], phrase: Phrase) -> bool:
    untitled = tuple(word for word in words if word not in TITLES) or words
    joined = "".join(words)
    return any(
        wanted and (words == wanted or untitled == wanted or joined == "".join(wanted))
        for wanted in (phrase.words, phrase.required)
    )


def _has_required(words: tuple[str, ...], phrase: Phrase) -> bool:
    """Whether the words are the required ones, in order, and others only of the phrase, titles or initials."""
    if not phrase.marked or not phrase.required:
        return False
    remaining = iter(words)
    if not all(any(word == wanted for word in remaining) for wanted in phrase.required):
        return False
    others = [word for word in phrase.words if word not in phrase.required]
    initials = {word[0] for word in others} | {"".join(word[0] for word in others)}
    return set(words) - set(phrase.required) <= {*others, *initials} | TITLES | KINDS


def _is_initials(words: tuple[str, ...], phrase: Phrase) -> bool:
    """Whether a single word consists of the initials of three words and more."""
    return len(words) == 1 and len(phrase.words) > 2 and words[0] == "".join(word[0] for word in phrase.words)


def _is_other_spelling(words: tuple[str, ...], phrase: Phrase) -> bool:
    """Whether long words differ in a letter or two, as transliterations do, and all others are the same."""
    for wanted in {phrase.words, phrase.required}:
        if len(words) == len(wanted) and all(
            given == word
            or (
                min(len(given), len(word)) >= LONG_WORD
                and given[0] == word[0]
                and given.isalpha()
                and word.isalpha()
                and fuzz.ratio(given, word) >= SAME
            )
            for given, word in zip(words, wanted, strict=True)
        ):
            return True
    return False


# In this order: what accepts a guess that the line does not have as it is.
RULES = (
    (OTHER_FORM, _is_other_form), (REQUIRED, _has_required), (OTHER_SPELLING, _is_other_spelling), (INITIALS, _is_initials),
)  # fmt: skip


# -- words -----------------------------------------------------------------------------------------------------------------


def normalise(text: str) -> str:
    """Lower case, without accents, markup, punctuation and a leading article; initials joined, white space folded.

    >>> normalise("The <i>U. S.</i>  Café")
    'us cafe'
    """
    text = re.sub(r"<[^<>]*>", "", text)
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    text = text.casefold()
    text = re.sub(r"['\u2019`]", "", text.replace("&", " and "))
    text = " ".join(re.sub(r"[^\w\s]|_", " ", text).split())
    text = re.sub(r"\b([^\W\d]) (?=[^\W\d]\b)", r"\1", text)  # U.S., U. S. and US are the same
    return re.sub(r"^(the|an?)\s+(?=\S)", "", text)


def forms(text: str) -> frozenset[str]:
    """The normalised forms of a phrase: the whole, without parentheses, and its underlined part alone."""
    whole, required, _ = _marked(text)
    return guess_forms(whole) | ({normalise(required)} - NOT_AN_ANSWER)


def guess_forms(guess: str) -> frozenset[str]:
    """The normalised forms of a guess: the whole, and without parentheses."""
    phrases = {guess, re.sub(r"\([^()]*\)", " ", guess)}  # mostly one phrase
    return frozenset(map(normalise, phrases)) - NOT_AN_ANSWER


@lru_cache(maxsize=65536)
def meaning(text: str) -> tuple[str, ...]:
    """The words of a phrase that carry meaning, in Latin letters, in the singular, with numbers in digits.

    >>> meaning("The Twenty-First Amendments of King Louis XIV")
    ('21', 'amendment', 'king', 'loui', '14')
    """
    plain = _marked(html.unescape(text))[0] if any(c in text for c in "<_*&") else text
    if not plain.isascii():
        plain = "".join(anyascii(c) if ord(c) < IDEOGRAPHS else c for c in plain)
    words = _numbers([SPELLED.get(word, word) for word in normalise(plain).split()])
    return tuple(_singular(word) for word in words if word not in FUNCTION_WORDS) or tuple(words)


def _numbers(words: list[str]) -> list[str]:
    """Words with numbers in digits: number words, and Roman numerals behind another word."""
    result: list[str] = []
    total = current = 0
    counting = False
    for place, word in enumerate([*words, ""]):
        if word == "and" and counting and words[place - 1] in SCALES and {*words[place + 1 : place + 2]} & COUNTED:
            continue  # two hundred and six
        if word in UNITS or word in TENS:
            value = UNITS.get(word, TENS.get(word, 0))
            if counting and not (current % 10 == 0 and current and value < 10) and current % 100 != 0:
                result.append(str(total + current))
                total = current = 0
            current, counting = current + value, True
        elif word in SCALES and (counting or word == "hundred"):
            current = max(current, 1) * SCALES[word]
            if SCALES[word] > 100:
                total, current = total + current, 0
            counting = True
        else:
            if counting:
                result.append(str(total + current))
                total, current, counting = 0, 0, False
            if word in ROMAN and result:
                result.append(str(ROMAN[word]))
            elif word:
                result.append(re.sub(r"^(\d+)(?:st|nd|rd|th)$", r"\1", word))
    return result


def _singular(word: str) -> str:
    """A word without the ending of a plural, in the same way for all words that look alike."""
    if len(word) < 4 or not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("shes", "ches", "xes", "zes", "sses")):
        return word[:-2]
    return word if word.endswith(("us", "is")) and len(word) < 6 and not word.endswith("uis") else word[:-1]


# -- lines -----------------------------------------------------------------------------------------------------------------

MARK = re.compile(r"(<[^<>]*>|_+|\*\*)")


def _marked(text: str) -> tuple[str, str, bool]:
    """A phrase without markup, the part that must be said, and whether that is marked.

    What must be said is underlined, or in bold where nothing is underlined and not all is bold.
    """
    underscores = len(re.findall(r"_+", text)) % 2 == 0
    whole: list[str] = []
    underlined: list[str] = []
    bold: list[str] = []
    plain = False
    in_line = in_bold = False
    for piece in MARK.split(text):
        tag = piece.lower()
        if tag in ("<u>", "<req>", "</u>", "</req>"):
            in_line = not tag.startswith("</")
        elif tag in ("<b>", "<strong>", "</b>", "</strong>"):
            in_bold = not tag.startswith("</")
        elif piece.startswith("_") and underscores:
            in_line = not in_line
        elif piece == "**":
            in_bold = not in_bold
        elif not MARK.fullmatch(piece):
            whole.append(piece)
            if in_line:
                underlined.append(piece)
            if in_bold:
                bold.append(piece)
            elif piece.strip(" .,;\"“”'"):
                plain = True
        elif piece.startswith("_"):
            whole.append(" ")
    required = " ".join(underlined) or (" ".join(bold) if plain else "")
    return "".join(whole), required, bool(required.strip())


VERBS: dict[str, Verdict] = {
    "accept": "accept", "or": "accept", "also accept": "accept", "prompt on": "prompt", "prompt": "prompt",
    "anti-prompt on": "prompt", "antiprompt on": "prompt", "anti-prompt": "prompt", "antiprompt": "prompt",
    "reject": "reject", "do not accept": "reject", "do not accept or prompt on": "reject", "do not prompt on": "reject",
    "do not prompt on or accept": "reject", "don't accept": "reject", "don’t accept": "reject",
}  # fmt: skip
VERB = re.compile(rf"(?:{'|'.join(sorted(VERBS, key=len, reverse=True))})\b", re.IGNORECASE)
NOTE = re.compile(rf"\(({VERB.pattern}[^()]*)\)", re.IGNORECASE)  # a note in parentheses
# Instructions to a moderator beside the answer. A guess is graded whatever has been read so far.
ASIDE = re.compile(
    r"\s(?:by asking\b|with\s+[\"\u201c]|(?:until|before|after)\s+(?:[\"\u201c]|.*\b(?:read|said|given|mention(?:ed)?)\s*$)).*$",
    re.IGNORECASE | re.DOTALL,
)
EITHER = re.compile(r"\s*(?:either|any|each|one)\b[^;]*\bunderlined\b", re.IGNORECASE)
LIST = re.compile(r",\s*or\s+|\s+or\s+|,\s+|\s+/\s+|(?<=>)/(?=<)", re.IGNORECASE)
OR = re.compile(r",\s*or\s+|\s+or\s+|\s+/\s+", re.IGNORECASE)


@lru_cache(maxsize=65536)
def parse_answer_line(line: str) -> AnswerLine:
    """Read an answer line; text before the first bracket is the answer, with alternatives after "or" in its brackets."""
    text = " ".join(UNREAD.sub(" ", html.unescape(line)).split())
    head, *notes = re.split(r"[\[\]]", NOTE.sub(r"[\1]", text))
    by_verdict: dict[Verdict, dict[str, None]] = {"accept": {head: None}, "prompt": {}, "reject": {}}
    uncertain: set[tuple[str, ...]] = set()
    alternatives = OR.split(head)
    if len(alternatives) > 1 and all(_marked(part)[2] for part in alternatives):
        by_verdict["accept"].update(dict.fromkeys(alternatives))
    for verdict, phrase in _clauses(";".join(notes)):
        if verdict == "accept" and EITHER.match(phrase):
            by_verdict["accept"].update(dict.fromkeys(re.findall(r"<u>[^<>]*</u>|_[^_]+_", head)))
            continue
        parts, certain = _alternatives(phrase)
        by_verdict[verdict].update(dict.fromkeys([phrase, *(parts if certain else [])]))
        if not certain and verdict == "accept":
            uncertain |= {meaning(part) for part in parts}
    accepted = {phrase: _phrase(phrase) for phrase in by_verdict["accept"]}
    accept, prompt, reject = (frozenset(form for phrase in phrases for form in forms(phrase)) for phrases in by_verdict.values())
    return AnswerLine(
        accept=accept,
        prompt=prompt,
        reject=reject,
        phrases=tuple(phrase for phrase in accepted.values() if phrase.words),
        prompted=frozenset(meaning(phrase) for phrase in by_verdict["prompt"]),
        rejected=frozenset(meaning(phrase) for phrase in by_verdict["reject"]),
        uncertain=frozenset(uncertain),
    )


def _phrase(text: str) -> Phrase:
    whole, required, marked = _marked(re.sub(r"\([^()]*\)", " ", text))
    words = meaning(whole)
    return Phrase(normalise(whole), words, meaning(required) if marked else words, marked)


def _clauses(notes: str) -> Iterator[tuple[Verdict, str]]:
    """(verdict, phrase) for each clause of the notes: ``accept X or Y; prompt on Z by asking "which?"``."""
    for clause in notes.split(";"):
        kept = re.sub(r"</?(?!/?(?:u|b|req|strong)>)[A-Za-z][^<>]*>", "", clause[:LONGEST_CLAUSE], flags=re.IGNORECASE).strip()
        start = VERB.match(kept)
        if start:
            yield VERBS[start.group().lower()], ASIDE.sub("", kept[start.end() :]).strip(" ,")


def _alternatives(phrase: str) -> tuple[list[str], bool]:
    """The phrases of a list, and whether it surely is one: underlining in each, "or", or three and more parts say so."""
    parts = [part for part in LIST.split(phrase) if part.strip()]
    if all(_marked(part)[2] for part in parts):
        return parts, True
    by_or = [part for part in OR.split(phrase) if part.strip()]
    if len(parts) > 2 and len(by_or) > 1:
        return [*parts, *by_or], True
    if len(by_or) > 1:
        return by_or, True
    slashed = phrase.split("/") if "/" in phrase else []
    return (slashed or parts if len(slashed or parts) > 1 else []), False
