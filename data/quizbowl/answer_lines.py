"""Parses the answer lines of quizbowl; ``guess_grading`` grades a guess against a parsed line.

A line gives the answer, then in brackets what else to accept, prompt on or reject, as in
``<b><u>Frankenstein</u></b> [accept The Modern Prometheus; prompt on Shelley's novel]``. Everything here takes time linear in the
length of a line.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import lru_cache

from clueline.data.quizbowl.answer_words import forms, meaning, normalise, parse_markup, with_article
from clueline.data.quizbowl.guess_grading import AnswerLine, Phrase, Verdict
from clueline.data.quizbowl.question_words import NOT_READ_ALOUD

MAX_CLAUSE_LENGTH = 2000  # characters; the rest is cut off
VERBS: dict[str, Verdict] = {
    "accept": "accept", "or": "accept", "also accept": "accept", "prompt on": "prompt", "prompt": "prompt",
    "anti-prompt on": "prompt", "antiprompt on": "prompt", "anti-prompt": "prompt", "antiprompt": "prompt",
    "reject": "reject", "do not accept": "reject", "do not accept or prompt on": "reject", "do not prompt on": "reject",
    "do not prompt on or accept": "reject", "don't accept": "reject", "don’t accept": "reject",
}  # fmt: skip
VERB = re.compile(rf"(?:{'|'.join(sorted(VERBS, key=len, reverse=True))})\b", re.IGNORECASE)
NOTE = re.compile(rf"\(({VERB.pattern}[^()]*)\)", re.IGNORECASE)  # a note in parentheses
# Instructions to a moderator next to an answer. They are dropped: grades do not depend on how much has been read.
ASIDE = re.compile(
    r"\s(?:by asking\b|with\s+[\"\u201c]|(?:until|before|after)\s+(?:[\"\u201c]|.*\b(?:read|said|given|mention(?:ed)?)\s*$)).*$",
    re.IGNORECASE | re.DOTALL,
)
EITHER = re.compile(
    r"\s*(?:either|any|each|one)\b(?:[^;]*\bunderlined\b|\s+(?:of\s+the\s+)?(?:names?|words?|parts?|portions?|half)\s*$)",
    re.IGNORECASE,
)
PARTS = re.compile(
    r"\s*(?:on\s+)?(?:an?y?\s+)?(?:partial|incomplete)\s+(?:answers?|names?)\b(?:\s*(?:,|or|and)\s*(?:on\s)?)*", re.IGNORECASE
)
LIKE = re.compile(
    r"\s*(?:(?:any|other|obvious|reasonable|clear|similar)\s+)*(?:equivalents?|synonyms?|answers?|descriptions?|word\s+forms?)\s+"
    r"(?:like|such\s+as|including|of)\s",
    re.IGNORECASE,
)
LIST = re.compile(r",\s*or\s+|\s+or\s+|,\s+|\s+/\s+|(?<=>)/(?=<)", re.IGNORECASE)
OR = re.compile(r",\s*or\s+|\s+or\s+|\s+/\s+", re.IGNORECASE)
PLAIN_OR = re.compile(rf"{OR.pattern}|(?<=\w\w\w)/(?=\w\w\w)", re.IGNORECASE)  # not "AC/DC"


LETTERS = re.compile(r"[A-E](?:/[A-E])+")  # of options, all of them right


@lru_cache(maxsize=65536)
def parse_answer_line(line: str) -> AnswerLine:
    """Parse an answer line.

    The text before the first bracket is the answer. It can be alternatives, separated by "or" or a slash, if all of them are
    marked, or the text has no markup: where only some words are marked, "or" can be part of a title.
    """
    text = " ".join(NOT_READ_ALOUD.sub(" ", html.unescape(line)).split())
    head, *notes = re.split(r"[\[\]]", NOTE.sub(r"[\1]", text))
    by_verdict: dict[Verdict, dict[str, None]] = {"accept": {head: None}, "prompt": {}, "reject": {}}
    uncertain: set[tuple[str, ...]] = set()
    plain = parse_markup(head)[0].strip() == head.strip()
    alternatives = head.split("/") if LETTERS.fullmatch(head.strip()) else (PLAIN_OR if plain else OR).split(head)
    if len(alternatives) > 1 and (plain or all(parse_markup(part)[2] for part in alternatives)):
        by_verdict["accept"].update(dict.fromkeys(alternatives))
    prompts_on_parts = False
    for verdict, clause in _clauses(";".join(notes)):
        phrase = LIKE.sub("", clause, count=1) if LIKE.match(clause) else clause
        if verdict == "accept" and EITHER.match(phrase):
            underlined = re.findall(r"<u>[^<>]*</u>|_[^_]+_", head)
            by_verdict["accept"].update(dict.fromkeys(underlined if len(underlined) > 1 else meaning(parse_markup(head)[1])))
            continue
        if verdict == "prompt" and PARTS.match(phrase):
            prompts_on_parts = True
            phrase = PARTS.sub("", phrase, count=1)
        parts, certain = _alternatives(phrase)
        by_verdict[verdict].update(dict.fromkeys([phrase, *(parts if certain else [])]))
        if not certain and verdict == "accept":
            uncertain |= {meaning(part) for part in parts}
    accepted = {phrase: _phrase(phrase) for phrase in by_verdict["accept"]}
    accept, prompt, reject = (frozenset(form for phrase in phrases for form in forms(phrase)) for phrases in by_verdict.values())
    rejected = {with_article(parse_markup(phrase)[0]) for phrase in by_verdict["reject"]}
    return AnswerLine(
        accept=accept,
        prompt=prompt,
        reject=reject,
        phrases=tuple(phrase for phrase in accepted.values() if phrase.words),
        prompted=frozenset(meaning(phrase) for phrase in by_verdict["prompt"]),
        rejected=frozenset(meaning(phrase) for phrase in by_verdict["reject"]),
        uncertain=frozenset(uncertain),
        verbatim=frozenset(with_article(parse_markup(phrase)[0]) for phrase in by_verdict["accept"]) - rejected
        if accept & reject
        else frozenset(),
        prompts_on_parts=prompts_on_parts,
    )


def _phrase(text: str) -> Phrase:
    whole, required, marked = parse_markup(re.sub(r"\([^()]*\)", " ", text))
    words = meaning(whole)
    return Phrase(normalise(whole), words, meaning(required) if marked else words, marked)


def _clauses(notes: str) -> Iterator[tuple[Verdict, str]]:
    """Yield (verdict, phrase) for each clause of the notes: ``accept X or Y; prompt on Z by asking "which?"``."""
    for clause in notes.split(";"):
        kept = re.sub(r"</?(?!/?(?:u|b|req|strong)>)[A-Za-z][^<>]*>", "", clause[:MAX_CLAUSE_LENGTH], flags=re.IGNORECASE).strip()
        start = VERB.match(kept)
        if start:
            yield VERBS[start.group().lower()], ASIDE.sub("", kept[start.end() :]).strip(" ,")


def _alternatives(phrase: str) -> tuple[list[str], bool]:
    """Return the phrases of a list, and whether it certainly is one: a part of each is marked, or "or" or " / " separates them.

    Only commas, or slashes without spaces, leave it uncertain.
    """
    parts = [part for part in LIST.split(phrase) if part.strip()]
    if all(parse_markup(part)[2] for part in parts):
        return parts, True
    by_or = [part for part in OR.split(phrase) if part.strip()]
    if len(parts) > 2 and len(by_or) > 1:
        return [*parts, *by_or], True
    if len(by_or) > 1:
        return by_or, True
    slashed = phrase.split("/") if "/" in phrase else []
    return (slashed or parts if len(slashed or parts) > 1 else []), False
