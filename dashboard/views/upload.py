"""Uploads: the page with what the browser needs to send a file (``assets/upload.js`` does the rest), and the addresses."""

from __future__ import annotations

import json
import logging
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from dash import html
from dash.development.base_component import Component
from flask import Response, request

from clueline.dashboard.access.providers import RequestDenied
from clueline.dashboard.http.bodies import InvalidJson, decode_json, error_response, json_response
from clueline.dashboard.http.logs import request_id
from clueline.dashboard.registry.addresses import accept, pairs, sentence
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.service import current_client, service
from clueline.dashboard.ui.html import data, note, page_link, section
from clueline.dashboard.ui.messages import prompts
from clueline.dashboard.uploads.bodies import check_type, clean_name, receive, too_large
from clueline.dashboard.uploads.import_process import Failed, ImportJob, Rejected, TooMuchMemory
from clueline.dashboard.views.mappings import mapping_viewer
from clueline.data.importing.column_mapping import (
    ROLES,
    BadMapping,
    named_mapping,
    offered_mappings,
    read_pattern,
    read_words,
)
from clueline.data.importing.ingest import Content
from clueline.data.importing.report import Hint
from clueline.data.importing.staging import ALIGN, MAX_MOMENTS, REPEATS, Decision, ImportOptions, Repeats
from clueline.data.readers import formats, readers
from clueline.data.recalibration_maps import SCORE_MAPS
from clueline.data.scratch_folders import PREFIX, keep, sweep
from clueline.data.store import StoreError
from clueline.data.store.errors import reason
from clueline.data.store.kept_files import DamagedThing
from clueline.data.store.kept_mappings import NAME, KeepingError, NoSuchMapping, list_mappings
from clueline.data.store.run_tags import LABEL, BadTag, checked_tag
from clueline.queries.metrics import METRICS
from clueline.queries.query_time_limit import Abandoned
from clueline.queries.selection import read_parameters
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import BadRequest, Choice, Flag, Kind, Text, Whole
from clueline.queries.selection.view_parameters_base import Parameters, collect, split_key

log = logging.getLogger(__name__)

ROWS, MAX_ROWS = 100, 10_000  # bad rows that are listed: by default, and at most
MAX_DECISIONS = 10_000
UNPACKED = 10  # an unpacked file may be this many times as large as the largest upload


class _Grade(msgspec.Struct, forbid_unknown_fields=True):
    """A decision as a client sends it."""

    question_id: str
    correct: bool | float
    guess: str | None = None
    clue: int | None = None


@dataclass(frozen=True)
class _Decisions(Kind[tuple[Decision, ...]]):
    """A JSON list of grades decided by a person."""

    longest = None

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[Decision, ...]:
        """See ``Kind``."""
        try:
            grades = decode_json(texts[0], list[_Grade])
        except InvalidJson as error:
            message = f"{key!r} must be a JSON list of {{question_id, clue, guess, correct}}: {error}."
            raise BadRequest("bad_value", message, key) from None
        if len(grades) > MAX_DECISIONS:
            raise BadRequest("bad_value", f"{key!r} can hold {MAX_DECISIONS:,} decisions; put `correct` in the file.", key)
        for grade in grades:
            if not 0 <= grade.correct <= 1 or not -(2**31) <= (grade.clue or 0) < 2**31:
                raise BadRequest("bad_value", f"{key!r}: `correct` must be true, false or a number from 0 to 1.", key)
        return tuple(Decision(grade.question_id, grade.clue, grade.guess, float(grade.correct)) for grade in grades)


def _datasets(facets: Facets) -> list[str]:
    return [dataset.dataset for dataset in service().datasets()]


def _formats(facets: Facets) -> list[str]:
    return sorted(readers())


T = TypeVar("T")


@dataclass(frozen=True)
class _Parsed(Kind[T]):
    """A value that a function reads, of the key and its text. It raises ``BadTag`` or ``BadMapping`` with the reason."""

    parse: Callable[[str, str], T]

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> T:
        """See ``Kind``."""
        try:
            return self.parse(key, texts[0])
        except (BadTag, BadMapping) as error:
            raise BadRequest("bad_value", f"{key!r}: {error}.", key) from None


def _tag(key: str, text: str) -> str:
    """The value of a tag. Its name is part of the key, or the key."""
    return checked_tag(split_key(key)[1] or key, text)[1]


def _words(key: str, text: str) -> tuple[tuple[str, float | None], ...]:
    return tuple(read_words(text).items())


def _pattern(key: str, text: str) -> str:
    return read_pattern(text).text


class _Tag(_Parsed[str]):
    """The value of a tag. The name of the tag is part of the key."""

    named = True


class _ColumnOfRole(Kind[tuple[str, ...]]):
    """The columns of a role. The role is part of the key."""

    named = True
    repeatable = True

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> tuple[str, ...]:
        """See ``Kind``."""
        if split_key(key)[1] not in ROLES:
            raise BadRequest("unknown_value", f"{key!r} names no role.", key, list(ROLES))
        return tuple(texts)


@dataclass(frozen=True)
class _Fitting(Kind[str]):
    """A text that fits a pattern, or is blank; ``form`` says which texts do."""

    pattern: re.Pattern[str]
    form: str

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        """See ``Kind``."""
        if texts[0] and not self.pattern.fullmatch(texts[0]):
            raise BadRequest("bad_value", f"{key!r} {self.form}.", key)
        return texts[0]


class UploadParameters(Parameters, frozen=True):
    """What an uploaded file contains, and how to import it."""

    dataset: Annotated[str | None, Choice("the dataset that the file answers; LifeEval's own files need none", _datasets)] = None
    model: Annotated[str | None, Text("model of a run, if the file does not say")] = None
    elicitation: Annotated[str | None, Text("elicitation of a run, if the file does not say")] = None
    format: Annotated[
        str | None,
        Choice(
            "`responses`, `lifeeval`, `chaosnli` or another format that the importer reads; by default it is detected", _formats
        ),
    ] = None
    filename: Annotated[str | None, Text("name of the file in provenance and reports; by default the name in the form")] = None
    confidence_scale: Annotated[str, Choice("`unit` (the default) or `percent`", ("unit", "percent"))] = "unit"
    classes: Annotated[str | None, Text("`a,b,c`: the order of the classes in ChaosNLI predictions")] = None
    respondents: Annotated[bool, Flag("`1`: each value in the column `sample` is a person who answered")] = False
    refuse_same_answers: Annotated[
        bool, Flag("`1`: a run with exactly the answers of another model's run is refused; by default, a warning names that run")
    ] = False
    repeats: Annotated[
        Repeats | None,
        Choice(
            "`samples`: several rows of a run about one question are several answers; `gradings`: they are several grades of one "
            "answer. By default, such a file is refused",
            REPEATS,
        ),
    ] = None
    align: Annotated[
        str | None,
        _Fitting(
            "`content`: questions with other ids than in the dataset are aligned by text and reference answer; `-1`: a number "
            "that is added to each id",
            ALIGN,
            "is content, or a whole number such as -1",
        ),
    ] = None
    series: Annotated[
        int | None,
        Whole(
            "Metaculus: take the forecasts standing at this many moments between opening and close as clues of each question; "
            f"at most {MAX_MOMENTS}",
            MAX_MOMENTS,
        ),
    ] = None
    tag: Annotated[tuple[tuple[str, str], ...], _Tag("`tag.reasoning=yes`: a tag for the runs, and its value", _tag)] = ()
    label: Annotated[str, _Parsed("what tells the runs from others of their model; the same as `tag.label`", _tag)] = ""
    column: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...],
        _ColumnOfRole("`column.confidence=p_true`: the role of a column of a table of another project; repeatable"),
    ] = ()
    words: Annotated[
        tuple[tuple[str, float | None], ...],
        _Parsed(
            "`words=certain=.95,unsure=.3,-1=none`: what words of confidence mean in such a table, `none` if it is unstated",
            _words,
        ),
    ] = ()
    agreement: Annotated[
        bool,
        Flag(
            "`1`: of three or more samples without a confidence, the most frequent answer counts, with its share of the samples"
        ),
    ] = False
    confidence_pattern: Annotated[
        str, _Parsed("`Confidence: {percent}` or `{share} sure`: how outputs in a table or a log state a confidence", _pattern)
    ] = ""
    mapping: Annotated[
        str | None, Text("name of a kept mapping, by which the columns are read; a dry run offers those that fit")
    ] = None
    save_mapping: Annotated[
        str,
        _Fitting(
            "a name under which the roles of the columns are kept as your own, as by `--save-mapping`, once the runs are stored",
            NAME,
            "has at most 40 characters of a-z, 0-9 and -",
        ),
    ] = ""
    map: Annotated[
        str | None,
        Choice(
            "`isotonic` or `logistic`: scores that are no probabilities become some, by a map fitted to other questions",
            SCORE_MAPS,
        ),
    ] = None
    dry_run: Annotated[bool, Flag("`1`: nothing is stored")] = False
    rows: Annotated[int, Whole(f"how many bad rows are listed: {ROWS}; at most {MAX_ROWS}", MAX_ROWS)] = ROWS
    grades: Annotated[
        tuple[Decision, ...],
        _Decisions(
            'a JSON list of `{"question_id", "clue", "guess", "correct"}`: grades by a person for guesses whose correctness the '
            "file does not state. Without `clue`, a grade applies to every clue with this guess. It counts as if the file "
            "stated it, and is stored with the run"
        ),
    ] = ()

    def options(self) -> ImportOptions:
        """The options of the import: those of the same names, and others."""
        named = {option.name for option in fields(ImportOptions)} - {"classes", "mapping", "offered"}
        return ImportOptions(
            form=self.format,
            percent=self.confidence_scale == "percent",
            decisions=self.grades,
            tags=(*self.tag, *([(LABEL, self.label)] if self.label else [])),
            columns=tuple((role, column) for role, columns in self.column for column in columns),
            classes=tuple(name.strip() for name in self.classes.split(",")) if self.classes else (),
            **{name: value for name, value in msgspec.structs.asdict(self).items() if name in named},
        )


class DatasetUploadParameters(UploadParameters, frozen=True):
    """What an uploaded file with a dataset contains, and how to import it."""

    dataset: Annotated[str | None, Text("id of the new dataset, or of the dataset that the file answers, if it does not say")] = (
        None
    )
    title: Annotated[str | None, Text("only `POST /api/v1/datasets`: title of the new dataset, if the file does not say")] = None


@accept("POST", "/api/v1/runs", UploadParameters)
def post_runs() -> Response:
    """Publish the runs of a file or, with `dry_run=1`, only report what it would add; see *Uploading*."""
    return _import_upload(UploadParameters, "runs")


@accept("POST", "/api/v1/datasets", DatasetUploadParameters)
def post_datasets() -> Response:
    """The same for a file with new datasets: a bundle as a zip, an evaluation log or a tournament."""
    return _import_upload(DatasetUploadParameters, "datasets")


def _mappings(named: str | None) -> dict[str, Any]:
    """Return options of an import: the mapping that is named, and those that are offered.

    Raises ``BadRequest`` if there is no mapping of that name, or none that the uploader may see: the answer is the same.
    """
    files, viewer = service().store.files, mapping_viewer()
    try:
        mapping = named_mapping(files, named, viewer) if named else None
    except NoSuchMapping as error:
        names = [entry.shown for entry in list_mappings(files, viewer)]
        raise BadRequest("unknown_value", sentence(error), "mapping", allowed=names) from None
    except (KeepingError, BadMapping) as error:
        raise BadRequest("bad_value", sentence(error), "mapping") from None
    except DamagedThing as error:
        log.warning("%s", error)
        message = f"The mapping {named!r} is damaged, so nothing was read by it. Remove it, and keep it again."
        raise BadRequest("damaged_mapping", message, "mapping", status=409) from None
    return {"mapping": mapping, "offered": () if mapping else offered_mappings(files, viewer)}


def _import_upload(kind: type[UploadParameters], content: Content) -> Response:
    by = service().access.writer()
    query = pairs()
    _read(query, kind)  # report a wrong key before the file is sent
    check_type()
    most = service().settings.max_upload_mb * 2**20
    if (request.content_length or 0) > most and request.mimetype != "multipart/form-data":
        raise too_large(most)
    with _slot(), _folder() as folder:
        received = receive(folder, most)
        service().read_current()  # the upload may have taken long
        given = _read([*query, *received.fields], kind)
        mappings = _mappings(given.mapping)
        job = ImportJob(
            store=service().store.url, path=str(received.path), by=by, largest=UNPACKED * most,
            name=clean_name(given.filename) or received.name or "upload",
            options=replace(given.options(), readers=tuple(filter(None, [service().access.reader().name])), **mappings),
            dry_run=given.dry_run, rows=given.rows, threads=max(1, 4 // service().settings.workers),
            memory_mb=service().settings.import_memory_mb,
            request_id=request_id(), content=content, hidden=service().access.hidden_names(), save_mapping=given.save_mapping,
            keeper=service().access.reader().name or by,
        )  # fmt: skip
        service().store.version()  # raises for a damaged store
        try:
            outcome = service().import_file(job)
        except TimeoutError:
            raise StoreError("reading the file took too long; split it, or import it on the command line") from None
        except Abandoned:
            raise BadRequest("client_left", "The client has disconnected.", status=499) from None  # nobody reads this
        except ChildProcessError:
            return error_response(
                "import_failed", "The import ended unexpectedly. GET /api/v1/runs says whether the run was published; "
                "sending the file again does no harm.", 500,
            )  # fmt: skip
    if isinstance(outcome, Failed):
        raise StoreError(outcome.message)
    if isinstance(outcome, TooMuchMemory):
        raise RequestDenied(413, "too_much_memory", outcome.message)
    if isinstance(outcome, Rejected):
        single = outcome.total == 1
        message = f"{outcome.total:,} {'problem' if single else 'problems'}; nothing was {'tried' if job.dry_run else 'imported'}"
        message += f": {outcome.rows[0].reason}" if single and outcome.rows else ""
        return error_response(
            "bad_rows", message, 422, rows=outcome.rows, total=outcome.total, kinds=outcome.kinds, advice=outcome.advice,
            tables=[table._asdict() for table in outcome.tables],
        )  # fmt: skip
    return json_response(outcome.report, 201 if outcome.new else 200)


def _read(fields: Sequence[tuple[str, str]], parameters: type[UploadParameters]) -> UploadParameters:
    """Return the keys of an upload, from its query string and its form. Raises ``BadRequest``."""
    # A form also sends fields that were left empty.
    collect(fields, parameters.kinds())
    return read_parameters([(key, value) for key, value in fields if value], parameters)


@contextmanager
def _slot() -> Iterator[None]:
    """Hold one of the few upload slots of this worker while an upload is received and imported. Raises ``RequestDenied``."""
    with service().upload_slots.hold(current_client().name) as free:
        if not free:
            raise RequestDenied(
                503, "busy", "Other uploads are in progress; try again in a moment.", headers={"Retry-After": "5"}
            )
        yield


@contextmanager
def _folder() -> Iterator[Path]:
    """Create a folder for one upload in that of the store, where there is room for what it adds, and remove it at the end."""
    service().store.version()  # raises for a damaged store, and for a lost folder, which must not be created again
    root = service().store.local / "incoming"
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        sweep(root, PREFIX)  # remove what a killed server left behind
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=root))
    except OSError as error:
        raise StoreError(f"the store in {service().store.place} cannot be written: {reason(error)}") from error
    try:
        with keep(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


OFF = (
    "This server accepts no uploads (CLUELINE_UPLOADS=off). Its operator imports files with `clueline import`, "
    "or starts it with CLUELINE_UPLOADS=token."
)
# How to fix a bad row, in the words of the form.
HINTS: dict[Hint, str] = {
    "align": "write content under Match questions by, to compare text and reference answer, or the number to add to each id",
    "classes": "name them under Classes, separated by commas",
    "agreement": "choose it under The column sample tells apart",
    "column": "choose it above the first rows",
    "dataset": "choose the right one under Dataset",
    "dataset_upload": "this form also accepts it",
    "format": "choose it under Format",
    "map": "choose a map under Scores that are no probabilities; it is fitted to other questions",
    "mapping": "to use it, write its name under Columns as in the mapping",
    "model": "name it under Model",
    "one_run": "for one run of all questions, upload all of its files in one zip; the page Runs withdraws a run, and another "
    "name under Model or Elicitation distinguishes it",
    "password": "unpack it before you upload it",
    "pattern": "write it under Confidence in the answer",
    "percent": "if the file states percentages, choose that under Confidence is written as",
    "repeats": "choose under A question with several rows whether it was answered or graded several times",
    "replace": "the operator of this server can replace it on the command line",
    "respondents": "choose sample above it, and people under The column sample tells apart, if its values are people",
    "same_answers": "if both are one model, the page Models joins the names; the page Runs withdraws a run",
    "unit": "choose 0 to 1 under Confidence is written as",
    "words": "say so below the first rows",
    "replace_people": "the operator of this server can replace them on the command line",
}


@page("/upload", "Upload", PageParameters, place="Add results", order=1, needs_dataset=False)
def draw(request: PageRequest[PageParameters]) -> Sequence[Component | None]:
    """Draw the place where the form is built, and links to the questions to answer."""
    access, datasets = service().access, service().datasets()
    form = {
        "chosen": request.selection.dataset,
        "datasets": [[dataset.dataset, dataset.title] for dataset in datasets],
        "metrics": [[metric.key, metric.name] for metric in METRICS],
        "formats": [format_.key for format_ in formats()],
        "most": service().settings.max_upload_mb,
        "hints": HINTS,
        "roles": ROLES,
        "maps": SCORE_MAPS,
    }
    lead = html.Span("Runs and datasets, checked before anything is stored", className="lead")
    token = html.Div(className="api-token", **data(mode=access.page_mode()))
    return [
        html.Div([html.H1("Upload"), lead], className="heading"),
        html.Div(html.P(OFF), className="panel")
        if access.mode == "off"
        else html.Div([token, html.Div(id="upload", **data(form=json.dumps(form)))]),
        section(
            "The questions",
            "One row per question and clue. In the CSV, fill in guess and confidence, and upload it.",
            html.Ul([html.Li([f"{dataset.title}: ", *prompts(dataset.dataset)]) for dataset in datasets]),
            note(page_link("Published runs", href=request.link("/runs"))),
        )
        if datasets
        else None,
    ]
