"""A release as it is cloned: a folder in which each part is a file or folder of a format, read by the reader of that format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from weakref import WeakKeyDictionary

from clueline.data.importing.file_folder_or_zip import Incoming, without_copies
from clueline.data.importing.report import Hint, Refused, refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.readers import BY_COMMON_COLUMNS, LAST, RELEASE, Format, Reader, readers

FORMAT = Format(
    key=RELEASE,
    reads="A release as it is cloned: a folder or zip with files and folders of other formats, such as several bundles",
    recognised="No other format fits the folder, and one of its parts has a format of its own",
    becomes="What each part becomes. Parts that were not read are named",
    rules="""
Files that equal another one byte by byte are read once, and zips in it are not opened. A part that needs something stated, such
as the order of its classes, is left out, and the report says what it needs; it can be imported by itself. Tables of other
projects in such a folder are not read.
""",
)
MAX_DEPTH = 6  # of folders that are looked through
# What a part may need to have stated, which cannot be stated for all parts at once.
STATED: set[Hint | None] = {"classes", "model", "dataset", "column", "words", "repeats", "format", "password"}
_parts: WeakKeyDictionary[Incoming, list[tuple[Incoming, Reader]]] = WeakKeyDictionary()  # found once


def recognises(incoming: Incoming) -> bool:
    """Whether the folder is a release is only known once no other reader recognises it: see ``holds_other_formats``."""
    return False


def holds_other_formats(incoming: Incoming, is_table: Callable[[Incoming], bool]) -> bool:
    """Whether parts of a folder have formats of their own. Where other parts are tables, only whole datasets count."""
    if incoming.folder is None:
        return False
    parts = _parts_of(incoming)
    if any(reader.FORMAT.key == "bundle" for _, reader in parts):
        return True
    others = (incoming.folder / path for path in _others(incoming, [part for part, _ in parts])) if parts else ()
    return bool(parts) and not any(path.stat().st_size and is_table(incoming.part(path)) for path in others)


def _parts_of(incoming: Incoming) -> list[tuple[Incoming, Reader]]:
    if incoming not in _parts:
        _parts[incoming] = [*_below(incoming, incoming.folder or incoming.path, 0)]
    return _parts[incoming]


def _below(incoming: Incoming, folder: Path, depth: int) -> Iterator[tuple[Incoming, Reader]]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.name == "__MACOSX" or path.suffix.lower() == ".zip":
            continue
        part = incoming.part(path)
        if reader := _reader_of(part):
            yield part, reader
        elif path.is_dir() and depth < MAX_DEPTH:
            yield from _below(incoming, path, depth + 1)


def _reader_of(part: Incoming) -> Reader | None:
    """Return the only reader that recognises a part by more than columns that other tables may have; None if there is none."""
    named = {key: reader for key, reader in readers().items() if key not in {LAST, RELEASE, *BY_COMMON_COLUMNS}}
    try:
        matches = [reader for reader in named.values() if reader.recognises(part)]
    except Refused:
        return None
    return matches[0] if len(matches) == 1 else None


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is None:
        raise refuse(incoming.name, "a release is a folder or a zip")
    parts = _parts_of(incoming)
    files, copies = without_copies([part for part, _ in parts if part.folder is None])
    staging.report.lines += copies
    left_out: list[str] = []
    read_parts = 0
    for part, reader in sorted(parts, key=lambda part: part[0].folder is None):  # datasets before runs
        if part.folder is None and part not in files:
            continue
        try:
            reader.read(part, staging, options)
        except Refused as refused:
            if not {problem.hint for problem in refused.problems} <= STATED:
                raise
            left_out.append(f"{part.name}: {refused.problems[0].reason}")
            continue
        staging.report.lines.append(f"{part.name}: read as {reader.FORMAT.key}")
        read_parts += 1
    if not read_parts:
        raise refuse(incoming.name, f"no part of it can be read without more being stated: {'; '.join(left_out)}"[:500])
    staging.report.warnings += [f"left out: {reason}"[:500] for reason in left_out]
    if others := _others(incoming, [part for part, _ in parts]):
        listed = ", ".join(others)[:400]
        staging.report.warnings.append(f"{incoming.name}: {len(others):,} other files were not read: {listed}")


def _others(incoming: Incoming, parts: list[Incoming]) -> list[str]:
    """Return the files of a folder that are in no part."""
    folder = incoming.folder or incoming.path
    paths = [part.path for part in parts]
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.startswith("."))
    within = (path for path in files if not any(path == part or part in path.parents for part in paths))
    return [path.relative_to(folder).as_posix() for path in within if ".git" not in path.parts]
