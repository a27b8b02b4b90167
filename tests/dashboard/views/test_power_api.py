"""The address of power, its table, and the page that shows the same."""

import json

from queries.metrics import CATALOGUE
from queries.power import power
from queries.selection import Selection
from tests.helpers.drawn_pages import drawn, words
from tests.helpers.drawn_pages import plain as as_sent
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


def test_the_page_says_whether_runs_are_equal_within_a_margin(app, client):
    rows = [row for row in get(client, "/api/v1/leaderboard?dataset=pyramid&metrics=calscore")["rows"] if row["ranked"]]
    first, second = sorted(rows, key=lambda row: row["metrics"]["calscore"]["rank"])[:2]
    keys = f"dataset=pyramid&a={second['run']}&b={first['run']}"
    assert "With a margin of" not in words(drawn(app, "compare", keys))
    verdicts = []
    for margin in ("0.5", "0.01"):
        (row,) = get(client, f"/api/v1/power?{keys}&metrics=calscore&margin={margin}")["metrics"]
        equivalence = get(client, f"/api/v1/compare?{keys}&metrics=calscore&margin={margin}")["metrics"]["calscore"]["margin"]
        text = words(drawn(app, "compare", f"{keys}&metric=calscore&margin={margin}"))
        assert f"With a margin of {float(margin):.3f}: {equivalence['verdict']} (90 % interval" in text
        assert f"Showing that equal runs differ by less takes {row['needed_equal']:,} questions" in text
        assert f"a difference of {float(margin):.3f} takes {row['needed_different']:,} questions" in text
        verdicts.append(equivalence["verdict"])
        board = json.dumps(as_sent(drawn(app, "leaderboard", f"dataset=pyramid&margin={margin}")), ensure_ascii=False)
        assert (
            f"Compared with {first['model']} · {first['elicitation']} by the primary metric, with a margin of {margin}: " in board
        )
    assert verdicts == ["different by less than the margin", "different"]
    assert "No number of questions shows" in words(drawn(app, "compare", f"{keys}&margin=0"))
    single = f"{keys}&margin=0.02&q=Frankenstein"
    assert get(client, f"/api/v1/compare?{single}&metrics=calscore")["questions"] == 1
    assert "is undefined, because the difference comes from a single question" in words(drawn(app, "compare", single))


def test_no_question_count_for_the_measured_difference(client):
    a, *_, b = [row["run"] for row in get(client, "/api/v1/leaderboard?dataset=lifeeval&metrics=brier")["rows"]]
    (row,) = get(client, f"/api/v1/power?dataset=lifeeval&a={a}&b={b}&metrics=brier")["metrics"]
    assert (row["target"], row["needed"]) == (None, None) and row["detectable"] > 0
