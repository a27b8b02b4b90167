"""Checks of responses: rows, common mistakes, names of attributes and tags.

A row is a failed call if it says so (``failed`` is true, or ``state`` is failed), or if its guess is the word ERROR, in any case,
and the row does not contradict that: it states no other state, it has no distribution over options, and its correctness is 0 or
not stated. A failed call is stored without a guess, with confidence 0 and correctness 0.

A row whose ``state`` is scored has a number that is no probability as an attribute, ``certainty`` or ``uncertainty``. In place of
a confidence, its rank in the run is stored: the share of the different scores that are at most as sure, below 1.

A row without a confidence, token log-probabilities and distribution is an answer without confidence if it has a guess or states a
correctness. A row can also say that the answer was not parsed or that the model abstained. An answer that was not parsed, but has
a confidence, is a wrong answer at that confidence. Other such rows are stored without a confidence, and have correctness 0.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

import numpy as np

from clueline.data.dataset_kinds import FORECAST, NO, YES
from clueline.data.importing.report import Problem
from clueline.data.importing.staging import OF_QUESTION, OF_RUN, ImportOptions, Staging
from clueline.data.plurals import counted
from clueline.data.store.answer_states import NEVER_RIGHT, STORED_STATES, among_states
from clueline.data.store.run_files import TYPES
from clueline.data.store.run_tags import DATE, MAX_TAGS
from clueline.data.sufficient_statistics import SIDE_DECIMALS

PLACES = 10**12  # ``place`` in ``numbered_runs`` is the file's number times this, plus the ordinal of the row
BATCH = 500_000  # keys in memory at a time, for each of two threads
STATED_LISTS = ("token_logprobs", "options")  # what a response can state besides, or instead of, a confidence
# Columns that many files lack. Distributions are still JSON here.
OPTIONAL = {name: TYPES["responses"][name] for name in ("token_logprobs", "state", "sample", "buzz", "attributes")} | {
    "options": "varchar"
}
INVISIBLE = r"[\p{Cc}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}]"  # bad in names; a regular expression of DuckDB
FAILED_GUESS = "ERROR"  # the guess that marks a failed call in files, and in the hash that names a run
# SQL for a row s of ``responses_read``: whether it has nothing from which its confidence follows, or is a failed call.
LACKS_CONFIDENCE = "(s.confidence is null and s.token_logprobs is null and s.options is null)"
# A regular expression takes a third of the time of lower(trim(guess)).
_MARKED = f"regexp_full_match(s.guess, '(?i) *{FAILED_GUESS} *')"
_UNANSWERED = "s.state is null and s.options is null and coalesce(s.correct, 0) = 0"
IS_FAILED = f"(coalesce(s.failed or s.state = 'failed', false) or coalesce({_MARKED}, false) and {_UNANSWERED})"
# Its state as it is stored: one of ``STORED_STATES``, or null.
_STORED = ", ".join(f"'{state}'" for state in STORED_STATES)
WRONG_AT_CONFIDENCE = f"(not {IS_FAILED} and coalesce(s.state = 'unparsed', false) and not {LACKS_CONFIDENCE})"
STORED_STATE = f"""case when {IS_FAILED} or {WRONG_AT_CONFIDENCE} then null when s.state in ({_STORED}) then s.state
    when s.state is null and {LACKS_CONFIDENCE} and (s.guess is not null or s.correct is not null) then 'no_confidence' end"""
# Whether a failed call nevertheless states an answer, or a row a confidence or correctness that its state rules out.
STATES_AN_ANSWER = f"""(s.guess is not null and not {_MARKED} or s.token_logprobs is not null
    or s.options is not null or coalesce(s.confidence, 0) <> 0 or coalesce(s.correct, 0) <> 0)"""
CONTRADICTS_ITS_STATE = f"""(s.state in ({_STORED}) and s.state <> 'unparsed' and not {LACKS_CONFIDENCE}
    or s.state in ('unparsed', 'abstained') and coalesce(s.correct, 0) <> 0)"""
ANSWERED_IN_S = among_states(("answered",), "s")
UNIT_SUM = 1e-3  # a distribution whose sum differs from 1 by more is normalised, with a warning


def check_responses(staging: Staging) -> None:
    """Report bad responses or, if there are none, create ``responses_ordered``: rows by run, question and clue."""
    if staging.report.problems:  # the import will be refused, so its rows need not be sorted
        _report_bad(staging)
    elif not _order(staging):
        _report_bad(staging)
        assert staging.report.problems, "a response that one scan found bad, and the other did not"


def _order(staging: Staging) -> bool:
    """Create ``responses_ordered``. Return False if a response is bad."""
    run = staging.connection.execute
    run("""create table numbered_questions as
        select (row_number() over (order by dataset, question_id) - 1)::integer as n, dataset, question_id, clues
        from questions semi join (select distinct dataset from responses_read) using (dataset)""")
    run(f"""create table numbered_runs as
        select (row_number() over (order by place) - 1)::integer as n, * from (
            select dataset, model, elicitation, evaluated_at, min(file * {PLACES} + ordinal) as place
            from responses_read group by all)""")
    _check_names(staging)
    ages = run("select 1 from datasets join numbered_runs using (dataset) where kind = 'lifeeval' limit 1").fetchone()
    no_age = f"""s.correct is null and not {among_states(NEVER_RIGHT, "s")} and not {AGE.format("s.guess")}
        and s.dataset in (select dataset from datasets where kind = 'lifeeval')"""
    forecasts = run(f"select 1 from numbered_runs s where {IS_FORECAST} limit 1").fetchone()
    no_side = f"not s.failed and {IS_FORECAST} and not {SIDE.format('s.guess')}"
    if forecasts:
        run(f"""update grades_read g set correct = 1 - g.correct
            from responses_read s where {IS_NO} and g.file = s.file and g.ordinal = s.ordinal""")
    # Columns without any value, and the number of a single file, need not be sorted and written.
    present_if = {name: f"{name} is not null" for name in OPTIONAL} | {"state": f"({STORED_STATE}) is not null"}
    absent = {
        name: f"null::{kind}"
        for name, kind in OPTIONAL.items()
        if not run(f"select 1 from responses_read s where {present_if[name]} limit 1").fetchone()
    } | ({"file": "0"} if len(staging.files) == 1 else {})
    present = "".join(f", case when {ANSWERED_IN_S} then s.{name} end as {name}" for name in STATED_LISTS if name not in absent)
    present += "".join(f", s.{name}" for name in ("state", "sample", "buzz", "attributes", "file") if name not in absent)
    correct = f"case when {WRONG_AT_CONFIDENCE} then 0 else s.correct end"
    dated = run("select 1 from numbered_runs where evaluated_at is not null limit 1").fetchone()
    same_time = " and r.evaluated_at is not distinct from s.evaluated_at" if dated else ""
    order = "run_number, question_number, " + ("" if "sample" in absent else "sample, ") + "clue"
    run(f"""
        create table ordered_rows as
        select r.n as run_number, q.n as question_number, q.question_id, coalesce(s.clue, 0)::integer as clue, s.ordinal,
            s.failed, case when not s.failed then s.guess end as guess,
            case when s.failed then 0.0 when s.state is null then s.confidence end as confidence,
            if({among_states(NEVER_RIGHT, "s")}, 0 * s.correct, s.correct) as correct{present},
            s.model is null or q.n is null or (s.clue is null and q.clues > 1) or coalesce(s.clue >= q.clues, false)
            or ({ANSWERED_IN_S} and {LACKS_CONFIDENCE})
            {f"or coalesce({no_age}, false)" if ages else ""} {f"or coalesce({no_side}, false)" if forecasts else ""} as bad
        from (select * replace ({IS_FAILED} as failed, {absent.get("state", STORED_STATE)} as state, {correct} as correct)
            from {FORECASTS_OF_YES if forecasts else "responses_read"} s) s
        left join numbered_runs r
            on r.dataset = s.dataset and r.model is not distinct from s.model and r.elicitation = s.elicitation{same_time}
        left join numbered_questions q on q.dataset = s.dataset and q.question_id = s.question_id
        order by {order}""")
    nulls = "".join(f", {sql} as {name}" for name, sql in absent.items())
    run(f"create view responses_ordered as select rowid as row, *{nulls} from ordered_rows")
    bad, rows, failed = run(
        "select coalesce(bool_or(bad), false), count(*), count(*) filter (failed) from ordered_rows"
    ).fetchall()[0]
    if failed:
        what = "a guess, a confidence or a correctness"
        _warn_of(staging, f"{IS_FAILED} and {STATES_AN_ANSWER}", f"failed call states {what}", f"failed calls state {what}")
    if "state" not in absent:
        what = "whose `state` rules out a confidence or a correct answer"
        _warn_of(staging, f"not {IS_FAILED} and {CONTRADICTS_ITS_STATE}", f"row {what} has one", f"rows {what} have one")
    keys = "run_number, question_number, clue" + ("" if "sample" in absent else ", hash(sample) as sample")
    return not bad and not _repeats(staging, keys, rows)


def _check_names(staging: Staging) -> None:
    for column in ("model", "elicitation"):
        bad = f"regexp_matches({column}, '{INVISIBLE}')"
        if staging.connection.execute(f"select 1 from numbered_runs where {bad} limit 1").fetchone():
            reason = "'contains a control character, or one that changes the direction of the text'"
            staging.report_rows("responses_read", column, reason, f"where {bad}")
    staging.report.raise_problems()


def _warn_of(staging: Staging, where: str, one: str, several: str) -> None:
    """Warn of rows whose values were left out, if there are any: what one of them, or several, have wrongly."""
    count = staging.connection.execute(f"select count(*) from responses_read s where {where}").fetchall()[0][0]
    if count:
        staging.report.warnings.append(f"{counted(count, one, several)}; these values were left out")


NO_SUCH_QUESTION = "no such question in dataset"  # the beginning of a problem


def _repeats(staging: Staging, keys: str, rows: int) -> bool:
    """Return whether a run answers a clue twice within a sample. Two neighbouring rows then have the same keys."""
    with ThreadPoolExecutor(2) as threads:
        return any(threads.map(partial(_repeats_from, staging, keys), range(0, rows, BATCH)))


def _repeats_from(staging: Staging, keys: str, start: int) -> bool:
    with staging.connection.cursor() as reading:
        reading.execute("use scratch")
        range_ = f"rowid between {max(start - 1, 0)} and {start + BATCH - 1}"
        columns = reading.execute(f"select {keys} from ordered_rows where {range_}").fetchnumpy()
    return bool(np.logical_and.reduce([column[1:] == column[:-1] for column in columns.values()]).any())


def _report_bad(staging: Staging) -> None:
    in_lifeeval = "join datasets d on d.dataset = s.dataset where d.kind = 'lifeeval'"
    misplaced = False
    for column, reason, where in (
        ("model", "'which model? This row does not say: fill it in, or leave the column out and name the model when importing'",
         "where model is null"),
        ("question_id", f"'{NO_SUCH_QUESTION} ' || s.dataset", f"anti join questions {OF_QUESTION}"),
        ("clue", "'which clue? The question has ' || q.clues",
         f"join questions {OF_QUESTION} and s.clue is null and q.clues > 1"),
        ("clue",
         "'no such clue: the question has ' || case q.clues when 1 then 'only clue 0' else 'clues 0 to ' || (q.clues - 1) end",
         f"join questions {OF_QUESTION} and s.clue >= q.clues"),
        ("guess", "'a LifeEval answer is an age: a number of years, or nothing'", f"{in_lifeeval} and s.correct is null "
         f"and not {IS_FAILED} and not {AGE.format('s.guess')} and coalesce(s.state, '') not in ('unparsed', 'abstained')"),
        ("guess", "'a forecast says yes or no; without a guess, the confidence is the probability of yes'",
         f"where {IS_FORECAST} and not {IS_FAILED} and not {SIDE.format('s.guess')}"),
        ("confidence",
         "'one of confidence, token_logprobs and options is required, unless there is a guess without a confidence'",
         f"where {LACKS_CONFIDENCE} and not {IS_FAILED} and ({STORED_STATE}) is null"),
    ):  # fmt: skip
        bad = staging.report_rows("responses_read", column, reason, where, "model" if column == "model" else None)
        misplaced |= bad and reason.startswith("'no such")
    staging.report_repeats(
        "responses", "question_id",
        ("dataset", "model", "elicitation", "coalesce(evaluated_at, 'epoch')", "question_id", "coalesce(clue, 0)",
         "coalesce(sample, '')"),
        "this run has an answer to this question and clue already",
        "clue is not null or (dataset, question_id) in (select (dataset, question_id) from questions where clues = 1)", "repeats",
    )  # fmt: skip
    if misplaced:
        advise(staging)


# SQL condition that a guess is a number, nothing, or the mark of a failed call.
AGE = "coalesce(lower(trim({0})) in ('', 'error') or isfinite(try_cast({0} as double)), {0} is null)"


# Whether a response is a forecast, and whether a guess names a side of a question of yes or no.
IS_FORECAST = f"s.dataset in (select dataset from datasets where kind = '{FORECAST}')"
SIDE = f"coalesce(lower(trim({{0}})) in ('', '{YES}', '{NO}'), {{0}} is null)"
IS_NO = f"({IS_FORECAST} and not {IS_FAILED} and coalesce(lower(trim(s.guess)) = '{NO}', false))"
# Forecasts are stored as the probability of yes, and whether it came true. An answer of no, with its confidence, says the same.
FORECASTS_OF_YES = f"""(select * replace (
        case when {IS_FORECAST} and not {IS_FAILED} and {SIDE.format("s.guess")} then '{YES}' else s.guess end as guess,
        case when {IS_NO} then round(1 - coalesce(s.confidence, case when s.options is null
                then list_avg(list_transform(s.token_logprobs, lambda l: exp(l))) end), {SIDE_DECIMALS})
            else s.confidence end as confidence,
        case when {IS_NO} then 1 - s.correct else s.correct end as correct)
    from responses_read s)"""


def resolve_confidences(staging: Staging) -> None:
    """Create ``responses_resolved``, with distributions in the order of the dataset's classes and confidences that follow.

    If the file states no confidence, it is the mean probability of the tokens, otherwise the probability of the guess in the
    distribution, otherwise the greatest probability in it. Raises ``Refused`` for a distribution that cannot be read.
    """
    run = staging.connection.execute
    options, logprobs = run("select count(options), count(token_logprobs) from responses_ordered").fetchall()[0]
    if not options:
        of_tokens = "coalesce(confidence, list_avg(list_transform(token_logprobs, lambda l: exp(l))))"
        run(f"""create view responses_resolved as
            select row, run_number, question_number, question_id, clue, sample, buzz, attributes, file, ordinal, failed, state,
                guess, correct, token_logprobs, {of_tokens if logprobs else "confidence"} as confidence,
                null::double[] as options, null::varchar[] as option_names
            from responses_ordered""")
        return
    # A null share means that this row does not have the option: tables give every row the same options.
    run("""
        create table read_options as
        with parsed as (
            select s.file, s.ordinal, s.guess, s.options, s.confidence is null and s.token_logprobs is null as needed, d.classes,
                case when json_valid(s.options) then s.options::json end as j, coalesce(json_type(j), '') as shape
            from responses_ordered s join numbered_runs r on r.n = s.run_number join datasets d using (dataset)
            where s.options is not null
        ), read as (
            select * exclude (j, shape), shape = 'OBJECT' and len(list_distinct(json_keys(j))) < len(json_keys(j)) as doubled,
                map_entries(try_cast(case when shape = 'OBJECT' and not doubled then j end as map(varchar, varchar))) as stated,
                map_from_entries(list_transform(list_filter(stated, lambda e: e.value is not null),
                    lambda e: {'key': e.key, 'value': try_cast(e.value as double)})) as by_name,
                try_cast(case when shape = 'ARRAY' then j end as double[]) as in_order
            from parsed
        )
        select * exclude (stated),
            case when by_name is null then classes when classes is null then map_keys(by_name) else classes end as names,
            case when by_name is null then in_order when classes is null then map_values(by_name)
                else list_transform(classes, lambda c: case when map_contains(by_name, c) then by_name[c] else 0 end)
            end as shares
        from read""")
    bad = "len(list_filter(shares, lambda p: p is null or not isfinite(p) or p < 0)) > 0 or coalesce(list_sum(shares), 0) <= 0"
    for column, condition, reason in (
        ("options", "doubled", "names an option twice"),
        ("options", "shares is null", "must be a map of options to probabilities, or a list of probabilities"),
        ("options", "by_name is null and classes is null",
         "a list of probabilities needs a dataset that names its classes; give a map"),
        ("options", "by_name is null and len(in_order) <> len(classes)",
         "the dataset has ' || len(classes) || ' classes, and the list has ' || len(in_order) || '"),
        ("options", "by_name is not null and classes is not null and not list_has_all(classes, map_keys(by_name))",
         "names a class that the dataset does not have; it has ' || array_to_string(classes, ', ') || '"),
        ("options", bad, "probabilities must be at least 0, finite and not all 0"),
        ("guess", "needed and guess is not null and not list_contains(names, guess)",
         "is not one of the options, so they give no confidence for it; name one of them, or state a confidence"),
    ):  # fmt: skip
        staging.report_rows("read_options", column, f"'{reason}'", f"where {condition}")
    staging.report.raise_problems()
    uneven = f"abs(list_sum(shares) - 1) > {UNIT_SUM} or list_max(shares) > 1"
    changed = run(
        f"update read_options set shares = list_transform(shares, lambda p: p / list_sum(shares)) where {uneven}"
    ).fetchall()[0][0]
    if changed:
        staging.report.warnings.append(f"distributions in `options` that did not sum to 1 and were normalised: {changed:,}")
    run("""
        create table resolved_rows as
        select s.run_number, s.question_number, s.question_id, s.clue, s.sample, s.buzz, s.attributes, s.file, s.ordinal,
            s.failed, s.state, s.correct, s.token_logprobs,
            coalesce(s.guess, names[list_position(shares, list_max(shares))]) as guess,
            coalesce(s.confidence, list_avg(list_transform(token_logprobs, lambda l: exp(l))),
                shares[list_position(names, s.guess)], list_max(shares)) as confidence,
            o.shares as options, case when o.classes is null then o.names end as option_names
        from responses_ordered s left join read_options o using (file, ordinal)
        order by run_number, question_number, sample, clue""")
    run("create view responses_resolved as select rowid as row, * from resolved_rows")


MIN_SHARE_EXPLAINED = 0.9  # share of the bad rows that one explanation must explain

UNKNOWN = """select s.dataset, s.question_id from responses_read s anti join questions using (dataset, question_id)
    where s.question_id is not null"""


def advise(staging: Staging) -> None:
    """Add a sentence to the report for each mistake that explains nearly all rows with an unknown question or clue.

    If other datasets have the questions, the problems of these rows offer them.
    """
    report = staging.report
    report.advice += [sentence for check in (_other_case, _other_dataset, _clues) if (sentence := check(staging))]
    fitting = tuple(_datasets_of_unknown(staging))
    report.problems = [
        replace(problem, hint="dataset", choices=fitting) if fitting and problem.reason.startswith(NO_SUCH_QUESTION) else problem
        for problem in report.problems
    ]


def _other_case(staging: Staging) -> str | None:
    count, matched, wrong, right = staging.connection.execute(f"""
        select count(*), count(q.known), any_value(u.question_id) filter (q.known is not null), any_value(q.known)
        from ({UNKNOWN}) u left join (
            select dataset, lower(question_id) as folded, any_value(question_id) as known from questions group by all
        ) q on q.dataset = u.dataset and q.folded = lower(trim(u.question_id))""").fetchall()[0]
    if not count or matched < MIN_SHARE_EXPLAINED * count:
        return None
    return f"The question ids differ from those of the dataset in upper and lower case: {wrong!r} is {right!r} there."


def _other_dataset(staging: Staging) -> str | None:
    if not (fitting := _datasets_of_unknown(staging)):
        return None
    return f"The store has these questions in dataset {', '.join(map(repr, fitting))}: does the file answer that one?"


def _datasets_of_unknown(staging: Staging) -> list[str]:
    """Return the datasets, at most three, that have nearly all questions which the named one does not have."""
    rows = staging.connection.execute(f"""
        select q.dataset, count(*), (select count(*) from ({UNKNOWN})) from ({UNKNOWN}) u
        join questions q on q.question_id = u.question_id and q.dataset <> u.dataset group by 1 order by 2 desc, 1""").fetchall()
    return [dataset for dataset, matched, count in rows if matched >= MIN_SHARE_EXPLAINED * count][:3]


def _clues(staging: Staging) -> str | None:
    rows = "from responses_read s join questions q using (dataset, question_id) where s.clue is not null and q.clues > 1"
    at_zero, beyond, from_one = staging.connection.execute(
        f"select count(*) filter (clue = 0), count(*) filter (clue >= clues), bool_and(clue <= clues) {rows}"
    ).fetchall()[0]
    if not beyond or at_zero:
        return None
    if from_one:
        return "The clues seem to be counted from 1. Here the first clue of a question is 0."
    words = staging.connection.execute(f"""
        select count(*) from (select s.dataset, s.question_id, s.clue {rows} and s.clue >= q.clues) s semi join (
            select dataset, question_id, unnest([word_end - 1, word_end]) as clue from clues
        ) using (dataset, question_id, clue)""").fetchall()[0][0]
    if words >= MIN_SHARE_EXPLAINED * beyond:
        return "The column clue seems to hold positions of words. Here the clues of a question are numbered 0, 1, 2 and so on."
    return None


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


def tag_runs(staging: Staging, options: ImportOptions) -> None:
    """Fill ``new_tags`` for new runs. Stored runs keep their tags, and a warning says so. Raises ``Refused`` for bad tags."""
    run = staging.connection.execute
    dated = run("select 1 from numbered_runs where evaluated_at is not null limit 1").fetchone()
    if not options.tags and not staging.has("tags") and not dated:
        return
    staging.report_repeats(
        "tags",
        "tag",
        ("dataset", "model", "elicitation", "coalesce(evaluated_at, 'epoch')", "tag"),
        "this tag of the run is in the file already",
    )
    others = f"anti join numbered_runs n on {OF_RUN.format('s')}"
    named = "s.model || ', ' || s.elicitation"
    staging.report_rows("tags_read", "model", "'no such run in this bundle'", others, value=named)
    run("create table stated_tags (tag varchar, value varchar)")
    if options.tags:
        staging.connection.executemany("insert into stated_tags values (?, ?)", [[*pair] for pair in dict(options.tags).items()])
    # A tag that the analyst states overrides the one in a bundle, and this the day of the answers.
    of_run = OF_RUN.format("t")
    run(f"""
        create table tags_of_runs as
        with given as (
            select n.n, t.tag, t.value, 0 as place from numbered_runs n cross join stated_tags t
            union all select n.n, t.tag, t.value, 1 as place from tags_read t join numbered_runs n on {of_run}
            union all select n, '{DATE}', strftime(evaluated_at, '%Y-%m-%d'), 2 from numbered_runs where evaluated_at is not null
        )
        select n, trim(tag) as tag, trim(arg_min(value, place)) as value from given group by all""")
    crowded = run("select count(*) from tags_of_runs group by n having count(*) > $most limit 1", {"most": MAX_TAGS}).fetchone()
    if crowded:
        files = staging.connection.execute("select min(file) from tags_read").fetchall()
        name = "tags" if files[0][0] is None else staging.files[files[0][0]].name
        staging.report.problems.append(Problem(name, None, "tag", None, f"a run has at most {MAX_TAGS} tags"))
    staging.report.raise_problems()
    if len(staging.report.stored) < len(staging.report.runs):
        run("""insert into new_tags by name
            select s.dataset, s.run, t.tag, t.value from tags_of_runs t join runs_to_store s using (n) order by s.n, t.tag""")
    _warn_of_kept_tags(staging)


def _warn_of_kept_tags(staging: Staging) -> None:
    stored, run = {*staging.report.stored}, staging.connection.execute
    lacking = """select tag from tags_of_runs where n = $n
        and (tag, value) not in (select (tag, value) from store.tags where run = $run) order by tag"""
    for number, name in run("select n, run from named_runs order by n").fetchall():
        if name in stored and (other := run(lacking, {"n": number, "run": name}).fetchall()):
            tags = ", ".join(tag for (tag,) in other)
            staging.report.warnings.append(f"run {name} is already stored and keeps its tags; not added: {tags}")
