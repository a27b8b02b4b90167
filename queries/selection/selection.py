"""The selection: filters on runs, questions, clues and responses of one dataset, and the conventions of its metrics.

``read_address`` reads a selection from a query string, ``Selection.pairs`` writes it back, and ``Selection.question_filter`` and
``Selection.run_filter`` turn it into SQL conditions on the store's tables. Everything that an address names is checked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic, Literal

import msgspec

from clueline.data.dataset_kinds import FORECAST
from clueline.data.duckdb_and_polars import SqlParameters
from clueline.data.store import Snapshot
from clueline.data.store.gradings import REVIEWED
from clueline.data.store.run_tags import BASELINE, DATE, LABEL
from clueline.queries.metrics import HUMAN_CURVES, Conventions, Metric
from clueline.queries.metrics.counted_answers import CONFIDENT, CountedAnswers
from clueline.queries.selection.facets import OF_IMPORTED, Facets, offered_clusters
from clueline.queries.selection.filters import (
    ClusterChoice,
    ColumnFilter,
    Condition,
    Convention,
    ElicitationFilter,
    Filter,
    GradingChoice,
    NamedFilter,
    Narrows,
    PeopleChoice,
    PrimaryChoice,
    RangeFilter,
    ResponseAttributeFilter,
    RunFilter,
    SearchFilter,
    Switch,
    ThresholdConvention,
    named_values,
)
from clueline.queries.selection.parameter_kinds import BadRequest, FlagOrAll, Group, Number, Range, RunChoice, Text
from clueline.queries.selection.reference_people import count_unstated_ends, has_people, human_collections, with_people
from clueline.queries.selection.view_parameters_base import (
    NoParameters,
    P,
    Parameters,
    collect,
    declared_fields,
    decode,
    named_key,
    split_key,
)


def _split(conventions: Conventions) -> dict[str, object]:
    return {"binning": conventions.binning, "human": conventions.human, "beta": conventions.beta, "t": conventions.t}


CONVENTIONS = Group(
    "how metrics are computed",
    {
        "binning": Convention(
            "`width10`, `width10r` (closed on the right), `width10+1`, or `mass2` to `mass100`; `width10` by default",
            "Bins",
            {
                "width10": "10 equal widths",
                "width10r": "10 equal widths, closed right",
                "width10+1": "10 equal widths, 1 apart",
                "mass15": "15 equal masses",
            },
            standard=("10 equal widths", "width10"),
            unknown="There is no binning {value!r}; besides mass15, mass2 to mass100 are allowed.",
            pattern=re.compile(r"mass([2-9]|[1-9][0-9]|100)"),
        ),
        "human": Convention(
            "`buzz_share`, `release_share`, `team_share` or `survival`: the human curve; by default, each metric has its own",
            "Human curve",
            dict(zip(HUMAN_CURVES, ("Share of buzzes", "Share of all buzzes", "Share of teams", "Survival"), strict=True)),
            standard=("By metric", None),
            unknown="There is no human curve {value!r}.",
            people=True,
        ),
        "beta": Number("weight of R_U relative to R_O in HMR; 1 by default", 1000),
        "t": ThresholdConvention(
            "in the net score, the confidence above which an answer is given: from 0 to below 1; 0.5 by default",
            "Answers above",
            (0.5, 0.25, 0.75, 0.9),
        ),
    },
    Conventions,
    _split,
)


ATTR = "attr"  # the field of attributes, both of questions and of responses
RESPONSE_ATTRIBUTE = ResponseAttributeFilter(
    "responses with this attribute",
    "Attributes",
    "responses",
    facts="response_attributes",
    name="attribute",
    identity="run",
    unknown="No response of dataset {dataset!r} has an attribute {name!r}.",
)


class ClueMask(msgspec.Struct, frozen=True):
    """Some of the clues of a dataset, as a text of 1 and 0.

    A clue is at ``width`` times the position of its question plus its own number; the longest question has ``width`` clues.
    """

    width: int
    bits: str


class Selection(Parameters, frozen=True):
    """Filters on runs, questions, clues and responses of one dataset, and the conventions of its metrics.

    Empty tuples and None mean "all". Ranges include both ends. To add a filter, add a field here: see
    ``queries.selection.filters``.
    """

    dataset: Annotated[str, Text("which dataset; the first one by default")]
    run: Annotated[
        tuple[str, ...],
        RunFilter("these runs, by id; a withdrawn run counts only if it is named here", "Runs", "runs", shown_by_default=False),
    ] = ()
    model: Annotated[tuple[str, ...], ColumnFilter("runs of these models", "Model", "runs")] = ()
    elicitation: Annotated[
        tuple[str, ...], ElicitationFilter("runs whose confidence was elicited in these ways", "Elicitation", "runs")
    ] = ()
    tag: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...],
        NamedFilter(
            "`tag.reasoning=yes`: runs with this tag",
            "Tags",
            "runs",
            facts="tags",
            name="tag",
            identity="run",
            unknown="No run of dataset {dataset!r} has a tag {name!r}.",
        ),
    ] = ()
    category: Annotated[tuple[str, ...], ColumnFilter("questions of these categories", "Category", "questions")] = ()
    subcategory: Annotated[
        tuple[str, ...], ColumnFilter("questions of these subcategories", "Subcategory", "questions", shown_by_default=False)
    ] = ()
    radius: Annotated[tuple[int, ...], ColumnFilter("questions with these radii, in years", "Radius, years", "questions")] = ()
    attr: Annotated[
        tuple[tuple[str, tuple[str, ...]], ...],
        NamedFilter(
            "`attr.language=fr`: questions, or responses, with this attribute",
            "Attributes",
            "questions",
            facts="attributes",
            name="attribute",
            identity="question_id",
            unknown="Neither questions nor responses of dataset {dataset!r} have an attribute {name!r}.",
        ),
    ] = ()
    difficulty: Annotated[
        Range | None,
        RangeFilter(
            "`0.2..0.8`, both ends included, within 0 to 1: questions of this difficulty",
            "Difficulty",
            "questions",
            lambda facets: facets.difficulty is not None,
        ),
    ] = None
    revealed: Annotated[
        Range | None,
        RangeFilter(
            "`0..0.5`: clues, by the fraction of the question that is revealed by their end",
            "Revealed",
            "clues",
            lambda facets: facets.longest > 1,
        ),
    ] = None
    q: Annotated[
        str, SearchFilter("text in the question, its answer or its id", "Search", "questions", shown_by_default=False)
    ] = ""
    conventions: Annotated[Conventions, CONVENTIONS] = msgspec.field(default_factory=Conventions)
    nights: Annotated[
        bool,
        Switch(
            "`1`: every night; by default, of runs of a model with one elicitation and label that have a day, only the latest "
            "counts, and earlier ones that answered far more questions. A run that `run` names counts always, and `tag.date` "
            "selects among all",
            "Nights",
            ("latest of each model", "every night"),
            lambda facets: bool(facets.superseded),
        ),
    ] = False
    failed: Annotated[
        bool,
        Switch(
            "`1`: failed calls, which got no answer, count as wrong in accuracies and as 0 in the net score; by default, they "
            "count as not answered. Metrics that need a confidence always leave them out",
            "Failed calls",
            ("left out", "counted as wrong in accuracy"),
            lambda facets: facets.failed > 0 and not facets.forecasts,
        ),
    ] = False
    grading: Annotated[
        str,
        GradingChoice(
            "the grading that says which answers are right: `reviewed` (with the corrections of reviewers), `imported` (as the "
            "file states it), `graded` (by Clueline's rules), or the name of another one. By default, a run is measured by "
            "`reviewed` if it has it, else by its first grading: the one that its file states or, if it states none, that of "
            "Clueline's rules. A run without the grading named is measured by its first one, too",
            "Grading",
        ),
    ] = ""
    undisputed: Annotated[
        bool,
        Switch(
            "`1`: lists of answers and of wrong answers (items, questions sorted by a metric of a run, unsolved questions, and "
            "the table on the page of a question) leave out answers on which the gradings of their run differ. Metrics and ranks "
            "count them all the same",
            "Disputed answers",
            ("listed", "not listed"),
            lambda facets: len(facets.gradings) > 1,
        ),
    ] = False
    people: Annotated[
        str,
        PeopleChoice(
            "whom runs are measured against: `imported`, `stated-ends` (the imported people without plays of which nobody stated "
            "where they ended), or the id of a run that is a human collection; by default, the people who were imported with the "
            "dataset or, if there are none, its newest collection",
            "People",
        ),
    ] = ""
    cluster: Annotated[
        str,
        ClusterChoice(
            "the unit of every interval, test and band: `question`, or an attribute of questions whose equal values mark "
            "questions that depend on each other, such as those of a packet or about a passage; questions without the attribute "
            "are units of their own. `ages` are blocks of five years of the age that a question states: the default where "
            "questions state one (LifeEval), else `question`. Values of metrics do not depend on it, except those that are "
            "cross-fitted",
            "Clusters",
        ),
    ] = ""
    primary: Annotated[
        str,
        PrimaryChoice(
            "the primary metric, which you named before you looked: claims by it are adjusted for the runs compared, those by "
            "others for all other metrics, too. By default, that of the kind of dataset",
            "Primary metric",
        ),
    ] = ""
    common: Annotated[
        bool | Literal["all"] | None,
        FlagOrAll(
            "By default, runs take part that answered nine tenths of the clues that most runs answered, each on all that it "
            "answered, where runs are ranked or shown side by side (leaderboard, agreement, breakdown, decide, reliability, "
            "recalibration, difficulty, slices, triptych, unsolved, which-ece, people); elsewhere all runs do. `1`: only "
            "questions, and clues of these, that every run taking part answered. `all`: the same, and every run takes part, "
            "whatever it skipped. `0`: all runs take part, each on its own"
        ),
    ] = None
    # Set by queries, never by an address. A few questions are named by id, many by position: DuckDB takes 200 times as long to
    # read 18,000 ids as a parameter (2.6 s).
    questions: tuple[str, ...] | None = None  # ids
    question_mask: str | None = None  # 1 or 0 for the question at each position of the dataset
    clue_mask: ClueMask | None = None
    counted: CountedAnswers = CONFIDENT  # the answers that the metrics count
    response_attributes: tuple[str, ...] = ()  # names in ``attr`` that are attributes of responses, not of questions

    @classmethod
    def filters(cls) -> dict[str, Filter[Any]]:
        return {key: kind for key, kind in cls.kinds().items() if isinstance(kind, Filter)}

    @property
    def items(self) -> CountedAnswers:
        """Which answers are the items of the metrics that the selection is for."""
        return self.counted.including_failed() if self.failed else self.counted

    def for_metrics(self, metrics: Collection[Metric]) -> Selection:
        """Return the same selection with the answers that metrics count as items; if they differ, those with a confidence."""
        counted = {metric.counted for metric in metrics}
        return self.replace(counted=counted.pop() if len(counted) == 1 else CONFIDENT)

    def without_filters(self, narrows: Narrows) -> Selection:
        """Return the same selection without its filters on runs, questions, clues or responses."""
        filters = self.filters()
        defaults = {
            field.name: field.default for field in declared_fields(type(self)) if field.name in filters and field.name != ATTR
        }
        changes = {key: value for key, value in defaults.items() if filters[key].narrows == narrows}
        kinds = self.applied()
        attr = tuple((name, values) for name, values in self.attr if kinds[named_key(ATTR, name)].narrows != narrows)
        return self.replace(**changes, attr=attr, response_attributes=() if narrows == "responses" else self.response_attributes)

    def with_response_attribute(self, name: str, value: str) -> Selection:
        """Return the same selection of only responses with a value of an attribute; a blank value means without the attribute."""
        attr = tuple(pair for pair in self.attr if pair[0] != name)
        return self.replace(
            attr=(*attr, (name, (value,))), response_attributes=tuple(dict.fromkeys((*self.response_attributes, name)))
        )

    def on_runs(self, runs: Iterable[str]) -> Selection:
        """Return the same selection of some runs, by id, in place of its filters on runs. No ids mean all runs."""
        return self.without_filters("runs").replace(run=tuple(runs))

    def value(self, key: str) -> Any:
        """Return the value of a key, named as in an address, conventions included; its default where it is absent."""
        field, name = split_key(key)
        if name:
            return dict(getattr(self, field)).get(name, ())
        return getattr(self.conventions if key in CONVENTIONS.keys else self, key)

    def applied(self) -> dict[str, Filter[Any]]:
        """Return the filters that are set, by key as written in an address."""
        applied = {key: kind for key, kind in self.filters().items() if getattr(self, key)}
        of_responses = {named_key(ATTR, name): RESPONSE_ATTRIBUTE for name in self.response_attributes}
        return {
            key: of_responses.get(key, kind)
            for field, kind in applied.items()
            for key in ([named_key(field, name) for name, _ in getattr(self, field)] if kind.named else [field])
        }

    @property
    def grading_in_force(self) -> str:
        """The grading for ``Snapshot.with_grading``, under which a run without it is read under its first grading."""
        return self.grading or REVIEWED

    @property
    def filters_clues(self) -> bool:
        """Whether some clues of a question can be left out."""
        return self.clue_mask is not None or any(kind.narrows == "clues" for kind in self.applied().values())

    @property
    def filters_responses(self) -> bool:
        """Whether responses can be left out by their attributes."""
        return any(kind.narrows == "responses" for kind in self.applied().values())

    @property
    def filters_items(self) -> bool:
        """Whether some items of a question can be left out, so that statistics of whole questions cannot be used."""
        return self.filters_clues or self.filters_responses

    def question_filter(self, table: str = "q") -> Condition:
        """Return the SQL condition on ``questions``, and its parameters."""
        condition, parameters = self._filter("questions", table)
        if self.questions is not None:
            condition += f" and list_contains($question_ids::varchar[], {table}.question_id)"
            parameters["question_ids"] = list(self.questions)
        if self.question_mask is not None:
            condition += f" and get_bit($question_mask::bitstring, {table}.position::integer) = 1"
            parameters["question_mask"] = self.question_mask
        return condition, parameters

    def run_filter(self, table: str = "r") -> Condition:
        """Return the SQL condition on ``runs``, and its parameters.

        A withdrawn run counts only if it is named, and one of an earlier night if it, all nights or nights are.
        """
        condition, parameters = self._filter("runs", table)
        if self.run:
            return condition, parameters
        dated = any(tag == DATE for tag, _ in self.tag)
        latest = "" if self.nights or dated else f" and {table}.run not in ({SUPERSEDED.format('$dataset')})"
        return f"{condition} and {table}.withdrawn_at is null{latest}", parameters

    def clue_filter(self, table: str = "c") -> Condition:
        """Return the SQL condition on ``clues``, and its parameters."""
        condition, parameters = self._filter("clues", table)
        if self.clue_mask is not None:
            condition += f""" and exists (from questions masked
                where masked.dataset = {table}.dataset and masked.question_id = {table}.question_id
                    and get_bit($clue_mask::bitstring, (masked.position * {self.clue_mask.width} + {table}.clue)::integer) = 1)"""
            parameters["clue_mask"] = self.clue_mask.bits
        return condition, parameters

    def response_filter(self, table: str = "p") -> Condition:
        """Return the SQL condition on responses, by their attributes, and its parameters."""
        return self._filter("responses", table)

    def _filter(self, narrows: Narrows, table: str) -> Condition:
        conditions = [f"{table}.dataset = $dataset"]
        parameters: SqlParameters = {"dataset": self.dataset}
        for key, kind in self.applied().items():
            if kind.narrows == narrows:
                condition, values = kind.condition(key, self.value(key), table)
                conditions.append(condition)
                parameters |= values
        return " and ".join(conditions), parameters


# The runs of a dataset by their days: as a tag says, which people can change, as their files said, or else of their imports.
BY_DAY = f"""
    select r.run, b.value from runs r left join tags t on t.run = r.run and t.tag = '{DATE}'
        left join tags b on b.run = r.run and b.tag = '{BASELINE}' where r.dataset = $d and withdrawn_at is null
    order by coalesce(try_cast(t.value as date), r.evaluated_at::date, r.imported_at::date), r.evaluated_at nulls last,
        r.position"""


MIN_ANSWERED = 0.9  # share of an earlier night's questions that a later one must have answered to stand for it
# The runs of a dataset, which is in the place of the braces, for which a later night stands.
SUPERSEDED = f"""
    select earlier.run from (
        select r.*, try_cast(d.value as date) as day, l.value as label
        from runs r join tags d on d.run = r.run and d.tag = '{DATE}' left join tags l on l.run = r.run and l.tag = '{LABEL}'
    ) earlier join (
        select r.*, try_cast(d.value as date) as day, l.value as label
        from runs r join tags d on d.run = r.run and d.tag = '{DATE}' left join tags l on l.run = r.run and l.tag = '{LABEL}'
    ) later using (dataset, model, elicitation)
    where dataset = {{0}} and later.day > earlier.day and later.label is not distinct from earlier.label
        and later.withdrawn_at is null and later.questions >= {MIN_ANSWERED} * earlier.questions"""


def read_facets(snapshot: Snapshot, dataset: str | None) -> Facets:
    """Return what a dataset, None for the first one, offers to filter by. Raises ``BadRequest`` if there is none."""
    known = [row[0] for row in snapshot.rows("select dataset from datasets order by position")]
    if not known:
        raise BadRequest("empty_store", "The store holds no dataset yet.", "dataset", status=404)
    name = dataset if dataset is not None else known[0]
    if name not in known:
        raise BadRequest("unknown_value", f"There is no dataset {name!r}.", "dataset", known)
    parameters = {"d": name}
    title, kind, simulated, note, head_to_head = snapshot.rows(
        "select title, kind, simulated, note, head_to_head from datasets where dataset = $d", parameters
    )[0]
    counts = snapshot.rows(
        """select count(*), max(clues), min(difficulty), max(difficulty), max(difficulty_source)
            from questions where dataset = $d""",
        parameters,
    )[0]

    def values(table: str, column: str, order: str) -> tuple[str | int, ...]:
        sql = f"select {column} from {table} where dataset = $d and {column} is not null group by 1 order by {order}"
        return tuple(row[0] for row in snapshot.rows(sql, parameters))

    columns = {
        "questions": ("questions", "1"),
        "runs": ("(select * from runs where withdrawn_at is null)", "min(position)"),
        "clues": ("clues", "1"),
    }
    runs = snapshot.rows(
        "select run, model, elicitation, withdrawn_at, failed from runs where dataset = $d order by position", parameters
    )
    by_day = snapshot.rows(BY_DAY, parameters)
    named, many_valued = named_values(snapshot, name, [*Selection.filters().items(), (ATTR, RESPONSE_ATTRIBUTE)])
    of_responses = snapshot.rows("select distinct attribute from response_attributes where dataset = $d order by 1", parameters)
    collections = human_collections(snapshot, name)
    people_imported = has_people(snapshot, name)
    people = with_people(snapshot, name, "") if collections else snapshot
    teams = people.rows("select count(distinct team) from exposures where dataset = $d and team_kind = 'human'", parameters)
    return Facets(
        dataset=name,
        title=title,
        kind=kind,
        simulated=simulated,
        note=note,
        questions=counts[0],
        human_teams=teams[0][0],
        longest=counts[1],
        values={
            key: values(columns[kind.narrows][0], key, columns[kind.narrows][1])
            for key, kind in Selection.filters().items()
            if isinstance(kind, ColumnFilter) and not isinstance(kind, RunFilter | NamedFilter)
        }
        | named,
        difficulty=(counts[2], counts[3]) if counts[2] is not None else None,
        difficulty_source=counts[4],
        runs=tuple((run, model, elicitation) for run, model, elicitation, gone, _ in runs if gone is None),
        by_day=tuple(run for run, _ in by_day),
        superseded=tuple(
            run for (run,) in snapshot.rows(f"select distinct run from ({SUPERSEDED.format('$d')}) order by 1", parameters)
        ),
        baselines=tuple({baseline: run for run, baseline in by_day if baseline}.items()),
        withdrawn=tuple(run for run, _, _, gone, _ in runs if gone is not None),
        failed=sum(failed for *_, failed in runs),
        head_to_head=head_to_head,
        imported=tuple(run for run, *_ in runs),
        gradings=tuple(
            name
            for (name,) in snapshot.rows(
                "select name from gradings where dataset = $d group by 1 order by min(position), 1", parameters
            )
        ),
        response_attributes=tuple(attribute for (attribute,) in of_responses),
        many_valued=many_valued,
        people_imported=people_imported,
        unstated_ends=count_unstated_ends(snapshot, name),
        human_collections=tuple((part.run, part.name) for part in collections),
        clusters=offered_clusters(snapshot, name),
    )


def dataset_conventions(snapshot: Snapshot, selection: Selection) -> Conventions:
    """Return the conventions of a selection, with ``head_to_head`` and ``forecasts`` set as in its dataset."""
    rows = snapshot.rows("select head_to_head, kind from datasets where dataset = $d", {"d": selection.dataset})
    head_to_head, kind = rows[0] if rows else (False, "")
    return replace(selection.conventions, head_to_head=bool(head_to_head), forecasts=kind == FORECAST)


def has_forecasts(snapshot: Snapshot, dataset: str) -> bool:
    """Check whether the answers of a dataset are forecasts."""
    return dataset_conventions(snapshot, Selection(dataset)).forecasts


@dataclass(frozen=True)
class Request(Generic[P]):
    """What an address asks for; ``ignored`` are unknown keys, where they are not an error."""

    selection: Selection
    facets: Facets
    parameters: P
    ignored: tuple[str, ...] = ()


def read_address(
    query: Iterable[tuple[str, str]],
    facets_of: Callable[[str | None], Facets],
    parameters: type[P],
    dataset: str | None = None,
    ignore_unknown: bool = False,
) -> Request[P]:
    """Read a query string: the keys of the selection, and those of a view.

    ``facets_of`` returns what a dataset offers, None for the first one. ``dataset`` is the one that the path names, if any.
    Raises ``BadRequest``, which names what is allowed, for an unknown value and, unless ``ignore_unknown``, for an unknown key.
    """
    texts, ignored = collect(query, Selection.kinds() | parameters.kinds(), ignore_unknown)
    named = texts.get("dataset", [None])[0]
    if dataset is not None and named not in (None, dataset):
        raise BadRequest("unknown_value", f"This address is only for dataset {dataset!r}.", "dataset", [dataset])
    try:
        facets = facets_of(dataset if dataset is not None else named)
    except BadRequest as error:
        if dataset is not None and error.code == "unknown_value":  # the path names it, so there is no such page
            raise BadRequest("unknown_dataset", error.message, error.field, error.allowed, status=404) from None
        raise
    selection = decode(Selection, texts, facets, dataset=facets.dataset)
    if facets.forecasts and selection.failed:  # its probability of 0 would be the best forecast of what did not happen
        message = "A failed call has no probability of yes, so it cannot count as wrong here."
        raise BadRequest("bad_value", message, "failed", ["0"])
    of_responses = tuple(name for name, _ in selection.attr if name in facets.response_attributes)
    selection = selection.replace(response_attributes=of_responses)
    head_to_head = facets.head_to_head and selection.people in OF_IMPORTED
    if head_to_head or facets.forecasts:
        conventions = replace(selection.conventions, head_to_head=head_to_head, forecasts=facets.forecasts)
        selection = selection.replace(conventions=conventions)
    if not selection.nights and not _named_runs(parameters, texts, facets).isdisjoint(facets.superseded):
        selection = selection.replace(nights=True)  # an address that names a run of an earlier night is about every night
    return Request(selection, facets, _worded(decode(parameters, texts, facets), facets), tuple(ignored))


def _named_runs(parameters: type[Parameters], texts: Mapping[str, Sequence[str]], facets: Facets) -> set[str]:
    """Return the runs that the keys of a view name."""
    keys = [key for key, kind in parameters.kinds().items() if isinstance(kind, RunChoice)]
    named = [text for key in keys for text in texts.get(key, ())]
    return {dict(facets.baselines).get(text, text) for text in named}


def _worded(parameters: P, facets: Facets) -> P:
    """Return parameters whose metrics are called as they are in a dataset."""
    metrics: dict[str, object] = {}
    for name in parameters.__struct_fields__ if facets.forecasts else ():
        value = getattr(parameters, name)
        if isinstance(value, Metric):
            metrics[name] = value.worded(facets.forecasts)
        elif isinstance(value, tuple) and value and isinstance(value[0], Metric):
            metrics[name] = tuple(metric.worded(facets.forecasts) for metric in value)
    return parameters.replace(**metrics)


def read_selection(query: Iterable[tuple[str, str]], facets_of: Callable[[str | None], Facets]) -> Selection:
    """Read a query string that has keys of the selection only; see ``read_address``."""
    return read_address(query, facets_of, NoParameters).selection


NOTHING = Facets("", "", "", False, None, 0, 0, 0, {}, None, None, (), ())


def read_parameters(query: Iterable[tuple[str, str]], parameters: type[P]) -> P:
    """Read the query string of a view that takes no selection. Raises ``BadRequest`` for an unknown key or value."""
    texts, _ = collect(query, parameters.kinds())
    return decode(parameters, texts, NOTHING)


def selection_keys(selection: Selection) -> dict[str, list[str]]:
    """Return a selection as lists of values by key, in the form in which JSON answers repeat it."""
    values: dict[str, list[str]] = {}
    for key, value in selection.pairs():
        values.setdefault(key, []).append(value)
    return values


class Answer(msgspec.Struct):
    """What an answer about a selection begins with: the version of the data, and the selection."""

    data_version: str
    selection: dict[str, list[str]]


def head(snapshot: Snapshot, selection: Selection) -> tuple[str, dict[str, list[str]]]:
    """Return the fields of ``Answer``."""
    return snapshot.version, selection_keys(selection)


def number(value: float) -> float | None:
    """Return a float for JSON: None for NaN and infinities."""
    return float(value) if math.isfinite(value) else None
