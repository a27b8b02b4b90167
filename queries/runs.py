"""Runs: their provenance and their responses."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from clueline.data.duckdb_and_polars import first_rows, literal, quoted
from clueline.data.importing.table_contract import GRADE_PREFIX
from clueline.data.store import Snapshot
from clueline.data.store.answer_states import OTHER_STATES, State, state_sql
from clueline.data.store.models import KnownModel, known_models
from clueline.data.store.query_to_file import Form, Table
from clueline.queries.engine.selected_answers import counts_by_run, state_counts
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest


class UnansweredQuestions(msgspec.Struct):
    """Questions that a run did not answer: ``total`` is their number, ``questions`` are the ids of the first of them."""

    run: str
    total: int
    questions: list[str]


class GradingDecision(msgspec.Struct):
    """A person's decision whether one guess is correct; ``correct`` is in [0, 1]."""

    question_id: str
    clue: int
    guess: str | None
    correct: float


class RunFacts(msgspec.Struct):
    """Provenance of a run. Times are ISO 8601, UTC; ``withdrawn_at`` is None unless the run is withdrawn."""

    run: str
    dataset: str
    model: str
    elicitation: str
    stated_elicitation: str | None  # as its file calls it; None if that is the same
    evaluated_at: str | None  # when its first answer was given; None if nothing said so at its import
    imported_by: str | None  # name of the token; None: the command line
    imported_at: str
    file_name: str | None
    sha256: str
    items: int  # answers with a confidence
    questions: int  # those with a response other than a failed call
    missing_questions: int  # questions of the dataset that it did not answer
    samples: int  # largest number of answers to one clue
    respondents: bool  # whether these are the answers of different people
    scored: int  # answers with a score that is no probability; neither these nor the next four are among the items
    no_confidence: int  # answers without a confidence
    unparsed: int  # answers that could not be read
    abstained: int  # the model declined to answer
    failed: int  # calls that got no answer
    skipped: dict[str, int]  # number of rows that the model failed to answer, by reason
    decisions: list[GradingDecision]  # about guesses, by the analyst who imported it
    withdrawn_at: str | None
    withdrawn_by: str | None  # name of the token; None: a dataset that was replaced
    withdrawn_reason: str | None
    tags: dict[str, str]  # value by tag
    attributes: dict[str, list[str] | None]  # of its responses: values by name, None where there are too many to choose from
    same_answers: list[str]  # other runs of the dataset, not withdrawn, with the same answers and grades, in order of import


class Runs(msgspec.Struct):
    """Answer of ``/api/v1/runs``: a page of ``total`` runs. ``next`` is the value of ``after`` that gives the next page."""

    runs: list[RunFacts]
    total: int
    next: str | None


class RunChoices(msgspec.Struct):
    """What lists of runs can be narrowed by: the models, and each tag with its values as ``NAME=VALUE``."""

    models: list[str]
    tags: list[str]


def _time(column: str) -> str:
    return f"strftime({column}, '%Y-%m-%dT%H:%M:%S.%fZ') as {column}"


FACTS = f"""select run, dataset, model, elicitation, stated_elicitation, {_time("evaluated_at")}, imported_by,
    {_time("imported_at")}, file_name, sha256, items, questions, missing_questions, samples, respondents,
    {", ".join(OTHER_STATES)}, skipped, decisions,
    {_time("withdrawn_at")}, withdrawn_by, withdrawn_reason, (
        select to_json(list({{'tag': tag, 'value': value}} order by tag))::varchar from tags t where t.run = runs.run
    ) as tags, (
        select to_json(map_from_entries(list(struct_pack(key := attribute, value := given) order by attribute)))::varchar from (
            select attribute,
                case when count(value) = count(*) then list(value order by try_cast(value as double), value) end as given
            from response_attributes a where a.run = runs.run group by 1)
    ) as attributes, coalesce((
        select list(other.run order by twin.position) from objects own join objects other using (kind, dataset, sha256)
        join runs twin on twin.run = other.run and twin.withdrawn_at is null
        where own.run = runs.run and own.kind = 'responses' and other.run <> own.run
    ), []) as same_answers
    from"""
SOUGHT = {  # SQL conditions by the parameter that each reads
    "dataset": "dataset = $dataset",
    "search": """(list_contains($called::varchar[], dataset || '/' || model)
        or contains(lower(concat_ws(' ', run, model, elicitation, file_name, imported_by,
            (select string_agg(tag || '=' || value, ' ') from tags t where t.run = runs.run))), lower($search)))""",
    "of_model": "list_contains($of_model::varchar[], dataset || '/' || model)",
    "tagged": "exists (select 1 from tags t where t.run = runs.run and $tagged in (tag, tag || '=' || value))",
    "since": "strftime(imported_at, '%Y-%m-%d') >= $since",
    "until": "substr(strftime(imported_at, '%Y-%m-%d'), 1, length($until)) <= $until",
    "withdrawn": "(withdrawn_at is not null) = $withdrawn",
}


def runs(
    snapshot: Snapshot,
    dataset: str | None = None,
    search: str = "",
    of_model: str = "",
    tagged: str = "",
    since: str = "",
    until: str = "",
    withdrawn: bool | None = None,
    newest: bool = False,
    limit: int | None = None,
    after: str = "",
) -> Runs:
    """Return runs in order of import or, if ``newest``, the latest first; withdrawn ones are among them unless said.

    ``search`` is a text in the id, the names, the file, the importer or the tags. ``of_model`` is a model or one of its names,
    ``tagged`` a tag or ``NAME=VALUE``. ``since`` and ``until`` are first and last times of import, UTC: a year, a month or a day.
    ``after`` is the last run of the page before. Raises ``BadRequest`` if the dataset or that run is unknown.
    """
    known = [row[0] for row in snapshot.rows("select dataset from datasets order by position")]
    if dataset is not None and dataset not in known:
        raise BadRequest("unknown_value", f"There is no dataset {dataset!r}.", "dataset", known)
    given: dict[str, Any] = {
        "dataset": dataset, "search": search, "of_model": of_model, "tagged": tagged, "since": since, "until": until,
        "withdrawn": withdrawn,
    }  # fmt: skip
    given = {key: value for key, value in given.items() if value not in (None, "")}
    if of_model:
        given["of_model"] = _nodes(snapshot, lambda known: of_model in (known.label, known.name), of_model)
    conditions = " and ".join(["true", *(SOUGHT[key] for key in given)])
    if search:
        given["called"] = _nodes(snapshot, lambda known: search.lower() in known.label.lower())
    ((total,),) = snapshot.rows(f"select count(*) from runs where {conditions}", given)
    if after:
        last = snapshot.rows("select position from runs where run = $run", {"run": after})
        if not last:
            raise BadRequest("bad_value", f"{after!r} is not a run; take `next` of the page before.", "after")
        conditions += f" and position {'<' if newest else '>'} $position"
        given["position"] = last[0][0]
    order = "position desc" if newest else "position"
    wanted = f"(select * from runs where {conditions} order by {order} limit {'all' if limit is None else limit + 1}) runs"
    rows = snapshot.frame(f"{FACTS} {wanted} order by {order}", given).to_dicts()
    listed = [_facts(row) for row in rows[:limit]]
    return Runs(listed, total, listed[-1].run if len(rows) > len(listed) else None)


def _nodes(snapshot: Snapshot, wanted: Callable[[KnownModel], bool], name: str = "") -> list[str]:
    """Return ``DATASET/NAME`` of the runs of wanted models, and of those with this name."""
    return [
        f"{node.dataset}/{node.name}"
        for known in known_models(snapshot)
        for node in known.nodes
        if wanted(known) or node.name == name
    ]


def run_choices(snapshot: Snapshot, dataset: str | None) -> RunChoices:
    """Return the models and tags of the runs of a dataset, None for all; notes are left out."""
    scope = "where $d is null or r.dataset = $d"
    here = set(snapshot.rows(f"select distinct model, dataset from runs r {scope}", {"d": dataset}))
    tags = snapshot.rows(
        f"select distinct tag || '=' || value from tags join runs r using (run) {scope} and tag <> 'notes' order by 1",
        {"d": dataset},
    )
    labels = [model.label for model in known_models(snapshot) if not here.isdisjoint(model.nodes)]
    return RunChoices(labels, [tag for (tag,) in tags])


def run(snapshot: Snapshot, run_id: str) -> RunFacts:
    """Return one run, withdrawn or not. Raises ``BadRequest`` for an unknown run."""
    rows = snapshot.frame(f"{FACTS} (select * from runs where run = $run) runs", {"run": run_id}).to_dicts()
    if not rows:
        raise BadRequest("unknown_run", f"There is no run {run_id!r}; /api/v1/runs lists them.", "run", status=404)
    return _facts(rows[0])


def _facts(row: dict[str, Any]) -> RunFacts:
    decisions = msgspec.json.decode(row["decisions"] or "[]", type=list[GradingDecision])
    tags = {fact["tag"]: fact["value"] for fact in json.loads(row["tags"] or "[]")}
    facts = {name: json.loads(row[name] or "{}") for name in ("skipped", "attributes")}
    return RunFacts(**row | facts | {"decisions": decisions, "tags": tags})


STATED = "graded in ('file', 'person')"


def responses(snapshot: Snapshot, name: str, form: Form) -> Table:
    """Return the responses of a run as a table that gives the same run when it is imported again.

    ``failed`` marks failed calls, whose guess and confidence are blank, and ``state`` answers without a confidence, unparsed ones
    and abstentions. ``correct`` is what the file stated or a person decided, and blank where Clueline graded the guess.
    ``correct.NAME`` is a further grading that was imported; the grading by Clueline's rules is computed again at import.
    Distributions are maps where the run names its options, else lists in the order of the dataset's classes, in CSV as JSON text.
    Attributes have columns of their own. Empty columns are left out. Rows are in the order of question id, sample and clue, in
    which they are stored, so nothing has to be sorted. Raises ``BadRequest`` for an unknown run.
    """
    facts = run(snapshot, name)

    # Values are part of the SQL, not parameters, because the name of an attribute may look like a parameter.
    relation = snapshot.with_grading("").responses([facts.run])
    given = snapshot.rows(
        "select name from gradings where run = $run and source in ('column', 'added') order by position", {"run": facts.run}
    )
    further = [grading for (grading,) in given]

    def has(condition: str) -> bool:
        return bool(snapshot.rows(f"select 1 from {relation} where {condition} limit 1"))

    def nested(value: str) -> str:
        return f"to_json({value})::varchar" if form == "csv" else value

    by_name = "case when options is not null then map(option_names, options) end"
    distribution = by_name if has("option_names is not null") else "options"
    columns = {
        "question_id": "question_id",
        "clue": "clue",
        "sample": "sample",
        "failed": "failed",
        "state": "state",
        "guess": "guess",
        "confidence": "if(failed or state is not null, null, confidence)",
        "correct": f"case when {STATED} then correct end",
        "token_logprobs": nested("token_logprobs"),
        "options": nested(distribution),
        "buzz": "buzz",
        "model": literal(facts.model),
        "elicitation": literal(facts.stated_elicitation or facts.elicitation),
        "evaluated_at": literal((facts.evaluated_at or "").rstrip("Z")),
    }
    conditions = {name: f"{name} is not null" for name in ("sample", "state", "guess", "token_logprobs", "options", "buzz")}
    if facts.evaluated_at is None:
        del columns["evaluated_at"]
    for name, condition in (conditions | {"failed": "failed", "correct": STATED}).items():
        if not has(condition):
            del columns[name]
    grades = {grading: snapshot.with_grading(grading).responses([facts.run]) for grading in further}
    joined = "".join(
        f""" positional join (select if(failed, null, correct) as "{GRADE_PREFIX}{grading}" from {rows})"""
        for grading, rows in grades.items()
    )
    columns |= {f'"{GRADE_PREFIX}{grading}"': f'"{GRADE_PREFIX}{grading}"' for grading in further}
    columns |= {quoted(name): f"attributes[{literal(name)}]" for name in facts.attributes}
    chosen = ", ".join(f"{sql} as {column}" for column, sql in columns.items())
    return Table(f"select {chosen} from {relation}{joined}", {})


EVALUATION_SCHEMA = "0.3.0"  # of Every Eval Ever
# A record of its instance-level schema for each response s of a run, with the words c that the model had seen.
SAMPLES = """
    with shown as (
        select question_id, clue, q.answer, q.category, q.clues > 1 as incremental,
            coalesce(string_agg(c.text, ' ') over (partition by question_id order by clue), q.text, '') as text
        from questions q join clues c using (dataset, question_id) where dataset = {dataset})
    select '{schema}' as schema_version, {evaluation} as evaluation_id, {model} as model_id, {dataset} as evaluation_name,
        'accuracy' as evaluation_result_id, question_id as sample_id, 'single_turn' as interaction_type,
        {{'raw': text, 'reference': list_filter([answer], lambda a: a is not null)}} as input,
        {{'raw': list_filter([guess], lambda g: g is not null)}} as output,
        case when guess is null then [] else [{{'turn_idx': 0, 'source': 'output.raw', 'extracted_value': guess,
            'extraction_method': 'unknown', 'is_terminal': true}}] end as answer_attribution,
        {{'score': if(failed, 0, correct)::double, 'is_correct': not failed and correct = 1}} as evaluation,
        if(failed, 'the call got no answer', null) as error,
        map_from_entries(list_filter([
            {{'key': 'elicitation', 'value': {elicitation}}},
            {{'key': 'confidence', 'value': if(failed or state is not null, null, confidence)::varchar}},
            {{'key': 'state', 'value': state}}, {{'key': 'sample', 'value': sample}}, {{'key': 'category', 'value': category}},
            {{'key': 'clue', 'value': if(incremental, clue, null)::varchar}}], lambda e: e.value is not null)) as metadata
    from {responses} s join shown using (question_id, clue) order by question_id, sample, clue"""


def every_eval_ever(snapshot: Snapshot, run_id: str) -> tuple[dict[str, Any], Table]:
    """Return a run as a record of aggregate results of Every Eval Ever, and a table of its samples for JSON Lines.

    The schema has no confidence: it is among the texts of ``metadata``. Distributions, tokens and attributes are left out. The
    accuracy is the mean over questions of the first grading, without failed calls. Raises ``BadRequest`` for an unknown run.
    """
    facts = run(snapshot, run_id)
    responses_of_run = snapshot.with_grading("").responses([facts.run])
    seconds = f"{datetime.fromisoformat(facts.imported_at).timestamp():.0f}"
    evaluation = f"{facts.dataset}/{facts.model}/{seconds}"
    sql = SAMPLES.format(
        schema=EVALUATION_SCHEMA, dataset=literal(facts.dataset), model=literal(facts.model), evaluation=literal(evaluation),
        elicitation=literal(facts.elicitation), responses=responses_of_run,
    )  # fmt: skip
    ((accuracy, rows),) = snapshot.rows(f"""select avg(share), sum(rows)::bigint from (
        select avg(correct) filter (not failed) as share, count(*) as rows from {responses_of_run} group by question_id)""")
    result = {
        "evaluation_result_id": "accuracy", "evaluation_name": facts.dataset,
        "source_data": {"dataset_name": facts.dataset, "source_type": "other"},
        "metric_config": {"metric_id": "accuracy", "metric_unit": "proportion", "lower_is_better": False,
                          "score_type": "continuous", "min_score": 0, "max_score": 1},
        "score_details": {"score": accuracy or 0.0},
    }  # fmt: skip
    aggregate = {
        "schema_version": EVALUATION_SCHEMA, "evaluation_id": evaluation, "retrieved_timestamp": seconds,
        "source_metadata": {"source_name": "Clueline", "source_type": "evaluation_run", "source_organization_name": "unknown",
                            "evaluator_relationship": "other"},
        "eval_library": {"name": "clueline", "version": "unknown"},
        "model_info": {"name": facts.model, "id": facts.model}, "evaluation_results": [result],
        "detailed_evaluation_results": {"format": "jsonl", "hash_algorithm": "sha256", "total_rows": rows},
    }  # fmt: skip
    return aggregate, Table(sql, {})


def selected_runs(snapshot: Snapshot, selection: Selection) -> list[str]:
    """Return the ids of a selection's runs in order of import. Withdrawn ones are left out unless named, and then come last."""
    condition, parameters = selection.run_filter()
    rows = snapshot.rows(f"select run from runs r where {condition} order by withdrawn_at is not null, position", parameters)
    return [run for (run,) in rows]


def unanswered_questions(snapshot: Snapshot, name: str, most: int = 100) -> UnansweredQuestions:
    """Return the questions that a run did not answer, in the dataset's order. Raises ``BadRequest`` for an unknown run."""
    facts = run(snapshot, name)
    rows = snapshot.rows(
        first_rows(
            f"""select q.question_id, q.position from questions q
            anti join (select question_id from {snapshot.responses([facts.run])} where not failed) using (question_id)
            where q.dataset = $d""",
            "position",
            "$most",
        ),
        {"d": facts.dataset, "most": most},
    )
    return UnansweredQuestions(facts.run, rows[0][2] if rows else 0, [row[0] for row in rows])


class GradedResponse(msgspec.Struct):
    """The response of a run to one clue, and how it was graded. ``confidence`` and ``correct`` are in [0, 1]."""

    run: str
    question_id: str
    clue: int
    sample: str | None  # which of several answers to the clue
    guess: str | None
    confidence: float | None  # None where there is none; 0 for a failed call
    correct: float
    failed: bool
    state: str  # answered, scored, no_confidence, unparsed, abstained or failed
    graded: str  # see responses.graded in data/store/run_files.py


def first_responses(snapshot: Snapshot, names: Sequence[str], most: int = 10) -> list[GradedResponse]:
    """Return the first answers of some runs, in the dataset's order of questions."""
    rows = snapshot.frame(
        f"""select run, question_id, clue, sample, guess, if(state is null, confidence, null) as confidence, correct, failed,
            {state_sql()} as state, graded
        from {snapshot.responses(names)} r join questions q using (dataset, question_id)
        order by q.position, clue, sample, run limit $most""",
        {"most": most},
    )
    return [GradedResponse(**row) for row in rows.to_dicts()]


def states_of_answers(snapshot: Snapshot, selection: Selection) -> dict[State, int]:
    """Count the responses of a selection's runs that are no answers with a confidence; states without any are absent."""
    by_run = counts_by_run(state_counts(snapshot, selection)).values()
    counts = {state: sum(states[state] for states in by_run) for state in OTHER_STATES}
    return {state: count for state, count in counts.items() if count}
