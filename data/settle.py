"""Checks that span rows, tables and the store, and what is worked out from them: what an import adds to the store.

Each step reads ``staged_*`` tables and fills ``new_*`` tables of the scratch database; SQL throughout, so that it goes at the
speed of a scan whatever the size of the file.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import polars as pl
from sentencex import segment

from data.contract import SHOWN
from data.frames import ArrowStream, frame
from data.grading import grade_guesses
from data.lifetable import best_guess
from data.report import KEPT, Problem
from data.staging import ImportOptions, Staging

GRADED_AT_ONCE = 50_000  # guesses
ITS_QUESTION = "questions q on q.dataset = s.dataset and q.question_id = s.question_id where s.question_id is not null"
UNIT_SUM = 1e-3  # a distribution whose sum is off by more is normalised, with a warning


def settle(staging: Staging, options: ImportOptions) -> None:
    """Check everything against everything and make the ``new_*`` tables. Raises ``Refused`` with all problems."""
    if staging.brought("questions", "clues"):
        _settle_questions(staging)
    if staging.found_bad("questions", "clues"):
        staging.report.stop_if_bad()  # what hangs on the questions would be called wrong because they are
    _settle_datasets(staging, options)
    if staging.brought("exposures", "buzzes", "votes"):
        _settle_people(staging)
    if staging.brought("responses"):
        _check_responses(staging)
    staging.report.stop_if_bad()
    _settle_votes(staging)
    if staging.brought("responses"):
        _settle_options(staging)
        _decide(staging, options)
        _grade(staging)
        staging.report.stop_if_bad()
        _settle_runs(staging)


def _settle_questions(staging: Staging) -> None:
    run = staging.connection.execute
    staging.flag_repeats("questions", "question_id", ("dataset", "question_id"), "this question stands in the file already")
    staging.flag_repeats(
        "clues", "clue", ("dataset", "question_id", "clue"), "this clue of the question stands in the file already"
    )
    no_address = "where question_id in ('.', '..')"
    staging.flag("staged_questions", "question_id", "s.question_id", "'this id cannot stand in an address'", no_address)
    staging.flag(
        "staged_clues", "question_id", "s.question_id", "'no such question in this bundle'", f"anti join staged_{ITS_QUESTION}"
    )
    staging.flag(
        """(select *, row_number() over (partition by dataset, question_id order by clue) as gap from (
            select *, dense_rank() over (partition by dataset, question_id order by clue) - 1 as nth from staged_clues
        ) where clue <> nth)""",
        "clue", "s.clue", "'clues are numbered from 0 without a gap; this question has none with number ' || nth",
        "where gap = 1",
    )  # fmt: skip
    _cut_texts(staging)
    _split_sentences(staging)
    # Words and characters are counted where the file does not say; the text is the clues, joined, unless it holds them.
    run("""
        insert into new_clues by name
        with counted as (
            select dataset, question_id, clue, text, word_end,
                sum(coalesce(len(regexp_extract_all(text, '\\S+')), 0)) over w as words,
                sum(len(coalesce(text, '')) + 1) over w - 1 as char_end
            from staged_clues window w as (partition by dataset, question_id order by clue)
        ), ended as (select *, greatest(coalesce(word_end, words), 1)::integer as upto from counted)
        select dataset, question_id, clue, text, upto as word_end, greatest(char_end, 0)::integer as char_end,
            upto / max(upto) over q as revealed
        from ended window q as (partition by dataset, question_id)
        order by dataset, question_id, clue""")
    if not staging.found_bad("questions", "clues"):
        staging.flag(
            """(select c.*, s.file, s.ordinal, s.word_end as stated, lag(c.word_end) over w as before
            from new_clues c join staged_clues s using (dataset, question_id, clue)
            window w as (partition by c.dataset, c.question_id order by c.clue))""",
            "word_end", "s.stated",
            """case when stated is null then 'this clue adds no words to the one before it'
                else 'a clue must end after the one before it, which ends at word ' || before end""",
            "where before >= word_end",
        )  # fmt: skip
    run("""
        insert into new_questions by name
        select q.dataset, q.question_id,
            (row_number() over (partition by q.dataset order by file, ordinal) - 1)::integer as position,
            coalesce(c.text, q.text) as text, answer, category, subcategory, sex, minimum_age, radius,
            coalesce(c.clues, 1)::integer as clues, difficulty as given_difficulty, difficulty, null::varchar as difficulty_source
        from staged_questions q left join (
            select dataset, question_id, count(*) as clues, string_agg(text, ' ' order by clue) as text
            from new_clues group by all
        ) c using (dataset, question_id)""")
    _settle_lifeeval(staging)


def _cut_texts(staging: Staging) -> None:
    """Text of clues that state only where they end: the words of the question up to there."""
    staging.connection.execute("""
        update staged_clues s set text = nullif(f.part, '') from (
            select c.file, c.ordinal, coalesce(lag(c.word_end) over w, 0) + 1 as first,
                array_to_string(regexp_extract_all(q.text, '\\S+')[first : c.word_end], ' ') as part
            from staged_clues c join staged_questions q using (dataset, question_id)
            where q.text is not null window w as (partition by c.dataset, c.question_id order by c.clue)
        ) f where s.text is null and s.word_end is not null and s.file = f.file and s.ordinal = f.ordinal""")


def _split_sentences(staging: Staging) -> None:
    """Clues of the questions that came without: the sentences of an incremental question, one clue for any other."""
    bare = staging.connection.execute("""
        select q.dataset, q.question_id, q.text, d.kind, q.file, q.ordinal from staged_questions q
        join staged_datasets d using (dataset) anti join staged_clues c using (dataset, question_id)
        order by q.file, q.ordinal""").fetchall()
    rows = [
        (dataset, question, clue, sentence, file, ordinal)
        for dataset, question, text, kind, file, ordinal in bare
        for clue, sentence in enumerate((sentences(text) if kind == "incremental" and text else []) or [text])
    ]
    if rows:
        columns = ["dataset", "question_id", "clue", "text", "file", "ordinal"]
        found = ArrowStream(
            pl.DataFrame(
                rows,
                schema={name: pl.Int64 if name in ("clue", "file", "ordinal") else pl.String for name in columns},
                orient="row",
            )
        )
        staging.connection.execute("insert into staged_clues by name select * from found")
        del found


def _settle_lifeeval(staging: Staging) -> None:
    """LifeEval questions must say whom they are about; their difficulty is 1 - MAS unless given."""
    lifeeval = "join staged_datasets d on d.dataset = s.dataset and d.kind = 'lifeeval'"
    for column in ("sex", "minimum_age", "radius"):
        staging.flag(
            "staged_questions", column, "null", "'a LifeEval question needs this'", f"{lifeeval} where s.{column} is null"
        )
    if staging.found_bad("questions"):
        return
    rows = staging.connection.execute("""
        select distinct radius, minimum_age, sex from new_questions join staged_datasets using (dataset)
        where kind = 'lifeeval' and radius is not null and minimum_age is not null and sex is not null""").fetchall()
    if rows:
        table = [(radius, age, sex, 1 - best_guess(radius, age, sex)[1]) for radius, age, sex in rows]
        found = ArrowStream(pl.DataFrame(table, schema=["radius", "minimum_age", "sex", "difficulty"], orient="row"))
        staging.connection.execute("""
            update new_questions q
            set given_difficulty = coalesce(given_difficulty, f.difficulty), difficulty = coalesce(q.difficulty, f.difficulty)
            from (from found) f, staged_datasets d where q.dataset = d.dataset and d.kind = 'lifeeval'
            and f.radius = q.radius and f.minimum_age = q.minimum_age and f.sex = q.sex""")
        del found


FACTS = ("title", "licence", "source", "simulated", "note")  # that can change without touching what runs hang on


def _settle_datasets(staging: Staging, options: ImportOptions) -> None:
    """Which datasets are new, which are there already, which would change under the runs that hang on them."""
    run = staging.connection.execute
    for dataset in frame(staging.connection, "select distinct on (dataset) * from staged_datasets order by dataset").to_dicts():
        name, d = dataset["dataset"], {"d": dataset["dataset"]}
        count = run("select count(*) from new_questions where dataset = $d", d).fetchall()[0][0]
        if not count:
            staging.report.problems.append(Problem(dataset["file"], None, None, None, "the dataset has no questions"))
            continue
        content = _content(staging, name, dataset["kind"], dataset["classes"])
        stored = frame(staging.connection, "select * from store.datasets where dataset = $d", d).to_dicts()
        if stored and not options.replace:
            if stored[0]["content"] != content:
                reason = (
                    f"dataset {name!r} is there with other questions, and runs may hang on them; give --replace to put these in "
                    "their place, or --dataset to import them under another name"
                )
                staging.report.problems.append(Problem(dataset["file"], None, None, None, reason))
                continue
            other = [fact for fact in FACTS if dataset[fact] is not None and dataset[fact] != stored[0][fact]]
            if other:
                staging.report.warnings.append(
                    f"dataset {name} is there with another {', '.join(other)}, and keeps it; "
                    "--replace would take over what the file says"
                )
            for table in ("new_questions", "new_clues"):
                run(f"delete from {table} where dataset = $d", d)
            staging.report.lines.append(f"dataset {name}: {count:,} questions, already there")
            continue
        run(
            """insert into new_datasets by name select dataset, coalesce(
                (select position from store.datasets o where o.dataset = s.dataset),
                (select count(*) from store.datasets) + (select count(*) from new_datasets))::integer as position,
                title, kind, licence, source, simulated, note, classes, $content as content
            from (select distinct on (dataset) * from staged_datasets where dataset = $d) s""",
            d | {"content": content},
        )
        staging.report.lines.append(f"dataset {name}: {count:,} questions {'replaced' if stored else 'imported'}")
        if stored:
            for table, what in (("buzzes", "buzzes"), ("exposures", "buzzes"), ("votes", "votes")):
                run(f"insert into put_aside select distinct dataset, '{what}' from staged_{table} where dataset = $d", d)


def _content(staging: Staging, dataset: str, kind: str, classes: list[str] | None) -> str:
    """sha256 of what the runs of a dataset hang on. LifeEval's questions are their facts, however they are worded."""
    facts = (
        "select question_id, sex, minimum_age, radius, null as clue, null as text, null as word_end "
        "from new_questions where dataset = $d"
        if kind == "lifeeval"
        else """select q.question_id, q.answer, q.category, q.subcategory, q.given_difficulty, c.clue, c.text, c.word_end
            from new_questions q left join new_clues c using (dataset, question_id) where q.dataset = $d"""
    )
    digest = staging.connection.execute(
        f"select sha256(string_agg(to_json(t)::varchar, chr(10) order by question_id, clue)) from ({facts}) t", {"d": dataset}
    ).fetchall()[0][0]
    return hashlib.sha256(f"{kind}\n{json.dumps(classes)}\n{digest}".encode()).hexdigest()


def _settle_people(staging: Staging) -> None:
    """Exposures, buzzes and votes: each team buzzes once per question and match, and a buzz implies that the team heard it."""
    run = staging.connection.execute
    for table in ("exposures", "buzzes", "votes"):
        staging.flag(
            f"staged_{table}", "question_id", "s.question_id", "'no such question in this dataset'", f"anti join {ITS_QUESTION}"
        )
    room = ("dataset", "question_id", "match_id", "team")
    staging.flag_repeats("exposures", "team", room, "this team heard this question in this match already")
    staging.flag_repeats("buzzes", "team", room, "a second buzz of this team on this question in this match")
    staging.flag_repeats(
        "votes", "class", ("dataset", "question_id", "class"), "votes for this class of the question stand in the file already"
    )
    staging.flag("staged_buzzes", "correct", "s.correct", "'must be true or false'", "where correct > 0 and correct < 1")
    length = """join (select dataset, question_id, max(word_end) as words from clues group by all) c
        on c.dataset = s.dataset and c.question_id = s.question_id where s.{} > c.words"""
    for table, column, reason in (
        ("buzzes", "word", "'the question has ' || c.words || ' words, numbered from 0; its end is ' || c.words"),
        ("exposures", "heard_words", "'the question has only ' || c.words || ' words'"),
    ):
        staging.flag(f"staged_{table}", column, f"s.{column}", reason, length.format(column))
    staging.flag(
        "staged_buzzes", "word", "s.word", "'this team heard only ' || e.heard_words || ' words of the question'",
        "join staged_exposures e using (dataset, question_id, match_id, team) where s.word > e.heard_words",
    )  # fmt: skip
    staging.flag(
        "staged_votes", "class", "s.class", "'no class of this dataset: ' || array_to_string(d.classes, ', ')",
        "join datasets d on d.dataset = s.dataset where d.classes is not null and not list_contains(d.classes, s.class)",
    )  # fmt: skip
    for table, column, keys, same in (
        ("buzzes", "team", "question_id, match_id, team", "o.word = s.word and o.correct = (s.correct = 1)"),
        ("exposures", "team", "question_id, match_id, team", "o.heard_words is not distinct from s.heard_words"),
        ("votes", "class", "question_id, class", "o.votes = s.votes"),
    ):
        staging.flag(
            f"staged_{table}", column, f"s.{column}",
            f"'the store says something else of the same {keys.replace('_id', '')}; "
            "give --replace, with the whole bundle, to put these in its place'",
            f"join kept_{table} o using (dataset, {keys}) where not ({same})",
        )  # fmt: skip
    run("""
        insert into new_exposures by name
        select dataset, question_id, match_id, team, coalesce(team_kind, 'human') as team_kind, heard_words, ended_by
        from staged_exposures anti join kept_exposures using (dataset, question_id, match_id, team)""")
    # A team that buzzed without an exposure heard the question; its kind is known from its other questions, or human.
    implied = run("""
        insert into new_exposures by name
        select b.dataset, b.question_id, b.match_id, b.team, coalesce(k.team_kind, 'human') as team_kind from staged_buzzes b
        anti join staged_exposures e using (dataset, question_id, match_id, team)
        anti join kept_exposures o using (dataset, question_id, match_id, team)
        left join (select dataset, team, min(team_kind) as team_kind from exposures group by all) k
            on k.dataset = b.dataset and k.team = b.team""").fetchone()
    if implied and implied[0]:
        staging.report.repaired["buzzes without an exposure, taken to have heard the question"] += implied[0]
    run("""
        insert into new_buzzes by name
        select b.dataset, b.question_id, b.match_id, b.team, any_value(e.team_kind) as team_kind,
            any_value(b.word)::integer as word,
            coalesce(min(c.clue) filter (c.word_end > b.word), max(c.clue)) as clue,
            any_value(b.correct) = 1 as correct, any_value(b.guess) as guess
        from (from staged_buzzes anti join kept_buzzes using (dataset, question_id, match_id, team)) b
        join clues c on c.dataset = b.dataset and c.question_id = b.question_id
        join exposures e on e.dataset = b.dataset and e.question_id = b.question_id
            and e.match_id = b.match_id and e.team = b.team
        group by b.dataset, b.question_id, b.match_id, b.team""")


def _settle_votes(staging: Staging) -> None:
    """Take the votes in; where nobody says what the right class is, most people's choice is, the earlier class if tied."""
    run = staging.connection.execute
    run("""
        insert into new_votes by name select dataset, question_id, class, votes from staged_votes
        anti join kept_votes using (dataset, question_id, class)""")
    for table in ("exposures", "buzzes", "votes"):
        for dataset, count in run(f"select dataset, count(*) from new_{table} group by 1 order by 1").fetchall():
            staging.report.lines.append(f"dataset {dataset}: {count:,} {table} imported")
    run("""
        insert into new_answers by name
        select dataset, question_id, first(class order by votes desc, coalesce(list_position(classes, class), 0), class) as answer
        from votes join datasets using (dataset)
        semi join (select dataset from new_votes union select dataset from new_questions) using (dataset)
        where votes > 0 group by all""")
    run("""update new_questions q set answer = v.answer from new_answers v
        where q.answer is null and q.dataset = v.dataset and q.question_id = v.question_id""")


def _check_responses(staging: Staging) -> None:
    staging.flag(
        "staged_responses", "model", "null",
        "'which model? This row does not say: fill it in, or leave the column out and give --model NAME'", "where model is null",
    )  # fmt: skip
    staging.flag(
        "staged_responses", "question_id", "s.question_id", "'no such question in dataset ' || s.dataset",
        f"anti join {ITS_QUESTION}",
    )  # fmt: skip
    staging.flag(
        "staged_responses", "clue", "null", "'which clue? The question has ' || q.clues",
        f"join {ITS_QUESTION} and s.clue is null and q.clues > 1",
    )  # fmt: skip
    staging.flag(
        "staged_responses", "clue", "s.clue",
        "'no such clue: the question has ' || case q.clues when 1 then 'clue 0 alone' else 'clues 0 to ' || (q.clues - 1) end",
        f"join {ITS_QUESTION} and s.clue >= q.clues",
    )  # fmt: skip
    staging.flag(
        "staged_responses", "guess", "s.guess", "'a LifeEval answer is an age: a number of years, or nothing'",
        "join datasets d on d.dataset = s.dataset "
        f"where d.kind = 'lifeeval' and s.correct is null and not {AGE.format('s.guess')}",
    )  # fmt: skip
    staging.flag(
        "staged_responses", "confidence", "null", "'one of confidence, token_logprobs and options is required'",
        "where confidence is null and token_logprobs is null and options is null",
    )  # fmt: skip
    staging.flag_repeats(
        "responses", "question_id", ("dataset", "model", "elicitation", "question_id", "coalesce(clue, 0)"),
        "this run has an answer to this question and clue already",
        "clue is not null or (dataset, question_id) in (select (dataset, question_id) from questions where clues = 1)",
    )  # fmt: skip


# A number, nothing, or the mark of a failed call.
AGE = "coalesce(lower(trim({0})) in ('', 'error') or isfinite(try_cast({0} as double)), {0} is null)"


def _settle_options(staging: Staging) -> None:
    """Read whole distributions, into the dataset's class order where it has one; confidence where it was not stated."""
    run = staging.connection.execute
    # An option without a share is one that this row does not have: tables give every row the same options.
    run("""
        create table read_options as
        with parsed as (
            select s.file, s.ordinal, s.guess, s.options, s.confidence is null and s.token_logprobs is null as needed, d.classes,
                case when json_valid(s.options) then s.options::json end as j, coalesce(json_type(j), '') as shape
            from staged_responses s join datasets d using (dataset) where s.options is not null
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
        ("options", "shares is null", "must be a map of options to probabilities, or a list of them"),
        ("options", "by_name is null and classes is null",
         "a list of probabilities needs a dataset that names its classes; give a map"),
        ("options", "by_name is null and len(in_order) <> len(classes)",
         "the dataset has ' || len(classes) || ' classes, and the list has ' || len(in_order) || '"),
        ("options", "by_name is not null and classes is not null and not list_has_all(classes, map_keys(by_name))",
         "names a class that the dataset has not: it has ' || array_to_string(classes, ', ') || '"),
        ("options", bad, "probabilities must be at least 0, finite and not all 0"),
        ("guess", "needed and guess is not null and not list_contains(names, guess)",
         "none of the options, so that they do not give its confidence; name one of them, or state a confidence"),
    ):  # fmt: skip
        staging.flag("read_options", column, f"s.{column}", f"'{reason}'", f"where {condition}")
    staging.report.stop_if_bad()
    uneven = f"abs(list_sum(shares) - 1) > {UNIT_SUM} or list_max(shares) > 1"
    changed = run(
        f"update read_options set shares = list_transform(shares, lambda p: p / list_sum(shares)) where {uneven}"
    ).fetchall()[0][0]
    if changed:
        staging.report.warnings.append(f"{changed:,} distributions in `options` did not sum to 1 and were normalised")
    run("""
        create table answered as
        select s.* exclude (options, confidence, clue, guess), coalesce(s.clue, 0) as clue,
            coalesce(s.guess, names[list_position(shares, list_max(shares))]) as guess,
            coalesce(s.confidence, list_avg(list_transform(token_logprobs, lambda l: exp(l))),
                shares[list_position(names, s.guess)], list_max(shares)) as confidence,
            o.shares as options, case when o.classes is null then o.names end as option_names
        from staged_responses s left join read_options o using (file, ordinal)""")


DECISIONS = "grades"  # what the analyst's decisions are called where one is wrong; its "line" is its place among them


def _decide(staging: Staging, options: ImportOptions) -> None:
    """Take what the analyst decided of guesses for what the file would state, and remember that a person did."""
    run = staging.connection.execute
    run("alter table answered add column decided boolean default false")
    run("""create table decisions (nth integer, question_id varchar, clue integer, guess varchar, correct double);
        create table decided (nth integer, file integer, ordinal bigint, correct double)""")
    if not options.decisions:
        return
    rows = [(nth, d.question_id, d.clue, d.guess or None, d.correct) for nth, d in enumerate(options.decisions, start=1)]
    schema = {"nth": pl.Int32, "question_id": pl.String, "clue": pl.Int32, "guess": pl.String, "correct": pl.Float64}
    found = ArrowStream(pl.DataFrame(rows, schema=schema, orient="row"))
    run("insert into decisions by name select * from found")
    del found
    run("""insert into decided by name select d.nth, a.file, a.ordinal, d.correct from decisions d join answered a
        on a.question_id = d.question_id and a.guess is not distinct from d.guess and (d.clue is null or a.clue = d.clue)""")
    its_row = "join answered a on a.file = x.file and a.ordinal = x.ordinal"
    for reason, wrong in (
        ("no answer of the file has this question, clue and guess", "select nth from decisions anti join decided using (nth)"),
        ("the file states whether this is correct", f"select nth from decided x {its_row} where a.correct is not null"),
        ("the life table grades this, as a probability",
         f"select nth from decided x {its_row} join datasets d on d.dataset = a.dataset where d.kind = 'lifeeval'"),
        ("another decision is about the same answer",
         "select max(nth) as nth from decided group by file, ordinal having count(distinct nth) > 1"),
    ):  # fmt: skip
        bad = run(
            f"""select nth, question_id, guess[:{SHOWN}], count(*) over () from decisions
            where nth in ({wrong}) order by nth limit {KEPT}"""
        ).fetchall()
        for nth, question, guess, _ in bad:
            staging.report.problems.append(Problem(DECISIONS, nth, "guess", guess, f"{reason} (question {question!r})"))
        staging.report.more += bad[0][3] - len(bad) if bad else 0
    staging.report.stop_if_bad()
    run("""update answered a set correct = x.correct, decided = true from decided x
        where x.file = a.file and x.ordinal = a.ordinal""")


def _grade(staging: Staging) -> None:
    """Correctness where the file does not state it."""
    run = staging.connection.execute
    run("create table grades (dataset varchar, question_id varchar, guess varchar, correct double, graded varchar)")
    with staging.connection.cursor() as reading:
        reading.execute("use scratch")
        reading.execute(
            """select distinct d.kind, a.dataset, a.question_id, a.guess, q.answer, q.sex, q.minimum_age, q.radius from answered a
            join datasets d using (dataset) join questions q using (dataset, question_id) where a.correct is null"""
        )
        while asked := reading.fetchmany(GRADED_AT_ONCE):
            found = ArrowStream(grade_guesses(asked))
            run("insert into grades by name select * from found")
            del found
    run("""
        create table graded_responses as
        select a.* exclude (correct), coalesce(a.correct, g.correct) as correct, a.correct as stated,
            case when a.decided then 'person' when a.correct is not null then 'file' else g.graded end as graded
        from answered a left join grades g
            on g.dataset = a.dataset and g.question_id = a.question_id and g.guess is not distinct from a.guess""")
    staging.flag(
        "graded_responses", "correct", "s.guess",
        "'the file does not say whether this is correct, and the question has no answer to grade it by'", "where correct is null",
    )  # fmt: skip


def _settle_runs(staging: Staging) -> None:
    """Name each run by its content and set aside those that are there already."""
    run = staging.connection.execute
    # The hash of a run does not depend on the order of its rows, nor on how well guesses are graded.
    run("""
        create table hashed as
        with question as (
            select dataset, model, elicitation, question_id, count(*) as items, sha256(string_agg(to_json([
                clue::varchar, guess, confidence::varchar, stated::varchar, token_logprobs::varchar, options::varchar,
                option_names::varchar])::varchar, chr(10) order by clue)) as digest
            from graded_responses group by all
        )
        select dataset, model, elicitation, sum(items)::bigint as items, count(*) as questions,
            sha256(to_json([dataset, model, elicitation])::varchar
                || string_agg(to_json([question_id, digest])::varchar, '' order by question_id)) as sha256
        from question group by dataset, model, elicitation""")
    first = run("select coalesce(max(position), -1) + 1 from store.runs").fetchall()[0][0]
    order = run("""
        select h.*, (select min(r.file * 1e12 + r.ordinal) from graded_responses r where r.dataset = h.dataset
            and r.model = h.model and r.elicitation = h.elicitation) as place from hashed h order by place""").fetchall()
    for dataset, model, elicitation, items, questions, sha256, place in order:
        name = sha256[:16]
        skipped = staging.report.skipped.get((dataset, model, elicitation), Counter())
        said = f"run {name} ({model}, {elicitation}, {dataset}): {items:,} items of {questions:,} questions"
        staging.report.runs.append(name)
        stored = run("select withdrawn_at from store.runs where run = $r", {"r": name}).fetchone()
        if stored:
            staging.report.stored.append(name)
            staging.report.lines.append(f"{said}, already there" + (", but withdrawn" if stored[0] else ""))
            continue
        asked = run("select count(*) from questions where dataset = $d", {"d": dataset}).fetchall()[0][0]
        missing = asked - questions
        run(
            """insert into new_runs by name select $decisions as decisions, $run as run,
                $dataset as dataset, $position as position, $model as model,
                $elicitation as elicitation, $sha as sha256, $file as file_name, make_timestamp(epoch_us(now())) as imported_at,
                $items as items, $questions as questions, $missing as missing_questions, $skipped as skipped""",
            {
                "run": name, "dataset": dataset, "position": first, "model": model, "elicitation": elicitation, "sha": sha256,
                "file": staging.files[int(place // 1e12)].name, "items": items, "questions": questions, "missing": missing,
                "skipped": json.dumps(skipped) if skipped else None,
                "decisions": _decided(staging, dataset, model, elicitation),
            },
        )  # fmt: skip
        first += 1
        rest = "".join(f"; {count:,} rows skipped: {reason}" for reason, count in sorted(skipped.items()))
        staging.report.lines.append(f"{said} imported" + (f"; {missing:,} questions not answered" if missing else "") + rest)
    run("""
        insert into new_responses by name
        select n.run, r.dataset, question_id, clue, guess, confidence, correct, graded, token_logprobs, options, option_names
        from graded_responses r join new_runs n using (dataset, model, elicitation)""")


def _decided(staging: Staging, dataset: str, model: str, elicitation: str) -> str | None:
    """The decisions that a run rests on, as JSON; None where there are none."""
    rows = staging.connection.execute(
        """select question_id, clue, guess, correct from graded_responses
        where decided and dataset = $d and model = $m and elicitation = $e order by question_id, clue""",
        {"d": dataset, "m": model, "e": elicitation},
    ).fetchall()
    names = ("question_id", "clue", "guess", "correct")
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows]) if rows else None


def sentences(text: str) -> list[str]:
    """The sentences of a text, without splitting after initials and common abbreviations."""
    return [sentence.strip() for sentence in segment("en", text) if sentence.strip()]
