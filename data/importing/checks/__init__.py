"""Checks that span rows, tables and the store, and the rows that an import adds to the store after them."""

from __future__ import annotations

from clueline.data.importing.checks.confidences import agree_samples, map_scores, rank_scores
from clueline.data.importing.checks.evaluation_days import date_runs
from clueline.data.importing.checks.people import add_votes, check_people
from clueline.data.importing.checks.questions import check_datasets, check_questions
from clueline.data.importing.checks.responses import check_attribute_names, check_responses, resolve_confidences, tag_runs
from clueline.data.importing.checks.run_ids import name_runs
from clueline.data.importing.checks.stated_or_graded import apply_decisions, grade_responses, resolve_repeats
from clueline.data.importing.staging import PEOPLE, ImportOptions, Staging


def run_checks(staging: Staging, options: ImportOptions) -> None:
    """Check the incoming rows against each other and the store, and fill the ``new_*`` tables. Raises ``Refused``."""
    if staging.has("questions", "clues"):
        check_questions(staging)
    if staging.has_problems("questions", "clues"):
        staging.report.raise_problems()  # otherwise tables that depend on the questions would report follow-up errors
    check_datasets(staging, options)
    if staging.has(*PEOPLE):
        check_people(staging)
    if staging.has("responses"):
        date_runs(staging)
        if options.repeats:
            resolve_repeats(staging, options.repeats)
        if not staging.report.problems:
            agree_samples(staging, options)
        check_responses(staging)
    check_attribute_names(staging)
    staging.report.raise_problems()
    add_votes(staging)
    if staging.has("responses"):
        rank_scores(staging)
        resolve_confidences(staging)
        apply_decisions(staging, options)
        grade_responses(staging)
        staging.report.raise_problems()
        map_scores(staging, options)
        name_runs(staging, options)
        tag_runs(staging, options)
