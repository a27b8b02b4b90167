"""The check of attribute names: within a dataset, a name belongs to questions or to responses, so that an address can name it."""

from __future__ import annotations

from data.importing.report import Problem
from data.importing.staging import Staging


def check_attribute_names(staging: Staging) -> None:
    """Report names that both questions and responses use. Needs ``new_attributes`` and ``new_datasets``."""
    run = staging.connection.execute
    of_questions = """(from new_attributes union all by name
        from store.attributes anti join new_datasets using (dataset))"""
    for (dataset, name), file in staging.response_attributes.items():
        taken = run(
            f"select 1 from {of_questions} where dataset = $dataset and attribute = $name limit 1",
            {"dataset": dataset, "name": name},
        ).fetchone()
        if taken:
            staging.report.problems.append(Problem(file, 1, name, None, _reason(dataset, "questions")))
    clashes = run("""
        select distinct a.dataset, a.attribute, r.file from new_attributes a
        join (select distinct dataset, attribute, file from attributes_read) r using (dataset, attribute)
        semi join (from store.response_attributes semi join (from store.runs where withdrawn_at is null) using (run))
            using (dataset, attribute) order by all""").fetchall()
    for dataset, name, file in clashes:
        staging.report.problems.append(Problem(staging.files[file].name, 1, name, None, _reason(dataset, "stored responses")))


def _reason(dataset: str, owner: str) -> str:
    return f"the {owner} of dataset {dataset} have an attribute of this name already; give this column another name"
