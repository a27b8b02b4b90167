"""Datasets as bundles: a folder or a zip with ``dataset.json``, ``questions.csv`` and optional other tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from clueline.data.duckdb_and_polars import literal
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Problem, Refused, refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.importing.table_contract import (
    MAX_ATTRIBUTE_VALUE_LENGTH,
    MAX_SHOWN_LENGTH,
    TABLES,
    Column,
    attribute_names,
    trimmed_text,
)
from clueline.data.importing.table_files import NOT_UTF8, TableFile
from clueline.data.readers import Format
from clueline.data.readers.responses import read_file

FORMAT = Format(
    key="bundle",
    reads="A dataset as a bundle: a folder or a zip with `dataset.json` and tables of questions, clues, exposures, buzzes, "
    "plays that are left out, votes, responses, corrections of grades and tags of runs (CSV, JSON Lines or Parquet)",
    recognised="`dataset.json`",
    becomes="A dataset, what people did, and runs",
)
ENDINGS = tuple(f".{table}{packed}" for table in ("csv", "jsonl", "parquet") for packed in ("", ".gz", ".zst"))
FACTS: dict[str, tuple[type, str]] = {
    "dataset": (str, "text"), "title": (str, "text"), "kind": (str, "text"), "licence": (str, "text"), "source": (str, "text"),
    "simulated": (bool, "true or false"), "note": (str, "text"), "classes": (list, "a list"),
    "private": (bool, "true or false"),
}  # fmt: skip


def recognises(incoming: Incoming) -> bool:
    return incoming.folder is not None and (incoming.folder / "dataset.json").is_file()


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    folder = incoming.folder
    if folder is None:
        raise refuse(incoming.name, "a bundle is a folder or a zip")
    dataset, facts = _facts(folder / "dataset.json", incoming.name)
    dataset = options.dataset or dataset
    facts |= ({"title": options.title} if options.title else {}) | ({"classes": list(options.classes)} if options.classes else {})
    if facts.pop("private", False):
        staging.private.add(dataset)
    staging.add_dataset(f"{incoming.name}/dataset.json", dataset, **facts)

    for table, columns in TABLES.items():
        with staging.report.collecting():
            _load(incoming.name, folder, dataset, table, columns, staging)
    for path in sorted((folder / "responses").glob("*")):
        if path.name.endswith(ENDINGS):
            with staging.report.collecting():
                read_file(
                    staging.open(path, f"{incoming.name}/responses/{path.name}"), staging, replace(options, dataset=dataset)
                )
    ignored = sorted(str(path.relative_to(folder)) for path in _ignored_files(folder))
    if ignored:
        staging.report.warnings.append(f"{incoming.name}: not part of a bundle, ignored: {', '.join(ignored)[:500]}")


def _load(bundle: str, folder: Path, dataset: str, table: str, columns: tuple[Column, ...], staging: Staging) -> None:
    paths = [folder / f"{table}{ending}" for ending in ENDINGS if (folder / f"{table}{ending}").is_file()]
    if len(paths) > 1:
        raise refuse(bundle, f"there are two tables of {table}: {', '.join(path.name for path in paths)}")
    if paths:
        file = staging.open(paths[0], f"{bundle}/{paths[0].name}")
        own = [column.name for column in columns]

        def further(names: Sequence[str]) -> list[Column]:
            attributes = attribute_names(file.name, names, columns, staging.report) if table == "questions" else []
            return [Column(name, longest=MAX_ATTRIBUTE_VALUE_LENGTH) for name in attributes]

        attributes = [name for name in staging.load(file, columns, further) if name not in own]
        staging.add(table, file, f"select $dataset as dataset, ordinal, {', '.join(own)} from loaded", {"dataset": dataset})
        _add_attributes(file, dataset, attributes, staging)
    elif table == "questions":
        raise refuse(f"{bundle}/{table}.csv", "the bundle has no such file")


def _add_attributes(file: TableFile, dataset: str, attributes: Sequence[str], staging: Staging) -> None:
    for name in attributes:
        # The SQL has no parameters, because an attribute's name can look like one.
        value = trimmed_text(name)
        select = f"""select {literal(dataset)} as dataset, question_id, {literal(name)} as attribute, {value} as value, ordinal
            from loaded where {value} is not null"""
        staging.add("attributes", file, select)
    if attributes:
        staging.report.lines.append(f"{file.name}: kept as attributes of questions: {', '.join(attributes)}")


def _ignored_files(folder: Path) -> Iterator[Path]:
    ours = {f"{table}{ending}" for table in TABLES for ending in ENDINGS}
    yield from (path for path in folder.glob("*") if path.name.endswith(ENDINGS) and path.name not in ours)
    yield from (
        path for path in (folder / "responses").glob("*") if not path.name.endswith(ENDINGS) and not path.name.startswith(".")
    )


def _facts(path: Path, bundle: str) -> tuple[str, dict[str, Any]]:
    """Read ``dataset.json``. Return the dataset id and the other facts, checked. Raises ``Refused``."""
    name = f"{bundle}/dataset.json"
    try:
        facts = json.loads(path.read_text(encoding="utf-8-sig"))
        json.dumps(facts, ensure_ascii=False).encode()  # half of a surrogate pair is not text
    except FileNotFoundError:
        raise refuse(name, "the bundle has no such file") from None
    except json.JSONDecodeError as error:
        raise refuse(name, f"this is not valid JSON: {error.msg}, at character {error.colno}", line=error.lineno) from error
    except UnicodeDecodeError:
        raise refuse(name, NOT_UTF8) from None
    except UnicodeEncodeError:
        raise refuse(name, "a text in it holds half of a character") from None
    except (ValueError, OSError, RecursionError) as error:
        raise refuse(name, f"this is not valid JSON: {error}") from error
    if not isinstance(facts, dict):
        raise refuse(name, "must be one JSON object")
    facts = {key: value for key, value in facts.items() if key in FACTS and value is not None}
    bad = [Problem(name, None, key, None, "this is required") for key in ("dataset", "kind") if key not in facts]
    bad += [
        Problem(name, None, key, json.dumps(value, ensure_ascii=False)[:MAX_SHOWN_LENGTH], f"must be {FACTS[key][1]}")
        for key, value in facts.items()
        if not isinstance(value, FACTS[key][0])
    ]
    if bad:
        raise Refused(bad)
    return facts.pop("dataset"), facts
