"""Human teams: which questions they heard, where they buzzed, and whether they were right. Runs play no part here."""

from __future__ import annotations

import msgspec
import polars as pl

from clueline.data.quizbowl.question_words import words_in_power
from clueline.data.store import Snapshot
from clueline.queries.selection import Answer, Selection, head
from clueline.queries.selection.parameter_kinds import BadRequest

BUZZES = ("question_id", "answer", "category", "room", "team", "word", "at", "correct", "power", "guess", "place", "places")
NO_TEAMS = "no human team heard any of these questions"


class Buzzing(msgspec.Struct):
    """What human teams did on a group of questions.

    Attributes:
        rooms: number of pairs of a question and a room in which a human team heard it.
        heard: the same, but counted once for each team in the room.
        powers: number of correct buzzes before the power mark; None where no question of the group has one.
        conversion: share of ``rooms`` with a correct buzz, in [0, 1].
        correct_at: mean share of the question that had been read at a correct buzz, in (0, 1]; None without one.
        first_at: the smallest of these shares for each question, averaged over the questions with a correct buzz; None without.
    """

    rooms: int
    heard: int
    correct: int
    incorrect: int
    powers: int | None
    conversion: float
    correct_at: float | None
    first_at: float | None


class TeamRow(msgspec.Struct):
    """One team; ``powers`` and ``correct_at`` are as in ``Buzzing``.

    Attributes:
        rooms: number of rooms in which it played.
        heard: number of questions that it heard, counted once for each room.
        correct_share, precision: ``correct`` / ``heard``, and ``correct`` / its buzzes; None where it never buzzed.
        correct_at_quartiles: lower quartile, median and upper quartile of ``correct_at``; None without a correct buzz.
        first: number of questions that it answered correctly and on which no team's correct buzz came earlier, in any room.
    """

    team: str
    rooms: int
    heard: int
    correct: int
    incorrect: int
    powers: int | None
    correct_share: float
    precision: float | None
    correct_at: float | None
    correct_at_quartiles: list[float] | None
    first: int


class CategoryBuzzing(Buzzing, kw_only=True):
    """The questions of one category; ``category`` is None for those without."""

    category: str | None
    questions: int


class QuestionBuzzing(Buzzing, kw_only=True):
    """One question. ``power_words`` come before its power mark; ``first_team`` has the earliest correct buzz, by name if tied."""

    question_id: str
    answer: str | None
    category: str | None
    power_words: int | None
    first_team: str | None


class RoomTeam(msgspec.Struct):
    """A team in a room, with its number of correct and incorrect buzzes there."""

    team: str
    correct: int
    incorrect: int


class RoomRow(msgspec.Struct):
    """A room in which two teams or more played, most correct buzzes first; ``converted`` questions had a correct buzz."""

    room: str
    questions: int
    converted: int
    powers: int | None
    teams: list[RoomTeam]


class TeamBuzz(msgspec.Struct):
    """One buzz.

    ``word`` counts from 0, and is the question's number of words if the buzz came after the end; ``at`` is the share that had
    been read. ``power`` says whether it was right before the power mark; None where the question has none. ``place`` is that of a
    correct buzz among all ``places`` of them in all rooms, from 1 for the earliest; buzzes at the same word share a place.
    """

    question_id: str
    answer: str | None
    category: str | None
    room: str
    team: str
    word: int
    at: float
    correct: bool
    power: bool | None
    guess: str | None
    place: int | None
    places: int


class Teams(Answer):
    """Answer of ``/api/v1/teams``; ``missing`` says why it is empty."""

    missing: str | None
    teams: list[TeamRow]
    categories: list[CategoryBuzzing]
    questions: list[QuestionBuzzing]
    rooms: list[RoomRow]
    buzzes: list[TeamBuzz]


def human_teams(snapshot: Snapshot, selection: Selection, team: str | None = None, room: str | None = None) -> Teams:
    """Return what human teams did on the questions of a selection.

    Buzzes are listed of ``team``, in ``room`` or, with both, of the team in the room. Teams come by descending share of correct
    answers, the rest by name or in the dataset's order. Raises ``BadRequest`` if there is no human team or no room of this name.
    """
    questions, exposures, buzzes = _read(snapshot, selection)
    for key, column, name, lacking in (("team", "team", team, "is called"), ("room", "match_id", room, "played in a room")):
        known = f"select 1 from exposures where dataset = $d and team_kind = 'human' and {column} = $name limit 1"
        if name is not None and not snapshot.rows(known, {"d": selection.dataset, "name": name}):
            raise BadRequest("unknown_value", f"No human team of dataset {selection.dataset!r} {lacking} {name!r}.", key)
    if exposures.is_empty():
        return Teams(*head(snapshot, selection), NO_TEAMS, [], [], [], [], [])
    chosen = [pl.col(key) == name for key, name in (("team", team), ("room", room)) if name is not None]
    listed = buzzes.filter(*chosen) if chosen else buzzes.clear()
    heard_by = (questions, exposures, buzzes)
    listed = listed.join(questions, on="question_id", maintain_order="left").select(BUZZES)
    return Teams(
        *head(snapshot, selection),
        None,
        msgspec.convert(_teams(exposures, buzzes).to_dicts(), list[TeamRow]),
        msgspec.convert(_categories(*heard_by).to_dicts(), list[CategoryBuzzing]),
        msgspec.convert(_questions(*heard_by).to_dicts(), list[QuestionBuzzing]),
        msgspec.convert(_rooms(exposures, buzzes).to_dicts(), list[RoomRow]),
        msgspec.convert(listed.to_dicts(), list[TeamBuzz]),
    )


def _read(snapshot: Snapshot, selection: Selection) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Return the questions that human teams heard, in order; who heard them, and if they are ``marked``; and their buzzes."""
    condition, parameters = selection.question_filter()
    selected = f"select q.dataset, q.question_id from questions q where {condition}"
    exposures = snapshot.frame(
        f"""select distinct question_id, match_id as room, team from exposures semi join ({selected}) using (dataset, question_id)
            where team_kind = 'human'""",
        parameters,
    )
    questions = snapshot.frame(
        f"""select q.question_id, q.answer, q.category, c.words, coalesce(q.text, c.text) as text
            from questions q left join (
                select dataset, question_id, max(word_end) as words, string_agg(text, ' ' order by clue) as text
                from clues where dataset = $dataset group by all
            ) c using (dataset, question_id) where {condition} order by q.position""",
        parameters,
    ).join(exposures, on="question_id", how="semi", maintain_order="left")
    power = [words_in_power(text, total) if text else None for text, total in questions.select("text", "words").iter_rows()]
    questions = questions.drop("text").with_columns(power_words=pl.Series(power, dtype=pl.Int64))
    buzzes = snapshot.frame(
        f"""select question_id, match_id as room, team, word, correct, guess
            from buzzes semi join ({selected}) using (dataset, question_id) where team_kind = 'human'""",
        parameters,
    )
    position = questions.select("question_id", "words", "power_words").with_row_index("position")
    right = pl.when("correct").then("word")
    places = buzzes.join(position, on="question_id").with_columns(
        power=pl.when(pl.col("power_words").is_not_null()).then(pl.col("correct") & (pl.col("word") < pl.col("power_words"))),
        at=pl.min_horizontal(pl.col("word") + 1, "words") / pl.col("words"),
        place=right.rank("min").over("question_id").cast(pl.Int64),
        places=pl.col("correct").sum().over("question_id").cast(pl.Int64),
    )
    marked = questions.select("question_id", marked=pl.col("power_words").is_not_null())
    heard = exposures.join(marked, on="question_id", maintain_order="left")
    return questions, heard, places.sort("position", "word", "room", "team")


def _teams(exposures: pl.DataFrame, buzzes: pl.DataFrame) -> pl.DataFrame:
    heard = exposures.group_by("team").agg(rooms=pl.col("room").n_unique(), heard=pl.len(), marked=pl.col("marked").any())
    buzzed = buzzes.group_by("team").agg(
        correct=pl.col("correct").sum(),
        incorrect=(~pl.col("correct")).sum(),
        powers=pl.col("power").sum(),
        correct_at=pl.col("at").filter("correct").mean(),
        correct_at_quartiles=pl.concat_list(*(pl.col("at").filter("correct").quantile(q, "linear") for q in (0.25, 0.5, 0.75))),
        first=pl.col("question_id").filter(pl.col("place") == 1).n_unique(),
    )
    whole = pl.col("correct", "incorrect", "first", "powers").fill_null(0).cast(pl.Int64)
    rows = heard.join(buzzed, on="team", how="left").with_columns(whole)
    total = pl.col("correct") + pl.col("incorrect")
    rows = rows.with_columns(
        powers=pl.when("marked").then("powers"),
        correct_share=pl.col("correct") / pl.col("heard"),
        precision=pl.when(total > 0).then(pl.col("correct") / total),
        correct_at_quartiles=pl.when(pl.col("correct") > 0).then("correct_at_quartiles"),
    )
    return rows.sort("correct_share", "team", descending=[True, False]).select(TeamRow.__struct_fields__)


def _summary(exposures: pl.DataFrame, buzzes: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return the fields of ``Buzzing`` for each value of a column."""
    rooms = exposures.group_by(key).agg(
        rooms=pl.struct("question_id", "room").n_unique(), heard=pl.len(), marked=pl.col("marked").any()
    )
    right = buzzes.filter("correct")
    wrong = buzzes.group_by(key).agg(incorrect=(~pl.col("correct")).sum())
    by_question = right.group_by({key, "question_id"}, maintain_order=True).agg(pl.col("at").min())
    first = by_question.group_by(key).agg(first_at=pl.col("at").mean())
    correct = right.group_by(key).agg(
        correct=pl.len(),
        converted=pl.struct("question_id", "room").n_unique(),
        powers=pl.col("power").sum(),
        correct_at=pl.col("at").mean(),
    )
    rows = rooms
    for part in (correct, wrong, first):
        rows = rows.join(part, on=key, how="left", nulls_equal=True)
    return rows.with_columns(pl.col("correct", "incorrect", "converted", "powers").fill_null(0).cast(pl.Int64)).with_columns(
        conversion=pl.col("converted") / pl.col("rooms"), powers=pl.when("marked").then("powers")
    )


def _categories(questions: pl.DataFrame, exposures: pl.DataFrame, buzzes: pl.DataFrame) -> pl.DataFrame:
    category = questions.select("question_id", "category")
    heard, buzzed = (frame.join(category, on="question_id", maintain_order="left") for frame in (exposures, buzzes))
    number = category.group_by("category").agg(questions=pl.len())
    rows = _summary(heard, buzzed, "category").join(number, on="category", nulls_equal=True)
    return rows.sort("category", nulls_last=True).select(CategoryBuzzing.__struct_fields__)


def _questions(questions: pl.DataFrame, exposures: pl.DataFrame, buzzes: pl.DataFrame) -> pl.DataFrame:
    first = buzzes.filter(pl.col("place") == 1).group_by("question_id").agg(first_team=pl.col("team").min())
    rows = questions.join(_summary(exposures, buzzes, "question_id"), on="question_id", maintain_order="left")
    return rows.join(first, on="question_id", how="left", maintain_order="left").select(QuestionBuzzing.__struct_fields__)


def _rooms(exposures: pl.DataFrame, buzzes: pl.DataFrame) -> pl.DataFrame:
    heard = exposures.group_by("room").agg(
        questions=pl.col("question_id").n_unique(), marked=pl.col("marked").any(), teams=pl.col("team").n_unique()
    )
    buzzed = buzzes.group_by("room").agg(
        converted=pl.col("question_id").filter("correct").n_unique(), powers=pl.col("power").sum()
    )
    rooms = heard.filter(pl.col("teams") > 1).drop("teams").join(buzzed, on="room", how="left")
    rooms = rooms.with_columns(pl.col("converted", "powers").fill_null(0).cast(pl.Int64))
    by_team = buzzes.group_by("room", "team").agg(correct=pl.col("correct").sum(), incorrect=(~pl.col("correct")).sum())
    teams = exposures.select("room", "team").unique().join(by_team, on=["room", "team"], how="left")
    teams = teams.with_columns(pl.col("correct", "incorrect").fill_null(0).cast(pl.Int64))
    teams = teams.sort("correct", "incorrect", "team", descending=[True, False, False])
    in_room = teams.group_by("room", maintain_order=True).agg(teams=pl.struct("team", "correct", "incorrect"))
    return rooms.join(in_room, on="room").with_columns(powers=pl.when("marked").then("powers")).drop("marked").sort("room")
