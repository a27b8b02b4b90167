"""Checks that span rows, tables and the store, and what is worked out from them: what an import adds to the store.

Each step reads ``staged_*`` tables and fills ``new_*`` tables of the scratch database; SQL and arrays throughout, so that it goes
at the speed of a scan whatever the size of the file.
"""

from __future__ import annotations

from data.importing.checks.grades import decide, grade
from data.importing.checks.people import settle_people, settle_votes
from data.importing.checks.questions import sentences, settle_datasets, settle_questions
from data.importing.checks.responses import check_responses, settle_options
from data.importing.checks.runs import settle_runs
from data.importing.staging import ImportOptions, Staging

__all__ = ["sentences", "settle"]


def settle(staging: Staging, options: ImportOptions) -> None:
    """Check everything against everything and make the ``new_*`` tables. Raises ``Refused`` with all problems."""
    if staging.brought("questions", "clues"):
        settle_questions(staging)
    if staging.found_bad("questions", "clues"):
        staging.report.stop_if_bad()  # what hangs on the questions would be called wrong because they are
    settle_datasets(staging, options)
    if staging.brought("exposures", "buzzes", "votes"):
        settle_people(staging)
    if staging.brought("responses"):
        check_responses(staging)
    staging.report.stop_if_bad()
    settle_votes(staging)
    if staging.brought("responses"):
        settle_options(staging)
        decide(staging, options)
        grade(staging)
        staging.report.stop_if_bad()
        settle_runs(staging)
