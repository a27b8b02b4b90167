"""The page that compares two runs says what the address of power returns."""

from tests.helpers.drawn_pages import as_text, drawn, words
from tests.helpers.json_api import get


def test_the_page_says_how_many_questions_it_takes(app, client):
    """It has no number of questions for the measured difference, only for one that the address states."""
    a, *_, b = [row["run"] for row in get(client, "/api/v1/leaderboard?dataset=lifeeval&metrics=brier")["rows"]]
    keys = f"dataset=lifeeval&a={a}&b={b}"
    (row,), (bare,) = (get(client, f"/api/v1/power?{keys}&metrics=brier{more}")["metrics"] for more in ("&d=0.02", ""))
    assert (bare["target"], bare["needed"]) == (None, None) and bare["detectable"] == row["detectable"] > 0
    text = words(drawn(app, "compare", f"{keys}&metric=brier"))
    detectable = f"a difference of {row['detectable']:.3f} would have been detected with 80 % power"
    assert f"With 808 questions in 21 clusters, {detectable}" in text and "Detecting" not in text
    assert f"Detecting 0.020 takes {row['needed']:,} questions" in words(drawn(app, "compare", f"{keys}&metric=brier&d=0.02"))


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
        board = as_text(drawn(app, "leaderboard", f"dataset=pyramid&margin={margin}"))
        assert (
            f"Compared with {first['model']} · {first['elicitation']} by the primary metric, with a margin of {margin}: " in board
        )
    assert verdicts == ["different by less than the margin", "different"]
    assert "No number of questions shows" in words(drawn(app, "compare", f"{keys}&margin=0"))
    single = f"{keys}&margin=0.02&q=Frankenstein"
    assert get(client, f"/api/v1/compare?{single}&metrics=calscore")["questions"] == 1
    assert "is undefined, because the difference comes from a single question" in words(drawn(app, "compare", single))
