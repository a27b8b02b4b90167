"""Checks of what people did: exposures, buzzes, plays that are left out, and votes."""

from __future__ import annotations

from clueline.data.importing.staging import OF_QUESTION, Staging

UNKNOWN = "'no such question in this dataset'"
TEAM, PLAYS = "question_id, match_id, team", "question_id, match_id, reason"
# Of each table: what identifies a row, the column at which rows that differ from the store are reported, what is said of a row
# that repeats the key of another one, and the SQL condition that an incoming row s and a stored one, o, agree.
KEYS = {
    "votes": ("question_id, class", "class", "votes for this class of the question are in the file already", "o.votes = s.votes"),
    "left_out_plays": (
        PLAYS, "plays", "plays of this question and match with this reason are in the file already", "o.plays = s.plays",
    ),
    "exposures": (
        TEAM, "team", "this team heard this question in this match already",
        # Where no end is stated, the store may have one that follows from a buzz of another team.
        "o.end_stated = coalesce(s.end_stated, true) and (not o.end_stated or o.heard_words is not distinct from s.heard_words)",
    ),
    "buzzes": (
        TEAM, "team", "a second buzz of this team on this question in this match",
        "o.word = s.word and o.correct = (s.correct = 1)",
    ),
}  # fmt: skip


def check_people(staging: Staging) -> None:
    """Check exposures, buzzes (one per team, question and match) and votes.

    Fill ``new_exposures``, ``new_buzzes`` and ``new_left_out_plays``. A buzz without an exposure implies that the team heard it.
    """
    run = staging.connection.execute
    for table, (keys, column, again, same) in KEYS.items():
        if staging.has(table):
            staging.report_rows(f"{table}_read", "question_id", UNKNOWN, f"anti join questions {OF_QUESTION}")
            staging.report_repeats(table, keys.rpartition(" ")[2], ("dataset", *keys.split(", ")), again)
            stored = f"join kept_{table} o using (dataset, {keys}) where not ({same})"
            other = f"'the store holds different values for the same {keys.replace('_id', '')}'"
            staging.report_rows(f"{table}_read", column, other, stored, "replace_people")
    staging.report_rows(
        "votes_read", "class", "'not one of the classes of this dataset: ' || array_to_string(d.classes, ', ')",
        "join datasets d on d.dataset = s.dataset where d.classes is not null and not list_contains(d.classes, s.class)",
    )  # fmt: skip
    run(f"""
        insert into new_left_out_plays by name select dataset, {PLAYS}, plays from left_out_plays_read
        anti join kept_left_out_plays using (dataset, {PLAYS})""")
    if not staging.has("exposures", "buzzes"):
        return
    staging.report_rows("buzzes_read", "correct", "'must be true or false'", "where correct > 0 and correct < 1")
    length = """join (select dataset, question_id, max(word_end) as words from clues group by all) c
        on c.dataset = s.dataset and c.question_id = s.question_id where s.{} > c.words"""
    for table, column, reason in (
        ("buzzes", "word", "'the question has ' || c.words || ' words, numbered from 0; its end is ' || c.words"),
        ("exposures", "heard_words", "'the question has only ' || c.words || ' words'"),
    ):
        staging.report_rows(f"{table}_read", column, reason, length.format(column))
    beyond = "join exposures_read e using (dataset, question_id, match_id, team) where s.word > e.heard_words"
    staging.report_rows("buzzes_read", "word", "'this team heard only ' || e.heard_words || ' words of the question'", beyond)
    heard = " union all ".join(
        f"select dataset, question_id, match_id, team from {table}" for table in ("exposures_read", "kept_exposures")
    )
    # Otherwise teams written in another case would all count as having heard their questions twice.
    staging.report_rows(
        "buzzes_read", "team",
        "'no exposure of this team in this match; is ''' || e.team || ''' in ''' || e.match || ''' meant?'",
        f"""join (select dataset, question_id, lower(match_id) as folded_match, any_value(match_id) as match,
                lower(team) as folded, any_value(team) as team
            from ({heard}) group by all) e
            on e.dataset = s.dataset and e.question_id = s.question_id and e.folded_match = lower(s.match_id)
                and e.folded = lower(s.team)
        anti join ({heard}) x on x.dataset = s.dataset and x.question_id = s.question_id and x.match_id = s.match_id
            and x.team = s.team""",
    )  # fmt: skip
    run("""
        insert into new_exposures by name
        select dataset, question_id, match_id, team, coalesce(team_kind, 'human') as team_kind, heard_words, ended_by,
            coalesce(end_stated, true) as end_stated
        from exposures_read anti join kept_exposures using (dataset, question_id, match_id, team)""")
    ((unstated,),) = run("select count(*) from new_exposures where not end_stated").fetchall()
    if unstated:
        staging.report.repaired["plays whose end is not stated; they count as heard to the end, without a buzz"] += unstated
    # A team that buzzed without an exposure heard the question. Its kind is that in its other exposures, otherwise human.
    implied = run("""
        insert into new_exposures by name
        select b.dataset, b.question_id, b.match_id, b.team, coalesce(k.team_kind, 'human') as team_kind, true as end_stated
        from buzzes_read b
        anti join exposures_read e using (dataset, question_id, match_id, team)
        anti join kept_exposures o using (dataset, question_id, match_id, team)
        left join (select dataset, team, min(team_kind) as team_kind from exposures group by all) k
            on k.dataset = b.dataset and k.team = b.team""").fetchone()
    if implied and implied[0]:
        staging.report.repaired["buzzes without an exposure; their teams count as having heard the question"] += implied[0]
    run("""
        insert into new_buzzes by name
        select b.dataset, b.question_id, b.match_id, b.team, any_value(e.team_kind) as team_kind,
            any_value(b.word)::integer as word,
            coalesce(min(c.clue) filter (c.word_end > b.word), max(c.clue)) as clue,
            any_value(b.correct) = 1 as correct, any_value(b.guess) as guess
        from (from buzzes_read anti join kept_buzzes using (dataset, question_id, match_id, team)) b
        join clues c on c.dataset = b.dataset and c.question_id = b.question_id
        join exposures e on e.dataset = b.dataset and e.question_id = b.question_id
            and e.match_id = b.match_id and e.team = b.team
        group by b.dataset, b.question_id, b.match_id, b.team""")


def add_votes(staging: Staging) -> None:
    """Fill ``new_votes``, and ``new_answers`` of questions without an answer: the most frequent class, the earlier in a tie."""
    if not staging.has("questions", "exposures", "buzzes", "votes"):
        return
    run = staging.connection.execute
    run("""
        insert into new_votes by name select dataset, question_id, class, votes from votes_read
        anti join kept_votes using (dataset, question_id, class)""")
    for table in ("exposures", "buzzes", "votes"):
        size = "sum(votes)::bigint" if table == "votes" else "count(*)"
        for dataset, count in run(f"select dataset, {size} from new_{table} group by 1 order by 1").fetchall():
            staging.report.lines.append(f"dataset {dataset}: {count:,} {table} imported")
    run("""
        insert into new_answers by name
        select dataset, question_id, first(class order by votes desc, coalesce(list_position(classes, class), 0), class) as answer
        from votes join datasets using (dataset)
        semi join (select dataset from new_votes union select dataset from new_questions) using (dataset)
        where votes > 0 group by all""")
    run("""update new_questions q set answer = v.answer from new_answers v
        where q.answer is null and q.dataset = v.dataset and q.question_id = v.question_id""")
