"""LifeEval's files as released (arXiv 2605.23909): questions, answers of one model or of people, pairs for other question sets.

The id of a question tells sex, age and radius: male if id < 404, minimum age (id mod 404) div 4, radius [1, 5, 10, 20][id mod 4].
Pairs give the confidence and correctness of models on sets such as BoolQ.
"""

from __future__ import annotations

from clueline.data.duckdb_and_polars import literal
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Hint, Problem, refuse
from clueline.data.importing.staging import ImportOptions, RunKey, Staging
from clueline.data.importing.table_contract import MAX_NAME_LENGTH, Column
from clueline.data.importing.table_files import TableFile
from clueline.data.life_table import RADII
from clueline.data.plurals import counted
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import dataset_id, known_questions

FORMAT = Format(
    key="lifeeval",
    reads="LifeEval: its questions, the answers of one model or of people, or pairs of confidence and correctness for other "
    "sets (CSV)",
    recognised="A column `Question ID`; `Answer` and `Confidence`; `ResponseId`, `PGuess` and `PConf`; or `llm` and `qset`",
    becomes="The dataset `lifeeval`; a run that the life table grades; or a dataset for each set, with two runs for each model",
    source="LifeEval (arXiv 2605.23909), github.com/NoamMichael/Comparing-Confidence-in-LLMs, MIT",
    rules="""
The texts of the released questions, which are what models saw, replace those of a dataset with the same questions. An answer that
is not a number is unparsed, or a failed call if the model said nothing (`content`); an answer without a confidence between 0
and 1 counts without it. The answers of people become one run, in which each respondent is a sample; their confidences are
percentages. Each question set of the pairs becomes the dataset `lifeeval-SET`; every model has the run `stated` and, if the
probability of its token is known, the run `token`.
""",
)
DATASET = "lifeeval"
ELICITATION = "verbalized"
PER_SEX = 404  # questions: ages 0 to 100, four radii

QUESTIONS = (
    Column("Question Prompt", required=True),
    Column("Confidence Prompt"),
    Column("Question ID", "integer", required=True, low=0, high=2 * PER_SEX - 1),
)
# Answers are text here: if one is not a number, the file is not at fault. ``content`` is all that the model said.
ANSWERS = (
    Column("Answer", present=True), Column("Confidence", present=True), Column("content"),
    Column("Question ID", "integer", required=True, low=0),
)  # fmt: skip
PAIRS = (
    Column("llm", required=True, longest=MAX_NAME_LENGTH),
    Column("qset", required=True),
    Column("question_id", required=True),
    Column("stated_confidence"),
    Column("chosen_token_confidence"),
    Column("correct", "truth", required=True, low=0, high=1),
)
# The two confidences of a pair, and the elicitation of their runs.
KINDS = (("stated_confidence", "stated"), ("chosen_token_confidence", "token"))
# Answers of people: one row for each respondent and question. A confidence is always a percentage.
PEOPLE = (
    Column("ResponseId", required=True, longest=MAX_NAME_LENGTH),
    Column("PGuess", present=True),
    Column("PConf", present=True),
    Column("MinAge", "integer", required=True, low=0),
    Column("Radius_x", "integer", required=True, low=1),
    Column("SexMale", "flag", required=True),
)
OF_PEOPLE = {"ResponseId", "PGuess", "PConf"}
MODEL_OF_PEOPLE = "People"
NOT_LIFEEVAL = {"Start Time", "Resolution"}  # columns of Metaculus exports, which have a `Question ID` as well
NO_CONFIDENCE = "no confidence is known"


def recognises(incoming: Incoming) -> bool:
    columns = incoming.columns
    named = "Question ID" in columns and not NOT_LIFEEVAL & columns
    return named or any(columns >= names for names in ({"Answer", "Confidence"}, {"llm", "qset"}, OF_PEOPLE))


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is not None:
        raise refuse(incoming.name, "this is a folder or zip; LifeEval's files are CSV")
    columns = set(incoming.file.columns)
    if "Question Prompt" in columns:
        _read_questions(incoming, staging, options)
    elif columns >= OF_PEOPLE:
        _read_people(incoming.file, staging, options)
    elif columns >= {"llm", "qset"}:
        _read_pairs(incoming, staging, options)
    elif {"Answer", "Confidence"} & columns:
        _read_answers(incoming, staging, options)
    else:
        seen = ", ".join(incoming.file.columns)
        raise refuse(
            incoming.name,
            "neither LifeEval questions (Question Prompt, Question ID) nor answers (Answer, Confidence, Question ID) nor pairs "
            f"(llm, qset, question_id); the file has: {seen[:300]}",
            line=1,
        )


def _read_questions(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    dataset = options.dataset or DATASET
    staging.add_dataset(
        incoming.name, dataset, kind="lifeeval", title=options.title or "LifeEval",
        source="LifeEval (arXiv 2605.23909), questions as released", licence="MIT",
    )  # fmt: skip
    staging.reworded.add(dataset)
    staging.load(incoming.file, QUESTIONS)
    sql = f"""select $dataset as dataset, id::varchar as question_id,
            concat_ws(' ', "Question Prompt", "Confidence Prompt") as text,
            case when id < {PER_SEX} then 'male' else 'female' end as sex, (id % {PER_SEX}) // 4 as minimum_age,
            {list(RADII)}[id % 4 + 1] as radius, ordinal
        from (select "Question ID" as id, * from loaded)"""
    staging.add("questions", incoming.file, sql, {"dataset": dataset})


def _read_answers(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    dataset = options.dataset or DATASET
    staging.existing(dataset, incoming.name)
    if not options.model:
        raise refuse(incoming.name, "which model answered?", hint="model")
    key = RunKey(dataset, options.model, options.elicitation or ELICITATION)
    file = incoming.file
    columns = staging.load(file, ANSWERS)
    percent = 100 if options.percent else 1
    silent = """ "Answer" is null and "content" is null""" if "content" in columns else "false"
    select = f"""select "Question ID"::varchar as question_id, ordinal, null::varchar as sample, "Answer" as guess,
        try_cast(trim("Confidence") as double) / {percent} as confidence, {silent} as silent from loaded"""
    _add_answers(file, key, select, staging)


def _read_people(file: TableFile, staging: Staging, options: ImportOptions) -> None:
    dataset = options.dataset or DATASET
    kind = staging.existing(dataset, file.name)["kind"]
    if kind != "lifeeval":
        raise refuse(file.name, f"dataset {dataset!r} is of kind {kind}; these are answers to LifeEval's questions")
    key = RunKey(dataset, options.model or MODEL_OF_PEOPLE, options.elicitation or ELICITATION)
    staging.load(file, PEOPLE)
    staging.connection.execute(f"""
        create or replace table people as select l.*, q.question_id, {staging.files.index(file)} as file
        from loaded l left join questions q on q.dataset = {literal(dataset)} and q.minimum_age = l."MinAge"
            and q.radius = l."Radius_x" and q.sex = if(l."SexMale", 'male', 'female')""")
    staging.report_rows(
        "people", "MinAge", literal(f"dataset {dataset} has no question of this sex, age and radius"),
        """where s.question_id is null and s."MinAge" is not null and s."Radius_x" is not null and s."SexMale" is not null""",
        value="""concat_ws(', ', if(s."SexMale", 'male', 'female'), s."MinAge", 'within ' || s."Radius_x")""",
    )  # fmt: skip
    select = """select question_id, ordinal, "ResponseId" as sample, "PGuess" as guess,
        try_cast(trim("PConf") as double) / 100 as confidence, false as silent from people where question_id is not null"""
    _add_answers(file, key, select, staging)
    staging.respondents.add(key)
    staging.connection.execute("drop table people")


def _add_answers(file: TableFile, key: RunKey, select: str, staging: Staging) -> None:
    """Add a run. Of several rows on a question, those with an answer and a confidence count.

    A row whose answer is not a number is an unparsed answer or, if the model said nothing (``silent``), a failed call. A row
    whose confidence was never parsed is an answer without it. The SQL ``select`` gives ``question_id``, ``ordinal``, ``sample``,
    ``guess`` as in the file, ``confidence`` as a number, and ``silent``.
    """
    staging.connection.execute(f"""
        create or replace table parsed as
        select *, case
            when answer is null or not isfinite(answer) then 'answer is not a number'
            when confidence is null or not isfinite(confidence) then 'confidence is not a number'
            when confidence not between 0 and 1 then 'confidence outside [0, 1]' end as failure
        from (select * replace (trim(guess) as guess), try_cast(trim(guess) as double) as answer from ({select}))""")
    reasons = staging.connection.execute("select failure, count(*) from parsed where failure is not null group by 1").fetchall()
    staging.skip(key, dict(reasons))
    sql = """select $dataset as dataset, $model as model, $elicitation as elicitation, question_id, 0 as clue, ordinal, sample,
            if(readable, guess, null) as guess, if(failure is null, confidence, null) as confidence,
            silent as failed, case when silent then null when not readable then 'unparsed'
                when failure is not null then 'no_confidence' end as state
        from (select *, coalesce(isfinite(answer), false) as readable from parsed)
        qualify failure is null
            or row_number() over (partition by question_id, sample order by failure is not null, ordinal) = 1"""
    staging.add("responses", file, sql, key._asdict())
    answered = staging.connection.execute("select 1 from parsed where failure is null limit 1").fetchone()
    staging.connection.execute("drop table parsed")
    if not answered and file.name not in {problem.file for problem in staging.report.problems}:
        causes = "".join(f"; {counted(times, 'time')}: {reason}" for reason, times in sorted(reasons))
        staging.report.problems.append(Problem(file.name, None, None, None, f"no row holds an answer with a confidence{causes}"))


def _read_pairs(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    file = incoming.file
    if options.model or options.elicitation:
        raise refuse(file.name, "pairs name their models and elicitations themselves; leave these options out")
    staging.load(file, PAIRS)
    run, collection = staging.connection.execute, options.dataset or DATASET
    run(f"create or replace table pairs as select *, {staging.files.index(file)} as file from loaded")
    for column, _ in KINDS:
        value = f"try_cast(s.{column} as double)"
        high = 100 if options.percent and column == "stated_confidence" else 1
        reason = f"must be a number in [0, {high}], or NA"
        wrong = f"s.{column} is not null and s.{column} <> 'NA' and coalesce({value} not between 0 and {high}, true)"
        hint: Hint | None = "percent" if high == 1 and column == "stated_confidence" else None
        staging.report_rows("pairs", column, literal(reason), f"where {wrong}", hint)
    for (question_set,) in run("select distinct qset from pairs where qset is not null order by 1").fetchall():
        _add_question_set(file, f"{collection}-{dataset_id(question_set)}", question_set, staging, options)
    run("drop table pairs")


def _add_question_set(file: TableFile, dataset: str, question_set: str, staging: Staging, options: ImportOptions) -> None:
    """Add the questions of a set, unless the dataset already has them all, and a run for each model and kind of confidence."""
    run, of_set = staging.connection.execute, {"q": question_set}
    sql = "select question_id, min(ordinal) as ordinal from pairs where qset = $q and question_id is not null group by 1"
    ids = {question for question, _ in run(sql, of_set).fetchall()}
    if options.replace or not ids <= known_questions(staging, dataset).keys():
        staging.add_dataset(
            file.name, dataset, kind="single", title=f"LifeEval: {question_set}",
            source="LifeEval (arXiv 2605.23909), confidence and correctness on other question sets, as released", licence="MIT",
        )  # fmt: skip
        staging.add("questions", file, f"select $dataset as dataset, * from ({sql})", of_set | {"dataset": dataset})
    for column, elicitation in KINDS:  # a model without any confidence of a kind gets no run
        divisor = 100 if options.percent and column == "stated_confidence" else 1
        known = f"""select llm, question_id, try_cast({column} as double) / {divisor} as confidence, correct, ordinal from pairs
            where qset = $q and llm is not null qualify count(confidence) over (partition by llm) > 0"""
        unstated = f"select llm, count(*) from ({known}) where confidence is null group by 1 order by 1"
        for model, count in run(unstated, of_set).fetchall():
            staging.skip(RunKey(dataset, model, elicitation), {NO_CONFIDENCE: count})
        sql = f"""select $dataset as dataset, llm as model, $elicitation as elicitation, question_id, 0 as clue, confidence,
                correct, if(confidence is null, 'no_confidence', null) as state, ordinal from ({known})"""
        staging.add("responses", file, sql, of_set | {"dataset": dataset, "elicitation": elicitation})
