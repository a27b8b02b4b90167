"""Facts that the product states, against files as released: the life table, checksums of public datasets, published figures."""

import gzip
import hashlib
from pathlib import Path

import pytest

from clueline.data.downloadable_datasets import public_datasets
from clueline.data.life_table import SEXES, death_probabilities
from clueline.queries import published_values
from tests.helpers.bundle_factory import records
from tests.helpers.collected_numbers import names, numbers

pytestmark = pytest.mark.real
RENAMED = {"dist_ce_mean": "dist_ce", "ent_ce_abs_mean": "ent_ce_abs"}


def rows(path):
    return records(path.read_text(encoding="utf-8-sig"))


def test_facts_are_those_of_the_file(shared):
    table = rows(shared("ssa2022") / "PeriodLifeTable_2022_RawData.csv")
    assert [int(row["Age"]) for row in table] == list(range(120))
    for sex in SEXES:
        assert list(death_probabilities(sex)) == [float(row[f"Death probability ({sex.upper()})"]) for row in table]


def test_ages_and_buzzes_are_those_of_the_releases(shared):
    best_ages = {
        (
            "male" if float(row["Question ID"]) < 404 else "female",
            str(int(float(row["Min Age"]))),
            str(int(float(row["Radius_y"]))),
            str(int(float(row["Best Age"]))),
            row["MAS"],
        )
        for row in rows(shared("lifeeval") / "fin_le_data.csv")
    }
    assert {tuple(row.values()) for row in numbers("lifeeval_best_ages")} == best_ages
    released = rows(shared("grace") / "grace_buzzes_notext.csv")
    columns = ("packet", "tossup_index", "category", "n_words", "team", "word_index", "correct")
    assert [[*row.values()] for row in numbers("grace_buzzes")] == [[row[key] for key in columns] for row in released]
    assert all(row["team"].startswith(row["team_kind"]) for row in released)


def test_numbers_of_the_papers_are_those_that_were_collected(published):
    """Without notes, and without what is quoted beside a number."""
    collected = [name for name in names() if name not in ("grace_buzzes", "lifeeval_best_ages")]
    assert len(collected) == 7
    for name in collected:
        for kept, given in zip(numbers(name), published(name), strict=True):
            assert kept.keys() >= given.keys() - {"note"}
            for column, value in kept.items():
                quoted = name == "grace_tables6_7_results" and column == "printed"
                assert given[column] == value or (quoted and given[column].startswith(value)), (name, given)


def test_checksums_are_those_of_the_released_files(shared):
    for key, folder in (("lifeeval", "lifeeval"), ("chaosnli-snli", "chaosnli")):
        released = {path.name.removesuffix(".gz"): path for path in Path(shared(folder)).rglob("*") if path.is_file()}
        for file in (file for part in public_datasets()[key].imports for file in part.files):
            path = released[Path(file.path).name]
            content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            assert (hashlib.sha256(content).hexdigest(), len(content)) == (file.sha256, file.bytes), file.path


def metric_of(row):
    """Return the key of a published metric here. LifeEval's accuracy is of the answers with a confidence."""
    if row["metric"] == "accuracy" and row["paper"].startswith("LifeEval"):
        return "accuracy_scored"
    return RENAMED.get(row["metric"], row["metric"])


def test_no_published_figure_is_lost_or_changed(published):
    given = [
        (row["paper"], row["table"].partition(" (")[0], row["model"], row["elicitation"] or None, row["slice"] or None,
         metric_of(row), float(row["value"]))
        for row in published("published_metrics")
    ]  # fmt: skip
    stated = published_values.published().values
    assert [(v.paper, v.table, v.model, v.elicitation, v.slice, v.metric, v.value) for v in stated] == given
