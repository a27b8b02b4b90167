"""Twenty models on three benchmarks in two months, with the names that Inspect, lm-eval and tables write."""

import json
import random

from data.importing.ingest import import_paths
from data.importing.staging import ImportOptions

MAKERS = ("anthropic", "openai", "google", "meta", "mistral")
MODELS = tuple(f"{maker}-{size}-{number}" for maker in MAKERS for size in ("mini", "pro") for number in (3, 4))
MONTHS = ("2025-10", "2025-11")
QUESTIONS = 12
# How each tool writes the name of a model. Inspect puts the provider in front, and providers add dates.
TOOLS = {
    "towns": lambda model: f"{model.partition('-')[0]}/{model}-20250901",
    "rivers": lambda model: f"hf/{model}",
    "peaks": lambda model: model.replace("-", " ").title(),
}


def fill(store, folder, models=MODELS):
    """Import three datasets, and a run of each model on each of them in each month, which the label says."""
    folder.mkdir(parents=True, exist_ok=True)
    for dataset in TOOLS:
        bundle = folder / dataset
        (bundle / "responses").mkdir(parents=True)
        (bundle / "dataset.json").write_text(json.dumps({"dataset": dataset, "title": dataset.title(), "kind": "single"}))
        rows = "".join(f"{dataset}-{number},What is {number}?,a{number}\n" for number in range(QUESTIONS))
        (bundle / "questions.csv").write_text(f"question_id,text,answer\n{rows}")
    import_paths(store, [folder / dataset for dataset in TOOLS], ImportOptions())
    for month in MONTHS:
        files = []
        for dataset, name in TOOLS.items():
            chance = random.Random(f"{dataset} {month}")
            path = folder / f"{dataset}-{month}.csv"
            lines = [
                f"{dataset}-{number},a{number},{chance.randint(0, 100) / 100},{chance.randint(0, 1)},{name(model)}"
                for model in models
                for number in range(QUESTIONS)
            ]
            path.write_text("\n".join(["question_id,guess,confidence,correct,model", *lines]))
            files.append((dataset, path))
        for dataset, path in files:
            import_paths(store, [path], ImportOptions(dataset=dataset, tags=(("label", month),)))
