"""Mode ``every-clue``: after each clue, players say what the answer is, how sure they are, and whether they would buzz."""

from __future__ import annotations

from clueline.data.dataset_kinds import FORECAST
from clueline.data.play_sessions.mode_interface import ClueByClue, Entry, GradedAnswer, Guess, Played, QuestionResult, Share
from clueline.data.play_sessions.session_definition import SessionQuestion
from clueline.data.quizbowl.answer_lines import parse_answer_line
from clueline.data.store import Snapshot


class Answer(Entry, frozen=True, omit_defaults=True):
    """What a player says at a clue: a guess, blank for none, and the confidence in it, in [0, 1]."""

    guess: Guess
    confidence: Share
    buzz: bool


class EveryClue(ClueByClue[Answer]):
    """The mode ``every-clue``."""

    key = "every-clue"
    elicitation = "every clue"
    entry = Answer

    def candidates(self, snapshot: Snapshot, dataset: str) -> list[SessionQuestion]:
        return questions_with_clues(snapshot, dataset)

    def grade(self, played: Played[Answer]) -> QuestionResult:
        spoken = enumerate(played.entries)
        return played.result(
            [graded(played.question, clue, answer.guess, answer.confidence, answer.buzz) for clue, answer in spoken]
        )


def questions_with_clues(snapshot: Snapshot, dataset: str) -> list[SessionQuestion]:
    """Return the questions of a dataset that have an answer line and whose clues all have a text; none of forecasts."""
    rows = snapshot.rows(
        """select q.question_id, any_value(q.answer), list(c.text order by c.clue)
        from questions q join clues c using (dataset, question_id) join datasets d using (dataset)
        where q.dataset = $d and d.kind <> $forecast and coalesce(q.answer, '') <> ''
        group by q.question_id having count(*) = count(nullif(c.text, '')) order by min(q.position)""",
        {"d": dataset, "forecast": FORECAST},
    )
    return [SessionQuestion(question_id, tuple(clues), answer) for question_id, answer, clues in rows]


def graded(question: SessionQuestion, clue: int, guess: str, confidence: float, buzz: bool) -> GradedAnswer:
    """Grade a guess by the answer line. A guess that a moderator would prompt on is not right."""
    verdict = parse_answer_line(question.answer).grade(guess or None)
    return GradedAnswer(clue, guess, confidence, buzz, verdict, float(verdict == "accept"))
