"""ChaosNLI as released: items with the votes of a hundred people each, and classifiers' predictions for NLI items.

Items (Nie et al. 2020): JSON Lines ``uid, label_count, majority_label, example``. SNLI and MNLI have a premise and a hypothesis
with three classes, alphaNLI two hypotheses about what happened between two observations. Predictions (Baan et al. 2022): JSON
Lines ``uid, probs, pred``. No file states their class order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations

from clueline.data.duckdb_and_polars import literal
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import ImportOptions, RunKey, Staging
from clueline.data.importing.table_contract import MAX_SHOWN_LENGTH, Column
from clueline.data.importing.table_files import TableFile
from clueline.data.plurals import counted
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import as_dict

FORMAT = Format(
    key="chaosnli",
    reads="ChaosNLI (SNLI, MNLI, alphaNLI): items with human votes, or a classifier's predictions (JSON Lines)",
    recognised="`uid` with `label_count` or `probs`",
    becomes="A dataset of votes, or a run with whole distributions",
    source="ChaosNLI (Nie, Zhou & Bansal 2020), CC BY-NC 4.0",
    rules="""
The part is recognised by the ids and examples; alphaNLI has the classes 1 and 2. Files of predictions do not say which class each
probability belongs to: you name the classes in the file's order. Predictions for questions that the dataset does not have are
counted and left out.
""",
)
DATASET = "chaosnli"
ELICITATION = "softmax"
UNKNOWN_QUESTION = "not a question of this dataset"


@dataclass(frozen=True)
class Part:
    """A part of the release, and the dataset that it becomes, unless the analyst names it."""

    dataset: str
    title: str
    labels: Mapping[str, str]  # short name of a class -> its name in the dataset, in the order of ``label_count``
    example: Mapping[str, str]  # key of an example -> its name in the question

    @property
    def classes(self) -> list[str]:
        return list(self.labels.values())

    @property
    def columns(self) -> tuple[Column, ...]:
        return (
            Column("uid", required=True),
            Column("label_count", "numbers", required=True, low=0),
            Column("label_counter"),
            Column("majority_label", choices=tuple(self.labels)),
            Column("example", required=True),
        )


INFERENCE = {"e": "entailment", "n": "neutral", "c": "contradiction"}
PREMISE = {"premise": "Premise", "hypothesis": "Hypothesis"}
SNLI = Part("chaosnli-snli", "ChaosNLI-SNLI", INFERENCE, PREMISE)
MNLI = Part("chaosnli-mnli", "ChaosNLI-MNLI", INFERENCE, PREMISE)
ALPHA_NLI = Part(
    "chaosnli-alphanli", "ChaosNLI-alphaNLI", {"1": "1", "2": "2"},
    {"obs1": "Observation 1", "obs2": "Observation 2", "hyp1": "Hypothesis 1", "hyp2": "Hypothesis 2"},
)  # fmt: skip
OTHER = Part(DATASET, "ChaosNLI", INFERENCE, PREMISE)  # three classes; the file does not say which part it is

PREDICTIONS = (
    Column("uid", required=True),
    Column("probs", "numbers", required=True, low=0),
    Column("pred", "integer", low=0),
    Column("true", "integer", low=0),
)
NUMBERS = {2: "two", 3: "three"}
MAX_ORDERED = 6  # classes: up to here, all their orders are tried


def recognises(incoming: Incoming) -> bool:
    return "uid" in incoming.columns and bool({"label_count", "label_counter", "probs", "logits"} & incoming.columns)


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is not None:
        raise refuse(incoming.name, "this is a folder or zip; ChaosNLI's files are JSON Lines: name them one by one")
    columns = set(incoming.file.columns)
    if {"label_count", "label_counter"} & columns:
        _read_items(incoming.file, staging, options)
    elif {"probs", "logits"} & columns:
        _read_predictions(incoming.file, staging, options)
    else:
        seen = ", ".join(incoming.file.columns)
        raise refuse(
            incoming.name, f"neither ChaosNLI items (uid, label_count) nor predictions (uid, probs); the file has: {seen[:300]}"
        )


def _part(file: TableFile) -> Part:
    row = file.first_row
    uid, example = str(row.get("uid")), as_dict(row.get("example"))
    counts = None if example else row.get("label_count", row.get("probs"))
    if "obs1" in example or "hyp1" in example or (isinstance(counts, list) and len(counts) == len(ALPHA_NLI.labels)):
        return ALPHA_NLI
    source = str(example.get("source", "")).partition("_")[0]
    if source == "snli" or re.search(r"\.jpg#\d", uid):
        return SNLI
    return MNLI if source == "mnli" or re.fullmatch(r"\d+[enc]", uid) else OTHER


def _read_items(file: TableFile, staging: Staging, options: ImportOptions) -> None:
    part = _part(file)
    dataset = options.dataset or part.dataset
    staging.add_dataset(
        file.name, dataset, kind="votes", title=options.title or part.title, classes=part.classes,
        source="ChaosNLI (Nie, Zhou & Bansal 2020), as released", licence="CC BY-NC 4.0",
    )  # fmt: skip
    staging.load(file, part.columns)
    size = len(part.labels)
    incomplete = " or ".join(f"{key} = ''" for key in part.example)
    text = ", ".join(f"'{name}: ' || {key}" for key, name in part.example.items())
    counter = "[" + ", ".join(f"coalesce(try_cast(counter->>'{letter}' as double), 0)" for letter in part.labels) + "]"
    texts = {key: f"trim(coalesce(fields->>'{key}', ''))" for key in part.example}
    staging.connection.execute(f"""
        create or replace table items_with_votes as
        select *, {staging.files.index(file)} as file, {counter} as counter_votes,
            {", ".join(f"{sql} as {key}" for key, sql in texts.items())}
        from (select *, case when json_valid(label_counter) then label_counter::json end as counter,
            case when json_valid(example) then example::json end as fields from loaded)""")
    for column, condition, reason in (
        ("label_count", f"len(label_count) <> {size}",
         f"must be {NUMBERS[size]} numbers: votes for {', '.join(part.classes)}"),
        ("label_count", "len(list_filter(label_count, lambda n: n <> floor(n) or n > 1e9)) > 0",
         "votes are whole numbers"),
        ("label_count", f"len(label_count) = {size} and list_sum(label_count) = 0", "nobody voted"),
        ("label_counter", f"counter is not null and len(label_count) = {size} and counter_votes <> label_count",
         "disagrees with label_count"),
        ("example", f"example is not null and ({incomplete})",
         f"must hold {_listed(part.example)}"),
    ):  # fmt: skip
        staging.report_rows("items_with_votes", column, literal(reason), f"where {condition}")
    votes = " ".join(f"when {literal(letter)} then label_count[{nth}]" for nth, letter in enumerate(part.labels, start=1))
    outvoted = f"len(label_count) = {size} and case majority_label {votes} end < list_max(label_count)"
    (count,) = staging.connection.execute(f"select count(*) from items_with_votes where {outvoted}").fetchall()[0]
    if count:
        reason = "a majority_label that fewer people chose than another; it is kept as the answer"
        staging.report.warnings.append(f"{file.name}: {counted(count, 'item has', 'items have')} {reason}")
    cases = " ".join(f"when {literal(letter)} then {literal(name)}" for letter, name in part.labels.items())
    sql = f"""select $dataset as dataset, uid as question_id,
            concat_ws(chr(10), {text}) as text,
            case majority_label {cases} end as answer, ordinal from items_with_votes"""
    staging.add("questions", file, sql, {"dataset": dataset})
    sql = f"""select $dataset as dataset, uid as question_id, unnest($classes) as class,
            unnest(list_transform(label_count, lambda n: try_cast(n as integer))) as votes, ordinal
        from items_with_votes where len(label_count) = {size}"""
    staging.add("votes", file, sql, {"dataset": dataset, "classes": part.classes})
    staging.connection.execute("drop table items_with_votes")


def _listed(names: Iterable[str]) -> str:
    return " and ".join(f"{'an' if name[0] in 'aeiou' else 'a'} {name}" for name in names)


def _read_predictions(file: TableFile, staging: Staging, options: ImportOptions) -> None:
    dataset = options.dataset or _part(file).dataset
    classes: list[str] = staging.existing(dataset, file.name, "import its items first")["classes"] or []
    _check_classes(file, dataset, classes, options)
    if not options.model:
        raise refuse(file.name, "which model predicted this?", hint="model")
    staging.load(file, PREDICTIONS)
    key = RunKey(dataset, options.model, options.elicitation or ELICITATION)
    size, order = len(classes), [options.classes.index(name) + 1 for name in classes]
    sql = f"""create or replace table predicted as select *, {staging.files.index(file)} as file,
            uid in (select question_id from known_questions where dataset = $dataset) as known from loaded"""
    staging.connection.execute(sql, {"dataset": dataset})
    of_classes = f"len(probs) = {size}"
    for column, condition, reason in (
        ("probs", f"len(probs) > 0 and not {of_classes}", f"must be {size} numbers, one for each of the classes given"),
        ("pred", f"{of_classes} and pred >= {size}", f"must be below {size}, the number of classes"),
        ("pred", f"{of_classes} and pred < {size} and probs[pred + 1] < list_max(probs)",
         "is not the class with the greatest probability in probs"),
    ):  # fmt: skip
        staging.report_rows("predicted", column, literal(reason), f"where {condition}")
    rows = staging.connection.execute("select count(*), count(*) filter (known) from predicted").fetchall()[0]
    if rows[0] > rows[1]:
        staging.skip(key, {UNKNOWN_QUESTION: rows[0] - rows[1]})
    sql = """select $dataset as dataset, $model as model, $elicitation as elicitation, uid as question_id, 0 as clue,
            to_json(list_transform($order, lambda k: probs[k]))::varchar as options, ordinal
        from predicted where known or uid is null"""
    count = staging.add("responses", file, sql, key._asdict() | {"order": order})
    _warn_of_order(file, staging, dataset, options.classes)
    staging.connection.execute("drop table predicted")
    if not count and file.name not in {problem.file for problem in staging.report.problems}:
        reason = f"none of its predictions ({rows[0]:,}) is for a question of dataset {dataset!r}"
        staging.report.problems.append(Problem(file.name, None, "uid", None, reason))


def _check_classes(file: TableFile, dataset: str, classes: list[str], options: ImportOptions) -> None:
    """Raise ``Refused`` if the class order of predictions is not stated, or is not an order of the dataset's classes."""
    if not classes:
        raise refuse(file.name, f"dataset {dataset!r} names no classes, so these probabilities have no meaning for it")
    names = ", ".join(classes)
    if not options.classes:
        raise refuse(
            file.name,
            "which class does each probability belong to? The file does not say, and a wrong guess would go unnoticed; "
            f"name the classes in the file's order; the dataset has {names}",
            hint="classes",
        )
    if sorted(options.classes) != sorted(classes):
        reason = f"the classes given must name each class of dataset {dataset!r} once, in the file's order: {names}"
        raise refuse(file.name, reason, value=",".join(options.classes)[:MAX_SHOWN_LENGTH], hint="classes")


def _warn_of_order(file: TableFile, staging: Staging, dataset: str, order: tuple[str, ...]) -> None:
    """Warn if the file's own labels fit the answers of more questions with another order of the classes."""
    sql = """select p."true", q.answer, count(*) from predicted p join known_questions q
        on q.dataset = $dataset and q.question_id = p.uid
        where p."true" is not null and q.answer is not null group by all"""
    rows = staging.connection.execute(sql, {"dataset": dataset}).fetchall()
    if not rows or len(order) > MAX_ORDERED:
        return
    counts = {(label, answer): count for label, answer, count in rows}

    def fitting(classes: tuple[str, ...]) -> int:
        return sum(counts.get(pair, 0) for pair in enumerate(classes))

    best = max(permutations(order), key=fitting)
    if fitting(best) > fitting(order):
        staging.report.warnings.append(
            f"{file.name}: are the classes in the right order? Read as {','.join(order)}, the file's labels (`true`) are the "
            f"answers of {counted(fitting(order), 'question')}; as {','.join(best)}, of {fitting(best):,}"
        )
