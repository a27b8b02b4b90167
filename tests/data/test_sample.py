"""The bundled datasets: their scripts write them again byte for byte, and they hold what they promise."""

import csv
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from clueline.data.importing import ingest
from clueline.data.importing.staging import ImportOptions
from clueline.data.quizbowl.answer_lines import parse_answer_line
from clueline.data.sample import make_lifeeval, make_pyramid, tone_messages
from clueline.data.sample.pyramid_toml_files import CATEGORIES, read_entries, read_questions
from tests.helpers.run_tables import with_runs

SAMPLE = Path(make_lifeeval.__file__).parent
LIFEEVAL, PYRAMID, TONE = SAMPLE / "lifeeval", SAMPLE / "pyramid", SAMPLE / "tone"


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def files(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def write_tone(folder: Path) -> None:
    # Needed to write the bundle, not to use it.
    pytest.importorskip("sklearn", reason="scikit-learn is a development dependency")
    from clueline.data.sample import make_tone

    make_tone.make(folder)


@pytest.mark.parametrize(("bundle", "write"), [(LIFEEVAL, make_lifeeval.make), (PYRAMID, make_pyramid.make), (TONE, write_tone)])
def test_script_writes_the_bundle_again(bundle, write, tmp_path):
    write(tmp_path)
    released = ("responses/models.parquet", "responses/people.parquet")  # made from what others released
    written, kept = files(tmp_path), {name: content for name, content in files(bundle).items() if name not in released}
    assert [name for name in sorted(written | kept) if written.get(name) != kept.get(name)] == []


def test_samples_stay_small():
    assert sum(len(content) for content in files(SAMPLE).values()) < 1_500_000


# Pyramid: questions and guessers


def test_pyramid_has_ten_questions_in_each_category():
    questions = read_questions()
    assert len({q.question_id for q in questions}) == 60
    assert [q.category for q in questions] == [category for category in CATEGORIES.values() for _ in range(10)]
    assert {len(q.clues) for q in questions} == {5, 6}
    assert [(q["question_id"], q["text"], q["answer"]) for q in rows(PYRAMID / "questions.csv")] == [
        (q.question_id, q.text, q.answer) for q in questions
    ]


@pytest.mark.parametrize(("bundle", "people"), [(PYRAMID, "simulated"), (TONE, "simulated: 100 annotators")])
def test_datasets_say_what_is_simulated(bundle, people):
    facts = json.loads((bundle / "dataset.json").read_text(encoding="utf-8"))
    assert facts["simulated"] is True and facts["note"].startswith(f"The people are {people}")
    assert bundle == PYRAMID or (facts["kind"], facts["classes"]) == ("votes", list(tone_messages.CLASSES))


def test_one_entry_answers_a_question():
    entries = read_entries()
    for question in read_questions():
        line = parse_answer_line(question.answer)
        assert [e.title for e in entries if line.grade(e.title) == "accept"] == [question.page]


# Pyramid: simulated people

BUZZES = rows(PYRAMID / "buzzes.csv")


def test_buzzes_state_the_grades_that_the_rules_give():
    lines = {q.question_id: parse_answer_line(q.answer) for q in read_questions()}
    for b in BUZZES:
        assert lines[b["question_id"]].grade(b["guess"]) == ("accept" if b["correct"] == "true" else "reject")


# Tone: messages and simulated annotators

VOTES = {
    message: [int(v["votes"]) for v in rows(TONE / "votes.csv") if v["question_id"] == message]
    for message in [q["question_id"] for q in rows(TONE / "questions.csv")]
}
RUNS = {path.stem[2:]: rows(path) for path in sorted((TONE / "responses").iterdir())}


def distributions(run: str) -> np.ndarray:
    """Return the shares of a run, in the order of the messages and classes; shape (180, 3)."""
    return np.array([[json.loads(a["options"])[name] for name in tone_messages.CLASSES] for a in RUNS[run]])


SHARES = {run: distributions(run) for run in RUNS}
PEOPLE = np.array(list(VOTES.values())) / 100
GOLD = PEOPLE.argmax(axis=1)


def test_tone_has_thirty_messages_in_each_category():
    written = tone_messages.read_messages()
    assert len({m.message_id for m in written}) == len({m.text for m in written}) == 180
    assert [m.category for m in written] == [category for category in tone_messages.CATEGORIES.values() for _ in range(30)]
    assert [(q["question_id"], q["text"], q["category"]) for q in rows(TONE / "questions.csv")] == [
        (m.message_id, m.text, m.category) for m in written
    ]
    assert all(min(m.shares) > 0 and math.isclose(sum(m.shares), 1) for m in written)


def test_messages_go_from_clear_to_ambiguous():
    questions = rows(TONE / "questions.csv")
    assert Counter(q["subcategory"] for q in questions) == {"clear": 84, "leaning": 57, "open": 39}
    kinds = np.array([q["subcategory"] for q in questions])
    largest = PEOPLE.max(axis=1)
    agreement = [largest[kinds == kind].mean() for kind in ("clear", "leaning", "open")]
    assert agreement[0] > 0.75 > agreement[1] > 0.5 > agreement[2] > 1 / 3
    assert [float(q["difficulty"]) for q in questions] == pytest.approx(1 - largest)
    for category in tone_messages.CATEGORIES.values():
        assert len({int(g) for g, q in zip(GOLD, questions, strict=True) if q["category"] == category}) == 3


def test_annotators_vote_as_the_note_says(monkeypatch):
    """Without biases, a share p is chosen with probability (1 - s) p + s / 3, where s is 3.5 % on average."""
    monkeypatch.setattr(tone_messages, "BIAS_SPREAD", 1e-9)
    meant = [0.7, 0.2, 0.1]
    shares = tone_messages.poll([meant] * 2000, seed=1).mean(axis=0) / tone_messages.ANNOTATORS
    expected = [0.965 * share + 0.035 / 3 for share in meant]
    # Standard error of a mean of 200,000 votes: 0.001; of the mean carelessness of 100 annotators: 0.0014, times 0.37.
    assert shares == pytest.approx(expected, abs=0.004)


# Tone: classifiers


def test_tone_is_imported_as_it_is(store):
    report = ingest.import_paths(store, [TONE], ImportOptions())
    assert not report.warnings
    snapshot = store.snapshot()
    assert [row[0] for row in snapshot.rows("select answer from questions order by position")] == [
        tone_messages.CLASSES[k] for k in GOLD
    ]
    stored = with_runs(snapshot).rows("""select r.model || ' ' || r.elicitation, avg(confidence), avg(correct) from responses
        join runs r using (run) group by 1 order by min(r.position)""")
    for (_, confidence, correct), shares in zip(stored, SHARES.values(), strict=True):
        assert confidence == pytest.approx(shares.max(axis=1).mean())
        assert correct == pytest.approx((shares.argmax(axis=1) == GOLD).mean())


def test_no_classifier_learns_from_what_it_is_asked():
    pytest.importorskip("sklearn", reason="scikit-learn is a development dependency")
    from clueline.data.sample import make_tone

    texts = [str(k) for k in range(45)]
    votes = np.eye(3)[np.arange(45) % 3] * 100
    asked_once = []

    def learn(known, on, texts):
        assert not set(known) & set(texts)
        assert len(known) + len(texts) == 45
        assert on.argmax(axis=1).tolist() == [int(text) % 3 for text in known]
        asked_once.extend(texts)
        return np.eye(3)[[int(text) % 3 for text in texts]]

    assert np.array_equal(make_tone.cross_validate(learn, texts, votes) * 100, votes)
    assert sorted(asked_once) == sorted(texts)


def test_the_temperature_is_the_most_likely_one():
    """Two classes, log odds 2, three of four right: sigmoid(2 / T) = 3/4, so T = 2 / log 3."""
    pytest.importorskip("sklearn", reason="scikit-learn is a development dependency")
    from clueline.data.sample import make_tone

    logs = np.tile([2.0, 0.0], (4, 1))
    assert make_tone.temperature(logs, np.array([0, 0, 0, 1])) == pytest.approx(2 / math.log(3), abs=1e-12)
