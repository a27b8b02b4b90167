"""Guessers that search a small knowledge base: the best match is the guess, its scores give the confidence.

Nothing here reads an answer or is fitted to the answers: the temperature of a softmax is about one
standard deviation of the guesser's scores over all queries and documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import bm25s
import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

Floats = NDArray[np.float64]
Search = Callable[[Sequence[str], Sequence[str]], Floats]
TIE = 6  # decimals to which equal scores are a tie
LSA_DIMENSIONS = 64


class Guesser(NamedTuple):
    """A search method, and the temperature of its softmax in units of its scores."""

    model: str
    search: Search  # (documents, queries) -> scores, shape (queries, documents)
    temperature: float


def tfidf_words(documents: Sequence[str], queries: Sequence[str]) -> Floats:
    """Cosine of TF-IDF vectors over words, in [0, 1]."""
    vectorizer = _words()
    known = vectorizer.fit_transform(documents)
    scores: Floats = (vectorizer.transform(queries) @ known.T).toarray()
    return scores


def tfidf_characters(documents: Sequence[str], queries: Sequence[str]) -> Floats:
    """Cosine of TF-IDF vectors over runs of three to five characters within words, in [0, 1]."""
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True, strip_accents="unicode")
    known = vectorizer.fit_transform(documents)
    scores: Floats = (vectorizer.transform(queries) @ known.T).toarray()
    return scores


def bm25(documents: Sequence[str], queries: Sequence[str]) -> Floats:
    """BM25 (Lucene's, k1 = 1.5, b = 0.75), at least 0 and without an upper bound."""
    index = bm25s.BM25()
    index.index(bm25s.tokenize(list(documents), return_ids=False, show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(list(queries), return_ids=False, show_progress=False)
    return np.array([index.get_scores(words) for words in tokens], dtype=float)


def lsa(documents: Sequence[str], queries: Sequence[str]) -> Floats:
    """Cosine in the space of the largest singular vectors of the TF-IDF matrix, in [-1, 1]."""
    vectorizer = _words()
    # ARPACK from a seeded start, to machine precision; the randomised default is only approximate.
    reduce = TruncatedSVD(LSA_DIMENSIONS, algorithm="arpack", random_state=0)
    known = normalize(reduce.fit_transform(vectorizer.fit_transform(documents)))
    scores: Floats = normalize(reduce.transform(vectorizer.transform(queries))) @ known.T
    return scores


def _words() -> TfidfVectorizer:
    return TfidfVectorizer(stop_words="english", sublinear_tf=True, strip_accents="unicode")


GUESSERS = (
    Guesser("TF-IDF words", tfidf_words, 0.025),
    Guesser("TF-IDF characters", tfidf_characters, 0.025),
    Guesser("BM25", bm25, 2.5),
    Guesser("LSA 64", lsa, 0.12),
)


def softmax_confidence(scores: Floats, temperature: float) -> Floats:
    """Share of the best document in the softmax of all scores, in (0, 1]; shape (queries,)."""
    best = scores.max(axis=1, keepdims=True)
    shares: Floats = 1.0 / np.exp((scores - best) / temperature).sum(axis=1)
    return shares


def margin_confidence(scores: Floats) -> Floats:
    """Lead of the best document: 1 - second / best, in [0, 1]; shape (queries,)."""
    # Without any match, the margin is 0.
    second, best = np.sort(np.maximum(scores, 0.0), axis=1)[:, -2:].T
    margins: Floats = 1.0 - np.divide(second, best, out=np.ones_like(best), where=best > 0)
    return margins


def best_match(scores: Floats) -> NDArray[np.intp]:
    """Index of the best document per query, the first where tied."""
    best: NDArray[np.intp] = np.round(scores, TIE).argmax(axis=1)
    return best


def neighbours(documents: Sequence[str], groups: Sequence[str], count: int) -> list[list[int]]:
    """For each document the ``count`` others of its group that are most like it, the nearest first."""
    scores = np.round(tfidf_words(documents, documents), TIE)
    scores[np.array(groups)[:, None] != np.array(groups)] = -1.0
    np.fill_diagonal(scores, -2.0)
    nearest: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :count].tolist()
    return nearest
