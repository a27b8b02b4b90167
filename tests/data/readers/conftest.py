"""Fixtures that read files without storing them, for tests of what readers find in them."""

from contextlib import ExitStack
from typing import NamedTuple

import pytest

from clueline.data.importing import ingest
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Report
from clueline.data.importing.staging import STORED, ImportOptions, Staging, open_staging
from clueline.data.readers import reader_for


class Reading(NamedTuple):
    """What a reader found in a file. Confidences and correctness that follow from other columns are not worked out yet."""

    report: Report
    staging: Staging

    def rows(self, sql):
        """Return the rows of a query on ``responses_read``, ``questions_read``, ``datasets_read`` and the like."""
        return self.staging.connection.execute(sql).fetchall()

    @property
    def runs(self):
        return self.rows("select distinct model, elicitation from responses_read order by all")

    @property
    def options(self):
        return self.rows("select options from responses_read order by question_id, sample")

    @property
    def answers(self):
        return self.rows("select question_id, guess, confidence, correct, state from responses_read order by question_id, sample")


@pytest.fixture
def read(store):
    """A function that reads a file as an import does before it checks, grades and stores. It takes a fifth of the time."""
    with ExitStack() as stack:

        def read(path, **stated):
            staging, options = stack.enter_context(open_staging(store)), ImportOptions(**stated)
            with staging.report.collecting():
                incoming = Incoming(path, staging)
                reader_for(incoming, options.form, options).read(incoming, staging, options)
            staging.report.raise_problems()
            return Reading(staging.report, staging)

        yield read


class Tried:
    """An import that ends before anything is published, which takes half of the time. Each call is an import of its own."""

    def __init__(self, store, stack):
        self.store, self.stack = store, stack

    def __call__(self, *paths, **options):
        staging = self.stack.enter_context(open_staging(self.store))
        ingest.read_and_check(staging, paths, ImportOptions(**options), None, lambda *progress: None)
        self.connection = staging.connection
        for table in STORED:
            self.connection.execute(f"create or replace view {table} as from new_{table}")
        if staging.report.runs:
            sql = "select s.*, run from responses_graded s join runs_to_store r on r.n = s.run_number"
            self.connection.execute(f"create view responses as {sql}")
        return staging.report

    def rows(self, sql):
        """Return the rows of a query on what the last import would add to the tables of the store."""
        return self.connection.execute(sql).fetchall()


@pytest.fixture
def tried(store):
    with ExitStack() as stack:
        yield Tried(store, stack)
