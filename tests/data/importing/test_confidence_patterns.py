"""Patterns by which outputs state a confidence: what they match, and that a search takes time in proportion to the output."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.data.importing.column_mapping import BadMapping, read_pattern
from tests.helpers.examples import examples
from tests.helpers.linear_time import assert_linear

WORDS = ["Confidence", "level", "I am", "sure", "Konfidenz", "p", "is", ":", "=", "(", "99", "é"]
NUMBERS = ["85", "0.85", ".5", "1", "100 %", "50%", "7,5", "percent"]
PARTS = [*WORDS, *NUMBERS, " ", "  ", "\n", "*", "**", "_", '"', "`", ".", "-", ")"]
outputs = st.lists(st.sampled_from(PARTS), max_size=14).map(" ".join) | st.lists(st.sampled_from(PARTS)).map("".join)


def backtracking(text):
    """Return the regular expression and the scale that a pattern had when a search could try the same place many times."""
    numbers = {
        "{percent}": (r"(?<![\d.,-])(\d{1,3}(?:[.,]\d+)?)(?![.,]?\d)(?:\s*(?:%|percent))?", 100),
        "{share}": (r"(?<![\d.,-])([01]?[.,]\d+|[01])(?![.,]?\d|\s*%)", 1),
    }
    fill = r"[\s*_\"'`]*"
    parts = re.split(r"(\{\w*\})", text)
    number, scale = numbers[parts[1]]
    before, after = (fill.join(map(re.escape, re.findall(r"\w+|[^\w\s]", part))) for part in (parts[0], parts[2]))
    regex = (rf"\b{before}{fill}" if before else "") + number + (rf"{fill}{after}\b" if after else "")
    return re.compile(regex, re.IGNORECASE), scale


usual_words = st.lists(st.sampled_from(["Confidence", "level", "is", "sure", "I am", "Konfidenz:"]), max_size=3).map(" ".join)


@st.composite
def usual_patterns(draw):
    """Patterns that begin and end with words, or a number, as people write them."""
    before, after = draw(usual_words), draw(usual_words)
    colon = draw(st.sampled_from(["", ":", " =", " is"])) if before else ""
    text = f"{before}{colon} {draw(st.sampled_from(['{percent}', '{share}']))} {after.rstrip(':')}".strip()
    return text if before or after else f"Confidence: {text}"


@given(usual_patterns(), outputs)
@examples(300)
def test_a_pattern_finds_what_the_backtracking_one_found(text, output):
    pattern, (regex, scale) = read_pattern(text), backtracking(text)
    stated = [(match.span(), float(match[1].replace(",", ".")) / scale) for match in regex.finditer(output)]
    matches = [(match.span(), share) for match, share in pattern.matches(output)]
    assert matches == [(place, share) for place, share in stated if share <= 1]


@pytest.mark.parametrize(
    ("text", "output", "share"),
    [
        ("confidence_score: {percent}", "Confidence_Score: 85%", 0.85),
        ("**Confidence**: {percent}", "so, confidence: 85", 0.85),
        ("({percent})", "Paris (85%).", 0.85),
        ("[{share}]", "Paris [0.5]", 0.5),
    ],
)
def test_signs_that_do_not_matter_and_brackets(text, output, share):
    assert read_pattern(text).find(output) == share


@pytest.mark.parametrize("text", ["******{percent}", "_{share}", "\" ' `{percent}", "x" * 94 + "{share}", "{percent}" * 20_000])
def test_a_pattern_has_words_and_is_short(text):
    with pytest.raises(BadMapping, match="is no pattern"):
        read_pattern(text)


ADVERSARIAL = {
    "asterisks": ("*a* *a* *a* {percent}", lambda n: "*a " * n),
    "the same word again": ("a a a a a a a a a a {share}", lambda n: "a  " * n),
    "signs": ("- - - - - - - {percent} - - - -", lambda n: "- " * n),
    "spaces before a number": ("Confidence: {percent}", lambda n: "Confidence:" + " " * n),
    "spaces after a number": ("{percent} percent sure", lambda n: "85" + " " * n),
    "digits": ("{percent} sure", lambda n: "1." + "1" * n),
    "digits of a share": ("{share} sure", lambda n: "0." + "1" * n + " " * n),
    "many numbers": ("{percent} percent percent sure", lambda n: "5 percent " * n),
    "stated many times": ("p={percent}", lambda n: "p=5 " * n),
    "brackets": ("p={percent}", lambda n: "p=5 " + "( " * n),
}


@pytest.mark.parametrize("case", ADVERSARIAL)
def test_a_search_takes_time_in_proportion_to_the_output(case):
    text, output = ADVERSARIAL[case]
    pattern = read_pattern(text)
    assert_linear(lambda long: (pattern.find(long), pattern.without(long)), output)


def test_the_pattern_that_took_25_seconds_for_101_characters():
    with pytest.raises(BadMapping):
        read_pattern("******{percent}")
    assert_linear(read_pattern("*a*b*c*d*{percent}").find, lambda n: "*" * n + "x")
