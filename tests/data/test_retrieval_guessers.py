"""The bundled guessers compared with scikit-learn and bm25s, and their scores for texts without known words."""

import numpy as np
import pytest

from clueline.data.retrieval_guessers import GUESSERS, LSA_DIMENSIONS, bm25, lsa, tfidf_characters, tfidf_words
from clueline.data.sample.pyramid_toml_files import read_entries, read_questions

DOCUMENTS = [entry.document for entry in read_entries()]
CLUES = read_questions()[1].clues  # with accents and quotes
REVEALED = [" ".join(CLUES[: clue + 1]) for clue in range(len(CLUES))]


@pytest.mark.parametrize(
    ("build", "options"),
    [
        (tfidf_words, {"stop_words": "english"}),
        (tfidf_characters, {"analyzer": "char_wb", "ngram_range": (3, 5)}),
    ],
)
def test_tf_idf_agrees_with_scikit_learn(build, options):
    text = pytest.importorskip("sklearn.feature_extraction.text", reason="scikit-learn is a development dependency")
    vectorizer = text.TfidfVectorizer(sublinear_tf=True, strip_accents="unicode", **options)
    known = vectorizer.fit_transform(DOCUMENTS)
    expected = (vectorizer.transform(REVEALED) @ known.T).toarray()
    assert build(DOCUMENTS)(CLUES) == pytest.approx(expected, abs=1e-12)


def test_lsa_agrees_with_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text", reason="scikit-learn is a development dependency")
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    vectorizer = text.TfidfVectorizer(sublinear_tf=True, strip_accents="unicode", stop_words="english")
    reduce = TruncatedSVD(LSA_DIMENSIONS, algorithm="arpack", random_state=0)
    known = normalize(reduce.fit_transform(vectorizer.fit_transform(DOCUMENTS)))
    expected = normalize(reduce.transform(vectorizer.transform(REVEALED))) @ known.T
    assert lsa(DOCUMENTS)(CLUES) == pytest.approx(expected, abs=1e-9)


def test_bm25_agrees_with_bm25s():
    bm25s = pytest.importorskip("bm25s", reason="bm25s is a development dependency")
    index = bm25s.BM25()
    index.index(bm25s.tokenize(DOCUMENTS, return_ids=False, show_progress=False), show_progress=False)
    tokens = bm25s.tokenize(REVEALED, return_ids=False, show_progress=False)
    assert np.array_equal(bm25(DOCUMENTS)(CLUES), [index.get_scores(words) for words in tokens])


@pytest.mark.parametrize("guesser", GUESSERS, ids=lambda guesser: guesser.model)
def test_a_text_without_known_words_scores_nothing(guesser):
    search = guesser.build(DOCUMENTS)
    assert search(["", "§ 🦉"]).shape == (2, len(DOCUMENTS))
    assert not search(["", "§ 🦉"]).any()
    later = search(["🦉", CLUES[0]])
    assert not later[0].any() and later[1] == pytest.approx(search([f"🦉 {CLUES[0]}"])[0], abs=1e-12)
