"""The words of a question, as a moderator reads them and a buzz counts them.

Words are separated by ordinary white space; a non-breaking space joins two. Text that is not read aloud does not count: HTML
tags, power marks such as ``(*)``, directions to the moderator such as ``[emphasize]``, and pronunciation guides such as
``("KAY-lee")``. MODAQ numbers words in this way.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import NamedTuple

from sentencex import get_sentence_boundaries

# Each pattern takes linear time: no attempt can start within text that another one has passed over, apart from 80 characters.
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
POWER_MARK = r"\(\*\)|\(\+\)|\[\*\]|\{\*\}"
NOT_READ_ALOUD = re.compile(
    rf"""{POWER_MARK}
    |\(\s*["“”„][^()]*["“”]\s*\)|\[\s*["“”„][^\[\]]*["“”]\s*\]               # pronunciation guides
    |\[\s*(?:emphasi[sz]e|stress|pause|read|slowly|spell|pronounced?|say|note\ to|(?:moderator|reader)s?)\b[^\[\]]{{0,80}}\]
    |\(\s*(?:emphasi[sz]e|pause|read\ slowly)\s*\)""",
    re.IGNORECASE | re.VERBOSE,
)
WHITE_SPACE = r"[^\S\u00a0\u2007\u202f]"  # all white space except the spaces that join words
WORD = re.compile(r"(?:\S|[\u00a0\u2007\u202f])+")
# For DuckDB, whose ``\S`` knows only the white space of ASCII: matches texts whose words are not simply separated by it.
IRREGULAR = r"[<(\[{\x{0B}\x{1C}-\x{1F}\x{85}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{205F}\x{3000}]"


class Word(NamedTuple):
    """A piece of text between white space, unchanged. ``end`` is exclusive. Only pieces that are read aloud count as words."""

    text: str
    start: int
    end: int
    counts: bool


def words(text: str, stated: int | None = None) -> list[Word]:
    """Split a text at white space into pieces, read aloud or not.

    If the number ``stated`` in its file is that of all pieces, the file also counts what is not read, and so does this function.

    >>> [word.text for word in words('This <i>city</i> (“SIT-ee”) on the&nbsp;Seine (*) is') if word.counts]
    ['This', '<i>city</i>', 'on', 'the&nbsp;Seine', 'is']
    """
    # Tags are part of a word, even with white space in them; they become characters that are neither white space nor read.
    shadow = TAG.sub(lambda match: "\0" * len(match.group()), text)
    pieces = [match.span() for match in WORD.finditer(shadow)]
    if stated is not None and stated == len(pieces):
        return [Word(text[start:end], start, end, True) for start, end in pieces]
    shadow = NOT_READ_ALOUD.sub(lambda match: re.sub(r"\S", "\1", match.group()), shadow)
    return [Word(text[start:end], start, end, shadow[start:end].lstrip("\0")[:1] not in ("", "\1")) for start, end in pieces]


def count_words(text: str) -> int:
    """Count the words of a text that are read aloud."""
    return sum(word.counts for word in words(text))


def words_in_power(text: str, stated: int | None = None) -> int | None:
    """Count the words before the first power mark: a correct buzz at one of them earns a power. None without a mark."""
    mark = re.search(POWER_MARK, text)
    if mark is None:
        return None
    return sum(word.counts and word.start < mark.start() for word in words(text, stated))


def plain_text(raw: str) -> str:
    r"""Return a text without HTML tags and entities, with single spaces. It has the same words.

    >>> plain_text('<em>Note</em>:  Tom&nbsp;&amp; Jerry (*)')
    'Note: Tom\xa0& Jerry (*)'
    """
    text = html.unescape(TAG.sub("", raw)).encode("utf-8", "replace").decode()  # replaces lone surrogates
    return re.sub(f"{WHITE_SPACE}+", " ", text).strip(" ")


def sentences(text: str) -> list[str]:
    """Split a text into sentences, but not after initials and common abbreviations or within text that is not read.

    Each sentence has a word that counts. Together they have the same number of words as the text, if white space separates them.
    """
    pieces = words(text)
    unread = [match.span() for match in NOT_READ_ALOUD.finditer(text)]
    result: list[str] = []
    start = piece = guide = 0
    for boundary in get_sentence_boundaries("en", text):
        end = boundary["end_index"]
        while guide < len(unread) and unread[guide][1] <= end:
            guide += 1
        if guide < len(unread) and unread[guide][0] < end:
            continue
        has_words = False
        while piece < len(pieces) and pieces[piece].start < end:
            has_words = has_words or pieces[piece].counts
            piece += 1
        if has_words:
            result.append(text[start:end])
        elif result:
            result[-1] = f"{result[-1]}{text[start:end]}"
        else:
            continue
        start = end
    if result:
        result[-1] += text[start:]
    else:
        result = [text]
    return [sentence.strip() for sentence in result if sentence.strip()]


def cut(text: str, ends: Iterable[int], stated: int | None = None) -> list[str]:
    """Cut a text into parts with single spaces that end after given numbers of words, ascending.

    Text that is not read stays with the word before it.

    >>> cut('one two (“TOO”) three four', [2, 3])
    ['one two (“TOO”)', 'three']
    """
    pieces = words(text, stated)
    starts = [index for index, word in enumerate(pieces) if word.counts]
    parts, first = [], 0
    for end in ends:
        last = starts[end] if end < len(starts) else len(pieces)
        parts.append(" ".join(word.text for word in pieces[first:last]))
        first = max(first, last)
    return parts
