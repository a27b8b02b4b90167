"""What the paths in a folder say: tables with the same questions are of one dataset, and their paths name the models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from clueline.data.readers.table.build import stem_of
from clueline.data.readers.table.names import MODEL_NAME

# Names that many datasets have.
GENERIC = {"answers", "data", "eval", "out", "output", "outputs", "predictions", "preds", "responses", "result", "results"}
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
    parts = {path: (*path.split("/")[:-1], stem_of(path)) for path in contents}
    of_all = set.intersection(*map(set, parts.values())) if parts else set()
    names = {}
    for paths in _by_questions(contents):
        of_dataset = set.intersection(*(set(parts[path]) for path in paths))
        for path in paths:
            shared = [part for part in parts[path] if part in of_dataset and part.lower() not in GENERIC]
            own = [part for part in shared if part not in of_all]
            differing = [part for part in parts[path] if part not in of_dataset]
            named = [part for part in parts[path] if MODEL_NAME.search(f"{part} ")]
            if len(paths) > 1:
                names[path] = Names(" ".join(own or shared) or folder, "/".join(differing) or parts[path][-1])
            else:
                of_data = [part for part in own if part not in named]
                stem = folder if parts[path][-1].lower() in GENERIC else parts[path][-1]
                names[path] = Names(of_data[-1] if of_data else stem, named[0] if named else stem)
    return names


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
