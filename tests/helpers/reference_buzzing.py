"""Plain definitions of buzzing, written clue by clue in Python from the papers. Tests compare the kernels with them.

A clue is a dictionary: score (None if there is none), correct, word_end, revealed, h (None without people). A question has the
clues that a run answered, its number of words, and its teams: pairs of a buzz (word, correct) or None, and the words heard (None
for all).
"""

import itertools
import math
from dataclasses import dataclass, field
from statistics import median


@dataclass
class Question:
    clues: list[dict]
    words: int
    teams: list[tuple] = field(default_factory=list)
    length: int = 0  # number of the question's clues, answered or not


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values) if values else None


def buzzed(question, tau):
    """Return the clue of the buzz, or None."""
    return next((clue for clue in question.clues if clue["score"] is not None and clue["score"] > tau), None)


def pi(f):
    return 1 + 0.0775 * f - 1.278 * f**2 + 0.588 * f**3


def chance(clue, curve):
    """Return the chance that nobody has answered by a clue; None if people are needed and there are none."""
    if curve == "polynomial":
        return pi(clue["revealed"])
    return None if clue["h"] is None else 1 - clue["h"]


def expected_wins(questions, tau, curve):
    counted = [q for q in questions if curve == "polynomial" or q.teams]
    hits = [(buzzed(q, tau)) for q in counted]
    return mean(chance(clue, curve) * clue["correct"] if clue else 0.0 for clue in hits)


def thresholds(questions, floor):
    """Return every threshold at which anything can change, and one below them all if there is no lowest."""
    scores = sorted({clue["score"] for q in questions for clue in q.clues if clue["score"] is not None})
    return [floor, *(s for s in scores if s > floor)] if floor is not None else [scores[0] - 1, *scores]


def played(events, words):
    """Return the player's points, and who won, for one order of events: (who, time, correct)."""
    points, wrong = {"player": 0, "team": 0}, False
    for who, time, correct in events:
        if correct:
            return points["player"] + (10 if who == "player" else 0), who
        if time < words and not wrong:
            points[who] -= 5
        wrong = True
    return points["player"], None


def tossup(at, correct, buzz, words):
    """Return points, win and loss of a player who buzzes when ``at`` words are read (None for never) against a team's buzz."""
    events = [] if at is None else [("player", at, correct)]
    if buzz is not None:
        word, right = buzz
        events.append(("team", words if word >= words else word + 0.5, right))
    orders = [list(order) for order in itertools.permutations(events)]
    orders = [order for order in orders if [time for _, time, _ in order] == sorted(time for _, time, _ in order)]
    results = [played(order, words) for order in orders]
    share = len(results)
    return (
        sum(points for points, _ in results) / share,
        sum(winner == "player" for _, winner in results) / share,
        sum(winner == "team" for _, winner in results) / share,
    )


def against(question, tau):
    """Return points, win, loss and unsure, averaged over the teams of a question and over whether the guess is correct."""
    clue = buzzed(question, tau)
    outcomes = []
    for buzz, heard in question.teams:
        if clue is None:
            outcomes.append((*tossup(None, False, buzz, question.words), 0.0))
            continue
        at, y = clue["word_end"], clue["correct"]
        right, wrong = (tossup(at, correct, buzz, question.words) for correct in (True, False))
        broken_off = buzz is None and heard is not None and heard < at
        outcomes.append((*(y * a + (1 - y) * b for a, b in zip(right, wrong, strict=True)), y * right[1] if broken_off else 0.0))
    return [mean(column) for column in zip(*outcomes, strict=True)]


def outcome(questions, tau, curve):
    """Return every number of an outcome."""
    hits = [clue for clue in (buzzed(q, tau) for q in questions) if clue]
    rooms = list(zip(*(against(q, tau) for q in questions if q.teams), strict=True))
    score, win, loss, unsure = (mean(column) for column in rooms) if rooms else (None,) * 4
    return {
        "buzzes": len(hits),
        "no_buzz": len(questions) - len(hits),
        "correct": math.fsum(clue["correct"] for clue in hits),
        "incorrect": math.fsum(1 - clue["correct"] for clue in hits),
        "accuracy": mean(clue["correct"] for clue in hits),
        "revealed": mean(clue["revealed"] for clue in hits),
        "expected_wins": expected_wins(questions, tau, curve),
        "score": score,
        "win": win,
        "loss": loss,
        "unsure": unsure,
    }


def median_time(question):
    """Return the median time of the correct buzzes of people, inf if there are none."""
    buzzes = [buzz for buzz, _ in question.teams if buzz is not None and buzz[1]]
    times = [question.words if word >= question.words else word + 0.5 for word, _ in buzzes]
    return median(times) if times else math.inf


def by_median(questions, tau, words=None):
    """Return the share of the questions heard with a right buzz before people's median, or at most so many words after it."""
    worth = []
    for question in questions:
        if question.teams:
            clue, at = buzzed(question, tau), median_time(question)
            ahead = clue and (clue["word_end"] < at if words is None else clue["word_end"] - at <= words)
            worth.append(clue["correct"] if ahead else 0.0)
    return mean(worth)


def habit(questions, tau):
    """Return P(buzz | correct), P(buzz | incorrect), buzzes per clue seen and the survey score."""
    seen, buzzes, scores = [], [], []
    for question in questions:
        clue = buzzed(question, tau)
        upto = question.clues if clue is None else question.clues[: question.clues.index(clue) + 1]
        seen += upto
        buzzes += [clue] if clue else []
        if clue:
            y, share = clue["correct"], (clue["clue"] + 1) / question.length
            scores.append(y * (20 - 20 * share) - 5 * (1 - y))
        else:
            scores.append(0.0)
    right, wrong = (math.fsum(c["correct"] for c in seen), math.fsum(1 - c["correct"] for c in seen))
    return {
        "given_correct": math.fsum(c["correct"] for c in buzzes) / right if right else None,
        "given_incorrect": math.fsum(1 - c["correct"] for c in buzzes) / wrong if wrong else None,
        "buzz_rate": len(buzzes) / len(seen),
        "survey_score": mean(scores),
    }


def by_fraction(questions, mark):
    """Return the accuracy at the last clue that ends by a fraction, and how many questions have one."""
    last = [[c for c in q.clues if c["revealed"] <= mark][-1:] for q in questions]
    return mean(c["correct"] for clues in last for c in clues), sum(map(len, last))


def cumulative(buzzes, heard, fraction):
    """Return correct and incorrect buzzes (fraction, correct) up to a fraction, per question heard."""
    so_far = [correct for at, correct in buzzes if at <= fraction]
    return math.fsum(so_far) / heard, math.fsum(1 - c for c in so_far) / heard


def quartile(totals, team):
    """Return a team's quartile, 1 to 4. Cuts are linearly interpolated percentiles; a team on a cut belongs below it."""
    ranked = sorted(totals.values())

    def percentile(p):
        place = (len(ranked) - 1) * p / 100
        low = math.floor(place)
        high = min(low + 1, len(ranked) - 1)
        return ranked[low] + (ranked[high] - ranked[low]) * (place - low)

    return 1 + sum(totals[team] > percentile(p) for p in (25, 50, 75))


def upper(scores, player):
    return scores[player] > median(scores.values())
