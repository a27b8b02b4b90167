"""Bundles hold the same data in every format and packing."""

import json
import zipfile

import polars as pl
import pytest

from clueline.data.importing.report import Refused
from clueline.data.store import open_store
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import TEXTS


@pytest.fixture(scope="module")
def as_csv(tmp_path_factory):
    """Content of a store after an import of the plain CSV bundle."""
    root = tmp_path_factory.mktemp("plain")
    store = open_store(root / "store", threads=1)
    bundles.put(store, bundles.write(root / "toy", **TEXTS), model="m")
    return bundles.content(store)


@pytest.mark.parametrize(
    ("ending", "packed"),
    [
        ("csv", "folder"),
        ("csv.zst", "folder"),
        ("jsonl.gz", "folder"),
        ("parquet", "folder"),
        ("csv.gz", "zip"),
        ("jsonl", "zip of a folder"),
    ],
)
def test_formats_and_packings_hold_the_same(store, folder, as_csv, ending, packed):
    bundles.write(folder, questions=None, clues=None)
    for name, text in TEXTS.items():
        place = folder / "responses" / f"run.{ending}" if name == "responses" else folder / f"{name}.{ending}"
        place.write_bytes(bundles.in_format(text, ending))
    path = folder
    if packed != "folder":
        base = folder if packed == "zip" else folder.parent
        path = folder.parent / "upload"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(base))
            if packed == "zip of a folder":
                archive.writestr("__MACOSX/toy/._questions.csv", b"what macOS adds")
    bundles.put(store, path, model="m")
    stored = bundles.content(store)
    stored["runs"] = [tuple(str(v).replace(ending, "csv").replace("upload/", "toy/") for v in row) for row in stored["runs"]]
    assert stored == as_csv | {"runs": [tuple(map(str, row)) for row in as_csv["runs"]]}


@pytest.mark.parametrize(("delimiter", "ends"), [(";", "\n"), ("\t", "\r\n"), (",", "\r"), (";", "mixed"), (",", "mixed")])
def test_other_delimiters_and_line_ends(store, folder, as_csv, delimiter, ends):
    def written(text):
        lines = [delimiter.join(f'"{cell}"' for cell in line.split(",")) for line in text.splitlines()]
        if ends == "mixed":
            return "".join(line + ("\r\n" if index % 2 else "\n") for index, line in enumerate(lines))
        return ends.join(lines)

    bundles.put(store, bundles.write(folder, **{name: written(text) for name, text in TEXTS.items()}), model="m")
    assert bundles.content(store) == as_csv


def test_mixed_line_ends_of_json_lines(store, folder, as_csv):
    bundles.write(folder, **TEXTS | {"responses": None})
    lines = bundles.in_format(bundles.RESPONSES, "jsonl").decode().splitlines()
    (folder / "responses" / "run.jsonl").write_text("\n".join([lines[0] + "\r", "", *lines[1:], "  ", ""]), newline="")
    bundles.put(store, folder, model="m")
    assert bundles.content(store)["responses"] == as_csv["responses"]


def test_a_byte_order_mark_is_ignored(store, folder, as_csv):
    marked = {name: text.encode("utf-8-sig") for name, text in TEXTS.items()}
    bundles.put(store, bundles.write(folder, "\ufeff" + json.dumps(bundles.FACTS), **marked), model="m")
    assert bundles.content(store) == as_csv


def test_columns_in_any_order_with_others_between(store, folder, as_csv):
    frame = pl.read_csv(bundles.RESPONSES.encode()).with_columns(reasoning=pl.lit('a, "b"\nc' * 100), **{"": pl.lit(1)})
    bundles.write(folder, **TEXTS | {"responses": frame.select(reversed(frame.columns)).write_csv()})
    bundles.put(store, folder, model="m")
    assert bundles.content(store)["responses"] == as_csv["responses"]


def test_files_that_are_no_part_of_a_bundle_are_named(store, folder):
    bundles.write(folder, buzz="question_id\n", README__md="hello", responses__txt="")
    (folder / "responses" / "run.xlsx").write_bytes(b"PK")
    report = bundles.put(store, folder)
    assert report.warnings == ["toy: not part of a bundle, ignored: buzz.csv, responses/run.xlsx"]


def test_a_dataset_json_in_another_encoding_is_refused(store, folder):
    path = bundles.write(folder)
    (path / "dataset.json").write_text('{"dataset": "toy"}', encoding="utf-16")
    with pytest.raises(Refused, match="the text is not UTF-8; save the file as UTF-8"):
        bundles.put(store, path)
