"""Checks of the questions and clues of new datasets, and of how incoming datasets fit those in the store."""

from __future__ import annotations

import hashlib
import json
from functools import partial

import polars as pl

from clueline.data.duckdb_and_polars import execute, execute_with, frame, literal
from clueline.data.importing.report import Problem
from clueline.data.importing.staging import OF_QUESTION, PEOPLE, ImportOptions, Staging
from clueline.data.life_table import best_guess
from clueline.data.plurals import counted
from clueline.data.quizbowl.question_words import IRREGULAR, count_words, cut, sentences


def check_questions(staging: Staging) -> None:
    """Check that questions do not repeat and clues have no gaps. Fill ``new_questions``, ``new_clues`` and ``new_attributes``."""
    run = staging.connection.execute
    staging.report_repeats("questions", "question_id", ("dataset", "question_id"), "this question is in the file already")
    staging.report_repeats(
        "clues", "clue", ("dataset", "question_id", "clue"), "this clue of the question is in the file already"
    )
    no_address = "where question_id in ('.', '..')"
    staging.report_rows("questions_read", "question_id", "'this id cannot be part of an address'", no_address)
    others = f"anti join questions_read {OF_QUESTION}"
    staging.report_rows("clues_read", "question_id", "'no such question in this bundle'", others)
    staging.report_rows(
        """(select *, row_number() over (partition by dataset, question_id order by clue) as gap from (
            select *, dense_rank() over (partition by dataset, question_id order by clue) - 1 as nth from clues_read
        ) where clue <> nth)""",
        "clue", "'clues must be numbered from 0 without gaps; this question has no clue ' || nth",
        "where gap = 1",
    )  # fmt: skip
    _cut_texts(staging)
    _split_sentences(staging)
    _count_words(staging)
    # Words are counted unless the file states where a clue ends. The text of a question is that of its clues, joined, where
    # these have any.
    run("""
        insert into new_clues by name
        with counted as (
            select dataset, question_id, clue, c.text, word_end,
                sum(coalesce(t.words, len(regexp_extract_all(c.text, '\\S+')), 0)) over w as words,
                sum(len(coalesce(c.text, '')) + 1) over w - 1 as char_end
            from clues_read c left join counted_texts t on t.text = c.text
            window w as (partition by dataset, question_id order by clue)
        ), ended as (select *, greatest(coalesce(word_end, words), 1)::integer as upto from counted)
        select dataset, question_id, clue, text, upto as word_end, greatest(char_end, 0)::integer as char_end,
            upto / max(upto) over q as revealed
        from ended window q as (partition by dataset, question_id)
        order by dataset, question_id, clue""")
    if not staging.has_problems("questions", "clues"):
        staging.report_rows(
            """(select c.*, s.file, s.ordinal, s.word_end as stated, lag(c.word_end) over w as before
            from new_clues c join clues_read s using (dataset, question_id, clue)
            window w as (partition by c.dataset, c.question_id order by c.clue))""",
            "word_end", """case when stated is null then 'this clue adds no words to the one before it'
                else 'a clue must end after the one before it, which ends at word ' || before end""",
            "where before >= word_end", value="s.stated",
        )  # fmt: skip
    run("""
        insert into new_questions by name
        select q.* exclude (text, file, ordinal),
            (row_number() over (partition by q.dataset order by file, ordinal) - 1)::integer as position,
            coalesce(c.text, q.text) as text, coalesce(c.clues, 1)::integer as clues,
            q.difficulty as given_difficulty, null::varchar as difficulty_source
        from questions_read q left join (
            select dataset, question_id, count(*) as clues, string_agg(text, ' ' order by clue) as text
            from new_clues group by all
        ) c using (dataset, question_id)""")
    run("""
        insert into new_attributes by name select dataset, question_id, attribute, value from attributes_read
        where question_id is not null order by dataset, question_id, attribute""")
    _check_lifeeval(staging)


def _cut_texts(staging: Staging) -> None:
    """Give clues that state only where they end their text: the question's words between the clue before and that end."""
    rows = staging.connection.execute("""
        select dataset, question_id, any_value(q.text), list(c.word_end order by clue)
        from clues_read c join questions_read q using (dataset, question_id)
        where q.text is not null and c.word_end is not null group by all having bool_or(c.text is null)""").fetchall()
    parts = [
        (dataset, question, end, part)
        for dataset, question, text, ends in rows
        for end, part in zip(ends, cut(text, ends, ends[-1]), strict=True)
    ]
    if parts:
        schema = {"dataset": pl.String, "question_id": pl.String, "word_end": pl.Int64, "part": pl.String}
        execute_with(
            staging.connection,
            pl.DataFrame(parts, schema=schema, orient="row"),
            """update clues_read s set text = nullif(f.part, '')
            from (select distinct on (dataset, question_id, word_end) * from given) f
            where s.text is null and s.dataset = f.dataset and s.question_id = f.question_id and s.word_end = f.word_end""",
        )


def _count_words(staging: Staging) -> None:
    run = staging.connection.execute
    irregular = f"select distinct text from clues_read where word_end is null and regexp_matches(text, {literal(IRREGULAR)})"
    counts = [(text, count_words(text)) for (text,) in run(irregular).fetchall()]
    rows = pl.DataFrame(counts, schema={"text": pl.String, "words": pl.Int32}, orient="row")
    execute_with(staging.connection, rows, "create table counted_texts as from given")


def _split_sentences(staging: Staging) -> None:
    """Add clues to questions without any: the sentences of an incremental question, a single clue for any other."""
    without_clues = staging.connection.execute("""
        select q.dataset, q.question_id, q.text, d.kind, q.file, q.ordinal from questions_read q
        join datasets_read d using (dataset) anti join clues_read c using (dataset, question_id)
        order by q.file, q.ordinal""").fetchall()
    rows = [
        (dataset, question, clue, sentence, file, ordinal)
        for dataset, question, text, kind, file, ordinal in without_clues
        for clue, sentence in enumerate((sentences(text) if kind == "incremental" and text else []) or [text])
    ]
    columns = ("dataset", "question_id", "clue", "text", "file", "ordinal")
    schema = {name: pl.Int64 if name in ("clue", "file", "ordinal") else pl.String for name in columns}
    execute_with(staging.connection, pl.DataFrame(rows, schema=schema, orient="row"), "insert into clues_read by name from given")


def _check_lifeeval(staging: Staging) -> None:
    """Check that LifeEval questions state sex, minimum age and radius. Their difficulty is 1 - MAS unless given."""
    if not staging.connection.execute("select 1 from datasets_read where kind = 'lifeeval' limit 1").fetchone():
        return
    lifeeval = "join datasets_read d on d.dataset = s.dataset and d.kind = 'lifeeval'"
    for column in ("sex", "minimum_age", "radius"):
        staging.report_rows("questions_read", column, "'a LifeEval question needs this'", f"{lifeeval} where s.{column} is null")
    if staging.has_problems("questions"):
        return
    rows = staging.connection.execute("""
        select distinct radius, minimum_age, sex from new_questions join datasets_read using (dataset)
        where kind = 'lifeeval' and radius is not null and minimum_age is not null and sex is not null""").fetchall()
    if rows:
        table = [(radius, age, sex, 1 - best_guess(radius, age, sex)[1]) for radius, age, sex in rows]
        execute_with(
            staging.connection,
            pl.DataFrame(table, schema=["radius", "minimum_age", "sex", "difficulty"], orient="row"),
            """update new_questions q
            set given_difficulty = coalesce(given_difficulty, f.difficulty), difficulty = coalesce(q.difficulty, f.difficulty)
            from given f, datasets_read d where q.dataset = d.dataset and d.kind = 'lifeeval'
            and f.radius = q.radius and f.minimum_age = q.minimum_age and f.sex = q.sex""",
        )


UNCHANGED_COLUMNS = ("text", "answer", "category", "subcategory", "given_difficulty")  # of stored questions, when a dataset grows
FACTS = ("title", "licence", "source", "simulated", "note")  # of a dataset; runs do not depend on them


def check_datasets(staging: Staging, options: ImportOptions) -> None:
    """Fill ``new_datasets``. Report datasets whose stored questions would change, because runs may depend on them."""
    run = partial(execute, staging.connection)
    incoming = """with places as (select dataset, min(file) as place from questions_read group by 1)
        select s.* from (select distinct on (dataset) * from datasets_read) s left join places using (dataset)
        order by place, dataset"""
    for dataset in frame(staging.connection, incoming).to_dicts():
        name, d = dataset["dataset"], {"d": dataset["dataset"]}
        count = run("select count(*) from new_questions where dataset = $d", d).fetchall()[0][0]
        if not count:
            staging.report.problems.append(Problem(dataset["file"], None, None, None, "the dataset has no questions"))
            continue
        content = _content(staging, name, dataset["kind"], dataset["classes"])
        stored = frame(staging.connection, "select * from store.datasets where dataset = $d", d).to_dicts()
        same, other = (bool(stored) and (stored[0]["content"] == content) == equal for equal in (True, False))
        reworded = same and name in staging.reworded and _differ_in_words(staging, name)
        recut = other and name in staging.recut and not options.replace and _keeps_what_is_stored(staging, name)
        if stored and not options.replace and not reworded and not recut:
            if other:
                reason = f"dataset {name!r} is stored with different questions, and runs may depend on them"
                staging.report.problems.append(Problem(dataset["file"], None, None, None, reason, "replace"))
                continue
            differing = [fact for fact in FACTS if dataset[fact] is not None and dataset[fact] != stored[0][fact]]
            kept = [f"its stored {', '.join(differing)}"] if differing else []
            kept += ["the stored attributes of its questions"] if _attributes_differ(staging, name) else []
            otherwise = "although the file says otherwise; replacing the dataset would use what the file says"
            staging.report.warnings += [f"dataset {name} keeps {what}, {otherwise}" for what in kept]
            for table in ("new_questions", "new_clues", "new_attributes"):
                run(f"delete from {table} where dataset = $d", d)
            staging.report.lines.append(f"dataset {name}: {counted(count, 'question')}, already there")
            continue
        if (reworded or recut) and not options.replace:
            run("delete from new_attributes where dataset = $d", d)
            run("insert into new_attributes by name from store.attributes where dataset = $d", d)
            sql = """update datasets_read r set title = o.title, licence = o.licence, source = o.source, note = o.note
                from store.datasets o where r.dataset = $d and o.dataset = $d"""
            run(sql, d)
        sql = """insert into new_datasets by name select dataset, coalesce(
                (select position from store.datasets o where o.dataset = s.dataset),
                (select count(*) from store.datasets) + (select count(*) from new_datasets))::integer as position,
                title, kind, licence, source, simulated, note, classes, $content as content, false as head_to_head
            from (select distinct on (dataset) * from datasets_read where dataset = $d) s"""
        run(sql, d | {"content": content})
        done = "imported" if not stored else "replaced" if options.replace else "reworded: the texts are now those of the file"
        if recut:
            had = run("select count(*) from store.questions where dataset = $d", d).fetchall()[0][0]
            done = f"added to its {had:,}" if count > had else "recut: their clues end where the runs were asked"
            count = count - had or count
        staging.report.lines.append(f"dataset {name}: {counted(count, 'question')} {done}")
        if stored and not recut:
            for table, what in PEOPLE.items():
                run(f"insert into replaced_people select distinct dataset, '{what}' from {table}_read where dataset = $d", d)


def _keeps_what_is_stored(staging: Staging, dataset: str) -> bool:
    """Whether the incoming questions include all stored ones unchanged, with the same clues where a run answered them."""
    same = " and ".join(f"n.{column} is not distinct from o.{column}" for column in UNCHANGED_COLUMNS)
    cut = "select question_id, list(word_end order by clue) as ends from {} where dataset = $d group by 1"
    sql = f"""select 1 from store.questions o left join new_questions n using (dataset, question_id)
            left join ({cut.format("new_clues")}) c using (question_id)
            left join ({cut.format("store.clues")}) b using (question_id)
        where o.dataset = $d and (n.question_id is null or not ({same})
            or (list_contains($answered::varchar[], o.question_id) and c.ends <> b.ends)) limit 1"""
    return execute(staging.connection, sql, {"d": dataset, "answered": staging.answered(dataset)}).fetchone() is None


def _attributes_differ(staging: Staging, dataset: str) -> bool:
    incoming, stored = (
        f"select question_id, attribute, value from {table} where dataset = $d"
        for table in ("new_attributes", "store.attributes")
    )
    sql = f"select 1 from (({incoming} except {stored}) union all ({stored} except {incoming})) limit 1"
    given = execute(staging.connection, "select 1 from new_attributes where dataset = $d limit 1", {"d": dataset}).fetchone()
    return given is not None and execute(staging.connection, sql, {"d": dataset}).fetchone() is not None


def _differ_in_words(staging: Staging, dataset: str) -> bool:
    sql = """select 1 from new_questions n join store.questions o using (dataset, question_id)
        where n.dataset = $d and n.text is distinct from o.text limit 1"""
    return staging.connection.execute(sql, {"d": dataset}).fetchone() is not None


def _content(staging: Staging, dataset: str, kind: str, classes: list[str] | None) -> str:
    """Return the sha256 of what the runs of a dataset depend on. LifeEval questions count by their facts, not their wording."""
    facts = (
        "select question_id, sex, minimum_age, radius, null as clue, null as text, null as word_end "
        "from new_questions where dataset = $d"
        if kind == "lifeeval"
        else """select q.question_id, q.answer, q.category, q.subcategory, q.given_difficulty, c.clue, c.text, c.word_end
            from new_questions q left join new_clues c using (dataset, question_id) where q.dataset = $d"""
    )
    sql = f"select sha256(string_agg(to_json(t)::varchar, chr(10) order by question_id, clue)) from ({facts}) t"
    digest = execute(staging.connection, sql, {"d": dataset}).fetchall()[0][0]
    return hashlib.sha256(f"{kind}\n{json.dumps(classes)}\n{digest}".encode()).hexdigest()
