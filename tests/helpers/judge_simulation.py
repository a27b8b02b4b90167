"""A judge that errs, and a random sample graded by people: whether intervals of means hold, by simulation."""

import numpy as np

from clueline.queries.engine.bootstrap import LEVEL
from clueline.queries.metrics import Conventions
from clueline.queries.metrics.kernels.prediction_powered import prediction_powered_mean, typical_error
from clueline.queries.reviewed_samples import MEANS
from tests.helpers.simulation import Measurement

QUESTIONS, REVIEWED = 1000, 100
KINDS = ("both", "too lenient", "too strict")
SETTINGS = [
    (key, accuracy, error, kind, clues)
    for key in ("accuracy", "brier", "overconfidence")
    for accuracy in (0.6, 0.9)
    for error in (0.05, 0.1, 0.3)
    for kind in KINDS
    for clues in ((1, 5) if key == "accuracy" else (1,))
    if error <= {"both": 1, "too lenient": 1 - accuracy, "too strict": accuracy}[kind]
]


def logistic(x):
    return 1 / (1 + np.exp(-x))


def answers(random, questions, accuracy, error, kind, clues):
    """Return confidence, grades of people and of the judge, each (questions, clues). Clues of a question share its ease."""
    ease = random.normal(size=(questions, 1))
    log_odds = np.log(accuracy / (1 - accuracy))
    right = (random.random((questions, clues)) < logistic(1.1 * log_odds + ease)).astype(float)
    confidence = logistic(log_odds + ease / 2 + random.normal(size=(questions, clues)))
    share = right.mean()
    chance = {
        "both": np.full_like(right, error),
        "too lenient": (right == 0) * error / (1 - share),
        "too strict": right * error / share,
    }
    wrongly = random.random((questions, clues)) < chance[kind]
    return confidence, right, np.where(wrongly, 1 - right, right)


def estimate(random, key, confidence, right, judged):
    """Return the estimate of a mean from all of the judge's grades and those of ``REVIEWED`` answers by people."""
    values = [MEANS[key](confidence.ravel(), grades.ravel(), Conventions()).reshape(right.shape) for grades in (right, judged)]
    questions, clues = right.shape
    drawn, clue = random.permutation(questions)[:REVIEWED], random.integers(0, clues, REVIEWED)
    graded, judged_drawn = (clues * part[drawn, clue] for part in values)
    effect = {"accuracy": 1.0, "overconfidence": 1.0, "brier": np.sqrt(((1 - 2 * confidence) ** 2).mean())}[key]
    items = np.full(questions, float(clues))
    return prediction_powered_mean(
        values[1].sum(axis=1), items, drawn, graded, judged_drawn, items[drawn], clues * float(effect), LEVEL
    )


def reviewed_means(runs, seed, settings=SETTINGS):
    """Measure how often the interval of a mean, which the reviewed answers correct, contains the mean of the population.

    In brackets is an interval of the judge's own grades.
    """
    for key, accuracy, error, kind, clues in settings:
        random = np.random.default_rng((seed, KINDS.index(kind), clues))
        confidence, right, _ = answers(random, 300_000, accuracy, error, kind, clues)
        truth = MEANS[key](confidence.ravel(), right.ravel(), Conventions()).mean()
        held, width, by_judge = 0, 0.0, 0
        for _ in range(runs):
            confidence, right, judged = answers(random, QUESTIONS, accuracy, error, kind, clues)
            result = estimate(random, key, confidence, right, judged)
            assert result.low < result.value < result.high and 0 <= result.tuning <= 1
            held, width = held + (result.low <= truth <= result.high), width + result.high - result.low
            of_judge = MEANS[key](confidence.ravel(), judged.ravel(), Conventions()).reshape(right.shape).mean(axis=1)
            by_judge += abs(of_judge.mean() - truth) <= 1.96 * of_judge.std(ddof=1) / np.sqrt(QUESTIONS)
        of_clues = f"{clues} clue{'s' * (clues > 1)}"
        errs = f"the judge errs on {error:.0%}, {kind if kind != 'both' else 'in both directions'}"
        setting = f"{key}, true {truth:.2f}, {of_clues}, {errs}"
        yield Measurement(
            "interval with reviewed answers", f"{setting} (mean width {width / runs:.3f})", LEVEL, held / runs, runs
        )
        yield Measurement("(interval of the judge's grades)", setting, LEVEL, by_judge / runs, runs)


# Numbers of answers to a question: uniform from 1 to 10; mostly few, up to 100 (Zipf); 1 or, to a tenth of the questions, 30.
NUMBERS = {
    "1 to 10": lambda random, questions: random.integers(1, 11, questions),
    "Zipf": lambda random, questions: np.minimum(random.zipf(1.7, questions), 100),
    "1 or 30": lambda random, questions: np.where(random.random(questions) < 0.1, 30, 1),
}
UNEQUAL = [(kind, harder, reviewed) for kind in NUMBERS for harder in (False, True) for reviewed in (40, 100)]


def unequal_numbers(runs, seed, settings=UNEQUAL):
    """Measure the same for the accuracy where questions have unequal numbers of answers, and those with many may be harder.

    The judge errs on a tenth of the answers.
    """
    for kind, harder, reviewed in settings:
        random = np.random.default_rng((seed, reviewed))
        _, _, right, _ = _unequal_answers(random, 400_000, kind, harder)
        truth, held, width = right.mean(), 0, 0.0
        for _ in range(runs):
            numbers, question, right, judged = _unequal_answers(random, QUESTIONS, kind, harder)
            drawn = random.permutation(QUESTIONS)[:reviewed]
            weight = numbers[drawn].astype(float)
            place = (np.cumsum(numbers) - numbers)[drawn] + (random.random(reviewed) * weight).astype(int)
            result = prediction_powered_mean(
                np.bincount(question, judged, QUESTIONS), numbers.astype(float), drawn,
                weight * right[place], weight * judged[place], weight, typical_error(weight, weight), LEVEL,
            )  # fmt: skip
            held += result.low <= truth <= result.high
            width += min(result.high, 1.0) - max(result.low, 0.0)
        answers_of = f"{kind} answers to a question{', harder where there are many' if harder else ''}"
        setting = f"accuracy, true {truth:.2f}, {answers_of}, {reviewed} reviewed (mean width {width / runs:.3f})"
        yield Measurement("interval with reviewed answers", setting, LEVEL, held / runs, runs)


def _unequal_answers(random, questions, kind, harder):
    """Return numbers of answers, shape (questions,), and the question, grade and judge's grade of each answer."""
    numbers = NUMBERS[kind](random, questions)
    ease = 1 + random.normal(size=questions) - (0.4 * np.log(numbers) if harder else 0.0)
    question = np.repeat(np.arange(questions), numbers)
    right = (random.random(len(question)) < logistic(ease)[question]).astype(float)
    return numbers, question, right, np.where(random.random(len(question)) < 0.1, 1 - right, right)
