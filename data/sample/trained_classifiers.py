"""Cross-validated classifiers of short texts. They learn from the class that most people chose, one from the shares of votes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.naive_bayes import MultinomialNB

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Texts = Sequence[str]
Learn = Callable[[Texts, Floats, Texts], Floats]

FOLDS = 10
INVERSE_PENALTY = 10.0  # of logistic regression
SMOOTHING = 0.3  # added to the count of each word in each class
NEARNESS = 0.05  # difference in cosine that makes a text weigh e times as much
MAX_TEMPERATURE = 20.0  # T is searched for between the inverse of this and this


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
