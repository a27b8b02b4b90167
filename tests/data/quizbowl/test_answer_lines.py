"""What quizbowl's answer lines accept, and which rule decides."""

import time

import pytest

from clueline.data.quizbowl.answer_lines import parse_answer_line
from clueline.data.quizbowl.answer_words import meaning
from clueline.data.quizbowl.guess_grading import (
    AS_WRITTEN,
    INITIALS,
    LACKING,
    NO_ANSWER,
    NO_MATCH,
    OTHER_FORM,
    OTHER_SPELLING,
    REQUIRED,
    TO_PROMPT,
    TO_REJECT,
    TOO_LONG,
)

DISNEY = "Magic Kingdom [accept <u>Walt Disney World</u>, <u>Walt Disney World Resort</u>]"
# Line -> guess -> outcome and rule (None: any rule).
JUDGED = {
    # Guesses that failed when only whole forms were compared.
    DISNEY: {
        "Walt Disney World": ("accept", AS_WRITTEN), "Walt Disney World Resort": ("accept", AS_WRITTEN),
        "the Walt Disney World Resort": ("accept", AS_WRITTEN),
        "Disney World": ("reject", LACKING), "Epcot": ("reject", NO_MATCH),
    },
    "American Flags": {"American flag": ("accept", OTHER_FORM), "Canadian flag": ("reject", None), "flag": ("review", None)},
    "<b>_Apollo_ Mission</b>": {
        "Apollo missions": ("accept", OTHER_FORM), "Apollo": ("accept", AS_WRITTEN), "mission": ("reject", LACKING),
        "Apollo program": ("accept", REQUIRED), "Apollo 11": ("review", None), "Gemini": ("reject", NO_MATCH),
    },
    "University of Illinois at Urbana-Champaign": {
        "University of Illinois Urbana-Champaign": ("accept", OTHER_FORM), "UIUC": ("accept", INITIALS),
        "University of Illinois": ("review", None), "University of Iowa": ("reject", None),
    },
    # Required words.
    "Fyodor Mikhailovich __**Dostoevsky**__": {
        "Dostoevsky": ("accept", AS_WRITTEN), "Fyodor Dostoevsky": ("accept", REQUIRED), "F. M. Dostoevsky": ("accept", REQUIRED),
        "Mr. Dostoevsky": ("accept", OTHER_FORM), "Dostoyevsky": ("accept", OTHER_SPELLING), "Fyodor": ("reject", LACKING),
        "Достоевский": ("accept", OTHER_SPELLING), "Anna Dostoevsky": ("review", None), "Turgenev": ("reject", NO_MATCH),
    },
    "<b><u>Bach</u></b>, Johann Sebastian": {"Johann Bach": ("accept", REQUIRED), "Bach": ("accept", AS_WRITTEN)},
    "Johann Sebastian <b>Bach</b>": {"Bach": ("accept", AS_WRITTEN), "J.S. Bach": ("accept", REQUIRED)},
    "<req>Nile</req> River": {"the River Nile": ("accept", REQUIRED), "River": ("reject", LACKING)},
    # Lists.
    "_Eighty Days_ or _Le Tour du monde_": {"80 Days": ("accept", OTHER_FORM), "Le tour du monde": ("accept", AS_WRITTEN)},
    "attention or self-attention or attention mechanism": {
        "Attention (mechanism)": ("accept", AS_WRITTEN), "self attention": ("accept", AS_WRITTEN),
    },
    "lift/elevator": {"Elevator": ("accept", AS_WRITTEN)}, "AC/DC": {"DC": ("review", None)},
    "A/C": {"C": ("accept", AS_WRITTEN), "b": ("reject", None)},
    "<u>Truth or Dare</u>": {"Truth": ("reject", LACKING)}, "_Face/Off_": {"Face": ("reject", LACKING)},
    "**Face/Off**": {"Face": ("review", None)}, "<b>Truth or Dare</b>": {"Truth": ("review", None)},
    "x [accept New York, Boston, or Chicago]": {"Boston": ("accept", AS_WRITTEN), "New York": ("accept", AS_WRITTEN)},
    "x [accept Paris, France]": {"Paris, France": ("accept", AS_WRITTEN), "Paris": ("review", None), "France": ("review", None)},
    "x [accept AC/DC]": {"AC/DC": ("accept", AS_WRITTEN), "AC": ("review", None)},
    "x [accept <u>colour</u>/<u>color</u>; or hue / tint]": {
        g: ("accept", AS_WRITTEN) for g in ("colour", "color", "hue", "tint")
    },
    "_Romeo_ and _Juliet_ [accept either underlined portion]": {
        "Juliet": ("accept", AS_WRITTEN), "Romeo": ("accept", AS_WRITTEN),
    },
    "_Juliet Capulet_ [accept either name]": {"Juliet": ("accept", AS_WRITTEN), "Capulet": ("accept", AS_WRITTEN)},
    "x [accept reasonable equivalents like “deep sleep” or “torpor”]": {"torpor": ("accept", AS_WRITTEN)},
    # Prompts and rejections.
    "_Blue Whale_s [prompt on partial answers or on “cetaceans”]": {
        "whale": ("review", TO_PROMPT), "cetaceans": ("review", TO_PROMPT), "blue whale": ("accept", None),
        "shark": ("reject", NO_MATCH),
    },
    "_Stranger_ [do not accept or prompt on “The Stranger”]": {
        "Stranger": ("accept", AS_WRITTEN), "The Stranger": ("reject", TO_REJECT),
    },
    "Ann [prompt on Annie by asking “which?”; anti-prompt on Ann Lee; do not accept or prompt on “Anna”; do not prompt on Nan]": {
        "Annie": ("review", TO_PROMPT), "Ann Lee": ("review", TO_PROMPT), "Anna": ("reject", TO_REJECT),
        "Nan": ("reject", TO_REJECT),
    },
    "x [don't accept the Foxes; prompt on wolves with “of what?”]": {
        "fox": ("reject", TO_REJECT), "wolves": ("review", TO_PROMPT),
    },
    # Numbers.
    "Elizabeth II [accept <u>Elizabeth the Second</u>]": {
        "Queen Elizabeth II": ("accept", OTHER_FORM), "Elizabeth the 2nd": ("accept", OTHER_FORM),
        "Elizabeth I": ("reject", NO_MATCH),
    },
    "One Hundred Years of Solitude": {
        "100 Years of Solitude": ("accept", OTHER_FORM), "99 Years of Solitude": ("reject", NO_MATCH),
    },
    "World War II": {
        "WWII": ("accept", INITIALS), "WW2": ("accept", INITIALS), "Second World War": ("accept", OTHER_FORM),
        "WWI": ("reject", NO_MATCH), "World War I": ("reject", NO_MATCH), "World War": ("review", None),
    },
    "Twenty-First Amendment": {"21st Amendment": ("accept", OTHER_FORM), "22nd Amendment": ("reject", NO_MATCH)},
    # Accents, other letters, spelling.
    "São Tomé": {"Sao Tome": ("accept", None), "SÃO TOMÉ": ("accept", AS_WRITTEN)},
    "Łódź": {"Lodz": ("accept", OTHER_FORM)},
    "Saint Petersburg (“PEET-erz-burg”)": {"St. Petersburg": ("accept", OTHER_FORM), "Saint-Petersburg": ("accept", None)},
    "Alexei Kondratyev": {"Aleksey Kondratiev": ("review", None), "Alexei Kondratiev": ("accept", OTHER_SPELLING)},
    "_Mandela_": {"Mandala": ("review", None)},
    "Ba’ath": {"Baath": ("accept", None), "Ba ath": ("accept", OTHER_FORM)},
    "_Wu Di_": {"Wu": ("reject", LACKING), "Wu Di": ("accept", AS_WRITTEN)},
    "mouse": {"mice": ("accept", OTHER_FORM)},
    "_U_nited _S_tates of America": {
        "USA": ("accept", None), "America": ("accept", OTHER_FORM), "South America": ("reject", NO_MATCH),
    },
    "crystallography": {"crystal": ("review", None), "cry": ("reject", NO_MATCH)},
    "Spider-Man": {"Spiderman": ("accept", OTHER_FORM), "Spider-Men": ("accept", OTHER_FORM)},
    "George H. W. Bush": {"George W. Bush": ("review", None)},
    "&lt;u&gt;Paris&lt;/u&gt;, France": {"Paris": ("accept", AS_WRITTEN)},
    # Guesses that are no answer.
    "Paris": {"": ("reject", NO_ANSWER), None: ("reject", NO_ANSWER), "ERROR": ("reject", NO_ANSWER),
              "Paris " * 500: ("reject", TOO_LONG),
              "<u>Paris</u> or London": ("review", None), "**Paris**": ("accept", AS_WRITTEN)},
}  # fmt: skip


@pytest.mark.parametrize(("line", "guess"), [(line, guess) for line, guesses in JUDGED.items() for guess in guesses])
def test_judgement(line, guess):
    outcome, rule = JUDGED[line][guess]
    parsed = parse_answer_line(line)
    judgement, grade = parsed.judge(guess), parsed.grade(guess)
    assert judgement.outcome == outcome, judgement
    assert rule is None or judgement.rule == rule
    assert (judgement.outcome == "accept", judgement.rule == TO_PROMPT) == (grade == "accept", grade == "prompt")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the Of", ("of",)), ("Henry V", ("henry", "5")), ("V", ("v",)), ("two hundred and six bones", ("206", "bone")),
        ("three thousand", ("3000",)), ("forty two", ("42",)), ("nineteen eighty four", ("19", "84")), ("glass", ("glass",)),
        ("Berries and buses", ("berry", "buse")), ("Ελλάδα", ("ellada",)), ("東京", ("東京",)),
    ],
)  # fmt: skip
def test_words_that_carry_meaning(text, words):
    assert meaning(text) == words


@pytest.mark.parametrize(
    "part",
    ["<", "(", "[", "_", "**", "<u>", "</u>", "; accept ", "(accept ", " or ", ", ", "/", " until ", " before ", "with “", "a ",
     " ", "&", "<b>x</b>", "II ", "twenty ", "accept [", "(“", "\t or"],
)  # fmt: skip
def test_long_lines_and_guesses_take_linear_time(part):
    text = part * (200_000 // len(part))
    start = time.process_time()
    parse_answer_line(f"x{text}").judge("Paris")
    parse_answer_line("x").judge(text)
    assert time.process_time() - start < 5
