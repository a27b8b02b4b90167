"""Plain definitions of the metrics of whole distributions, written item by item in Python from the papers."""

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations

NAN = math.nan
WORD = 2**64


@dataclass(frozen=True)
class Whole:
    """One item with a whole distribution. ``shares`` and ``votes`` are by class, in class order."""

    dataset: str
    question: str
    shares: dict[str, float]
    votes: dict[str, int]
    answer: str | None
    classes: tuple[str, ...]  # classes of all items together

    @classmethod
    def from_row(cls, question, response, votes, classes, polled):
        """Create an item from rows of the store. ``classes`` are the dataset's or None; ``polled`` are the names in all its
        votes.
        """
        names = response["option_names"] or classes
        stated = dict(zip(names, response["options"], strict=True))
        order = classes or sorted({*names, *votes})
        return cls(
            question["dataset"], question["question_id"], {name: stated.get(name, 0.0) for name in order},
            {name: votes.get(name, 0) for name in order}, question["answer"], tuple(classes or sorted(polled)),
        )  # fmt: skip

    @property
    def people(self):
        """Return pi, exactly; None if nobody voted."""
        total = sum(self.votes.values())
        return {name: Fraction(count, total) for name, count in self.votes.items()} if total else None

    @property
    def majority(self):
        most = max(self.votes.values())
        first = [name for name, count in self.votes.items() if count == most]
        return self.answer if self.answer in first else first[0]

    @property
    def gold(self):
        if self.answer in self.shares:
            return self.answer
        return self.majority if any(self.votes.values()) else None


def whole(questions):
    return [item for question in questions for item in question.whole]


def voted(questions):
    return [item for item in whole(questions) if item.people]


def mean(values):
    return math.fsum(values) / len(values) if values else NAN


def tvd(first, second):
    return math.fsum(abs(first[name] - float(second[name])) for name in first) / 2


def entropy(shares):
    return -math.fsum(float(p) * math.log(p) for p in shares.values() if p > 0)


def nbr(questions, conventions):
    known = [item for item in whole(questions) if item.gold is not None]
    return mean([mean([(p - (name == item.gold)) ** 2 for name, p in item.shares.items()]) for item in known])


def dist_ce(questions, conventions):
    return mean([tvd(item.shares, item.people) for item in voted(questions)])


def ent_ce(questions, conventions):
    return mean([entropy(item.shares) - entropy(item.people) for item in voted(questions)])


def ent_ce_abs(questions, conventions):
    return mean([abs(entropy(item.shares) - entropy(item.people)) for item in voted(questions)])


def ascending(values):
    """Return class names by ascending value; for equal values, the earlier class comes first."""
    names = list(values)
    return sorted(names, key=lambda name: (values[name], names.index(name)))


def rank_cs(questions, conventions):
    return mean([float(ascending(item.shares) == ascending(item.people)) for item in voted(questions)])


def consistent(order, values):
    return all(values[a] <= values[b] for a, b in combinations(order, 2))


def rank_cs_tied(questions, conventions):
    return mean([
        float(any(consistent(order, item.shares) and consistent(order, item.people) for order in permutations(item.shares)))
        for item in voted(questions)
    ])  # fmt: skip


def binned(pairs, binning):
    """Return lists of pairs, one per bin."""
    if binning.startswith("mass"):
        count = int(binning[4:])
        ranked = sorted(pairs, key=lambda pair: pair[0])
        sizes = [len(pairs) // count + (1 if index < len(pairs) % count else 0) for index in range(count)]
        ends = [sum(sizes[: index + 1]) for index in range(count)]
        bins = [ranked[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    else:
        last = {"width10": 9, "width10r": 9, "width10+1": 10}[binning]
        bins = [[] for _ in range(last + 1)]
        for c, y in pairs:
            place = max(k for k in range(11) if k == 0 or (c > k / 10 if binning == "width10r" else c >= k / 10))
            bins[min(place, last)].append((c, y))
    return bins


def classwise_ece(questions, conventions):
    items = voted(questions)
    errors = []
    for name in items[0].classes if items else ():
        pairs = [(item.shares.get(name, 0.0), float(item.majority == name)) for item in items]
        parts = binned(pairs, conventions.binning)
        errors.append(math.fsum(abs(math.fsum(p - y for p, y in part)) for part in parts) / len(pairs))
    return mean(errors)


def drawn(item):
    """Return the reference's twenty votes, drawn one by one from a list of all votes; None if there are fewer."""
    left = [name for name, count in item.votes.items() for _ in range(count)]
    if len(left) < 20:
        return None
    state = int.from_bytes(hashlib.blake2b(f"{item.dataset}\n{item.question}".encode(), digest_size=8).digest(), "little")
    counts = dict.fromkeys(item.votes, 0)
    for _ in range(20):
        state = (state + 0x9E3779B97F4A7C15) % WORD
        bits = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % WORD
        bits = (bits ^ bits >> 27) * 0x94D049BB133111EB % WORD
        counts[left.pop((bits ^ bits >> 31) % len(left))] += 1
    return counts


def histograms(questions):
    """Return the number of items by error in 30 bins, for the reference and for the run."""
    reference, run = [0] * 30, [0] * 30
    for item in voted(questions):
        votes = drawn(item)
        if votes:
            far = sum(abs(Fraction(votes[name], 20) - item.people[name]) for name in votes) / 2
            reference[max(k for k in range(30) if far >= Fraction(k, 30))] += 1
            run[min(math.floor(round(30 * tvd(item.shares, item.people), 12)), 29)] += 1
    return reference, run


def kl_ref(questions, conventions):
    reference, run = histograms(questions)
    p, q = ([count / (sum(bins) or 1) for count in bins] for bins in (reference, run))
    both = [(a, b) for a, b in zip(p, q, strict=True) if a and b]
    return math.fsum(a * math.log(a / b) for a, b in both) if both else NAN


def tvd_ref(questions, conventions):
    reference, run = histograms(questions)
    return sum(abs(a - b) for a, b in zip(reference, run, strict=True)) / 2 / sum(reference) if any(reference) else NAN


METRICS = {
    metric.__name__: metric
    for metric in (nbr, dist_ce, ent_ce, ent_ce_abs, rank_cs, rank_cs_tied, classwise_ece, kl_ref, tvd_ref)
}


def used(key, questions):
    """Return the questions that a metric can use."""
    if key == "nbr":
        return sum(any(item.gold is not None for item in question.whole) for question in questions)
    if key in ("kl_ref", "tvd_ref"):
        return sum(any(item.people and drawn(item) for item in question.whole) for question in questions)
    return sum(any(item.people for item in question.whole) for question in questions)
