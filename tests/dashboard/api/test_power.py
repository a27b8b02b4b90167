"""The address of power, its table, and the page that shows the same."""

from queries.metrics import CATALOGUE
from queries.power import power
from queries.selection import Selection
from tests.helpers.drawn_pages import drawn, words
from tests.helpers.json_api import error, get, plain, table


def test_json_csv_and_page_say_the_same(app, client, snapshot):
    a, *_, b = [row["run"] for row in get(client, "/api/v1/leaderboard?dataset=lifeeval&metrics=brier")["rows"]]
    keys = f"dataset=lifeeval&a={a}&b={b}"
    answer = get(client, f"/api/v1/power?{keys}&metrics=brier&d=0.02")
    assert answer == plain(power(snapshot, Selection("lifeeval"), a, b, [CATALOGUE["brier"]], 0.02))
    (row,) = answer["metrics"]
    (cells,) = table(client, f"/api/v1/power.csv?{keys}&metrics=brier&d=0.02")
    assert int(cells["needed"]) == row["needed"] and float(cells["detectable"]) == row["detectable"]
    text = words(drawn(app, "compare", f"{keys}&metric=brier"))
    assert (
        f"With 808 questions in 21 clusters, a difference of {row['detectable']:.3f} would have been detected with 80 % power"
        in text
    )
    assert "Detecting" not in text
    assert f"Detecting 0.020 takes {row['needed']:,} questions" in words(drawn(app, "compare", f"{keys}&metric=brier&d=0.02"))
    assert error(client, f"/api/v1/power?{keys}&d=0", 400)["field"] == "d"


def test_no_question_count_for_the_measured_difference(client):
    a, *_, b = [row["run"] for row in get(client, "/api/v1/leaderboard?dataset=lifeeval&metrics=brier")["rows"]]
    (row,) = get(client, f"/api/v1/power?dataset=lifeeval&a={a}&b={b}&metrics=brier")["metrics"]
    assert (row["target"], row["needed"]) == (None, None) and row["detectable"] > 0
