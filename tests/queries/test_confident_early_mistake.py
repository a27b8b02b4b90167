"""The most confident wrong guess before people knew, against a plain search through all answers."""

from queries.confident_early_mistake import surest_early_mistake
from queries.question import question
from queries.question_order import ordered_questions
from queries.selection import Selection


def plain_search(snapshot, selection):
    best = None
    for name in ordered_questions(snapshot, selection).questions:
        shown = question(snapshot, selection, name)
        if shown.human is None or not shown.human.team_share[-1]:
            continue
        for run in shown.runs:
            for answer in run.clues:
                if not answer.failed and answer.correct == 0 and shown.human.team_share[answer.clue] == 0:
                    rank = (shown.human.team_share[-1] >= 0.5, answer.confidence)
                    if best is None or rank > best[0]:
                        guesses = [other for each in shown.runs for other in each.clues if other.clue == answer.clue]
                        wrong = sum(other.correct == 0 for other in guesses)
                        best = rank, name, answer.clue, run.run, answer.guess, wrong, len(guesses)
    return best


def test_the_surest_mistake_is_that_of_a_plain_search(snapshot):
    selection = Selection(dataset="relay")
    surest = surest_early_mistake(snapshot, selection).surest
    rank, name, clue, _, _, wrong, runs = plain_search(snapshot, selection)
    assert (surest.known >= 0.5, surest.confidence) == rank
    assert (surest.question_id, surest.clue, surest.wrong, surest.runs) == (name, clue, wrong, runs)


def test_without_people_there_is_no_early_mistake(snapshot):
    assert surest_early_mistake(snapshot, Selection(dataset="spans")).surest is None
