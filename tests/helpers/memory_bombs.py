"""Small files that take much memory to read, by name. Each is made when it is needed."""

import gzip
import io
import json
import zipfile

import polars as pl

from clueline.data.importing.table_files import zstd

TABLE = b"qid,llm,prediction,prob,hit\n"  # columns of another project
MODEL = {"eval": {"task": "t", "model": "m", "dataset": {"name": "tone"}}, "version": 2, "status": "success"}


def packed(*parts):
    return gzip.compress(b"".join(parts), 1)


def zipped(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return out.getvalue()


def workbook(rows, texts=b"", doctype=b""):
    """Return a workbook of Excel with one sheet, whose rows are given as XML."""
    head = b'<?xml version="1.0" encoding="UTF-8"?>' + doctype
    main = b'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    linked = b'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    kinds = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(
            "[Content_Types].xml",
            head + b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        )
        archive.writestr(
            "_rels/.rels",
            head
            + b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            + b'<Relationship Id="r0" Type="%sofficeDocument" Target="xl/workbook.xml"/></Relationships>' % kinds,
        )
        archive.writestr(
            "xl/workbook.xml",
            head + b"<workbook %s %s><sheets><sheet name='a' sheetId='1' r:id='r1'/></sheets></workbook>" % (main, linked),
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            head
            + b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            + b'<Relationship Id="r1" Type="%sworksheet" Target="worksheets/sheet1.xml"/>' % kinds
            + b'<Relationship Id="r2" Type="%ssharedStrings" Target="sharedStrings.xml"/></Relationships>' % kinds,
        )
        archive.writestr("xl/sharedStrings.xml", head + b"<sst %s>%s</sst>" % (main, texts))
        archive.writestr("xl/worksheets/sheet1.xml", head + b"<worksheet %s><sheetData>%s</sheetData></worksheet>" % (main, rows))
    return out.getvalue()


def text_cell(place, text):
    return b'<c r="%s" t="inlineStr"><is><t>%s</t></is></c>' % (place, text)


def entities(depth=9):
    """Return a document type in which an entity stands for ten to the power of ``depth`` laughs."""
    lines = [b'<!ENTITY l0 "ha">', *(b'<!ENTITY l%d "%s">' % (n, b"&l%d;" % (n - 1) * 10) for n in range(1, depth + 1))]
    return b"<!DOCTYPE sst [%s]>" % b"".join(lines)


def nested_zips(depth):
    content = zipped(**{"a.csv": TABLE + bytes(2**20)})
    for _ in range(depth):
        content = zipped(**{f"{n}.zip": content for n in range(4)})
    return content


def parquet(**columns):
    out = io.BytesIO()
    pl.DataFrame(columns).write_parquet(out, compression="zstd")
    return out.getvalue()


def repeated(value, count):
    return pl.repeat(value, count, eager=True)


HEADER = b"<row r='1'>%s</row>" % b"".join(text_cell(b"%c1" % letter, b"question_id") for letter in b"ABC")
# By name: the file's name, what makes its bytes, and what its refusal says.
LIMIT = 512  # MiB, the least that the setting takes
MEMORY = f"takes more memory than the {LIMIT} MiB"
BOMBS = {
    "lists in JSON": ("a.json.gz", lambda: packed(b"[", b"[]," * 30_000_000, b"[]]"), MEMORY),
    "objects in JSON": ("a.json.gz", lambda: packed(b"[", b'{"a":{}},' * 8_000_000, b"{}]"), MEMORY),
    "deep lists in JSON": ("a.json.gz", lambda: packed(b"[" * 20_000_000, b"]" * 20_000_000), "JSON"),
    "CSV": ("a.csv.gz", lambda: packed(b"question_id,guess,confidence\n", b"a,b,0.5\n" * 200_000), ""),
    "CSV of another project": ("a.csv.gz", lambda: packed(TABLE, b"a,m,b,0.5,1\n" * 8_000_000), MEMORY),
    "JSON Lines of another project": ("a.jsonl.zst", lambda: zstd.compress(b'{"qid":"a","prob":1}\n' * 6_000_000), MEMORY),
    "Parquet": (
        "a.parquet",
        lambda: parquet(question_id=repeated("a", 100_000), guess=repeated("b", 100_000), confidence=repeated(0.5, 100_000)),
        "",
    ),
    "Parquet of another project": (
        "a.parquet", lambda: parquet(qid=repeated("a", 6_000_000), prob=repeated(0.5, 6_000_000)), MEMORY,
    ),
    "a large cell in Parquet": ("a.parquet", lambda: parquet(qid=["a" * 2**29], prob=[0.5]), MEMORY),
    "a far cell in Excel": (
        "a.xlsx", lambda: workbook(HEADER + b"<row r='1048576'>%s</row>" % text_cell(b"XFD1048576", b"x")), MEMORY,
    ),
    "a far row in Excel": (
        "a.xlsx", lambda: workbook(HEADER + b"<row r='1048576'>%s</row>" % text_cell(b"ZZ1048576", b"x")), MEMORY,
    ),
    "a large cell in Excel": (
        "a.xlsx", lambda: workbook(HEADER + b"<row r='2'>%s</row>" % text_cell(b"A2", b"a" * 400_000_000)), MEMORY,
    ),
    "entities in Excel": (
        "a.xlsx",
        lambda: workbook(b'<row r="1"><c r="A1" t="s"><v>0</v></c></row>', b"<si><t>&l9;</t></si>", entities()),
        "",
    ),
    "a zip of JSON": ("a.zip", lambda: zipped(**{"a.json": b"[" + b"[]," * 30_000_000 + b"[]]"}), MEMORY),
    "zips in zips": ("a.zip", lambda: nested_zips(4), ""),
    "gzip in gzip": ("a.csv.gz", lambda: packed(packed(bytes(200_000_000))), "compressed twice"),
    "zeros in zstd": ("a.csv.zst", lambda: zstd.compress(bytes(2**28)), ""),
    "a log of Inspect": (
        "a.eval",
        lambda: zipped(**{
            "header.json": json.dumps(MODEL), "samples__a_epoch_1.json": b'{"id":[' + b"[]," * 30_000_000 + b"[]]}",
        }),
        MEMORY,
    ),
}  # fmt: skip
