"""A page of the question list, ordered and detailed without a cache."""

from clueline.queries.questions import ordered_questions, question_details, question_page


def questions(snapshot, selection, metrics, sort="position", limit=100, cursor=None):
    order = ordered_questions(snapshot, selection, sort)
    return question_page(order, lambda ids: question_details(snapshot, selection, ids, metrics), limit, cursor)
