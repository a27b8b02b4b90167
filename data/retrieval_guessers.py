"""Guessers that search a small knowledge base: the best match is the guess, and the scores give the confidence.

Nothing here reads the answers or is fitted to them: the temperature of a softmax is about one
standard deviation of the guesser's scores over all queries and documents.

A guesser is built once from the documents and then reads texts part by part. It needs only numpy and scipy, so
servers can run it. A test compares it with scikit-learn and bm25s.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
Search = Callable[[Sequence[str]], Floats]
Tokens = Callable[[str], Iterable[str]]
TIE = 6  # decimals; scores that are equal when rounded to these are tied
LSA_DIMENSIONS = 64
SATURATION, LENGTH_WEIGHT = 1.5, 0.75  # k1 and b of BM25
GRAMS = (3, 5)  # characters of the shortest and longest runs
WORD = re.compile(r"\b\w\w+\b")


class Guesser(NamedTuple):
    """A search method. ``temperature`` is that of the softmax, in units of the scores.

    ``build`` reads the documents and returns a search. Given the successive parts of a text, a search returns the scores of all
    documents for the text up to the end of each part, shape (parts, documents).
    """

    model: str
    build: Callable[[Sequence[str]], Search]
    temperature: float


class TfIdf:
    """Vectors of logarithmic term frequency times inverse document frequency, of length 1, as scikit-learn computes them.

    A vector has ``(1 + ln f) (1 + ln((1 + n) / (1 + d)))`` for a term that occurs f times, and in d of n documents. Those of the
    documents are ``known``, shape (documents, terms).
    """

    def __init__(self, documents: Sequence[str], tokens: Tokens) -> None:
        self._tokens = tokens
        self._terms = {term: place for place, term in enumerate(sorted({t for document in documents for t in tokens(document)}))}
        counts = self._counts(documents)
        holders = np.bincount(counts.indices, minlength=len(self._terms))
        self._inverse_frequency = np.log((1 + len(documents)) / (1 + holders)) + 1
        self.known = self._weighted(counts)

    def vectors(self, parts: Sequence[str]) -> sparse.csr_array:
        """Return the vectors of a text up to the end of each of its parts, shape (parts, terms)."""
        return self._weighted(sparse.csr_array(sparse.csr_array(np.tri(len(parts))) @ self._counts(parts)))

    def cosines(self, parts: Sequence[str]) -> Floats:
        """Return the cosines between a text up to the end of each part and the documents, in [0, 1]; shape (parts, documents)."""
        scores: Floats = (self.vectors(parts) @ self.known.T).toarray()
        return scores

    def _counts(self, texts: Sequence[str]) -> sparse.csr_array:
        """Count how often each term occurs in each text; shape (texts, terms)."""
        places = [[self._terms[token] for token in self._tokens(text) if token in self._terms] for text in texts]
        ends = np.cumsum([0, *map(len, places)])
        columns = np.array([place for row in places for place in row], dtype=np.intp)
        counts = sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(len(texts), len(self._terms)))
        counts.sum_duplicates()
        return counts

    def _weighted(self, counts: sparse.csr_array) -> sparse.csr_array:
        weights = counts.copy()
        weights.data = (np.log(weights.data) + 1) * self._inverse_frequency[weights.indices]
        lengths = np.sqrt(weights.multiply(weights).sum(axis=1))
        weights.data /= np.repeat(lengths, np.diff(weights.indptr))
        return weights


def tfidf_words(documents: Sequence[str]) -> Search:
    """Build a search by the cosine of TF-IDF vectors over words, in [0, 1]."""
    return TfIdf(documents, _words).cosines


def tfidf_characters(documents: Sequence[str]) -> Search:
    """Build a search by the cosine of TF-IDF vectors over runs of three to five characters within words, in [0, 1]."""
    return TfIdf(documents, _characters).cosines


def bm25(documents: Sequence[str]) -> Search:
    """Build a search by BM25 (Lucene's, k1 = 1.5, b = 0.75), in single precision, as in bm25s. Scores are 0 or more."""
    tokens = [_bm25_words(document) for document in documents]
    terms = {term: place for place, term in enumerate(dict.fromkeys(term for words in tokens for term in words))}
    counts = np.zeros((len(documents), len(terms)), dtype=np.float32)
    for row, words in zip(counts, tokens, strict=True):
        np.add.at(row, [terms[word] for word in words], 1)
    sizes, holders = np.array([len(words) for words in tokens]), (counts > 0).sum(axis=0)
    rarity = np.log(1 + (len(documents) - holders + 0.5) / (holders + 0.5)).astype(np.float32)
    room = SATURATION * ((1 - LENGTH_WEIGHT) + LENGTH_WEIGHT * sizes / sizes.mean())
    weights = (rarity * (counts / (room[:, None] + counts))).T.astype(np.float32)  # shape (terms, documents)

    def search(parts: Sequence[str]) -> Floats:
        places = [[terms[word] for word in _bm25_words(part) if word in terms] for part in parts]
        ends = np.cumsum([len(row) for row in places])
        begun = np.zeros((1, len(documents)), dtype=np.float32)
        steps = np.concatenate([begun, weights[[place for row in places for place in row]]])
        scores: Floats = np.cumsum(steps, axis=0)[ends].astype(np.float64)
        return scores

    return search


def lsa(documents: Sequence[str]) -> Search:
    """Build a search by the cosine in the space of the largest singular vectors of the TF-IDF matrix, in [-1, 1]."""
    index = TfIdf(documents, _words)
    # The start vector is always the same, and svds converges to machine precision.
    start = np.random.RandomState(0).uniform(-1, 1, min(index.known.shape))
    left, sizes, right = svds(index.known, LSA_DIMENSIONS, v0=start)
    known = _of_length_one(left * sizes)

    def search(parts: Sequence[str]) -> Floats:
        scores: Floats = _of_length_one(index.vectors(parts) @ right.T) @ known.T
        return scores

    return search


def _words(text: str) -> list[str]:
    return [word for word in WORD.findall(_without_accents(text.lower())) if word not in MANY_STOP_WORDS]


def _bm25_words(text: str) -> list[str]:
    return [word for word in WORD.findall(text.lower()) if word not in FEW_STOP_WORDS]


def _characters(text: str) -> list[str]:
    """Return runs of characters within words, with a space at both ends. A word that is shorter than a run is one run."""
    runs = []
    for word in _without_accents(text.lower()).split():
        padded = f" {word} "
        for size in range(GRAMS[0], GRAMS[1] + 1):
            runs += [padded[start : start + size] for start in range(max(len(padded) - size + 1, 1))]
            if size >= len(padded):
                break
    return runs


def _without_accents(text: str) -> str:
    if text.isascii():
        return text
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def _of_length_one(vectors: Floats) -> Floats:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    scaled: Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return scaled


GUESSERS = (
    Guesser("TF-IDF words", tfidf_words, 0.025),
    Guesser("TF-IDF characters", tfidf_characters, 0.025),
    Guesser("BM25", bm25, 2.5),
    Guesser("LSA 64", lsa, 0.12),
)


def softmax_confidence(scores: Floats, temperature: float) -> Floats:
    """Return the share of the best document in the softmax of all scores at a temperature, in (0, 1]; shape (queries,)."""
    best = scores.max(axis=1, keepdims=True)
    shares: Floats = 1.0 / np.exp((scores - best) / temperature).sum(axis=1)
    return shares


def margin_confidence(scores: Floats) -> Floats:
    """Return the lead of the best document: 1 - second / best, in [0, 1]; shape (queries,). Negative scores count as 0."""
    # Without any match, the margin is 0.
    second, best = np.sort(np.maximum(scores, 0.0), axis=1)[:, -2:].T
    margins: Floats = 1.0 - np.divide(second, best, out=np.ones_like(best), where=best > 0)
    return margins


def best_match(scores: Floats) -> Places:
    """Return the index of the best document for each query, the first of tied ones; shape (queries,)."""
    best: Places = np.round(scores, TIE).argmax(axis=1)
    return best


def neighbours(documents: Sequence[str], groups: Sequence[str], count: int) -> list[list[int]]:
    """Return the indices of the ``count`` other documents that are nearest to each one, those of its group first."""
    known = TfIdf(documents, _words).known
    scores = np.round((known @ known.T).toarray(), TIE)
    scores[np.array(groups)[:, None] != np.array(groups)] = -1.0
    np.fill_diagonal(scores, -2.0)
    nearest: list[list[int]] = np.argsort(-scores, axis=1, kind="stable")[:, :count].tolist()
    return nearest


# As in scikit-learn (BSD-3-Clause), from the Glasgow Information Retrieval Group.
_MANY = """\
    a about above across after afterwards again against all almost alone along already also although always am among amongst
    amoungst amount an and another any anyhow anyone anything anyway anywhere are around as at back be became because become
    becomes becoming been before beforehand behind being below beside besides between beyond bill both bottom but by call
    can cannot cant co con could couldnt cry de describe detail do done down due during each eg eight either eleven else
    elsewhere empty enough etc even ever every everyone everything everywhere except few fifteen fifty fill find fire first
    five for former formerly forty found four from front full further get give go had has hasnt have he hence her here
    hereafter hereby herein hereupon hers herself him himself his how however hundred i ie if in inc indeed interest into is
    it its itself keep last latter latterly least less ltd made many may me meanwhile might mill mine more moreover most
    mostly move much must my myself name namely neither never nevertheless next nine no nobody none noone nor not nothing
    now nowhere of off often on once one only onto or other others otherwise our ours ourselves out over own part per
    perhaps please put rather re same see seem seemed seeming seems serious several she should show side since sincere six
    sixty so some somehow someone something sometime sometimes somewhere still such system take ten than that the their them
    themselves then thence there thereafter thereby therefore therein thereupon these they thick thin third this those
    though three through throughout thru thus to together too top toward towards twelve twenty two un under until up upon us
    very via was we well were what whatever when whence whenever where whereafter whereas whereby wherein whereupon wherever
    whether which while whither who whoever whole whom whose why will with within without would yet you your yours yourself
    yourselves"""
# As in bm25s (MIT) and Lucene.
_FEW = """a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to was
    will with"""

MANY_STOP_WORDS, FEW_STOP_WORDS = frozenset(_MANY.split()), frozenset(_FEW.split())
