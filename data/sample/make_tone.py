"""Writes the bundle ``tone``: original short messages, simulated annotators' votes, and classifiers with whole distributions.

The classifiers are cross-validated. They learn from the class that most people chose, one from the shares of votes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.naive_bayes import MultinomialNB

from clueline.data.sample.reproducible import write_csv, write_json
from clueline.data.sample.tone_messages import (
    ANNOTATORS,
    BIAS_SPREAD,
    CARELESS,
    CLASSES,
    CLEAR,
    LEANING,
    Floats,
    Message,
    poll,
    read_messages,
)

Places = NDArray[np.intp]
Texts = Sequence[str]
Learn = Callable[[Texts, Floats, Texts], Floats]

FOLDS = 10
INVERSE_PENALTY = 10.0  # of logistic regression
SMOOTHING = 0.3  # added to the count of each word in each class
NEARNESS = 0.05  # difference in cosine that makes a text weigh e times as much
MAX_TEMPERATURE = 20.0  # T is searched for between the inverse of this and this
FOLDER = Path(__file__).parent / "tone"
SEED = 2  # of the simulated annotators; the only randomness
DECIMALS = 6  # of a share: the last bits of a matrix product differ between machines
SCALED = "temperature-scaled"
DATASET = {
    "dataset": "tone",
    "title": "Tone",
    "kind": "votes",
    "simulated": True,
    "licence": "MIT",
    "source": "Written for Clueline",
    "classes": list(CLASSES),
    "note": f"The people are simulated: {ANNOTATORS} annotators each vote once on the tone of every message. An annotator "
    "takes a class with a chance proportional to the share of votes that the message's author meant it to get, times exp(b); b "
    f"is the annotator's own for each class, normal with mean 0 and standard deviation {BIAS_SPREAD}. With a chance of the "
    f"annotator's own, uniform from {CARELESS[0]:.0%} to {CARELESS[1]:.0%}, a vote falls on any class alike. The seed is fixed. "
    f"Subcategory: the largest share meant is at least {CLEAR:.0%} (clear), at least {LEANING:.0%} (leaning) or less (open). "
    "Difficulty: 1 minus the largest share of votes. The messages are original and the classifiers real: each answers what it "
    f"did not learn from, in {FOLDS} folds. They learned from the class with most votes, the one on votes from the shares; a "
    f"fold's temperature was fitted on the answers to the other {FOLDS - 1} folds.",
}


class Classifier(NamedTuple):
    """A classifier, and how its confidence is elicited."""

    model: str
    elicitation: str
    learn: Learn  # (known texts, votes on them, other texts) -> distributions, shape (other texts, classes)


def logistic_regression(known: Texts, votes: Floats, others: Texts) -> Floats:
    """Multinomial logistic regression on TF-IDF of words, trained on what most people chose."""
    vectorizer = _tfidf()
    shares: Floats = _logistic().fit(vectorizer.fit_transform(known), majority(votes)).predict_proba(vectorizer.transform(others))
    return shares


def logistic_regression_on_votes(known: Texts, votes: Floats, others: Texts) -> Floats:
    """The same trained on the votes: each text enters once per class, with the class's share of its votes as weight."""
    texts, classes = votes.shape
    vectorizer = _tfidf()
    features = vectorizer.fit_transform(known)[np.repeat(np.arange(texts), classes)]
    weights = votes / votes.sum(axis=1, keepdims=True)
    fitted = _logistic().fit(features, np.tile(np.arange(classes), texts), sample_weight=weights.ravel())
    shares: Floats = fitted.predict_proba(vectorizer.transform(others))
    return shares


def naive_bayes(known: Texts, votes: Floats, others: Texts) -> Floats:
    """Multinomial naive Bayes on which words occur, trained on what most people chose."""
    vectorizer = CountVectorizer(binary=True, strip_accents="unicode")
    fitted = MultinomialNB(alpha=SMOOTHING).fit(vectorizer.fit_transform(known), majority(votes))
    shares: Floats = fitted.predict_proba(vectorizer.transform(others))
    return shares


def nearest_neighbours(known: Texts, votes: Floats, others: Texts) -> Floats:
    """Majority classes of all known texts, weighted by exp(cosine / NEARNESS) of the TF-IDF vectors."""
    vectorizer = _tfidf()
    vectors = vectorizer.fit_transform(known)
    weights = softmax(cosine_similarity(vectorizer.transform(others), vectors) / NEARNESS, axis=1)
    shares: Floats = weights @ np.eye(votes.shape[1])[majority(votes)]
    return shares


def base_rate(known: Texts, votes: Floats, others: Texts) -> Floats:
    """The shares of the majority classes among the known texts, regardless of the text."""
    shares = np.bincount(majority(votes), minlength=votes.shape[1]) / len(known)
    return np.tile(shares, (len(others), 1))


def _tfidf() -> TfidfVectorizer:
    return TfidfVectorizer(sublinear_tf=True, strip_accents="unicode")


def _logistic() -> LogisticRegression:
    # Newton's method reaches the optimum up to rounding.
    return LogisticRegression(C=INVERSE_PENALTY, solver="newton-cg", tol=1e-12, max_iter=1000)


CLASSIFIERS = (
    Classifier("Logistic regression", "softmax", logistic_regression),
    Classifier("Logistic regression on votes", "softmax", logistic_regression_on_votes),
    Classifier("Naive Bayes", "softmax", naive_bayes),
    Classifier("Nearest neighbours", "softmax", nearest_neighbours),
    Classifier("Class shares", "base rate", base_rate),
)
TO_SCALE = "Naive Bayes"  # there is also a run with its temperature scaled


def majority(votes: Floats) -> Places:
    """Return the class with most votes; the first one if tied."""
    winners: Places = votes.argmax(axis=1)
    return winners


def folds_of(gold: Places) -> Places:
    """Return the fold of each text. The texts of each class are assigned to folds in turn."""
    fold = np.empty(len(gold), dtype=np.intp)
    fold[np.argsort(gold, kind="stable")] = np.arange(len(gold)) % FOLDS
    return fold


def cross_validate(learn: Learn, texts: Texts, votes: Floats) -> Floats:
    """Return distributions over the classes. Each text is classified by what was learned from the other folds."""
    fold = folds_of(majority(votes))
    shares = np.empty_like(votes)
    for k in range(FOLDS):
        known = [text for text, its_fold in zip(texts, fold, strict=True) if its_fold != k]
        others = [text for text, its_fold in zip(texts, fold, strict=True) if its_fold == k]
        shares[fold == k] = learn(known, votes[fold != k], others)
    return shares


def scale_temperature(shares: Floats, gold: Places) -> Floats:
    """Scale distributions without zeros, each fold by the temperature that is best for the other folds."""
    fold = folds_of(gold)
    logs = np.log(shares)
    scaled = np.empty_like(shares)
    for k in range(FOLDS):
        scaled[fold == k] = softmax(logs[fold == k] / temperature(logs[fold != k], gold[fold != k]), axis=1)
    return scaled


def temperature(logs: Floats, gold: Places) -> float:
    """Return the T for which softmax(logs / T) makes the right classes most likely. ``logs`` has shape (texts, classes)."""

    def slope(coldness: float) -> float:
        expected = (softmax(logs * coldness, axis=1) * logs).sum(axis=1)
        return float((expected - logs[np.arange(len(gold)), gold]).mean())

    # The loss is convex in 1 / T. The root of its slope is found to the last digit, its minimum only to half of the digits.
    return float(1.0 / brentq(slope, 1 / MAX_TEMPERATURE, MAX_TEMPERATURE, xtol=1e-14))


def responses(messages: Sequence[Message], shares: Floats, model: str, elicitation: str) -> Iterator[Sequence[object]]:
    """Yield the rows of a run. Its confidence is the share of its guess, which the importer takes from the distribution."""
    for message, row in zip(messages, np.round(shares, DECIMALS), strict=True):
        options = json.dumps(dict(zip(CLASSES, row.tolist(), strict=True)))
        yield message.message_id, CLASSES[int(row.argmax())], options, model, elicitation


def make(folder: Path = FOLDER) -> None:
    """Write the bundle into a folder."""
    messages = read_messages()
    counts = poll([message.shares for message in messages], SEED)
    votes = counts.astype(float)
    write_json(folder / "dataset.json", DATASET)
    difficulties = [round(1.0 - float(row.max() / row.sum()), DECIMALS) for row in votes]
    questions = ((m.message_id, m.text, m.category, m.clarity, hard) for m, hard in zip(messages, difficulties, strict=True))
    write_csv(folder / "questions.csv", ("question_id", "text", "category", "subcategory", "difficulty"), questions)
    polled = zip(messages, counts.tolist(), strict=True)
    given = ((m.message_id, name, count) for m, row in polled for name, count in zip(CLASSES, row, strict=True))
    write_csv(folder / "votes.csv", ("question_id", "class", "votes"), given)
    texts = [message.text for message in messages]
    runs = []
    for classifier in CLASSIFIERS:
        shares = cross_validate(classifier.learn, texts, votes)
        runs.append((classifier.model, classifier.elicitation, shares))
        if classifier.model == TO_SCALE:
            runs.append((classifier.model, SCALED, scale_temperature(shares, majority(votes))))
    for number, (model, elicitation, shares) in enumerate(runs, start=1):
        name = f"{number}-{model}-{elicitation}".lower().replace(" ", "-")
        rows = responses(messages, shares, model, elicitation)
        write_csv(folder / "responses" / f"{name}.csv", ("question_id", "guess", "options", "model", "elicitation"), rows)


if __name__ == "__main__":
    make()
