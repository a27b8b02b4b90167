"""The words of an answer: which carry meaning, and which a player must say: the underlined (``<u>X</u>``, ``_X_``,
``__**X**__``).

Everything here takes time linear in the length of a text.
"""

from __future__ import annotations

import html
import re
import unicodedata
from functools import lru_cache

from anyascii import anyascii

NOT_AN_ANSWER = frozenset({"", "error"})  # an empty guess, and the mark of a failed call
IDEOGRAPHS = 0x2E80  # from this code point on, characters are not letters of a word, and are not transliterated

FUNCTION = "a an the of at in on to and for by with from de la le les el los las der die das du des di"
TITLE = """king queen emperor empress president prime minister sir dame saint lord lady pope prince princess duke duchess count
    countess general admiral captain colonel doctor mr mrs ms miss professor reverend tsar czar sultan chancellor senator"""
CARDINAL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen"""
ORDINAL = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
TEN = "twenty thirty forty fifty sixty seventy eighty ninety"
# Words that say what kind of thing an answer is.
KIND = """program project mission novel book poem play film movie painting opera symphony song album band series show game river
    lake sea ocean mountain island city town country nation state province region war battle revolution empire dynasty kingdom
    treaty people language religion theorem theory law equation effect constant reaction process method model test disease
    syndrome award prize company university"""
NUMERAL = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx xxi xxii xxiii"

FUNCTION_WORDS, TITLES, KINDS = frozenset(FUNCTION.split()), frozenset(TITLE.split()), frozenset(KIND.split())
SPELLED = {"st": "saint", "mt": "mount", "ft": "fort", "dr": "doctor"} | {
    "men": "man", "women": "woman", "children": "child", "mice": "mouse", "feet": "foot", "teeth": "tooth", "geese": "goose",
    "oxen": "ox", "dice": "die", "wolves": "wolf", "leaves": "leaf", "knives": "knife", "lives": "life", "wives": "wife",
    "thieves": "thief", "halves": "half", "calves": "calf", "elves": "elf", "bacteria": "bacterium", "fungi": "fungus",
    "nuclei": "nucleus", "phenomena": "phenomenon", "mitochondria": "mitochondrion", "vertices": "vertex", "indices": "index",
}  # fmt: skip
# Whole phrases that name the same thing, as ``meaning`` gives them.
SYNONYMS = {
    tuple(name.split()): (names[0],)
    for names in (
        ("us", "usa", "united state", "united state america", "america"),
        ("uk", "united kingdom"),
        ("ussr", "soviet union", "union soviet socialist republic"),
        ("uae", "united arab emirate"),
        ("un", "united nation"),
    )
    for name in names
}
UNITS = {word: n for n, word in enumerate(CARDINAL.split())} | {word: n for n, word in enumerate(ORDINAL.split(), start=1)}
TENS = {word: 10 * n for n, word in enumerate(TEN.split(), start=2)}
COUNTED = UNITS.keys() | TENS.keys()
SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
ROMAN = {word: n for n, word in enumerate(NUMERAL.split(), start=1)}
NUMERALS = {str(n): word for word, n in ROMAN.items()}


def normalise(text: str) -> str:
    """Return a text in lower case with single spaces and joined initials: no accents, markup, punctuation or leading article."""
    return re.sub(r"^(the|an?)\s+(?=\S)", "", with_article(text))


def with_article(text: str) -> str:
    """Return what `normalise` gives, with the leading article: some lines accept a title with one article and reject another."""
    text = re.sub(r"<[^<>]*>", "", text)
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    text = text.casefold()
    text = re.sub(r"['\u2019`]", "", text.replace("&", " and "))
    text = " ".join(re.sub(r"[^\w\s]|_", " ", text).split())
    return re.sub(r"\b([^\W\d]) (?=[^\W\d]\b)", r"\1", text)  # U.S., U. S. and US become the same


def forms(text: str) -> frozenset[str]:
    """Return the normalised forms of a phrase: the whole, without parentheses, and only the part that must be said."""
    whole, required, _ = parse_markup(text)
    return guess_forms(whole) | ({normalise(required)} - NOT_AN_ANSWER)


def guess_forms(guess: str) -> frozenset[str]:
    """Return the normalised forms of a guess: the whole, and without parentheses. Empty for no answer and failed calls."""
    phrases = {guess, re.sub(r"\([^()]*\)", " ", guess)}  # usually the same phrase twice
    return frozenset(map(normalise, phrases)) - NOT_AN_ANSWER


@lru_cache(maxsize=65536)
def meaning(text: str) -> tuple[str, ...]:
    """Return the words of a phrase that carry meaning, in Latin letters, in the singular, with numbers in digits.

    >>> meaning("The Twenty-First Amendments of King Louis XIV")
    ('21', 'amendment', 'king', 'loui', '14')
    """
    plain = parse_markup(html.unescape(text))[0] if any(c in text for c in "<_*&") else text
    if not plain.isascii():
        plain = "".join(anyascii(c) if ord(c) < IDEOGRAPHS else c for c in plain)
    words = _numbers([SPELLED.get(word, word) for word in normalise(plain).split()])
    # The last word is always kept: it is part of a name, as in Zhu Di.
    kept = tuple(_singular(word) for word in words[:-1] if word not in FUNCTION_WORDS) + tuple(map(_singular, words[-1:]))
    return SYNONYMS.get(kept, kept)


def _numbers(words: list[str]) -> list[str]:
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
    """Return a word without a plural ending. Words that only look like a plural lose it as well, always in the same way."""
    if len(word) < 4 or not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    if word.endswith(("shes", "ches", "xes", "zes", "sses")):
        return word[:-2]
    return word if word.endswith(("us", "is")) and len(word) < 6 and not word.endswith("uis") else word[:-1]


MARK = re.compile(r"(<[^<>]*>|_+|\*\*)")


def parse_markup(text: str) -> tuple[str, str, bool]:
    """Return a phrase without markup, the part that must be said, and whether such a part is marked.

    The part is underlined or, if nothing is, in bold, unless the whole phrase is bold.
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
