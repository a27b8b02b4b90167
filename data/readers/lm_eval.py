"""Samples of lm-evaluation-harness (``--log_samples``): the log-likelihood of each option of each question.

A line of ``samples_<task>_<date>.jsonl`` holds ``doc_id, doc, target, arguments, filtered_resps, filter`` and metrics such as
``acc``. ``filtered_resps`` has a pair (log-likelihood, whether it is the greedy choice) for each option, as numbers or as text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from clueline.data.importing.evaluation_times import read_time
from clueline.data.importing.file_folder_or_zip import START, Incoming
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import UNSTATED, ImportOptions, Staging
from clueline.data.importing.table_files import TableFile
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import (
    EvaluationLog,
    NothingToCalibrate,
    as_dict,
    as_list,
    category_of,
    clean,
    common_start,
    dataset_id,
    json_lines,
    letters,
    number,
    read_each,
    shared_classes,
    shares,
    starts_with_keys,
    with_choices,
)

FORMAT = Format(
    key="lm-eval",
    reads="lm-evaluation-harness: `samples_<task>_<date>.jsonl` or `.json`, or a folder or zip of such files",
    recognised="`doc_id` and `filtered_resps`; in a folder or zip, the names of the files",
    becomes="A dataset for each task, and a run with whole distributions for each model and filter",
    source="github.com/EleutherAI/lm-evaluation-harness, with logged samples",
    rules="""
The options' probabilities are the softmax of their log-likelihoods, and the guess is the option with the greatest. `acc` says
whether it is right; if `acc` is absent, `target` does. `acc_norm` is not read. The text of a question is taken from `doc`,
because prompts differ between models; its `category` or `subject` is the question's category. If a file has several filters, each
is a run, named `likelihood (FILTER)`. The model is the one you give, otherwise the `model_name` in the `results_*.json` next to
the file, otherwise the name of its folder. Before version 0.4.2 the harness wrote one JSON list, which is read as well. Each
file of samples is a run, dated by its name or by the results next to it. Its day is the tag `date`, and the tags `harness` and
`version` say what made it. A later log must have the same questions and answers as the first one of its task; logs that are
imported together share their questions.
Generated answers are the run `no confidence`, right as `exact_match` or another metric of the sample says. Tasks of a single
likelihood are refused.
""",
)
NAME = re.compile(r"samples_(?P<task>.+?)(?:_(?P<date>\d{4}-\d{2}-\d{2}T[\d.:-]+))?\.jsonl?(?:\.gz|\.zst)?$")
KEYS = {"doc_id", "filtered_resps"}
ELICITATION = "likelihood"
PLAIN_FILTER = "none"
UNGRADED = "the answers were generated, and no metric of this sample says whether it is right"
METRICS = ("exact_match", "acc", "em", "pass@1", "f1")  # that can say whether a generated answer is right; the first one counts
ONE_LIKELIHOOD = "this task has the likelihood of a single text for each question, and no options to choose among"
# Keys of the parts of a question in the documents of the harness's tasks, in reading order.
PARTS = (
    "passage", "article", "story", "support", "background", "context", "contexts", "ctx", "premise", "hypothesis", "sentence",
    "sentence1", "sentence2", "obs1", "obs2", "body", "text", "input", "prompt", "goal", "problem", "question1", "question2",
    "question", "question_stem", "stem",
)  # fmt: skip


@dataclass(frozen=True)
class Sample:
    """The content of one line: a question with its options, none if the answer was generated, and the answer."""

    question_id: str
    line: int
    filtered: str  # the name of the filter
    options: list[str]
    question: tuple[str, str | None, str, str | None]  # arguments of ``EvaluationLog.add_question``
    given: dict[str, Any]  # arguments of ``add_answer``; ``correct`` is in [0, 1], or None if the line does not say


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is not None:
        return any(True for _ in _sample_files(incoming.folder))
    return incoming.columns >= KEYS or starts_with_keys(incoming.document, KEYS)  # a list, as before version 0.4.2


def _sample_files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("samples_*.json*")) if NAME.fullmatch(path.name))


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is None:
        own = incoming.path.name == incoming.name  # and not the path of an upload
        results = _results(incoming.path) if own else {}
        model = options.model or (_model_of(results, incoming.path.parent.name) if own else None)
        _read_file(incoming.file, Path(incoming.name).name, model, results, staging, options)
        return
    paths = sorted(_sample_files(incoming.folder))
    tasks = {match["task"] for path in paths if (match := NAME.fullmatch(path.name))}
    if options.dataset and len(tasks) > 1:
        reason = f"the files are of several tasks ({', '.join(sorted(tasks))[:200]}), each a separate dataset"
        raise refuse(incoming.name, f"{reason}; import one task at a time to name its dataset")

    def read_one(path: Path) -> None:
        file = staging.open(path, f"{incoming.name}/{path.relative_to(incoming.folder or path.parent)}")
        results = _results(path)
        folder_name = None if path.parent.parent == staging.workspace else path.parent.name
        _read_file(file, path.name, options.model or _model_of(results, folder_name), results, staging, options)

    read_each([partial(read_one, path) for path in paths], staging)


def _results(path: Path) -> dict[str, Any]:
    """Return the results next to a file of samples, of the same date or otherwise the last ones; empty if there are none."""
    match = NAME.fullmatch(path.name)
    dated = path.parent / f"results_{match['date'] if match else None}.json"
    for results in [dated] if dated.is_file() else sorted(path.parent.glob("results_*.json"))[-1:]:
        with suppress(OSError, ValueError, RecursionError):
            return as_dict(json.loads(results.read_text(encoding="utf-8-sig")))
    return {}


def _evaluated_at(stated: str | None, results: Mapping[str, Any]) -> datetime | None:
    """Return the time of an evaluation: that in the name of its file or, without one, the date that its results state."""
    return read_time(stated or str(results.get("date") or ""))


def _versions(results: Mapping[str, Any]) -> dict[str, str]:
    """Return the harness with its version, and its commit, as far as results state them."""
    harness, commit = results.get("lm_eval_version"), results.get("git_hash")
    stated = {"harness": f"lm-eval {harness}" if harness else "", "version": f"commit {commit}" if commit else ""}
    return {tag: value for tag, value in stated.items() if value}


def _model_of(results: Mapping[str, Any], folder_name: str | None) -> str | None:
    """Return the model that results name, otherwise the name of their folder, or None."""
    stated = results.get("model_name")
    return clean(stated) if isinstance(stated, str) and stated else folder_name or None


def _read_file(
    file: TableFile, file_name: str, model: str | None, results: Mapping[str, Any], staging: Staging, options: ImportOptions
) -> None:
    match = NAME.fullmatch(file_name)
    task = match["task"] if match else None
    dataset = options.dataset or (dataset_id(task) if task else None)
    if not dataset:
        raise refuse(file.name, "which task is this? The file is not named samples_<task>_<date>.jsonl", hint="dataset")
    read = list(_samples(file, staging))
    samples = [sample for sample in read if isinstance(sample, Sample)]
    staging.report.problems += [problem for problem in read if isinstance(problem, Problem)]
    if not read and not staging.report.problems:
        raise refuse(file.name, "there are no samples in this file")
    log = EvaluationLog(
        file.name, dataset, title=task or dataset, source=f"lm-evaluation-harness, task {task or dataset}", model=model,
        classes=shared_classes([sample.options for sample in samples]),
        evaluated_at=_evaluated_at(match["date"] if match else None, results), tags=_versions(results),
    )  # fmt: skip
    several_filters = len({sample.filtered for sample in samples}) > 1
    if {len(sample.options) for sample in samples} == {1}:
        raise NothingToCalibrate(file.name, ONE_LIKELIHOOD)
    of_task = as_dict(as_dict(results.get("results")).get(str(task)))
    for sample in samples:
        elicitation, metrics = (UNSTATED, METRICS) if "guess" in sample.given else (ELICITATION, ["acc"])
        if several_filters or sample.filtered != PLAIN_FILTER:
            elicitation += f" ({sample.filtered})"
        stated = (number(of_task.get(f"{metric},{sample.filtered}")) for metric in metrics)
        if (published := next((share for share in stated if share is not None), None)) is not None:
            log.published[None, elicitation] = published
        log.add_question(sample.question_id, *sample.question)
        if sample.given.get("failed"):
            log.skip(elicitation, "a log-likelihood is not a number")
        elif sample.given["correct"] is None:
            reason = "neither `acc` nor `target` says which option is right"
            log.problems.append(Problem(file.name, sample.line, "target", None, reason))
        log.add_answer(sample.question_id, elicitation, f"line {sample.line}", **sample.given)
    if renamed := sum(_with_numbered_repeats(sample.options) != sample.options for sample in samples):
        staging.report.repaired["questions with two options of the same text, which were numbered"] += renamed
    if any(sample.given.get("correct") not in (0, 1, None) for sample in samples):
        staging.report.warnings.append(f"{file.name}: `acc` lies between 0 and 1 here, and was taken as it is")
    log.add_to(staging, options)


def _samples(file: TableFile, staging: Staging) -> Iterator[Sample | Problem]:
    """Yield the samples of a file, generated ones only if no line has a likelihood. Bad lines are problems."""
    generated: list[tuple[int, dict[str, Any]]] = []
    read = False
    for line, row in _rows(file, staging):
        if missing := [key for key in sorted(KEYS) if row.get(key) is None]:
            yield Problem(file.name, line, ", ".join(missing), None, "this key is missing")
        elif (logarithms := likelihoods(row["filtered_resps"])) is None:
            generated.append((line, row))
        else:
            sample = _sample(file.name, line, row, logarithms)
            read = read or isinstance(sample, Sample)
            yield sample
    reason = "no pairs of a log-likelihood and whether it is the greedy choice"
    for line, row in generated:
        yield Problem(file.name, line, "filtered_resps", None, reason) if read else _sample(file.name, line, row, None)


def _rows(file: TableFile, staging: Staging) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the samples of a file with their line numbers, or with their places in it if it is one JSON list."""
    with file.path.open("rb") as opened:
        is_list = opened.read(START).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"["
    if not is_list:
        yield from json_lines(file, staging)
        return
    document = Incoming(file.path, staging, file.name).require_document()
    staging.report.lines.append(f"{file.name}: one JSON list, whose samples are counted as lines")
    for place, row in enumerate(as_list(document), start=1):
        if isinstance(row, dict):
            yield place, row
        else:
            staging.report.problems.append(Problem(file.name, place, None, None, "this sample is not a JSON object"))


def likelihoods(responses: object) -> list[float] | None:
    """Return the log-likelihoods of the options; None if answers were generated.

    >>> likelihoods([["-25.6", "False"], ["-23.5", "True"]]), likelihoods([[[-1.5, False]]]), likelihoods(["Paris"])
    ([-25.6, -23.5], [-1.5], None)
    """
    if not isinstance(responses, list) or not responses:
        return None
    values = []
    for pair in responses:
        while isinstance(pair, list) and len(pair) == 1:
            pair = pair[0]  # noqa: PLW2901 - some filters leave each pair in a separate list
        if not isinstance(pair, list) or len(pair) != 2 or str(pair[1]).lower() not in ("true", "false"):
            return None
        value = number(pair[0])
        if value is None:
            return None
        values.append(value)
    return values


def _sample(file: str, line: int, row: Mapping[str, Any], logarithms: list[float] | None) -> Sample | Problem:
    """Return a sample, or why it cannot be read. ``logarithms`` are None if the answer was generated."""
    doc, pairs = as_dict(row.get("doc")), _arguments(row.get("arguments"))
    answer = str(row.get("target", "")).strip() or None
    options, given = list[str](), dict[str, Any](failed=True)
    if logarithms is None:
        named = [*METRICS, *map(str, as_list(row.get("metrics")))]
        correct = next((share for name in named if (share := _correctness(row.get(name))) is not None), None)
        if correct is None:
            return Problem(file, line, "exact_match", None, UNGRADED)
        guess, output = (_first(row.get(name)) for name in ("filtered_resps", "resps"))
        if guess is not None:
            given = {"guess": guess, "correct": correct, "state": "no_confidence", "output": output or guess}
    else:
        if len(pairs) == 2 * len(logarithms):  # with acc_mutual_info, the options are repeated without the question
            pairs = pairs[: len(logarithms)]
        if pairs and len(pairs) != len(logarithms):
            reason = f"there are {len(logarithms)} log-likelihoods for the {len(pairs)} options of `arguments`"
            return Problem(file, line, "filtered_resps", None, reason)
        options, probabilities = _options(pairs, doc, len(logarithms)), shares(logarithms)
        best = max(range(len(logarithms)), key=lambda index: (logarithms[index], -index))
        correct = _correctness(row.get("acc"))
        right = _right_option(row.get("target"), options, best, correct)
        if right is not None:
            answer, correct = options[right], float(right == best) if correct is None else correct
        if probabilities is not None:
            given = {"options": dict(zip(_with_numbered_repeats(options), probabilities, strict=True)), "correct": correct}
    question = (_text(doc, pairs, options), answer, f"line {line}", category_of(doc))
    return Sample(str(row["doc_id"]), line, str(row.get("filter") or PLAIN_FILTER), options, question, given)


def _first(generated: object) -> str | None:
    """Return the first of several generated samples, of which the metrics are."""
    while isinstance(generated, list) and generated:
        generated = generated[0]
    return None if generated is None else str(generated)


def _correctness(metric: object) -> float | None:
    share = number(float(metric) if isinstance(metric, bool) else metric)
    return share if share is not None and 0 <= share <= 1 else None


def _arguments(arguments: object) -> list[tuple[str, str]]:
    """Return (context, continuation) of each option: ``{"gen_args_0": {"arg_0":, "arg_1":}}``, or lists in earlier versions."""
    rows = map(_in_number_order, _in_number_order(arguments))
    return [(str(parts[0]), str(parts[1])) for parts in rows if len(parts) >= 2]


def _in_number_order(values: object) -> list[object]:
    """Return values in the order of the numbers in their keys: other programs sort ``gen_args_10`` before ``gen_args_2``."""
    if isinstance(values, dict):
        return [values[key] for key in sorted(values, key=lambda key: int((re.findall(r"\d{1,9}$", key) or ["0"])[0]))]
    return as_list(values)


def _options(pairs: list[tuple[str, str]], doc: Mapping[str, Any], count: int) -> list[str]:
    """Return a text for each option: its continuation or, if all continuations are equal, the part of the context that varies."""
    if not pairs:
        choices = _choices(doc)
        return choices if len(choices) == count else letters(count)
    continuations = [continuation.strip() for _, continuation in pairs]
    if count > 1 and len(set(continuations)) == 1:  # Winogrande: the option is within the context
        contexts = [context for context, _ in pairs]
        start = common_start(contexts)
        start = start[: start.rfind(" ") + 1]
        ends = len(common_start([context[len(start) :][::-1] for context in contexts]))
        continuations = [context[len(start) : len(context) - ends].strip() for context in contexts]
    return [text or letter for text, letter in zip(continuations, letters(count), strict=True)]


def _choices(doc: Mapping[str, Any]) -> list[str]:
    choices = doc.get("choices") or doc.get("options") or doc.get("endings")
    if isinstance(choices, dict):
        choices = choices.get("text")
    return [str(choice).strip() for choice in as_list(choices)]


def _right_option(target: object, options: Sequence[str], best: int, correct: float | None) -> int | None:
    """Return the number of the right option, from 0; None if ``target`` does not say.

    The target is the number of an option or its text. If it could be both, the one that agrees with ``acc`` (``correct``) on the
    option that the model chose (``best``) counts.
    """
    text, names = str(target).strip(), letters(len(options))
    candidates = [int(text)] if re.fullmatch(r"\d{1,4}", text) and int(text) < len(options) else []
    candidates += [options.index(text)] if text in options else []
    candidates = candidates or [n for n, name in enumerate(names) if name == text] or [best] * (correct == 1)
    agreeing = [index for index in candidates if correct in (0, 1) and (index == best) == (correct == 1)]
    return next(iter(agreeing or candidates), None)


def _text(doc: Mapping[str, Any], pairs: list[tuple[str, str]], options: list[str]) -> str:
    """Return the question for people to read, without the prompt around it, which can differ between models."""
    fields = {key.lower(): value for key, value in doc.items()}
    if isinstance(fields.get("query"), str):
        parts = [fields["query"]]
    else:
        values = [part for name in PARTS if (part := fields.get(name))]
        parts = ["\n".join(map(str, part)) if isinstance(part, list) else str(part) for part in values]
        parts = parts or [f"{key}: {value}" for key, value in doc.items() if isinstance(value, str) and value]
        parts = parts or [context for context, _ in pairs[:1]]
    names, choices = letters(len(options)), _choices(doc)
    shown = choices if options == names and len(choices) == len(options) else options
    text = "\n".join(part.strip() for part in parts)
    return text if shown == names else with_choices(text, shown)


def _with_numbered_repeats(options: list[str]) -> list[str]:
    """Return the options, with numbers added to repeated ones to make them different."""
    names: dict[str, None] = {}
    for index, option in enumerate(options, start=1):
        names[f"{option} ({index})" if option in names else option] = None
    return list(names) if len(names) == len(options) else letters(len(options))
