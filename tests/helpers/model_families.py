"""Eight models on three benchmarks in two months: logs of Inspect and lm-eval, and tables, with the names that each writes."""

import json
import random

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from tests.helpers.evaluation_logs import inspect_log, inspect_sample, inspect_score, lm_eval_sample, write_eval, write_lines

MAKERS = ("anthropic", "openai")
MODELS = tuple(f"{maker}-{size}-{number}" for maker in MAKERS for size in ("mini", "pro") for number in (3, 4))
MONTHS = ("2025-10", "2025-11")
QUESTIONS = 12
# How each tool writes the name of a model. Inspect puts the provider in front, and providers add dates.
TOOLS = {
    "towns": lambda model: f"{model.partition('-')[0]}/{model}-20250901",
    "rivers": lambda model: f"{model.partition('-')[0]}-ai/{model}",
    "peaks": lambda model: model.replace("-", " ").title(),
}


def write_towns(folder, names, month, draw):
    """Write a log of Inspect for each model."""
    for model in names:
        guesses = [draw.choice([("C", "Paris"), ("I", "Rome")]) for _ in range(QUESTIONS)]
        scores = [inspect_score(value, guess, confidence=draw.randint(0, 100) / 100) for value, guess in guesses]
        samples = [inspect_sample(f"towns-{number}", {"match": score}) for number, score in enumerate(scores)]
        log = inspect_log(samples, model=model, created=f"{month}-15T10:00:00+00:00")
        write_eval(folder / f"{month}-15T10-00-00_towns_{model.replace('/', '_')}.eval", log)


def write_rivers(folder, names, month, draw):
    """Write samples and results of lm-eval for each model, in a folder of its own."""
    for model in names:
        own, date = folder / model.replace("/", "__"), f"{month}-15T10-00-00.000000"
        samples = [lm_eval_sample(number, [-draw.random(), -draw.random()]) for number in range(QUESTIONS)]
        write_lines(own / f"samples_rivers_{date}.jsonl", samples)
        (own / f"results_{date}.json").write_text(json.dumps({"model_name": model, "results": {}}))


def write_peaks(folder, names, month, draw):
    """Write a table of all models."""
    rows = [
        f"What is {number}?,a{number},{draw.choice('ab')}{number},{draw.randint(0, 100) / 100},{model}"
        for model in names
        for number in range(QUESTIONS)
    ]
    folder.mkdir(parents=True)
    (folder / "peaks.csv").write_text("\n".join(["question,answer,guess,confidence,model", *rows]))


WRITERS = {"towns": write_towns, "rivers": write_rivers, "peaks": write_peaks}


def fill(store, folder, models=MODELS):
    """Import what each tool wrote about all models in each month, which the date of a log says, or the label of a table."""
    for month in MONTHS:
        for dataset, name in TOOLS.items():
            draw = random.Random(f"{dataset} {month}")
            WRITERS[dataset](folder / month / dataset, [name(model) for model in models], month, draw)
            tags = () if dataset != "peaks" else (("label", month),)
            import_paths(store, [folder / month / dataset], ImportOptions(tags=tags))
