"""A client for a Clueline server that needs only httpx and polars. docs/client.md has examples."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
import polars as pl

Value = str | float | bool | Iterable[str | float]  # value of a key of an address; several values repeat the key
Form = Literal["csv", "jsonl", "parquet"]
API = "/api/v1/"
TIMEOUT = 120.0  # seconds; a server can take 60 to compute intervals
MAX_QUERY, MAX_KEY = 6000, 500  # characters of a query string, and of one of its keys, that need no stored selection

TEXTS = ("run", "model", "elicitation", "a", "b", "better", "question_id", "guess", "answer", "text", "category", "sample")
TYPES = (
    dict.fromkeys((*TEXTS, "metric", "missing", "state"), pl.String)
    | dict.fromkeys(("questions", "items", "clue", "word_end"), pl.Int64)
    | {"failed": pl.Boolean}
)


def _schema(columns: str) -> dict[str, Any]:
    """Return the type of each column: a number with a fraction, unless ``TYPES`` says otherwise."""
    return {name: TYPES.get(name, pl.Float64) for name in columns.split()}


RUN = _schema("run model elicitation")
LEADERBOARD = RUN | _schema("metric value low high rank rank_low rank_high questions missing bound_low bound_high")
RELIABILITY = RUN | _schema("lower upper items mean_confidence accuracy low high")
COMPARISON = _schema("metric a b difference low high p_value better missing") | {"a": pl.Float64, "b": pl.Float64}
QUESTIONS = _schema("question_id text answer category difficulty run model elicitation metric value")
RESPONSES = RUN | _schema("clue guess correct confidence buzz_mass contribution failed state sample")
CLUES = _schema("clue text word_end buzz_share release_share team_share survival")


class PandasFrame(Protocol):
    """What is used of a frame of pandas, which need not be installed."""

    def to_csv(self, into: io.BytesIO, /, *, index: bool) -> object: ...


class ClientError(Exception):
    """A server refused a request or could not be reached. Its message is the server's own, with its advice.

    ``code`` identifies the error for programs, such as ``unknown_value``. If the server did not answer, it is ``unreachable``,
    and the HTTP ``status`` is 0. ``field`` is the wrong key of the address, with its ``allowed`` values. ``rows`` says what is
    wrong with the rows of an uploaded file, by ``line``, ``column``, ``value`` and ``reason``.
    """

    def __init__(
        self,
        message: str,
        code: str = "unreachable",
        status: int = 0,
        field: str | None = None,
        allowed: Sequence[str] = (),
        rows: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(message)
        self.code, self.status, self.field, self.allowed, self.rows = code, status, field, list(allowed), list(rows)


@dataclass(frozen=True)
class Question:
    """One question.

    ``clues`` has a row per clue, with its text and, if people heard it, the human curves at its end. ``responses`` has a row per
    run and clue. ``metrics`` are by run and key, None if undefined.
    """

    question_id: str
    text: str | None
    answer: str | None
    category: str | None
    clues: pl.DataFrame
    responses: pl.DataFrame
    metrics: dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Upload:
    """The result of an upload, with a row per run of the file.

    ``new`` says whether anything was stored: not in a dry run, nor for runs that the server already has. ``mapping`` is the kept
    mapping by which the columns were read, or under which their roles are kept now.
    """

    new: bool
    runs: pl.DataFrame
    warnings: list[str]
    mapping: str | None = None


@dataclass(frozen=True)
class View:
    """A view in a notebook. ``address`` opens it in a browser, and ``height`` is that of its frame in pixels."""

    address: str
    height: int = 600

    def _repr_html_(self) -> str:
        """Return the frame as HTML, as notebooks ask for."""
        style = "width:100%;border:1px solid #ccc;border-radius:6px"
        source = f"{self.address}{'&' if '?' in self.address else '?'}embed=1"
        return f'<iframe src="{escape(source)}" height="{self.height}" style="{style}" loading="lazy"></iframe>'


class Client:
    """A connection to a server, given by its address, such as ``http://127.0.0.1:8050``.

    A token is needed for uploads and, on some servers, for reading. ``timeout`` is in seconds. Until then, a request is repeated
    if the server is too busy.

    A selection is given by the keys of an address, such as ``dataset="pyramid"``, ``category=["Arts", "Science"]`` or
    ``binning="mass15"``; docs/api.md lists them. Write keys with a dot as ``**{"attr.KEY": "VALUE"}``.

    Every request raises ``ClientError`` if the server refuses it or cannot be reached.
    """

    def __init__(self, server: str, token: str | None = None, timeout: float = TIMEOUT) -> None:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._http = httpx.Client(base_url=server.rstrip("/"), headers=headers, timeout=timeout, follow_redirects=True)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection. Also done at the end of a ``with`` block."""
        self._http.close()

    def datasets(self) -> pl.DataFrame:
        """Return a row per dataset: id, title, numbers of questions, runs and human teams, licence, source."""
        return pl.DataFrame(self._json("/api/v1/datasets")["datasets"], infer_schema_length=None)

    def runs(self, dataset: str | None = None) -> pl.DataFrame:
        """Return a row per run, including withdrawn ones: who imported it and when, from which file, what it did not answer.

        Without a dataset, runs on every dataset are returned.
        """
        rows = self._runs(dataset)
        facts = [name for name, value in rows[0].items() if not isinstance(value, dict | list)] if rows else list(RUN)
        schema = None if rows else RUN
        return pl.DataFrame([{name: row[name] for name in facts} for row in rows], schema, infer_schema_length=None)

    def _runs(self, dataset: str | None) -> list[dict[str, Any]]:
        keys: dict[str, Value] = {} if dataset is None else {"dataset": dataset}
        rows: list[dict[str, Any]] = []
        while True:
            answer = self._json("/api/v1/runs", keys)
            rows += answer["runs"]
            if answer.get("next") is None:
                return rows
            keys["after"] = answer["next"]

    def metrics(self) -> pl.DataFrame:
        """Return a row per metric: key, name, direction, formula in LaTeX and in words, source, caveat."""
        names = ("key", "name", "direction", "formula", "words", "source", "caveat")
        rows = self._json("/api/v1/metrics")["metrics"]
        return pl.DataFrame([{name: row[name] for name in names} for row in rows], dict.fromkeys(names, pl.String))

    def leaderboard(self, metrics: Sequence[str] = (), intervals: bool = False, **selection: Value) -> pl.DataFrame:
        """Return a row per run of a selection and metric; by default, for all metrics.

        If ``value`` is null, ``missing`` says why. ``low`` and ``high`` are the ends of 95 % intervals, null without
        ``intervals``. ``bound_low`` and ``bound_high`` are null unless answers of the run lack a confidence.
        """
        answer = self._json("/api/v1/leaderboard", {**_metrics(metrics), "intervals": intervals, **selection})
        rows = [_columns(RUN, row) | {"metric": key} | cell for row in answer["rows"] for key, cell in row["metrics"].items()]
        return _frame(rows, LEADERBOARD)

    def table(self, address: str, **keys: Value) -> pl.DataFrame:
        """Return any table of the server, with all columns in full precision.

        ``address`` is its path without ``.csv``, such as ``/api/v1/slices``; docs/api.md lists them. ``keys`` are those of the
        selection and of the address.
        """
        content = self._get(f"{address}.csv", keys).content
        header = content.split(b"\n", 1)[0].decode().split(",")
        texts = {name: pl.String for name in header if name in TEXTS}
        return pl.read_csv(io.BytesIO(content), schema_overrides=texts, infer_schema_length=None)

    def frame(self, address: str, kind: Literal["polars", "pandas"] = "polars", **keys: Value) -> Any:
        """Return a table as in ``table``, as a frame of polars or of pandas, which must be installed then.

        ``address`` can also have a query string, and be that of a page: ``/reliability?dataset=pyramid``.
        """
        parts = urlsplit(address)
        path = parts.path.removesuffix(".csv")
        path = path if path.startswith(API) else API + (path.strip("/") or "leaderboard")
        given: dict[str, Any] = {}
        for key, text in parse_qsl(parts.query, keep_blank_values=True):
            given.setdefault(key, []).append(text)
        table = self.table(path, **{**given, **keys})
        if kind == "polars":
            return table
        return import_module("pandas").DataFrame(table.to_dict(as_series=False))

    def show(self, view: str, height: int = 600) -> View:
        """Return a view, such as ``/reliability?dataset=pyramid``, which a notebook shows in a frame.

        The server must allow it (``CLUELINE_EMBED``). The frame sends no token: where reading needs one, sign the address.
        """
        return View(f"{str(self._http.base_url).rstrip('/')}/{view.lstrip('/')}", height)

    def report(self, views: str | Sequence[str], path: str | Path) -> Path:
        """Save views, such as ``/reliability?dataset=pyramid``, as one HTML file that needs no server, and return its path."""
        target = Path(path)
        target.write_bytes(self._get(f"{API}report.html", {"view": [views] if isinstance(views, str) else views}).content)
        return target

    def reliability(self, **selection: Value) -> pl.DataFrame:
        """Return the bins of the reliability diagrams: a row per run and bin, with the 95 % interval of the accuracy."""
        answer = self._json("/api/v1/reliability", selection)
        return _frame([_columns(RUN, run) | part for run in answer["runs"] for part in run["bins"]], RELIABILITY)

    def compare(self, a: str, b: str, metrics: Sequence[str] = (), **selection: Value) -> pl.DataFrame:
        """Compare two runs on the questions that both answered, by all metrics unless some are named.

        Returns a row per metric: both values, the difference ``a - b`` with its 95 % interval, and a two-sided p-value.
        """
        answer = self._json("/api/v1/compare", {"a": a, "b": b, **_metrics(metrics), **selection})
        return _frame([{"metric": key} | cell for key, cell in answer["metrics"].items()], COMPARISON)

    def questions(self, metrics: Sequence[str] = ("brier",), sort: str = "position", **selection: Value) -> pl.DataFrame:
        """Return all questions of a selection, in order.

        There is a row per question, run and metric, or one row with nulls for a question that no run answered. ``sort`` is
        ``position``, ``difficulty``, ``METRIC:RUN`` or another order of ``/api/v1/questions``; ``-`` in front means descending.
        """
        keys: dict[str, Value] = {**_metrics(metrics), "sort": sort, "limit": 1000, **selection}
        rows: list[dict[str, Any]] = []
        names: dict[str, dict[str, Any]] = {}
        while True:
            answer = self._json("/api/v1/questions", keys)
            for question in answer["questions"]:
                facts = {name: question.get(name) for name in ("question_id", "text", "answer", "category", "difficulty")}
                cells = [(run, key, value) for run, values in question["runs"].items() for key, value in values.items()]
                rows += [facts | {"run": run, "metric": key, "value": value} for run, key, value in cells] or [facts]
            if answer["next"] is None:
                break
            keys["cursor"] = answer["next"]
        if any("run" in row for row in rows):
            dataset = selection.get("dataset")
            names = {run["run"]: _columns(RUN, run) for run in self._runs(str(dataset) if dataset else None)}
        return _frame([row | names.get(row.get("run", ""), {}) for row in rows], QUESTIONS)

    def question(self, dataset: str, question_id: str, **selection: Value) -> Question:
        """Return one question with what people did and what each run of a selection answered."""
        answer = self._json(
            f"/api/v1/questions/{quote(dataset, safe='')}/{quote(question_id, safe='')}", {"dataset": dataset, **selection}
        )
        human = answer["human"] or {}
        curves = [name for name in CLUES if name in human]
        clues = [clue | {name: human[name][place] for name in curves} for place, clue in enumerate(answer["clues"])]
        responses = [_columns(RUN, run) | clue for run in answer["runs"] for clue in run["clues"]]
        return Question(
            answer["question_id"], answer["text"], answer["answer"], answer["category"], _frame(clues, CLUES),
            _frame(responses, RESPONSES), {run["run"]: run["metrics"] for run in answer["runs"]},
        )  # fmt: skip

    def responses(self, run: str) -> pl.DataFrame:
        """Return the responses of a run, by question id and clue."""
        return pl.read_parquet(io.BytesIO(self._get(f"/api/v1/runs/{quote(run, safe='')}/responses.parquet").content))

    def download(self, run: str, path: str | Path, form: Form | Literal["every-eval-ever"] = "csv") -> Path:
        """Save the responses of a run to a file, which is replaced if it exists, and return its path.

        Importing the file again gives the same run. With ``every-eval-ever``, it is JSON Lines in the schema of this project.
        """
        target = Path(path)
        name = "every-eval-ever.jsonl" if form == "every-eval-ever" else f"responses.{form}"
        target.write_bytes(self._get(f"/api/v1/runs/{quote(run, safe='')}/{name}").content)
        return target

    def prompts(self, dataset: str) -> pl.DataFrame:
        """Return the prompts for a model: ``question_id``, ``clue`` and ``text``, the question up to the end of that clue."""
        content = self._get(f"/api/v1/datasets/{quote(dataset, safe='')}/prompts.jsonl").content
        return pl.read_ndjson(io.BytesIO(content), infer_schema_length=None)

    def upload(
        self,
        answers: str | Path | pl.DataFrame | PandasFrame,
        dataset: str | None = None,
        model: str | None = None,
        elicitation: str | None = None,
        dry_run: bool = False,
        tags: Mapping[str, str] | None = None,
        **options: Value,
    ) -> Upload:
        """Publish answers as runs. A dataset that does not exist is made of the questions in the table.

        Raises ``ClientError`` if the upload was refused; ``rows`` lists the bad rows if the file is at fault.

        Args:
            answers: a file in any format that the server reads, or a frame of polars or pandas with any columns; the server finds
                out what each is, or refuses and says what to state, such as ``**{"column.confidence": "p_true"}``.
            dataset, model: needed unless the table says or its questions are new; see docs/importing.md.
            tags: facts about the model, by name, such as ``{"reasoning": "yes", "released": "2024-05-13"}``.
            options: further keys of ``POST /api/v1/datasets``, such as ``confidence_scale="percent"``.
        """
        if isinstance(answers, str | Path):
            name, content = Path(answers).name, Path(answers).read_bytes()
        else:
            buffer = io.BytesIO()
            if isinstance(answers, pl.DataFrame):
                name = "answers.parquet"
                answers.write_parquet(buffer)
            else:
                name = "answers.csv"
                answers.to_csv(buffer, index=False)
            content = buffer.getvalue()
        given = {"dataset": dataset, "model": model, "elicitation": elicitation}
        named = {key: text for key, text in given.items() if text is not None}
        tagged = {f"tag.{tag}": value for tag, value in (tags or {}).items()}
        keys = {**named, "dry_run": dry_run, "filename": name, **tagged, **options}
        answer = self._send("POST", "/api/v1/datasets", keys, content)
        report = answer.json()
        runs = [{key: value for key, value in run.items() if not isinstance(value, dict | list)} for run in report["runs"]]
        new = answer.status_code == httpx.codes.CREATED
        return Upload(new, pl.DataFrame(runs, infer_schema_length=None), list(report["warnings"]), report["mapping"])

    def tag(self, run: str, tags: Mapping[str, str | None]) -> dict[str, str]:
        """Set tags of a run, remove those that are None, and return all of its tags."""
        return dict(self._change("POST", f"runs/{quote(run, safe='')}/tags", tags)["tags"])

    def withdraw(self, run: str, reason: str = "") -> None:
        """Withdraw a run: it disappears from every list and page that does not name it, but is not erased."""
        self._change("DELETE", f"runs/{quote(run, safe='')}", {"reason": reason} if reason else None)

    def restore(self, run: str) -> None:
        """Restore a withdrawn run."""
        self._change("POST", f"runs/{quote(run, safe='')}/restore", None)

    def correct(self, run: str, grades: Sequence[Mapping[str, Any]]) -> None:
        """Correct grades, all or none: ``question_id``, ``guess``, ``correct``, and perhaps ``clue`` and ``note`` of each."""
        self._change("POST", f"runs/{quote(run, safe='')}/grades", {"grades": [dict(grade) for grade in grades]})

    def adopt(self, run: str, grading: str) -> None:
        """Measure a run by one of its gradings from now on; ``imported`` or ``graded``, its first one, is the way back."""
        self._change("POST", f"runs/{quote(run, safe='')}/adopt", {"grading": grading})

    def merge(self, models: Sequence[str], into: str) -> None:
        """Make models one, which is called ``into``."""
        self._change("POST", "models/merge", {"models": [*models], "into": into})

    def _change(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        return self._send(method, f"{API}{path}", {}, content).json()

    def _json(self, path: str, keys: Mapping[str, Value] | None = None) -> Any:
        return self._get(path, keys).json()

    def _get(self, path: str, keys: Mapping[str, Value] | None = None) -> httpx.Response:
        return self._send("GET", path, keys or {})

    def _send(self, method: str, path: str, keys: Mapping[str, Value], content: bytes | None = None) -> httpx.Response:
        try:
            pairs = httpx.QueryParams([(key, text) for key, value in keys.items() for text in _texts(value)])
            if method == "GET" and len(str(pairs)) > MAX_QUERY:
                pairs = self._with_stored_selection(pairs)
            kind = {"Content-Type": "application/octet-stream"} if content is not None else {}
            until = time.monotonic() + (self._http.timeout.read or 0)
            while True:
                answer = self._http.request(method, path, params=pairs, content=content, headers=kind)
                wait = answer.headers.get("Retry-After", "")
                if answer.is_success or not wait.isdecimal() or time.monotonic() + int(wait) > until:
                    break
                time.sleep(int(wait))  # the server is busy, and has begun nothing
        except httpx.HTTPError as error:
            raise ClientError(f"{self._http.base_url} does not answer: {error or type(error).__name__}") from error
        if answer.is_success:
            return answer
        raise _refusal(answer)

    def _with_stored_selection(self, pairs: httpx.QueryParams) -> httpx.QueryParams:
        """Let the server store the long keys, such as hundreds of runs, and return the query with the id that stands for them."""
        long = {key for key in pairs if len(str(httpx.QueryParams([(key, text) for text in pairs.get_list(key)]))) > MAX_KEY}
        stored = httpx.QueryParams([pair for pair in pairs.multi_items() if pair[0] in {*long, "dataset"}])
        answer = self._send("POST", f"{API}selections", {}, str(stored).encode()).json()
        kept = [pair for pair in pairs.multi_items() if pair[0] not in {*long, "dataset"}]
        return httpx.QueryParams([("dataset", answer["dataset"]), ("selection", answer["selection"]), *kept])


def _refusal(answer: httpx.Response) -> ClientError:
    """Return the server's error envelope as an exception."""
    try:
        envelope = answer.json()["error"]
        message = " ".join([envelope["message"], *envelope.get("advice", ())])
        return ClientError(
            message, envelope["code"], answer.status_code, envelope["field"], envelope["allowed"], envelope["rows"]
        )
    except (ValueError, KeyError, TypeError):  # the response is from a proxy, not from Clueline
        return ClientError(f"{answer.status_code} {answer.reason_phrase}", "not_clueline", answer.status_code)


def _texts(value: Value) -> list[str]:
    """Return the texts of a value in a query string, one for each time its key appears.

    >>> _texts(True), _texts("Arts"), _texts(["Arts", 5])
    (['1'], ['Arts'], ['Arts', '5'])
    """
    if isinstance(value, bool):
        return [str(int(value))]
    if isinstance(value, str | float | int):
        return [str(value)]
    return [text for part in value for text in _texts(part)]


def _metrics(metrics: Sequence[str]) -> dict[str, str]:
    return {"metrics": ",".join(metrics)} if metrics else {}


def _columns(schema: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in schema}


def _frame(rows: Iterable[Mapping[str, Any]], schema: Mapping[str, Any]) -> pl.DataFrame:
    """Return rows as a frame with only these columns. Integers are accepted in columns of numbers."""
    return pl.DataFrame([{name: row.get(name) for name in schema} for row in rows], schema=dict(schema), strict=False)
