# ruff: noqa: E501
"""Malformed and hostile files, made by code: what each is called, its bytes, and what must come of it.

A case maps to (file name, bytes or a function that makes them, expectation). The expectation is either part of the reason for
which the file is refused, or the answers that come of it: (question, clue, guess, confidence), in order of question and clue.
"""

import bz2
import gzip
import io
import json
import lzma
import pickle
import random
import sqlite3
import stat
import struct
import tarfile
import warnings
import zipfile
from datetime import date, datetime, timedelta
from decimal import Decimal

import polars as pl

from data.importing.table_files import zstd
from tests.helpers import bundle_factory as bundles

H = "question_id,clue,guess,confidence\n"
ROWS = "q1,0,Rome,0.25\nq1,1,Paris,0.5\nq2,1,Nile,0.75\n"
GOOD = (H + ROWS).encode()
TAKEN = [("q1", 0, "Rome", 0.25), ("q1", 1, "Paris", 0.5), ("q2", 1, "Nile", 0.75)]
LINES = "".join(json.dumps({"question_id": q, "clue": c, "guess": g, "confidence": p}) + "\n" for q, c, g, p in TAKEN).encode()
MANY = H.encode() + b"q1,0,Rome,0.25\n" * 4000
MAX_UNPACKED_BYTES = 4 * 2**20  # bytes to which these files may unpack
BUNDLE = {
    "dataset.json": json.dumps(bundles.FACTS),
    "questions.csv": bundles.QUESTIONS,
    "clues.csv": bundles.CLUES,
    "responses/run.csv": GOOD,
}


def parquet(*, compression="zstd", **columns):
    """A Parquet file of these columns."""
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out, compression=compression)
    return out.getvalue()


PARQUET = parquet(question_id=["q1", "q1", "q2"], clue=[0, 1, 1], guess=["Rome", "Paris", "Nile"], confidence=[0.25, 0.5, 0.75])


def parquet_row(**columns):
    """A Parquet file of one answer, some of whose columns are these."""
    return parquet(**({"question_id": ["q1"], "clue": [0], "guess": ["Rome"], "confidence": [0.25]} | columns))


def zipped(files, method=zipfile.ZIP_DEFLATED):
    """A zip of names, or ZipInfos, and what is in them."""
    out = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(out, "w", method) as archive:  # of names that stand twice
        for name, content in files.items() if isinstance(files, dict) else files:
            archive.writestr(name, content)
    return out.getvalue()


def renamed(content, old, new):
    """A zip with the name of a member replaced by another of the same length, which zipfile would not write."""
    assert len(old) == len(new) and content.count(old) == 2
    return content.replace(old, new)


def with_flags(content, flags=None, method=None):
    """A zip whose first member says something else of itself in both of its headers."""
    local, central = content.index(b"PK\x03\x04"), content.index(b"PK\x01\x02")
    made = bytearray(content)
    for at in (local + 6, central + 8):
        if flags is not None:
            made[at : at + 2] = struct.pack("<H", flags)
        if method is not None:
            made[at + 2 : at + 4] = struct.pack("<H", method)
    return bytes(made)


def understated(content, claimed):
    """A zip whose only member unpacks to more than it says."""
    at = content.index(b"PK\x01\x02") + 24
    return content[:at] + struct.pack("<I", claimed) + content[at + 4 :]


def link(name, target):
    """A symbolic link as a member of a zip."""
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    return info, target


def tarred(name, content):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return out.getvalue()


def sqlite():
    with sqlite3.connect(":memory:") as database:
        database.execute("create table t (question_id, confidence)")
        return database.serialize()


def arrow(form):
    out = io.BytesIO()
    frame = pl.DataFrame({"question_id": ["q1"], "confidence": [0.5]})
    {"ipc": frame.write_ipc, "stream": frame.write_ipc_stream, "avro": frame.write_avro}[form](out)
    return out.getvalue()


def footer(size, middle=b"\0" * 64):
    """What calls itself Parquet, with a footer of some size."""
    return b"PAR1" + middle + struct.pack("<I", size) + b"PAR1"


def noise(count, seed=1):
    return random.Random(seed).randbytes(count)


def row(guess="Rome", confidence="0.25", question="q1", clue="0"):
    """A CSV of one answer, its cells as they are."""
    return f"{H}{question},{clue},{guess},{confidence}\n".encode()


def quoted(guess):
    return row('"' + guess.replace('"', '""') + '"')


def wide(count, ours=True):
    """A CSV with very many columns."""
    extra = [f"c{index}" for index in range(count)]
    names = ["question_id", "clue", "guess", "confidence", *extra] if ours else extra
    return f"{','.join(names)}\n{','.join(['q1', '0', 'Rome', '0.25'] * ours + ['x'] * count)}\n".encode()


def line(**more):
    return (json.dumps({"question_id": "q1", "clue": 0, "guess": "Rome", "confidence": 0.25} | more) + "\n").encode()


def raw(text):
    """A line of JSON whose confidence, and what follows, is this text."""
    return f'{{"question_id": "q1", "clue": 0, "guess": "Rome", "confidence": {text}}}\n'.encode()


ONE = [("q1", 0, "Rome", 0.25)]


def stored(guess):
    """The answer that a guess becomes."""
    return [("q1", 0, guess, 0.25)]


NOT_UTF8 = "the text is not UTF-8"
UNKNOWN = "the format is not recognised"
DAMAGED = "damaged or cut short"
NUMBER = "must be a number"
FINITE = "must be a finite number"
RANGE = "must lie in [0, 1]"
WHOLE = "must be a whole number"
LEADS_OUT = "a path that leads out of it"
TOO_LARGE = "unpacks to more than 4 MiB"

Case = tuple
CASES: dict[str, Case] = {}


def add(group, cases):
    for name, (file, content, expected) in cases.items():
        case = f"{group}: {name}"
        assert case not in CASES
        CASES[case] = (file, content, expected)


# -- cut short -------------------------------------------------------------------------------------------------------

for _form, _whole in {
    "run.parquet": PARQUET, "run.csv.gz": gzip.compress(MANY, mtime=0), "run.csv.zst": zstd.compress(MANY), "toy.zip": zipped(BUNDLE),
    "run.parquet.gz": gzip.compress(PARQUET, mtime=0),
}.items():  # fmt: skip
    add(
        "cut short",
        {
            f"{_form} after {part:.0%}": (_form, _whole[: max(5, int(len(_whole) * part))], DAMAGED)
            for part in (0.01, 0.2, 0.5, 0.8, 0.99)
        },
    )
add("cut short", {
    "csv in a row": ("run.csv", GOOD[:-12], "2 fields where the header has 4"),
    "csv in the last cell": ("run.csv", GOOD[:-3], [*TAKEN[:2], ("q2", 1, "Nile", 0.0)]),
    "csv before the last line end": ("run.csv", GOOD[:-1], TAKEN),
    "csv in the header": ("run.csv", GOOD[:18], "one of confidence, token_logprobs and options is required"),
    "csv in a quote": ("run.csv", H.encode() + b'q1,0,"Ro', "a quoted field is not closed"),
    "jsonl in an object": ("run.jsonl", LINES[:-9], "this line is not a JSON object"),
    "jsonl before the last line end": ("run.jsonl", LINES[:-1], TAKEN),
    "utf-8 in a letter": ("run.csv", H.encode() + "q1,0,é".encode()[:-1], NOT_UTF8),
})  # fmt: skip

# -- encodings -------------------------------------------------------------------------------------------------------

ACCENT = H + "q1,0,Orléans,0.25\n"
add("encoding", {
    **{f"{name}": ("run.csv", ACCENT.encode(name), NOT_UTF8) for name in ("latin-1", "cp1252", "cp850", "mac-roman", "utf-16", "utf-32")},
    "utf-16-le without a mark": ("run.csv", ACCENT.encode("utf-16-le"), NOT_UTF8),
    "utf-16-be without a mark": ("run.csv", ACCENT.encode("utf-16-be"), NOT_UTF8),
    "utf-16 of ASCII alone": ("run.csv", GOOD.decode().encode("utf-16-le"), "UTF-16"),
    "utf-32-le without a mark": ("run.csv", GOOD.decode().encode("utf-32-le"), "UTF-16"),
    "utf-16 of JSON": ("run.jsonl", LINES.decode().encode("utf-16"), NOT_UTF8),
    "utf-16 of JSON without a mark": ("run.jsonl", LINES.decode().encode("utf-16-le"), "UTF-16"),
    "shift-jis": ("run.csv", (H + "q1,0,東京,0.25\n").encode("shift-jis"), NOT_UTF8),
    "gb18030": ("run.csv", (H + "q1,0,北京,0.25\n").encode("gb18030"), NOT_UTF8),
    "koi8-r": ("run.csv", (H + "q1,0,Москва,0.25\n").encode("koi8-r"), NOT_UTF8),
    "utf-7 is ASCII": ("run.csv", (H + "q1,0,Orl+AOk-ans,0.25\n").encode(), stored("Orl+AOk-ans")),
    "ebcdic": ("run.csv", ACCENT.encode("cp500"), NOT_UTF8),
    "a mark": ("run.csv", b"\xef\xbb\xbf" + GOOD, TAKEN),
    "a mark before JSON": ("run.jsonl", b"\xef\xbb\xbf" + LINES, TAKEN),
    "a mark, twice": ("run.csv", b"\xef\xbb\xbf" * 2 + GOOD, "question_id"),
    "a mark before quotes": ("run.csv", b'\xef\xbb\xbf"question_id","clue","guess","confidence"\n"q1","0","Rome","0.25"\n', ONE),
    "a mark in the middle": ("run.csv", row("\ufeffRome"), stored("\ufeffRome")),
    "a mark alone": ("run.csv", b"\xef\xbb\xbf", "the first line is blank"),
    "a mark in gzip": ("run.csv.gz", gzip.compress(b"\xef\xbb\xbf" + GOOD), TAKEN),
    "overlong": ("run.csv", H.encode() + b"q1,0,\xc0\xaf,0.25\n", NOT_UTF8),
    "surrogates": ("run.csv", H.encode() + b"q1,0,\xed\xa0\x80,0.25\n", NOT_UTF8),
    "beyond Unicode": ("run.csv", H.encode() + b"q1,0,\xf4\x90\x80\x80,0.25\n", NOT_UTF8),
    "in a column that nobody reads": ("run.csv", b"question_id,clue,guess,confidence,note\nq1,0,Rome,0.25,\xff\n", NOT_UTF8),
    "in the header": ("run.csv", b"question_id,clue,guess,confidence,\xff\nq1,0,Rome,0.25,x\n", NOT_UTF8),
    "far down": ("run.csv", MANY + b"q1,1,\xff,0.5\n", "line 4002"),
    "far down in gzip": ("run.csv.gz", gzip.compress(MANY + b"q1,1,\xff,0.5\n"), "line 4002"),
    "in JSON": ("run.jsonl", b'{"question_id": "q1", "clue": 0, "guess": "\xff", "confidence": 0.25}\n', NOT_UTF8),
    "in a key of JSON": ("run.jsonl", b'{"question_id": "q1", "clue": 0, "confidence": 0.25, "\xff": 1}\n', NOT_UTF8),
    "in Parquet": ("run.parquet", parquet_row(guess=[b"\xff\xfe"]), "is not valid UTF8"),
    "composed and decomposed": ("run.csv", row("e\u0301").replace(b"\n", b"\r\n"), stored("e\u0301")),
})  # fmt: skip

# -- shape -----------------------------------------------------------------------------------------------------------

add("shape", {
    "10,000 columns": ("run.csv", lambda: wide(10_000), ONE),
    "10,000 columns, none ours": ("run.csv", lambda: wide(10_000, ours=False), UNKNOWN),
    "10,000 columns of one name": ("run.csv", (H.strip() + ",x" * 10_000 + "\nq1,0,Rome,0.25" + ",y" * 10_000 + "\n").encode(), ONE),
    "10,000 keys": ("run.jsonl", lambda: line(**{f"k{index}": index for index in range(10_000)}), ONE),
    "10,000 columns of Parquet": ("run.parquet", lambda: parquet_row(**{f"c{index}": [index] for index in range(10_000)}), ONE),
    "a header of 2 MB": ("run.csv", b"question_id,clue,confidence," + b"x" * 2_000_000 + b"\nq1,0,0.5,\n", "does not end"),
    "a cell of 1 MB": ("run.csv", lambda: row("x" * 2**20), stored("x" * 2**20)),
    "a cell of 17 MB": ("run.csv", lambda: row("x" * 17 * 2**20), "longer than 16 MiB"),
    "a quoted cell of 17 MB": ("run.csv", lambda: quoted("x" * 17 * 2**20), "longer than 16 MiB"),
    "a line of JSON of 17 MB": ("run.jsonl", lambda: line(guess="x" * 17 * 2**20), "longer than 16 MiB"),
    "a row of a million commas": ("run.csv", H.encode() + b"," * 1_000_000 + b"\n", "a value is required here"),
    "very many columns": ("run.csv", lambda: wide(16_384), "more than 16,384 columns"),
    "a million short rows": ("run.csv", lambda: H.encode() + b"q1\n" * 1_000_000, "1 field where the header has 4"),
    "a million blank lines": ("run.csv", GOOD + b"\n" * 1_000_000, TAKEN),
    "a million empty objects": ("run.jsonl", lambda: LINES + b"{}\n" * 200_000, "a value is required here"),
    "a quote open over 5 MB": ("run.csv", lambda: H.encode() + b'q1,0,"' + b"q1,0,Rome,0.25\n" * 350_000, "a quoted field is not closed"),
    "empty": ("run.csv", b"", "the file is empty"),
    "one byte": ("run.csv", b"x", UNKNOWN),
    "a line end": ("run.csv", b"\n", "the first line is blank"),
    "white space": ("run.csv", b"  \t \n \n", "the first line is blank"),
    "a header": ("run.csv", H.encode(), "there are no rows below the header"),
    "a header without its line end": ("run.csv", H.strip().encode(), "there are no rows below the header"),
    "a header and blank lines": ("run.csv", H.encode() + b"\n\r\n\n", "there are no rows below the header"),
    "the header twice": ("run.csv", H.encode() + GOOD, WHOLE),
    "gzip of nothing": ("run.csv.gz", gzip.compress(b""), "the gzip file holds nothing"),
    "zstd of nothing": ("run.csv.zst", zstd.compress(b""), "the zstd file holds nothing"),
    "an empty object": ("run.jsonl", b"{}\n", UNKNOWN),
    "Parquet without rows": ("run.parquet", parquet(question_id=[], clue=[], confidence=[]), "there are no rows"),
    "Parquet without columns": ("run.parquet", parquet(), DAMAGED),
    "a short row": ("run.csv", GOOD + b"q2,0\n", "2 fields where the header has 4"),
    "a long row": ("run.csv", GOOD + b"q2,0,x,1,1\n", "5 fields where the header has 4"),
    "a comma behind each row": ("run.csv", (H + ROWS).replace("\n", ",\n").encode(), TAKEN),
    "a comma behind rows alone": ("run.csv", (H + ROWS.replace("\n", ",\n")).encode(), TAKEN),
    "tabs": ("run.tsv", GOOD.replace(b",", b"\t"), TAKEN),
    "semicolons": ("run.csv", GOOD.replace(b",", b";"), TAKEN),
    "bars": ("run.csv", GOOD.replace(b",", b"|"), UNKNOWN),
    "what Excel writes before the header": ("run.csv", b"sep=,\n" + GOOD, UNKNOWN),
    "a remark before the header": ("run.csv", b"# made by hand\n" + GOOD, UNKNOWN),
    "a column twice": ("run.csv", b"question_id,clue,clue,confidence\nq1,0,0,0.5\n", "in the header twice"),
    "another column twice": ("run.csv", b"question_id,clue,guess,confidence,x,x\nq1,0,Rome,0.25,1,2\n", ONE),
    "columns without names": ("run.csv", b"question_id,clue,guess,confidence,,\nq1,0,Rome,0.25,1,2\n", ONE),
    "no names": ("run.csv", b",,,\nq1,0,Rome,0.25\n", UNKNOWN),
    "an index before the columns": ("run.csv", b",question_id,clue,guess,confidence\n0,q1,0,Rome,0.25\n", ONE),
    "names in capitals": ("run.csv", GOOD.replace(H.encode(), H.upper().encode()), UNKNOWN),
    "names within spaces": ("run.csv", GOOD.replace(H.encode(), b" question_id , clue , guess , confidence \n"), TAKEN),
    "a name over two lines": ("run.csv", b'question_id,clue,"gu\ness",confidence\nq1,0,Rome,0.25\n', "leaves a quote open"),
    "SQL for a name": ("run.csv", b'question_id,clue,guess,confidence,"""); drop table runs; --"\nq1,0,Rome,0.25,x\n', ONE),
    "columns of the scratch tables": ("run.csv", b"question_id,clue,guess,confidence,ordinal,file,dataset\nq1,0,Rome,0.25,7,7,other\n", ONE),
})  # fmt: skip

# -- quotes and line ends --------------------------------------------------------------------------------------------

OPEN = "a quoted field is not closed"
add("quotes", {
    "open": ("run.csv", H.encode() + b'q1,0,"Rome,0.25\n', OPEN),
    "text behind": ("run.csv", H.encode() + b'q1,0,"Ro"me,0.25\n', OPEN),
    "in a bare cell": ("run.csv", row('Ro"me'), stored('Ro"me')),
    "three": ("run.csv", row('"""Rome"""'), stored('"Rome"')),
    "only quotes": ("run.csv", row('""""'), stored('"')),
    "backslashes": ("run.csv", row('"Ro\\"me"'), OPEN),
    "single": ("run.csv", row("'Ro'"), stored("'Ro'")),
    "curly": ("run.csv", row("“Rome”"), stored("“Rome”")),
    "empty": ("run.csv", row('""'), stored(None)),
    "around all": ("run.csv", b'"question_id","clue","guess","confidence"\n"q1","0","Rome","0.25"\n', ONE),
    "line ends within": ("run.csv", quoted("Ro\r\n\rme\n"), stored("Ro\r\n\rme\n")),
})  # fmt: skip
add("line ends", {
    "CR LF": ("run.csv", GOOD.replace(b"\n", b"\r\n"), TAKEN),
    "CR": ("run.csv", GOOD.replace(b"\n", b"\r"), TAKEN),
    "mixed": ("run.csv", (H + ROWS.replace("\n", "\r\n", 1)).encode(), TAKEN),
    "all three": ("run.csv", b"question_id,clue,guess,confidence\r\nq1,0,Rome,0.25\nq1,1,Paris,0.5\rq2,1,Nile,0.75\n", TAKEN),
    "CR CR LF": ("run.csv", GOOD.replace(b"\n", b"\r\r\n"), TAKEN),
    "LF CR": ("run.csv", GOOD.replace(b"\n", b"\n\r"), TAKEN),
    "NEL, LS, PS are text": ("run.csv", row("a\x85b\u2028c\u2029"), stored("a\x85b\u2028c\u2029")),
    "VT and FF are text": ("run.csv", row("a\x0bb\x0c"), stored("a\x0bb\x0c")),
    "Ctrl-Z at the end": ("run.csv", GOOD + b"\x1a", "1 field where the header has 4"),
    "mixed JSON": ("run.jsonl", LINES.replace(b"\n", b"\r\n", 1), TAKEN),
    "CR JSON": ("run.jsonl", LINES.replace(b"\n", b"\r"), TAKEN),
})  # fmt: skip

# -- numbers ---------------------------------------------------------------------------------------------------------

_BAD = {
    "1e400": FINITE, "-1e400": FINITE, "NaN": FINITE, "nan": FINITE, "inf": FINITE, "-inf": FINITE, "Infinity": FINITE, "0x1": NUMBER, "0b1": NUMBER,
    "1/2": NUMBER, "50%": NUMBER, "0_5": NUMBER, "0.5f": NUMBER, "1e": NUMBER, "--1": NUMBER, "٠.٥": NUMBER, "０.５": NUMBER, "½": NUMBER, "high": NUMBER,
    "#N/A": NUMBER, "#REF!": NUMBER, "None": NUMBER, "null": NUMBER, "0.5 0.5": NUMBER, "1.0000001": RANGE, "-0.0000001": RANGE, "80": RANGE,
    "9" * 400: FINITE, '"1,000"': NUMBER, '"0,5"': NUMBER, '"1.000,5"': NUMBER, "$1": NUMBER, "=0.5": NUMBER, "2024-01-01": NUMBER,
}  # fmt: skip
_RIGHT = {
    "-0": 0.0, "1e-400": 0.0, "5e-324": 5e-324, "+0.5": 0.5, ".5": 0.5, "1.": 1.0, " 0.5 ": 0.5, "5E-1": 0.5, "0" * 300 + "1": 1.0,
    "0." + "3" * 4000: 1 / 3,
}  # fmt: skip
add(
    "confidence",
    {text[:12] + ("…" if len(text) > 12 else ""): ("run.csv", row(confidence=text), reason) for text, reason in _BAD.items()},
)
add(
    "confidence",
    {
        text[:12] + ("…" if len(text) > 12 else ""): ("run.csv", row(confidence=text), [("q1", 0, "Rome", value)])
        for text, value in _RIGHT.items()
    },
)
add("clue", {
    "1e400": ("run.csv", row(clue="1e400"), "must be"),
    "NaN": ("run.csv", row(clue="NaN"), WHOLE),
    "two to the 63": ("run.csv", row(clue=str(2**63)), "must be at most 2147483647"),
    "minus two to the 63": ("run.csv", row(clue=str(-(2**63))), "must be"),
    "0.0": ("run.csv", row(clue="0.0"), ONE),
    "-0": ("run.csv", row(clue="-0"), ONE),
    "one and a half": ("run.csv", row(clue="1.5"), WHOLE),
    "a digit of another script": ("run.csv", row(clue="٠"), WHOLE),
})  # fmt: skip

# -- text ------------------------------------------------------------------------------------------------------------

_TEXTS = {
    "a formula": "=1+1", "plus": "+1", "minus": "-1", "at": "@SUM(A1)", "a command": "=cmd|' /C calc'!A0", "a link": '=HYPERLINK("http://evil.example")',
    "a tab and a formula": "\t=1", "a CR and a formula": "\r=1", "a script": "<script>alert(1)</script>", "an image": '"><img src=x onerror=alert(1)>',
    "markup of a link": "[x](javascript:alert(1))", "a template": "{{7*7}} ${7*7} <%= 7*7 %> %s %n {0}", "SQL": "'; drop table runs; --", "right to left": "\u202egnp.exe\u202c",
    "invisible": "\u200b\u200d\u2060\u00ad", "emoji": "👩‍👩‍👧‍👦🏳️‍🌈", "marks without end": "Z" + "\u0351" * 500, "NUL": "a\0b", "control characters": "\x01\x02\x07\x08\x1b[31m\x7f",
    "delimiters of our own": "\x1f\x1e", "a path": "../../../../etc/passwd", "a backslash": "\\", "the word null": "NULL", "spaces": "  x  ",
    "private and unassigned": "\ue000\U000e0001\uffff\U0010ffff", "JSON": '{"$ref": "file:///etc/passwd"}', "XML": '<!ENTITY x SYSTEM "file:///etc/passwd">',
}  # fmt: skip
add("guess", {name: ("run.csv", quoted(text), stored(text)) for name, text in _TEXTS.items()})
add(
    "guess in JSON",
    {
        name: ("run.jsonl", line(guess=_TEXTS[name]), stored(_TEXTS[name]))
        for name in ("a formula", "a script", "NUL", "control characters", "right to left")
    },
)
add(
    "guess in Parquet",
    {
        name: ("run.parquet", parquet_row(guess=[_TEXTS[name]]), stored(_TEXTS[name]))
        for name in ("a formula", "a script", "NUL", "control characters", "right to left")
    },
)
add("model", {
    "a script": ("run.csv", b"question_id,clue,guess,confidence,model\nq1,0,Rome,0.25,<script>alert(1)</script>\n", ONE),
    "NUL": ("run.csv", b"question_id,clue,guess,confidence,model\nq1,0,Rome,0.25,a\0b\n", "control character"),
    "of 1 MB": ("run.csv", lambda: b"question_id,clue,guess,confidence,model\nq1,0,Rome,0.25," + b"x" * 2**20 + b"\n", "must be at most 500 characters long"),
    "of 3,000": ("run.csv", lambda: b"question_id,clue,guess,confidence,model\n" + b"".join(b"q1,0,Rome,0.25,m%d\n" % index for index in range(3000)), "more than 1,000 models"),
})  # fmt: skip
add("NUL", {
    "a block": ("run.csv", bytes(4096), "NUL bytes"),
    "a megabyte behind": ("run.csv", GOOD + bytes(2**20), "1 field where the header has 4"),
    "in the header": ("run.csv", b"question_id\0,clue,guess,confidence\nq1,0,Rome,0.25\n", "NUL"),
    "in a number": ("run.csv", row(confidence="0.\x005"), NUMBER),
    "in a question": ("run.csv", row(question="q1\0"), "no such question"),
})  # fmt: skip

# -- JSON ------------------------------------------------------------------------------------------------------------

_DEEP = 100_000
add("JSON", {
    "100,000 lists deep": ("run.jsonl", raw(f'0.25, "x": {"[" * _DEEP}{"]" * _DEEP}'), "nests too deeply"),
    "100,000 lists deep, further down": ("run.jsonl", LINES + raw(f'0.25, "x": {"[" * _DEEP}{"]" * _DEEP}').replace(b"q1", b"q2"), [*TAKEN[:2], ("q2", 0, "Rome", 0.25), TAKEN[2]]),
    "100,000 lists deep for a guess": ("run.jsonl", LINES + f'{{"question_id": "q2", "clue": 0, "guess": {"[" * _DEEP}{"]" * _DEEP}, "confidence": 0.25}}'.encode(), [*TAKEN[:2], ("q2", 0, "[" * _DEEP + "]" * _DEEP, 0.25), TAKEN[2]]),
    "100,000 objects deep": ("run.jsonl", LINES + raw('0.25, "x": ' + '{"a":' * _DEEP + "1" + "}" * _DEEP).replace(b"q1", b"q2"), [*TAKEN[:2], ("q2", 0, "Rome", 0.25), TAKEN[2]]),
    "100,000 lists deep for options": ("run.jsonl", b'{"question_id": "q2", "clue": 0, "confidence": 1}\n' + raw(f'null, "options": {"[" * _DEEP}{"]" * _DEEP}'), "options"),
    "100,000 objects deep for options": ("run.jsonl", b'{"question_id": "q2", "clue": 0, "confidence": 1}\n' + raw('null, "options": ' + '{"a":' * _DEEP + "1" + "}" * _DEEP), "options"),
    "100,000 lists deep for log-probabilities": ("run.jsonl", LINES + raw(f'null, "token_logprobs": {"[" * _DEEP}{"]" * _DEEP}'), "list of finite numbers"),
    "100,000 open lists": ("run.jsonl", LINES + raw('0.25, "x": ' + "[" * _DEEP), "this line is not a JSON object"),
    "lists without an object": ("run.json", b"[" * _DEEP, "this is one JSON list"),
    "options in CSV, 100,000 deep": ("run.csv", f'question_id,clue,guess,options\nq1,0,a,{"[" * _DEEP}\n'.encode(), "must be a map of options"),
    "log-probabilities in CSV, 100,000 deep": ("run.csv", f'question_id,clue,guess,token_logprobs\nq1,0,a,{"[" * _DEEP}\n'.encode(), "list of finite numbers"),
    "an integer of 5,000 digits": ("run.jsonl", raw("0." + "0" * 10 + ', "x": ' + "9" * 5000), [("q1", 0, "Rome", 0.0)]),
    "a confidence of 5,000 digits": ("run.jsonl", raw("9" * 5000), FINITE),
    "a clue of 5,000 digits": ("run.jsonl", b'{"question_id": "q1", "clue": ' + b"9" * 5000 + b', "confidence": 0.5}\n', "must be"),
    "1e400": ("run.jsonl", raw("1e400"), FINITE),
    "NaN": ("run.jsonl", raw("NaN"), FINITE),
    "-0": ("run.jsonl", raw("-0"), [("q1", 0, "Rome", 0.0)]),
    "numbers as text": ("run.jsonl", raw('"0.25"'), ONE),
    "true for a confidence": ("run.jsonl", raw("true"), NUMBER),
    "a lone high surrogate": ("run.jsonl", raw(r'0.25, "guess2": "\ud800"'), "this line is not a JSON object"),
    "a lone low surrogate for a guess": ("run.jsonl", rb'{"question_id": "q1", "clue": 0, "guess": "a\udc00", "confidence": 0.25}', "this line is not a JSON object"),
    "a pair of surrogates": ("run.jsonl", rb'{"question_id": "q1", "clue": 0, "guess": "\ud83d\ude42", "confidence": 0.25}', stored("🙂")),
    "NUL by its escape": ("run.jsonl", rb'{"question_id": "q1", "clue": 0, "guess": "a\u0000b", "confidence": 0.25}', stored("a\0b")),
    "a key by its escape": ("run.jsonl", rb'{"question\u005fid": "q1", "clue": 0, "guess": "Rome", "confidence": 0.25}', ONE),
    "a key twice": ("run.jsonl", raw('0.25, "confidence": 0.5'), ONE),
    "two objects on a line": ("run.jsonl", LINES.replace(b"\n", b"", 1), "this line is not a JSON object"),
    "an object over several lines": ("run.json", json.dumps({"question_id": "q1", "clue": 0, "confidence": 0.5}, indent=1).encode(), "each row of a table is an object on one line"),
    "one list": ("run.json", b"[" + LINES.replace(b"\n", b",")[:-1] + b"]", "this is one JSON list"),
    "single quotes": ("run.jsonl", str({"question_id": "q1", "confidence": 0.5}).encode(), "this line is not a JSON object"),
    "remarks": ("run.jsonl", LINES + b"// the end\n", "this line is not a JSON object"),
    "a comma at the end": ("run.jsonl", raw("0.25,"), "this line is not a JSON object"),
    "text, lists and null for lines": ("run.jsonl", LINES + b'"x"\n[1]\nnull\n1\n', "this line is not a JSON object"),
    "an empty key": ("run.jsonl", line(**{"": 1, "$.x": 2, '"': 3, "a.b": 4}), ONE),
    "objects for cells": ("run.jsonl", line(clue={"a": 1}), WHOLE),
    "an object for a question": ("run.jsonl", line(question_id={"a": 1}), "no such question"),
})  # fmt: skip

# -- Parquet ---------------------------------------------------------------------------------------------------------

add("Parquet", {
    "lists for all": ("run.parquet", parquet(question_id=[["q1"]], clue=[[0]], guess=[["Rome"]], confidence=[[0.25]]), WHOLE),
    "structs for all": ("run.parquet", parquet(question_id=[{"a": "q1"}], clue=[{"b": 0}], confidence=[{"c": {"d": [1]}}]), WHOLE),
    "lists of structs of lists": ("run.parquet", parquet_row(note=[[{"a": [{"b": [[1]]}]}]]), ONE),
    "a list for a guess": ("run.parquet", parquet_row(guess=[["Rome", "Paris"]]), stored("[Rome, Paris]")),
    "decimals": ("run.parquet", parquet_row(confidence=[Decimal("0.25")], clue=[Decimal("0.00")]), ONE),
    "a decimal of 38 digits": ("run.parquet", parquet_row(confidence=pl.Series([Decimal("1." + "0" * 36 + "1")], dtype=pl.Decimal(38, 37))), [("q1", 0, "Rome", 1.0)]),
    "unsigned integers of 64 bits": ("run.parquet", parquet_row(clue=pl.Series([2**64 - 1], dtype=pl.UInt64)), "must be at most 2147483647"),
    "integers of 128 bits": ("run.parquet", parquet_row(clue=pl.Series([2**126], dtype=pl.Int128)), WHOLE),
    "least integers": ("run.parquet", parquet_row(clue=pl.Series([-(2**63)], dtype=pl.Int64)), "must be"),
    "floats of 32 bits": ("run.parquet", parquet_row(confidence=pl.Series([0.25], dtype=pl.Float32)), ONE),
    "NaN": ("run.parquet", parquet_row(confidence=[float("nan")]), FINITE),
    "infinity": ("run.parquet", parquet_row(confidence=[float("-inf")]), FINITE),
    "dates": ("run.parquet", parquet_row(confidence=[date(2024, 1, 1)]), NUMBER),
    "times": ("run.parquet", parquet_row(clue=[datetime(2024, 1, 1)]), WHOLE),
    "durations": ("run.parquet", parquet_row(confidence=[timedelta(1)]), RANGE),
    "bytes for text": ("run.parquet", parquet_row(guess=[b"Rome"], question_id=[b"q1"]), ONE),
    "categories": ("run.parquet", parquet_row(guess=pl.Series(["Rome"], dtype=pl.Categorical)), ONE),
    "nulls alone": ("run.parquet", parquet(question_id=[None], clue=[None], confidence=[None]), "a value is required here"),
    "true for numbers": ("run.parquet", parquet_row(clue=[False], confidence=[True]), "must be"),
    "text for numbers": ("run.parquet", parquet_row(clue=["0"], confidence=["0.25"]), ONE),
    "log-probabilities with null": ("run.parquet", parquet(question_id=["q1"], clue=[0], token_logprobs=[[-1.0, None]]), "list of finite numbers"),
    "log-probabilities in lists": ("run.parquet", parquet(question_id=["q1"], clue=[0], token_logprobs=[[[-1.0]]]), "list of finite numbers"),
    "options as structs": ("run.parquet", parquet(question_id=["q1"], clue=[0], guess=["a"], options=[{"a": 0.25, "b": 0.75}]), [("q1", 0, "a", 0.25)]),
    "options as bytes": ("run.parquet", parquet(question_id=["q1"], clue=[0], guess=["a"], options=[b"\x00"]), "options"),
    "a name with quotes": ("run.parquet", parquet_row(**{'"; drop table runs; --': [1]}), ONE),
    "names that differ in capitals": ("run.parquet", parquet_row(Guess=["Paris"], CLUE=[5]), ONE),
    "an answer repeated beyond measure": ("run.parquet", lambda: parquet(question_id=["q1"] * 400_000, clue=pl.repeat(0, 400_000, eager=True), confidence=pl.repeat(0.5, 400_000, eager=True)), TOO_LARGE),
    "a long text repeated beyond measure": ("run.parquet", lambda: parquet_row(**{name: [value] * 2000 for name, value in (("question_id", "q1"), ("clue", 0), ("guess", "x" * 10_000), ("confidence", 0.5))}), TOO_LARGE),
    "the mark alone": ("run.parquet", b"PAR1", DAMAGED),
    "both marks alone": ("run.parquet", b"PAR1PAR1", DAMAGED),
    "a footer of 4 GB": ("run.parquet", footer(2**32 - 1), DAMAGED),
    "a footer as large as the file": ("run.parquet", footer(72), DAMAGED),
    "a footer of nothing": ("run.parquet", footer(0), DAMAGED),
    "a footer of noise": ("run.parquet", footer(64, noise(64)), DAMAGED),
    "encrypted": ("run.parquet", PARQUET[:-4] + b"PARE", DAMAGED),
    "encrypted from the start": ("run.parquet", b"PARE" + PARQUET[4:-4] + b"PARE", "this is not a Parquet file"),
    "something behind": ("run.parquet", PARQUET + b"\n", DAMAGED),
    "pages of noise": ("run.parquet", PARQUET[:4] + noise(200) + PARQUET[204:], DAMAGED),
    "a footer changed": ("run.parquet", PARQUET[:-60] + noise(50) + PARQUET[-10:], DAMAGED),
    "in gzip": ("run.parquet.gz", gzip.compress(PARQUET), TAKEN),
    "in zstd": ("run.parquet.zst", zstd.compress(PARQUET), TAKEN),
})  # fmt: skip

# -- bombs -----------------------------------------------------------------------------------------------------------

add("bomb", {
    "gzip": ("run.csv.gz", lambda: gzip.compress(bytes(50 * 2**20), 9), TOO_LARGE),
    "gzip of a table": ("run.csv.gz", lambda: gzip.compress(MANY * 100), TOO_LARGE),
    "gzip in many members": ("run.csv.gz", lambda: gzip.compress(GOOD) + gzip.compress(ROWS.encode() * 1000) * 200, TOO_LARGE),
    "zstd": ("run.csv.zst", lambda: zstd.compress(bytes(50 * 2**20)), TOO_LARGE),
    "zstd that wants 2 GB for its window": ("run.csv.zst", b"\x28\xb5\x2f\xfd\x00\xa8" + b"\x01\x00\x00", DAMAGED),
    "gzip in gzip": ("run.csv.gz", gzip.compress(gzip.compress(GOOD)), "compressed twice"),
    "zstd in gzip": ("run.csv.gz", gzip.compress(zstd.compress(GOOD)), "compressed twice"),
    "zip": ("toy.zip", lambda: zipped(BUNDLE | {"responses/a.csv": bytes(50 * 2**20)}), TOO_LARGE),
    "zip of many members": ("toy.zip", lambda: zipped(BUNDLE | {f"responses/{index}.csv": bytes(2**16) for index in range(100)}), TOO_LARGE),
    "zip of packed members": ("toy.zip", lambda: zipped(BUNDLE | {f"responses/{index}.csv.gz": gzip.compress(bytes(2**20)) for index in range(8)}), TOO_LARGE),
    "zip of more than 100,000 members": ("toy.zip", lambda: zipped({f"{index}": b"" for index in range(100_001)}), "more than 100,000 files"),
    "zip that says it is small": ("toy.zip", lambda: understated(zipped({"dataset.json": bytes(20 * 2**20)}), 10), DAMAGED),
    "zip in zip": ("toy.zip", lambda: zipped({"inner.zip": zipped({"x": bytes(20 * 2**20)})}), UNKNOWN),
    "one piece under many names": ("toy.zip", lambda: zipped({f"{index:04}": b"x" * 2**10 for index in range(5000)}), TOO_LARGE),
    "JSON that unfolds": ("run.jsonl.gz", lambda: gzip.compress(line(guess="x" * 10 * 2**20)), TOO_LARGE),
})  # fmt: skip

# -- zips ------------------------------------------------------------------------------------------------------------

add("zip", {
    "..": ("toy.zip", zipped({"../evil.csv": "x"}), LEADS_OUT),
    ".. in the middle": ("toy.zip", zipped({"responses/../../evil.csv": "x"}), LEADS_OUT),
    ".. that stays within": ("toy.zip", zipped(BUNDLE | {"responses/../x.txt": "x"}), TAKEN),
    "an absolute path": ("toy.zip", zipped({"/etc/cron.d/evil": "x"}), LEADS_OUT),
    "a Windows path": ("toy.zip", zipped(BUNDLE | {"..\\..\\evil.txt": "x", "C:\\evil.txt": "y"}), TAKEN),
    "a link to a file": ("toy.zip", zipped([*BUNDLE.items(), link("responses/x.csv", "/etc/passwd")]), "the file has: /etc/passwd"),
    "a link to a folder, and a file in it": ("toy.zip", zipped([*BUNDLE.items(), link("up", "/tmp"), ("up/evil.csv", "x")]), "the zip is damaged"),
    "a link for the questions": ("toy.zip", zipped([("dataset.json", BUNDLE["dataset.json"]), link("questions.csv", "/etc/passwd")]), "the file has: /etc/passwd"),
    "a file and a folder of one name": ("toy.zip", zipped([*BUNDLE.items(), ("a", "x"), ("a/b", "y")]), "zip"),
    "a member twice": ("toy.zip", zipped([*BUNDLE.items(), ("responses/run.csv", row())]), "two files with the same name"),
    "a name of 5,000 characters": ("toy.zip", zipped(BUNDLE | {"x" * 5000: "x"}), "zip"),
    "a thousand folders": ("toy.zip", zipped(BUNDLE | {"a/" * 1000 + "b": "x"}), "zip"),
    "a name with NUL": ("toy.zip", renamed(zipped(BUNDLE | {"abc.txt": "x"}), b"abc.txt", b"a\0c.txt"), TAKEN),
    "a name that is no UTF-8": ("toy.zip", renamed(zipped(BUNDLE | {"é.txt": "x"}), "é.txt".encode(), b"\xff\xff.txt"), "zip"),
    "no name": ("toy.zip", renamed(zipped(BUNDLE | {"abc.txt": "x"}), b"abc.txt", b"\0bc.txt"), "zip"),
    "a dot": ("toy.zip", zipped([*BUNDLE.items(), (".", "x")]), "the zip is damaged"),
    "names for a pattern": ("toy.zip", zipped(BUNDLE | {"responses/[a]*?.csv": "question_id,clue,confidence,model\nq2,0,0.5,other\n"}), [*TAKEN[:2], ("q2", 0, None, 0.5), TAKEN[2]]),
    "encrypted": ("toy.zip", with_flags(zipped({"dataset.json": "{}"}), flags=1), "encrypted"),
    "an unknown method": ("toy.zip", with_flags(zipped({"dataset.json": "{}"}), method=77), "cannot be unpacked"),
    "a method that does not fit": ("toy.zip", with_flags(zipped({"dataset.json": "{}" * 99}), method=14), "zip"),
    "bzip2": ("toy.zip", zipped(BUNDLE, zipfile.ZIP_BZIP2), TAKEN),
    "lzma": ("toy.zip", zipped(BUNDLE, zipfile.ZIP_LZMA), TAKEN),
    "damaged lzma": ("toy.zip", zipped({"dataset.json": "{}" * 99}, zipfile.ZIP_LZMA).replace(b"\x5d\x00", b"\xff\xff", 1), "zip"),
    "damaged bzip2": ("toy.zip", zipped({"dataset.json": "{}" * 99}, zipfile.ZIP_BZIP2).replace(b"BZh9", b"BZh9\xff\xff\xff", 1), "zip"),
    "nothing in it": ("toy.zip", zipped({}), UNKNOWN),
    "something behind": ("toy.zip", zipped(BUNDLE) + b"\0" * 100, TAKEN),
    "in one folder": ("toy.zip", zipped({f"toy/{name}": content for name, content in BUNDLE.items()} | {"__MACOSX/x": b""}), TAKEN),
    "dataset.json is a folder": ("toy.zip", zipped({"dataset.json/x": "{}"}), "it has no dataset.json"),
    "questions.csv is a folder": ("toy.zip", zipped({"dataset.json": BUNDLE["dataset.json"], "questions.csv/x": "x"}), "the bundle has no such file"),
    "responses is a file": ("toy.zip", zipped([(name, content) for name, content in BUNDLE.items() if "/" not in name] + [("responses", "x")]), []),
    "responses hold a folder": ("toy.zip", zipped(BUNDLE | {"responses/x.csv/y": "x"}), "the file cannot be read: Is a directory"),
    "an Excel workbook": ("run.xlsx", zipped({"xl/workbook.xml": "<x/>", "[Content_Types].xml": "<x/>"}), "this is an Excel workbook"),
    "OpenDocument": ("run.ods", zipped({"content.xml": "<x/>", "mimetype": "application/vnd.oasis.opendocument.spreadsheet"}), UNKNOWN),
    "facts 100,000 deep": ("toy.zip", zipped(BUNDLE | {"dataset.json": "[" * _DEEP}), "this is not valid JSON"),
    "facts with an integer of 5,000 digits": ("toy.zip", zipped(BUNDLE | {"dataset.json": '{"dataset": ' + "9" * 5000 + "}"}), "this is not valid JSON"),
    "facts in UTF-16": ("toy.zip", zipped(BUNDLE | {"dataset.json": json.dumps(bundles.FACTS).encode("utf-16")}), "the text is not UTF-8"),
    "facts with a lone surrogate": ("toy.zip", zipped(BUNDLE | {"dataset.json": '{"dataset": "new", "kind": "incremental", "title": "\\ud800"}'}), "half of a character"),
    "facts with a path for an id": ("toy.zip", zipped(BUNDLE | {"dataset.json": json.dumps(bundles.FACTS | {"dataset": "../x"})}), TAKEN),
})  # fmt: skip

# -- what is something else ------------------------------------------------------------------------------------------

add("polyglot", {
    "CSV called Parquet": ("run.parquet", GOOD, "this is not a Parquet file"),
    "Parquet called CSV": ("run.csv", PARQUET, TAKEN),
    "gzip called CSV": ("run.csv", gzip.compress(GOOD), TAKEN),
    "CSV called gzip": ("run.csv.gz", GOOD, TAKEN),
    "CSV called zip": ("toy.zip", GOOD, TAKEN),
    "zip called CSV": ("run.csv", zipped(BUNDLE), TAKEN),
    "JSON Lines called CSV": ("run.csv", LINES, TAKEN),
    "CSV called JSON Lines": ("run.jsonl", GOOD, TAKEN),
    "a zip behind a CSV": ("run.csv", GOOD + zipped({"../evil": "x"}), NOT_UTF8),
    "a CSV that begins like a zip": ("run.csv", b"PK\x03\x04,question_id,clue,confidence\nx,q1,0,0.5\n", "zip"),
    "a CSV that begins like Parquet": ("run.csv", b"PAR1," + GOOD, DAMAGED),
    "a CSV that begins like gzip": ("run.csv", b"\x1f\x8b" + GOOD, DAMAGED),
    "a CSV that begins like zstd": ("run.csv", b"\x28\xb5\x2f\xfd" + GOOD, DAMAGED),
    "a zip in a PNG": ("run.zip", b"\x89PNG\r\n\x1a\n" + zipped(BUNDLE), "this is a picture"),
    "HTML": ("run.csv", b"<!DOCTYPE html>\n<html><body><table><tr><td>question_id</td></tr></table></body></html>\n", UNKNOWN),
    "HTML of a login page called Parquet": ("run.parquet", b"<html>Sign in</html>", "this is not a Parquet file"),
    "XML": ("run.csv", b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', UNKNOWN),
    "YAML": ("run.yaml", b"- question_id: q1\n  confidence: !!python/object/apply:os.system [id]\n", UNKNOWN),
    "PDF": ("run.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n", "this is a PDF"),
    "PNG": ("run.png", b"\x89PNG\r\n\x1a\n" + bytes(100), "this is a picture"),
    "a program": ("run", b"\x7fELF\x02\x01\x01" + bytes(100), "NUL bytes"),
    "SQLite": ("run.db", sqlite, "this is a SQLite database"),
    "a pickle": ("run.pkl", pickle.dumps({"question_id": ["q1"]}), NOT_UTF8),
    "tar": ("run.tar", lambda: tarred("run.csv", GOOD), "NUL"),
    "tar in gzip": ("run.tar.gz", lambda: gzip.compress(tarred("../run.csv", GOOD)), "NUL"),
    "bzip2": ("run.csv.bz2", bz2.compress(GOOD), "this is a bzip2 file"),
    "xz": ("run.csv.xz", lzma.compress(GOOD), "this is an xz file"),
    "7z": ("run.7z", b"7z\xbc\xaf\x27\x1c" + bytes(50), "this is a 7z archive"),
    "Arrow": ("run.arrow", lambda: arrow("ipc"), "this is an Arrow file"),
    "an Arrow stream": ("run.arrow", lambda: arrow("stream"), NOT_UTF8),
    "Avro": ("run.avro", lambda: arrow("avro"), "this is an Avro file"),
    "old Excel": ("run.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "this is an old Excel workbook"),
    "noise": ("run.csv", noise(5000), NOT_UTF8),
    "noise called gzip": ("run.csv.gz", b"\x1f\x8b\x08" + noise(5000), DAMAGED),
    "a letter": ("run.txt", b"Dear all,\nplease find the answers attached.\n", UNKNOWN),
    "a program's log": ("run.csv", b"Traceback (most recent call last):\n  File \"x\", line 1\n", UNKNOWN),
})  # fmt: skip

# -- names of files --------------------------------------------------------------------------------------------------

_NAMES = (
    "run[1].csv", "*.csv", "?.csv", "{a,b}.csv", "a b.csv", "-rf.csv", "it's.csv", 'a"b.csv', "a;b.csv", "$(id).csv", "a\nb.csv", "\u202egnp.csv", "é.csv",
    "e\u0301.csv", "🙂.csv", "%2e%2e%2f.csv", "CON.csv", "x" * 250 + ".csv", ".csv", "..csv", "run.csv.", "key=value.csv", "https:x.csv", "\x01.csv",
)  # fmt: skip
add("name", {ascii(name)[:30]: (name, GOOD, TAKEN) for name in _NAMES})
add(
    "name",
    {
        f"{ascii(name)[:24]}, damaged": (name, b"PAR1" + GOOD, DAMAGED)
        for name in ("run[1].csv", "it's.csv", "a\nb.csv", "\u202egnp.csv")
    },
)
