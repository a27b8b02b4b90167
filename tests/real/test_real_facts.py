"""Facts that the product states, against files as released: the life table, checksums of public datasets, published figures."""

import gzip
import hashlib
from pathlib import Path

import pytest

from clueline.data.downloadable_datasets import public_datasets
from clueline.data.life_table import best_guess, death_probabilities
from clueline.queries import published_values
from tests.helpers.bundle_factory import records

pytestmark = pytest.mark.real
RENAMED = {"dist_ce_mean": "dist_ce", "ent_ce_abs_mean": "ent_ce_abs"}


def rows(path):
    return records(path.read_text(encoding="utf-8-sig"))


@pytest.mark.parametrize("sex", ["male", "female"])
def test_facts_are_those_of_the_file(shared, sex):
    table = rows(shared("ssa2022") / "PeriodLifeTable_2022_RawData.csv")
    assert [int(row["Age"]) for row in table] == list(range(120))
    assert list(death_probabilities(sex)) == [float(row[f"Death probability ({sex.upper()})"]) for row in table]


def test_published_best_ages(shared):
    published = {
        (int(float(row["Radius_y"])), int(float(row["Min Age"])), "male" if float(row["Question ID"]) < 404 else "female"): (
            int(float(row["Best Age"])), float(row["MAS"]),
        )
        for row in rows(shared("lifeeval") / "fin_le_data.csv")
    }  # fmt: skip
    assert len(published) == 88
    for person, (age, mas) in published.items():
        best, probability = best_guess(*person)
        assert probability == pytest.approx(mas, abs=1e-6), person
        assert best == age or mas > 1 - 1e-6, person  # several ages are equally good if everybody is within the radius


@pytest.mark.parametrize(("key", "folder"), [("lifeeval", "lifeeval"), ("chaosnli-snli", "chaosnli")])
def test_checksums_are_those_of_the_released_files(shared, key, folder):
    released = {path.name.removesuffix(".gz"): path for path in Path(shared(folder)).rglob("*") if path.is_file()}
    for part in public_datasets()[key].imports:
        for file in part.files:
            content = (path := released[Path(file.path).name]).read_bytes()
            content = gzip.decompress(content) if path.suffix == ".gz" else content
            assert (hashlib.sha256(content).hexdigest(), len(content)) == (file.sha256, file.bytes), file.path


def test_no_published_figure_is_lost_or_changed(published):
    given = [
        (row["paper"], row["table"].partition(" (")[0], row["model"], row["elicitation"] or None, row["slice"] or None,
         RENAMED.get(row["metric"], row["metric"]), float(row["value"]))
        for row in published("published_metrics")
    ]  # fmt: skip
    stated = published_values.published().values
    assert [(v.paper, v.table, v.model, v.elicitation, v.slice, v.metric, v.value) for v in stated] == given
