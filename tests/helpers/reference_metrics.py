"""Plain definitions of the metrics, written item by item in Python from the papers. Tests compare the kernels with them.

An item is a triple (confidence, correctness, human curves by name or None); a question is the list of its items.
"""

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

from scipy.stats import kendalltau

from clueline.queries.metrics import CATALOGUE
from clueline.queries.metrics.kernels.bins import FOLDS, question_folds
from tests.helpers import reference_vote_metrics
from tests.helpers.reference_vote_metrics import NAN, binned, mean
from tests.helpers.run_tables import with_runs


@dataclass
class Answered:
    """One run's answers to one question."""

    items: list[tuple[float, float, dict[str, float] | None]]
    difficulty: float | None = None
    whole: list[reference_vote_metrics.Whole] = field(default_factory=list)  # its items with a whole distribution
    fold: int = 0  # from a hash of the question's id
    words: list[int] | None = None  # of each item's clue; None: one


@dataclass
class Rows:
    """The rows of one dataset in the store."""

    questions: list[dict] = field(default_factory=list)
    clues: dict[tuple[str, int], dict] = field(default_factory=dict)
    curves: dict[tuple[str, int], dict] = field(default_factory=dict)
    runs: list[dict] = field(default_factory=list)
    responses: dict[tuple[str, str, int], dict] = field(default_factory=dict)
    votes: dict[str, dict[str, int]] = field(default_factory=dict)  # question -> class -> votes
    classes: list[str] | None = None

    @classmethod
    def read(cls, snapshot, dataset):
        def rows(table, order):
            return (
                with_runs(snapshot).frame(f"select * from {table} where dataset = $d order by {order}", {"d": dataset}).to_dicts()
            )

        votes = {}
        for row in rows("votes", "question_id, class"):
            votes.setdefault(row["question_id"], {})[row["class"]] = row["votes"]
        return cls(
            votes=votes,
            classes=snapshot.rows("select classes from datasets where dataset = $d", {"d": dataset})[0][0],
            questions=rows("questions", "position"),
            clues={(row["question_id"], row["clue"]): row for row in rows("clues", "question_id, clue")},
            curves={(row["question_id"], row["clue"]): row for row in rows("curves", "question_id, clue")},
            runs=rows("runs", "position"),
            responses={(row["run"], row["question_id"], row["clue"]): row for row in rows("responses", "run, question_id, clue")},
        )

    def kept_questions(self, selection):
        return [question for question in self.questions if _keeps(selection, question)]

    def kept_runs(self, selection):
        return [
            run
            for run in self.runs
            if all(not getattr(selection, key) or run[key] in getattr(selection, key) for key in ("run", "model", "elicitation"))
            and (selection.run or run["withdrawn_at"] is None)
        ]

    def answered(self, selection, run, others=()):
        """Return question -> a run's items of it within a selection. Questions without an item are left out.

        With ``others``, only clues that these runs also answered are included.
        """
        low, high = selection.revealed or (0, 1)
        answered = {}
        kept = self.kept_questions(selection)
        for question, fold in zip(kept, question_folds(question["question_id"] for question in kept).tolist(), strict=True):
            name = question["question_id"]
            items, whole, words = [], [], []
            for clue in range(question["clues"]):
                answer = self.responses.get((run, name, clue))
                counts = all(self._counts(selection, name_of_run, name, clue) for name_of_run in (run, *others))
                if counts and low <= self.clues[name, clue]["revealed"] <= high:
                    items.append((answer["confidence"], answer["correct"], self.curves.get((name, clue))))
                    words.append(self.clues[name, clue]["word_end"] - (self.clues[name, clue - 1]["word_end"] if clue else 0))
                    if answer["options"] is not None:
                        polled = {name for votes in self.votes.values() for name in votes}
                        whole.append(
                            reference_vote_metrics.Whole.from_row(
                                question, answer, self.votes.get(name, {}), self.classes, polled
                            )
                        )
            if items:
                answered[name] = Answered(items, question["difficulty"], whole, fold, words)
        return answered

    def _counts(self, selection, run, question, clue):
        answer = self.responses.get((run, question, clue))
        return answer is not None and (selection.failed or not answer["failed"])


def _keeps(selection, question):
    for key in ("category", "subcategory", "radius"):
        if getattr(selection, key) and question[key] not in getattr(selection, key):
            return False
    if selection.difficulty:
        low, high = selection.difficulty
        if question["difficulty"] is None or not low <= question["difficulty"] <= high:
            return False
    if selection.questions is not None and question["question_id"] not in selection.questions:
        return False
    searched = " ".join(part for part in (question["question_id"], question["text"], question["answer"]) if part is not None)
    return selection.q.lower() in searched.lower()


# -- definitions -------------------------------------------------------------------------------------------------------


def pairs_of(questions):
    return [(c, y) for question in questions for c, y, _ in question.items]


def bins_of(pairs, binning):
    return [part for part in binned(pairs, binning) if part]


def gap(part):
    return abs(mean([c for c, _ in part]) - mean([y for _, y in part]))


def ece(questions, conventions):
    pairs = pairs_of(questions)
    parts = bins_of(pairs, conventions.binning)
    return math.fsum(len(part) / len(pairs) * gap(part) for part in parts) if pairs else NAN


def max_ce(questions, conventions):
    return max((gap(part) for part in bins_of(pairs_of(questions), conventions.binning)), default=NAN)


def of_items(value):
    """Return the definition of a mean over items, from its value for a confidence and a correctness."""
    return lambda questions, conventions: mean([value(c, y) for c, y in pairs_of(questions)])


brier = of_items(lambda c, y: (c - y) ** 2 + y * (1 - y))
accuracy = of_items(lambda c, y: y)
mean_confidence = of_items(lambda c, y: c)
overconfidence = of_items(lambda c, y: c - y)
log_infinite = of_items(lambda c, y: float((c == 0 and y > 0) or (c == 1 and y < 1)))
pct_rounded = of_items(lambda c, y: float(any(abs(c - k / 20) <= 1e-9 for k in range(21))))


def r_over(questions, conventions):
    pairs = pairs_of(questions)
    wrong = math.fsum(1 - y for _, y in pairs)
    if not pairs:
        return NAN
    return 1 - math.fsum((1 - y) * c for c, y in pairs) / wrong if wrong else 1.0


def r_under(questions, conventions):
    pairs = pairs_of(questions)
    right = math.fsum(y for _, y in pairs)
    if not pairs:
        return NAN
    return 1 - math.fsum(y * (1 - c) for c, y in pairs) / right if right else 1.0


def hmr(questions, conventions):
    over, under, b = r_over(questions, conventions), r_under(questions, conventions), conventions.beta
    if over == 0 == under:
        return 0.0
    return (b**2 + 1) * over * under / (b**2 * over + under)


def attempted(questions, conventions):
    """Return the share of answers that are no abstentions: these references are given none."""
    return 1.0 if pairs_of(questions) else math.nan


def net_score(questions, conventions):
    """Return the net score: where c > t, a right answer earns 1 and a wrong one costs t / (1 - t)."""
    t = conventions.t
    return mean([y - (1 - y) * t / (1 - t) if c > t else 0.0 for c, y in pairs_of(questions)])


def brier_skill(questions, conventions):
    base = accuracy(questions, conventions)
    return 1 - brier(questions, conventions) / (base * (1 - base)) if base * (1 - base) else NAN


def log_score(questions, conventions):
    def clipped(chance):
        return min(max(chance, 1e-6), 1 - 1e-6)

    return mean([-y * math.log(clipped(c)) - (1 - y) * math.log(clipped(1 - c)) for c, y in pairs_of(questions)])


def errors_in_order(pairs, key):
    """Return 1 - y from the highest key down. Each item of a tie gets the mean of the tie, its mean over all orders."""
    errors = []
    for value in sorted({key(pair) for pair in pairs}, reverse=True):
        tie = [1 - y for c, y in pairs if key((c, y)) == value]
        errors += [mean(tie)] * len(tie)
    return errors


def area(errors):
    """Return the mean over k of the mean of the first k errors."""
    return mean([math.fsum(errors[: k + 1]) / (k + 1) for k in range(len(errors))])


def aurc(questions, conventions):
    return area(errors_in_order(pairs_of(questions), lambda pair: pair[0]))


def oracle_aurc(questions):
    return area(errors_in_order(pairs_of(questions), lambda pair: pair[1]))


def e_aurc(questions, conventions):
    return max(aurc(questions, conventions) - oracle_aurc(questions), 0) if questions else NAN


def augrc(questions, conventions):
    errors = errors_in_order(pairs_of(questions), lambda pair: pair[0])
    return mean([math.fsum(errors[: k + 1]) / len(errors) for k in range(len(errors))])


def prr(questions, conventions):
    error = 1 - accuracy(questions, conventions)
    possible = error - oracle_aurc(questions)
    return (error - aurc(questions, conventions)) / possible if possible > 1e-12 * error else NAN


def accuracy_at(share, questions, conventions):
    errors = errors_in_order(pairs_of(questions), lambda pair: pair[0])
    wanted = share * len(errors)
    taken = [min(max(wanted - k, 0), 1) for k in range(len(errors))]
    return math.fsum(part * (1 - error) for part, error in zip(taken, errors, strict=True)) / wanted if errors else NAN


def r(x):
    def s(z):
        return 1 / (1 + math.exp(-z))

    return (s(x) - s(-1)) / (s(1) - s(-1))


def heard(questions):
    """Return the questions that people heard."""
    return [question for question in questions if all(h is not None for _, _, h in question.items)]


def calscore(questions, conventions):
    curve = conventions.human or "buzz_share"
    return mean([1 - r(mean([(1 - h[curve]) * (2 * y - 1) * c for c, y, h in question.items])) for question in heard(questions)])


def unweighted(question, curve):
    """Return whether people know the answer at every clue, that is, 1 - h is always 0 except for rounding in h."""
    return all(abs(1 - h[curve]) < 1e-12 for _, _, h in question.items)


def calscore_weighted(questions, conventions):
    curve = conventions.human or "buzz_share"
    scores = []
    for question in heard(questions):
        if not unweighted(question, curve):
            weight = math.fsum(1 - h[curve] for _, _, h in question.items)
            scores.append(1 - r(math.fsum((1 - h[curve]) * (2 * y - 1) * c for c, y, h in question.items) / weight))
    return mean(scores)


def calscore2(questions, conventions):
    curve = "survival" if conventions.human == "survival" else "team_share"
    return mean([1 - reward(question.items, curve) for question in heard(questions)])


def reward(items, curve):
    """Return the reward by GRACE eq. 2.

    By clue t the model has buzzed correctly with probability sum of b_e y_e, e <= t; people buzz at t with probability m_t.
    """
    last = len(items) - 1
    stated = [1 if t == last else c for t, (c, _, _) in enumerate(items)]
    b = [stated[t] * math.prod(1 - stated[i] for i in range(t)) for t in range(len(items))]
    h = [curves[curve] for _, _, curves in items]
    m = [h[t] - (h[t - 1] if t else 0) for t in range(len(items))]
    by = [math.fsum(b[e] * items[e][1] for e in range(t + 1)) for t in range(len(items))]
    return math.fsum(m[t] * by[t] for t in range(len(items))) + (1 - math.fsum(m)) * by[last]


def taus(questions, conventions):
    """Kendall's tau-b of each question where neither the confidence nor the curve is constant."""
    lists = [
        ([c for c, _, _ in q.items], [h[conventions.human or "buzz_share"] for _, _, h in q.items]) for q in heard(questions)
    ]
    return [kendalltau(c, h).statistic for c, h in lists if len({*c}) > 1 and len({*h}) > 1]


def human_tau(questions, conventions):
    return mean(taus(questions, conventions))


def human_area(questions, conventions):
    """The area word by word."""
    areas = []
    for question in heard(questions):
        gaps = [abs(c - h[conventions.human or "buzz_share"]) for c, _, h in question.items]
        areas.append(
            mean([gap for gap, words in zip(gaps, question.words or [1] * len(gaps), strict=True) for _ in range(words)])
        )
    return mean(areas)


def grace_mce(questions, conventions):
    return mean([1 - r(mean([(2 * y - 1) * c for c, y, _ in question.items])) for question in questions])


def ece_debiased(questions, conventions):
    """Take signs of the bins' gaps from half of the folds and sizes from the other, both ways, over all balanced halves."""
    if math.fsum(y - y * y for _, y in pairs_of(questions)) > 1e-12 * len(pairs_of(questions)):
        return NAN
    items = [((c, y), question.fold) for question in questions for c, y, _ in question.items]
    items.sort(key=lambda item: item[0][0])
    bin_of_item = [k for k, part in enumerate(bins_of([pair for pair, _ in items], conventions.binning)) for _ in part]
    estimates = []
    for row in range(1, FOLDS):
        # In Sylvester's Hadamard matrix, the sign is the parity of the bits that row and column share.
        halves = [[], []]
        for place, ((c, y), fold) in zip(bin_of_item, items, strict=True):
            halves[(row & fold).bit_count() % 2].append((place, c - y))
        if all(halves):
            estimates.append(sum(signed_sizes(*order) for order in (halves, halves[::-1])) / len(items))
    return mean(estimates)


def signed_sizes(signs, sizes):
    def gap_of(items, place=None):
        total = math.fsum(off for k, off in items if place in (None, k))
        return 0.0 if abs(total) < 1e-12 else total

    total = 0.0
    for place in {k for k, _ in sizes}:
        sign = gap_of(signs, place) or gap_of(signs)
        total += math.copysign(1, sign) * gap_of(sizes, place) if sign else 0.0
    return total


def macro_ce(questions, conventions):
    pairs = pairs_of(questions)
    right, wrong = math.fsum(y for _, y in pairs), math.fsum(1 - y for _, y in pairs)
    if not right or not wrong:
        return NAN
    return (math.fsum(y * (1 - c) for c, y in pairs) / right + math.fsum((1 - y) * c for c, y in pairs) / wrong) / 2


def ks(questions, conventions):
    """Return the KS statistic with items of equal confidence taken together."""
    pairs = pairs_of(questions)
    upto = [abs(math.fsum(c - y for c, y in pairs if c <= edge)) for edge in {c for c, _ in pairs}]
    return max(upto) / len(pairs) if pairs else NAN


def ks_sequential(questions, conventions):
    """Return the KS statistic with items of equal confidence taken one by one, in the order of questions and clues."""
    pairs = sorted(pairs_of(questions), key=lambda pair: pair[0])
    upto = [abs(math.fsum(c - y for c, y in pairs[: j + 1])) for j in range(len(pairs))]
    return max(upto) / len(pairs) if pairs else NAN


def auroc(questions, conventions):
    """Return the AUROC over all pairs of two items: one is right with weight y, the other wrong with weight 1 - y."""
    pairs = pairs_of(questions)
    weighted = [
        (y * (1 - other_y), (c > other) + (c == other) / 2)
        for i, (c, y) in enumerate(pairs) if y
        for j, (other, other_y) in enumerate(pairs) if i != j
    ]  # fmt: skip
    whole = math.fsum(weight for weight, _ in weighted)
    return math.fsum(weight / whole * won for weight, won in weighted) if whole else NAN


def over_bins(questions, conventions, distance):
    """Return the mean over items of a squared distance that has one value per bin."""
    pairs = pairs_of(questions)
    parts = bins_of(pairs, conventions.binning)
    return math.fsum(len(part) / len(pairs) * distance(part) ** 2 for part in parts) if pairs else NAN


def reliability(questions, conventions):
    return over_bins(questions, conventions, gap)


def resolution(questions, conventions):
    base = accuracy(questions, conventions)
    return over_bins(questions, conventions, lambda part: mean([y for _, y in part]) - base)


def uncertainty(questions, conventions):
    base = accuracy(questions, conventions)
    return base * (1 - base)


def residual(questions, conventions):
    parts = reliability(questions, conventions) - resolution(questions, conventions) + uncertainty(questions, conventions)
    return brier(questions, conventions) - parts


def recalibrated(questions):
    """Return confidence -> its isotonic recalibration: the maximum over starts of the minimum mean of y from there past it."""
    pairs = pairs_of(questions)
    stated = sorted({c for c, _ in pairs})
    right = [math.fsum(y for c, y in pairs if c == value) for value in stated]
    items = [sum(c == value for c, _ in pairs) for value in stated]
    best = [-math.inf] * len(stated)
    for start in range(len(stated)):
        means, total, mass = [], 0.0, 0
        for end in range(start, len(stated)):
            total, mass = total + right[end], mass + items[end]
            means.append(total / mass)
        lowest = math.inf
        for place in reversed(range(start, len(stated))):
            lowest = min(lowest, means[place - start])
            best[place] = max(best[place], lowest)
    return dict(zip(stated, best, strict=True))


def recalibrated_brier(questions, conventions):
    fit = recalibrated(questions)
    return brier([Answered([(fit[c], y, h) for c, y, h in question.items]) for question in questions], conventions)


def corp_mcb(questions, conventions):
    return brier(questions, conventions) - recalibrated_brier(questions, conventions)


def corp_dsc(questions, conventions):
    return uncertainty(questions, conventions) - recalibrated_brier(questions, conventions)


def corp_unc(questions, conventions):
    base = accuracy(questions, conventions)
    return brier([Answered([(base, y, h) for _, y, h in question.items]) for question in questions], conventions)


def correlation(questions, conventions):
    """Return the correlation, computed exactly in fractions except for the root."""
    pairs = [(Fraction(c), Fraction(y)) for c, y in pairs_of(questions)]
    if len({c for c, _ in pairs}) < 2 or len({y for _, y in pairs}) < 2:
        return NAN
    middle, level = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    together = sum((c - middle) * (y - level) for c, y in pairs)
    squared = together**2 / (sum((c - middle) ** 2 for c, _ in pairs) * sum((y - level) ** 2 for _, y in pairs))
    return math.copysign(math.sqrt(squared), together)


def points_of(questions):
    """Return difficulty and overconfidence of the questions whose difficulty is known, exactly."""
    known = [question for question in questions if question.difficulty is not None]
    return [(Fraction(question.difficulty), Fraction(overconfidence([question], None))) for question in known]


def hard_easy_slope(questions, conventions):
    points = points_of(questions)
    if len({x for x, _ in points}) < 2:
        return NAN
    middle, level = (sum(side) / len(points) for side in zip(*points, strict=True))
    return float(sum((x - middle) * (y - level) for x, y in points) / sum((x - middle) ** 2 for x, _ in points))


def hard_easy_slope_se(questions, conventions):
    points = points_of(questions)
    if len(points) < 3 or len({x for x, _ in points}) < 2:
        return NAN
    middle, level = (sum(side) / len(points) for side in zip(*points, strict=True))
    spread = sum((x - middle) ** 2 for x, _ in points)
    slope = sum((x - middle) * (y - level) for x, y in points) / spread
    rest = sum((y - level - slope * (x - middle)) ** 2 for x, y in points)
    return math.sqrt(rest / (len(points) - 2) / spread)


METRICS = {
    **{key: globals()[key] for key in CATALOGUE if key in globals()},
    **{f"accuracy_at_{share}": partial(accuracy_at, share / 100) for share in (50, 80, 90)},
    "accuracy_attempted": accuracy,
    "accuracy_scored": accuracy,
    **reference_vote_metrics.METRICS,
}


def used(key, questions, conventions):
    """Return the questions that a metric can use."""
    if key in reference_vote_metrics.METRICS:
        return reference_vote_metrics.used(key, questions)
    if key in ("calscore", "calscore2", "human_area"):
        return len(heard(questions))
    if key == "human_tau":
        return len(taus(questions, conventions))
    if key == "calscore_weighted":
        return sum(not unweighted(question, conventions.human or "buzz_share") for question in heard(questions))
    if key in ("hard_easy_slope", "hard_easy_slope_se"):
        return sum(question.difficulty is not None for question in questions)
    return len(questions)


def ranks(loss):
    """Return ranks from 1 of the numbers in a list. Ties share the mean rank; None has the rank None."""
    known = [value for value in loss if value is not None]

    def rank(value):
        better = sum(other < value - 1e-10 for other in known)
        tied = sum(abs(other - value) <= 1e-10 for other in known)
        return better + (tied + 1) / 2

    return [None if value is None else rank(value) for value in loss]
