"""The life table of the product, compared with the file of the Social Security Administration and LifeEval's own values."""

import pytest

from data.life_table import best_guess, death_probabilities
from tests.helpers.bundle_factory import records

pytestmark = pytest.mark.real


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
