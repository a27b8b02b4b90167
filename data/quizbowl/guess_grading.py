"""The rules for grading a guess against a parsed answer line, in time linear in the length of both."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from rapidfuzz import fuzz

from clueline.data.quizbowl.answer_words import KINDS, NUMERALS, TITLES, guess_forms, meaning, with_article

Verdict = Literal["accept", "prompt", "reject"]
Outcome = Literal["accept", "review", "reject"]
MAX_GUESS_LENGTH = 2000  # characters; a longer text is not an answer
MIN_SPELLING_SIMILARITY = 80  # similarity of spelling, 0 to 100, from which a grade is uncertain
SAME = 92  # similarity from which a long word counts as another spelling
LONG_WORD = 9  # characters
SAME_CONSONANTS = 87  # similarity from which a word with the same consonants, at least four, counts as the same
MIN_ABBREVIATION_SHARE = 0.4  # share of an accepted form from which its beginning is an abbreviation that a person should review

AS_WRITTEN = "the answer line has it"
OTHER_FORM = "the answer line has it, ignoring articles, plurals, accents, numbers, titles and order"
REQUIRED = "it has the underlined words, and otherwise only words of the answer line, titles, initials and kinds of things"
INITIALS = "it is the initials of what the answer line has"
OTHER_SPELLING = "it is another spelling of what the answer line has"
TO_PROMPT = "the answer line says to prompt on this"
TO_REJECT = "the answer line says not to accept this"
LACKING = "it lacks underlined words"
NO_ANSWER = "there is no answer"
TOO_LONG = f"it has more than {MAX_GUESS_LENGTH:,} characters, too many for an answer"
NO_MATCH = "the answer line has nothing like it"


class Judgement(NamedTuple):
    """The outcome for a guess, and the rule that decided, worded as the end of a sentence."""

    outcome: Outcome
    rule: str


class Phrase(NamedTuple):
    """One way to give an answer, normalised: the words that carry meaning, and those that a player must say."""

    form: str
    words: tuple[str, ...]
    required: tuple[str, ...]
    marked: bool


@dataclass(frozen=True)
class AnswerLine:
    """A parsed answer line."""

    accept: frozenset[str]  # normalised forms, by the verdict on a guess that equals one of them
    prompt: frozenset[str]
    reject: frozenset[str]
    phrases: tuple[Phrase, ...] = ()
    prompted: frozenset[tuple[str, ...]] = frozenset()  # phrases to prompt on and to reject, as words that carry meaning
    rejected: frozenset[tuple[str, ...]] = frozenset()
    uncertain: frozenset[tuple[str, ...]] = frozenset()  # parts of accepted phrases that may be alternatives: Paris, France
    verbatim: frozenset[str] = frozenset()  # accepted phrases with articles, if the line rejects one with another article
    prompts_on_parts: bool = False

    def grade(self, guess: str | None) -> Verdict:
        """Return the verdict on a guess. ``prompt`` means that a moderator would ask for more; it does not count as right."""
        judgement = self._decide(guess)
        if judgement is None or judgement.outcome == "reject":
            return "reject"
        return "accept" if judgement.outcome == "accept" else "prompt"

    def judge(self, guess: str | None) -> Judgement:
        """Return the outcome for a guess, and why: accept it, reject it, or have a person review it.

        >>> from clueline.data.quizbowl.answer_lines import parse_answer_line
        >>> parse_answer_line("the <u>Apollo</u> program").judge("Apollo programs")
        Judgement(outcome='accept', rule='the answer line has it, ignoring articles, plurals, accents, numbers, titles and order')
        """
        return self._decide(guess) or self._doubt(guess_forms(guess or ""), meaning(guess or ""))

    def _decide(self, guess: str | None) -> Judgement | None:
        if len(guess or "") > MAX_GUESS_LENGTH:
            return Judgement("reject", TOO_LONG)
        guessed = guess_forms(guess or "")
        if not guessed:
            return Judgement("reject", NO_ANSWER)
        words = meaning(guess or "")
        if self.verbatim and with_article(guess or "") in self.verbatim:
            return Judgement("accept", AS_WRITTEN)
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
        if self.prompts_on_parts and any(set(words) < set(phrase.required) for phrase in self.phrases):
            return Judgement("review", TO_PROMPT)
        return None

    def _doubt(self, guessed: frozenset[str], words: tuple[str, ...]) -> Judgement:
        """Decide whether a person should review a guess to which no rule applies; otherwise it is rejected."""
        if words in self.uncertain:
            return Judgement("review", "it is a part of an answer that may be a separate alternative")
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
                # Numbers must agree: World War I is not World War II.
                same_numbers = _digits(words) in (_digits(phrase.words), _digits(phrase.required))
                if same_numbers and any(_is_near(guess, form) for guess in spellings):
                    return Judgement("review", f"it is spelled nearly like {phrase.form!r}")
                least = max(4, MIN_ABBREVIATION_SHARE * len(form))
                if same_numbers and any(form.startswith(guess) and len(guess) >= least for guess in spellings):
                    return Judgement("review", f"it is the beginning of {phrase.form!r}")
        return Judgement("reject", NO_MATCH)


def _digits(words: Iterable[str]) -> list[str]:
    return [word for word in words if word.isdecimal()]


def _is_other_form(words: tuple[str, ...], phrase: Phrase) -> bool:
    """Whether a guess has the words of the phrase or the required ones, apart from titles, spaces and, with 3 or more, order."""
    untitled = tuple(word for word in words if word not in TITLES) or words
    joined = "".join(words)
    if len(words) > 2 and sorted(words) == sorted(phrase.words):
        return True  # the Second World War
    return joined == phrase.form.replace(" ", "") or any(
        wanted and (words == wanted or untitled == wanted or joined == "".join(wanted))
        for wanted in (phrase.words, phrase.required)
    )


def _has_required(words: tuple[str, ...], phrase: Phrase) -> bool:
    """Whether a guess has the required words in order, and no others except words of the phrase, titles, initials and kinds."""
    if not phrase.marked or not phrase.required:
        return False
    remaining = iter(words)
    if not all(any(word == wanted for word in remaining) for wanted in phrase.required):
        return False
    others = [word for word in phrase.words if word not in phrase.required]
    initials = {word[0] for word in others} | {"".join(word[0] for word in others)}
    return set(words) - set(phrase.required) <= {*others, *initials} | TITLES | KINDS


def _is_initials(words: tuple[str, ...], phrase: Phrase) -> bool:
    """Whether a guess consists of the initials of three or more words, and of their numbers: UIUC, WW2, WWII."""
    given = "".join(words)
    if len(phrase.words) < 3 or len(given) < 3 or len(words) - len(_digits(words)) > 1:
        return False
    # With numbers, only these two forms count: WW2 and WWII for World War II.
    every_word = "" if _digits(phrase.words) else "".join(word[0] for word in phrase.form.split())
    digits = "".join(word if word.isdecimal() else word[0] for word in phrase.words)
    numerals = "".join(NUMERALS.get(word, word) if word.isdecimal() else word[0] for word in phrase.words)
    # CITR and TCITR are The Catcher in the Rye, whose form lacks its first article.
    return given in (digits, numerals, every_word, f"t{every_word}")


def _is_other_spelling(words: tuple[str, ...], phrase: Phrase) -> bool:
    """Whether the words of a guess are those of the phrase, except for differences like those of transliterations."""
    return any(len(words) == len(wanted) and all(map(_is_same_word, words, wanted)) for wanted in {phrase.words, phrase.required})


def _is_same_word(given: str, word: str) -> bool:
    """Whether two words are the same, or differ only in a letter or two of many, or in vowels and doubled letters."""
    if given == word:
        return True
    if not (given.isalpha() and word.isalpha()):
        return False
    if min(len(given), len(word)) >= LONG_WORD and given[0] == word[0] and fuzz.ratio(given, word) >= SAME:
        return True
    consonants = _consonants(given)
    return len(consonants) > 3 and consonants == _consonants(word) and fuzz.ratio(given, word) >= SAME_CONSONANTS


def _is_near(guess: str, form: str) -> bool:
    """Whether a person should compare two spellings: they are similar, or have the same consonants, at least four."""
    if fuzz.ratio(guess, form, score_cutoff=MIN_SPELLING_SIMILARITY):
        return True
    consonants = _consonants(guess)
    return len(consonants) > 3 and consonants == _consonants(form)


def _consonants(text: str) -> str:
    return re.sub(r"(.)\1+", r"\1", re.sub(r"[aeiouy\s]+", "", text))


# The rules that accept a guess that the line does not have as written, in the order in which they are tried.
RULES = (
    (OTHER_FORM, _is_other_form), (REQUIRED, _has_required), (OTHER_SPELLING, _is_other_spelling), (INITIALS, _is_initials),
)  # fmt: skip
