"""What the paths in a folder say: tables with the same questions are of one dataset, and their paths name the models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clueline.data.importing.evaluation_times import stem_of
from clueline.data.readers.table.names import MODEL_NAME

# Names that many datasets have.
GENERIC = {
    "answers",
    "data",
    "details",
    "eval",
    "out",
    "output",
    "outputs",
    "predictions",
    "preds",
    "responses",
    "result",
    "results",
}
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.-]+")  # when an evaluation ran, as a folder below that of the model
MIN_SHARED = 0.5  # share of the questions of the smaller table that two tables of one dataset have in common


class Names(NamedTuple):
    """What a table is called that does not name its dataset or its model."""

    dataset: str
    model: str


def names_by_path(folder: str, contents: Mapping[str, Mapping[str, str]]) -> dict[str, Names]:
    """Return the names of the tables in a folder, by their paths below it.

    ``contents`` has the texts and answers of each table's questions, by id; it is empty if they are not known. What
    the paths of one dataset have in common is its name, and what they differ by is the model.

    >>> same = {"q1": "Which river?", "q2": "Which city?"}
    >>> names_by_path("runs", {"gpt-4/mmlu.csv": same, "claude/mmlu.csv": same})
    {'gpt-4/mmlu.csv': Names(dataset='mmlu', model='gpt-4'), 'claude/mmlu.csv': Names(dataset='mmlu', model='claude')}
    >>> names_by_path("runs", {"gpt-4.csv": same, "claude.csv": same})["gpt-4.csv"]
    Names(dataset='runs', model='gpt-4')
    """
    parts = {path: _without_moments((*path.split("/")[:-1], stem_of(path))) for path in contents}
    of_all = set.intersection(*map(set, parts.values())) if parts else set()
    names = {}
    for paths in _by_questions(contents):
        of_dataset = set.intersection(*(set(parts[path]) for path in paths))
        for path in paths:
            shared = [part for part in parts[path] if part in of_dataset and part.lower() not in GENERIC]
            own = [part for part in shared if part not in of_all]
            differing = [part for part in parts[path] if part not in of_dataset]
            named = [part for part in parts[path] if MODEL_NAME.search(f"{part} ")]
            if evaluated := _evaluated(path):
                names[path] = Names(parts[path][-1], evaluated)
            elif len(paths) > 1:
                names[path] = Names(" ".join(own or shared) or folder, "/".join(differing) or parts[path][-1])
            else:
                of_data = [part for part in own if part not in named]
                stem = folder if parts[path][-1].lower() in GENERIC else parts[path][-1]
                names[path] = Names(of_data[-1] if of_data else stem, named[0] if named else stem)
    return names


def _without_moments(parts: Sequence[str]) -> tuple[str, ...]:
    """Return the parts of a path with a folder for each moment without these, and without what says that they are details.

    >>> _without_moments(["details", "m7", "2026-05-01T10-00-00", "details_quiz|0_2026-05-01T10-00-00"])
    ('details', 'm7', 'quiz|0')
    """
    if not any(map(MOMENT.fullmatch, parts)):
        return tuple(parts)
    plain = (MOMENT.sub("", part).strip("_-").removeprefix("details_") for part in parts)
    return tuple(part for part in plain if part)


def _evaluated(path: str) -> str:
    """Return the model of which the folder has a folder for each moment; blank if there is none."""
    folders = path.split("/")[:-1]
    at = next((n for n, folder in enumerate(folders) if MOMENT.fullmatch(folder)), 0)
    return "/".join(folder for folder in folders[:at] if folder.lower() not in GENERIC)


def _by_questions(contents: Mapping[str, Mapping[str, str]]) -> list[list[str]]:
    """Return the paths of tables of the same questions, of which none has two texts or answers."""
    groups: list[tuple[dict[str, str], list[str]]] = []
    for path, questions in contents.items():
        for known, paths in groups:
            shared = known.keys() & questions.keys()
            alike = all(known[question] == questions[question] for question in shared)
            if shared and alike and len(shared) >= MIN_SHARED * min(len(known), len(questions)):
                known.update(questions)
                paths.append(path)
                break
        else:
            groups.append((dict(questions), [path]))
    return [paths for _, paths in groups]
