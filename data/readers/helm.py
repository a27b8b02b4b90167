"""Runs of HELM: ``scenario_state.json``, the requests and their completions, and ``per_instance_stats.json``, their metrics.

Multiple-choice questions are asked in two ways. Joint: one request, whose completion is a letter of ``output_mapping``. Separate:
one request for each reference, and their log-probabilities are compared. HELM writes the log-probability 0 if a model gives none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import UNSTATED, ImportOptions, Staging
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import (
    EvaluationLog,
    as_dict,
    as_dicts,
    as_list,
    dataset_id,
    letters,
    number,
    option_shares,
    read_each,
    shared_classes,
    shares,
    with_choices,
)

FORMAT = Format(
    key="helm",
    reads="HELM: run folders with `scenario_state.json` and `per_instance_stats.json` (also gzip), as a folder or zip",
    recognised="`scenario_state.json`",
    becomes="A dataset for each scenario, and a run",
    source="github.com/stanford-crfm/helm, folders of `helm-run`",
    rules="""
The dataset is named after the run without its model and method. If HELM measured `max_prob`, `predicted_index` and
`exact_match`, these count; otherwise they are worked out from the log-probabilities. Separate requests give whole distributions,
unless HELM's own confidence differs because it divides log-probabilities by the number of tokens. A run whose log-probabilities
are all 0 has no confidences, and is the run `no confidence`. Requests about perturbed instances are left out.
""",
)
STATE, STATS, TOTALS, SPEC = "scenario_state.json", "per_instance_stats.json", "stats.json", "run_spec.json"
ELICITATION = "likelihood"
CORRECT = "correct"  # tag of a correct reference
NOT_OF_SCENARIO = {"model", "model_deployment", "method", "max_train_instances", "num_train_trials", "data_augmentation"}
MATCHES = ("exact_match", "quasi_exact_match")  # metrics that say whether the answer is right; the first one present counts
NO_ANSWER = "the request failed"
AGREE = 1e-6  # greatest difference of two confidences that count as equal


@dataclass
class Item:
    """The requests about one instance, and the means of its metrics by name."""

    instance: Mapping[str, Any]
    states: list[Mapping[str, Any]] = field(default_factory=list)
    stats: dict[str, float] = field(default_factory=dict)

    @property
    def references(self) -> list[str]:
        return [_text(reference.get("output")) for reference in as_dicts(self.instance.get("references"))]

    @property
    def separate(self) -> bool:
        return any(state.get("reference_index") is not None for state in self.states)

    @property
    def choice(self) -> bool:
        """Whether the references are options to choose among."""
        return self.separate or any(state.get("output_mapping") for state in self.states)

    @property
    def right(self) -> list[int]:
        references = as_dicts(self.instance.get("references"))
        return [index for index, reference in enumerate(references) if CORRECT in as_list(reference.get("tags"))]


@dataclass(frozen=True)
class Answer:
    """The answer of the model: its guess, a confidence or the probabilities of all options, and what was generated."""

    guess: str
    correct: float | None
    confidence: float | None = None
    options: dict[str, float] | None = None
    output: str = ""


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is not None:
        return bool(_run_folders(incoming.folder))
    return {"adapter_spec", "request_states"} <= as_dict(incoming.document).keys()


def _run_folders(folder: Path) -> list[Path]:
    return sorted({path.parent for path in folder.rglob(f"{STATE}*") if path.name in (STATE, f"{STATE}.gz")})


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is None:
        _read_run(incoming.name, incoming.document, None, None, None, "", staging, options)
        return
    folders = _run_folders(incoming.folder)
    if not folders:
        raise refuse(incoming.name, f"there is no {STATE} in it")

    def read_one(folder: Path) -> None:
        relative = folder.relative_to(incoming.folder or folder)
        name = incoming.name if folder == incoming.folder else f"{incoming.name}/{relative}"
        state, stats, totals, spec = (_document(folder, part, name, staging) for part in (STATE, STATS, TOTALS, SPEC))
        own = folder.name if folder.parent != staging.workspace else ""
        _read_run(name, state, stats, totals, spec, relative.name or own, staging, options)

    read_each([partial(read_one, folder) for folder in folders], staging)


def _document(folder: Path, part: str, name: str, staging: Staging) -> Any:
    """Return the JSON content of a file of a run; None if the file is absent."""
    path = next((path for path in (folder / part, folder / f"{part}.gz") if path.is_file()), None)
    return None if path is None else Incoming(path, staging, f"{name}/{path.name}").require_document()


def _read_run(
    name: str, state: Any, stats: Any, totals: Any, spec: Any, folder_name: str, staging: Staging, options: ImportOptions
) -> None:
    if not isinstance(state, dict) or not isinstance(state.get("request_states"), list):
        raise refuse(name, f"{STATE} has no `request_states`")
    scenario = _scenario(str(as_dict(spec).get("name") or folder_name))
    dataset = options.dataset or dataset_id(scenario)
    if not dataset:
        raise refuse(name, f"which scenario is this? There is no {SPEC} next to it", hint="dataset")
    adapter = as_dict(state.get("adapter_spec"))
    model = adapter.get("model") or adapter.get("model_deployment")
    items = _items(name, state["request_states"], stats, staging)
    if not items:
        raise refuse(name, f"there are no requests in {STATE}")
    unstated = all(_logprob(request) in (0, None) for item in items.values() for request in item.states)
    if unstated:
        staging.report.warnings.append(f"{name}: every log-probability is 0, as HELM writes it if a model states none")
    options_of_items = [letters(len(item.references)) if item.choice else [] for item in items.values()]
    log = EvaluationLog(
        name, dataset, title=scenario or dataset, source=f"HELM, scenario {scenario or dataset}",
        model=str(model) if model else None, classes=shared_classes(options_of_items),
    )  # fmt: skip
    of_test = [row for row in as_dicts(totals) if as_dict(row.get("name")).get("split") == "test"]
    means = _means({"stats": of_test})
    if (metric := next((metric for metric in MATCHES if metric in means), None)) is not None:
        log.published[None, UNSTATED if unstated else ELICITATION] = means[metric]
    several_trials = len({trial for _, trial in items}) > 1
    for (instance, trial), item in items.items():
        _add(log, instance, str(trial) if several_trials else None, item, UNSTATED if unstated else ELICITATION)
    log.add_to(staging, options)


def _scenario(run: str) -> str:
    """Return the scenario in the name of a run, without the model and the way it was asked.

    >>> _scenario("mmlu:subject=astronomy,method=multiple_choice_joint,model=openai_gpt-4")
    'mmlu:subject=astronomy'
    """
    scenario, _, arguments = run.partition(":")
    kept = [argument for argument in arguments.split(",") if argument and argument.partition("=")[0] not in NOT_OF_SCENARIO]
    return f"{scenario}:{','.join(kept)}" if kept else scenario


def _items(name: str, states: list[Any], stats: Any, staging: Staging) -> dict[tuple[str, int], Item]:
    """Return the requests by instance and trial, in the order of the log. Perturbed instances are left out."""
    items: dict[tuple[str, int], Item] = {}
    perturbed = 0
    for nth, state in enumerate(states, start=1):
        instance = as_dict(as_dict(state).get("instance"))
        if instance.get("id") is None:
            staging.report.problems.append(Problem(name, None, "instance.id", None, "a request needs one", row=f"request {nth}"))
        elif instance.get("perturbation"):
            perturbed += 1
        else:
            key = (str(instance["id"]), int(number(state.get("train_trial_index")) or 0))
            items.setdefault(key, Item(instance)).states.append(state)
    staging.report.warn_left_out(name, "request", {"about perturbed instances": perturbed})
    for row in as_dicts(stats):
        key = (str(row.get("instance_id")), int(number(row.get("train_trial_index")) or 0))
        if key in items and not row.get("perturbation"):
            items[key].stats.update(_means(row))
    return items


def _means(row: Mapping[str, Any]) -> dict[str, float]:
    means = {}
    for stat in as_dicts(row.get("stats")):
        about, mean = as_dict(stat.get("name")), number(stat.get("mean"))
        if isinstance(about.get("name"), str) and not about.get("perturbation") and mean is not None:
            means[about["name"]] = mean
    return means


def _add(log: EvaluationLog, instance: str, trial: str | None, item: Item, elicitation: str) -> None:
    place = f"instance {instance}"
    references = item.references
    names = letters(len(references))
    choice = item.choice  # looks at every request
    text = _text(item.instance.get("input"))
    text = with_choices(text, references) if choice else text
    right = [names[index] if choice else references[index] for index in item.right]
    log.add_question(instance, text, " or ".join(right) or None, place)
    answer = _separate(item) if item.separate else _joint(item)
    if answer is None:
        log.skip(elicitation, NO_ANSWER)
        log.add_answer(instance, elicitation, place, failed=True, sample=trial)
        return
    asked = {f"{state.get('reference_index')} {state.get('request_mode') or 'original'}" for state in item.states}
    if len(asked) < len(item.states):
        log.problems.append(Problem(log.name, None, None, None, "two requests for this instance are the same", row=place))
    if answer.correct is None:
        log.problems.append(Problem(log.name, None, "references", None, "no reference is tagged as correct", row=place))
    known = elicitation != UNSTATED and (answer.confidence is not None or answer.options is not None)
    log.add_answer(
        instance, elicitation, place, guess=answer.guess, confidence=answer.confidence if known else None,
        options=answer.options if known else None, correct=answer.correct, sample=trial,
        state=None if known else "no_confidence", output=answer.output,
    )  # fmt: skip


def _joint(item: Item) -> Answer | None:
    """Return the answer of one completion, a letter or a text; None if the request failed."""
    state = item.states[0]
    completion, logprob = _completion(state), _logprob(state)
    if completion is None:
        return None
    text = str(completion.get("text") or "").strip()
    mapping = {str(letter): str(text) for letter, text in as_dict(state.get("output_mapping")).items()}
    mapped = mapping.get(text)
    references = item.references
    guess = letters(len(references))[references.index(mapped)] if item.choice and mapped in references else text
    correct = next((item.stats[metric] for metric in MATCHES if metric in item.stats), None)
    if correct is None and item.right:
        correct = float((mapped if item.choice else text) in {references[index] for index in item.right})
    distribution = _distribution(completion, mapping, references) if mapped in references else None
    confidence = item.stats.get("max_prob", None if logprob is None else math.exp(min(logprob, 0.0)))
    return Answer(guess, correct, None if distribution else confidence, distribution, text)


def _distribution(completion: Mapping[str, Any], mapping: Mapping[str, str], references: list[str]) -> dict[str, float] | None:
    """Return probabilities of all options, from the likely tokens that earlier versions store; None if these lack an option."""
    first = next(iter(as_dicts(completion.get("tokens"))), {})
    names = letters(len(references))
    name_of = dict(zip(reversed(references), reversed(names), strict=True))  # of equal references, the first one
    likely = [(text.strip(), number(value)) for text, value in as_dict(first.get("top_logprobs")).items()]
    return option_shares(((name_of.get(mapping.get(text, "")), value) for text, value in likely if value is not None), names)


def _separate(item: Item) -> Answer | None:
    """Return the answer if each reference was a separate request; None if a log-probability is missing."""
    names = letters(len(item.references))
    logprobs = {(str(s.get("reference_index")), str(s.get("request_mode") or "original")): _logprob(s) for s in item.states}
    scores: list[float] = []
    for index in range(len(names)):
        own, without_question = logprobs.get((str(index), "original")), logprobs.get((str(index), "calibration"), 0.0)
        if own is None or without_question is None:
            return None
        scores.append(own - without_question)
    probabilities = shares(scores)
    if probabilities is None:
        return None
    best = max(range(len(names)), key=lambda index: (probabilities[index], -index))
    stated, confidence = item.stats.get("predicted_index"), item.stats.get("max_prob")
    guess = int(stated) if stated is not None and 0 <= stated < len(names) else best
    correct = item.stats.get("exact_match")
    if correct is None and item.right:
        correct = float(guess in item.right)
    # HELM may divide log-probabilities by the number of tokens. Then its confidence is not that of the sums.
    if confidence is None or (guess == best and abs(confidence - probabilities[best]) < AGREE):
        return Answer(names[guess], correct, options=dict(zip(names, probabilities, strict=True)))
    return Answer(names[guess], correct, confidence)


def _completion(state: Mapping[str, Any]) -> Mapping[str, Any] | None:
    result = state.get("result")
    if not isinstance(result, dict) or result.get("success") is False:
        return None
    return next(iter(as_dicts(result.get("completions"))), None)


def _logprob(state: Mapping[str, Any]) -> float | None:
    completion = _completion(state)
    value = number(completion.get("logprob")) if completion else None
    return value if value is not None and math.isfinite(value) else None


def _text(content: object) -> str:
    """Return the text of an input or output. Early versions write it without an object around it."""
    return str(content.get("text") or "") if isinstance(content, dict) else str(content or "")
