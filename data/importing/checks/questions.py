"""Questions and clues of new datasets: checked, cut into clues, counted; and datasets against those that are there."""

from __future__ import annotations

import hashlib
import json

import polars as pl
from sentencex import segment

from data.frames import ArrowStream, frame
from data.importing.report import Problem
from data.importing.staging import ITS_QUESTION, ImportOptions, Staging
from data.life_table import best_guess


def settle_questions(staging: Staging) -> None:
    """Questions and clues: each once, clues without a gap, with what the file leaves to be counted."""
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


def settle_datasets(staging: Staging, options: ImportOptions) -> None:
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


def sentences(text: str) -> list[str]:
    """The sentences of a text, without splitting after initials and common abbreviations."""
    return [sentence.strip() for sentence in segment("en", text) if sentence.strip()]
