"""A metric over release dates on the leaderboard, in a browser: the figure follows the column that sorts."""

from data.store import open_store
from data.store.run_tags import change_tags
from tests.helpers.page_actions import api, eventually, traces
from tests.helpers.page_visits import Visit
from tests.helpers.serving import start_server

DATES = ("2024-05-13", "2025-01-20", "2025-06-01")
PYRAMID = [("dataset", "pyramid")]


def shows(page, metric):
    """Wait until the dots of the figure are the runs with dates, at their values of a metric."""
    answer = api(page, "release-dates", PYRAMID, metric=metric)["runs"]

    def check():
        dots = {trace["meta"]: (trace["x"], trace["y"]) for trace in traces(page, "release-dates") if trace["meta"]}
        assert dots.keys() == {run["run"] for run in answer}
        for run in answer:
            days, values = dots[run["run"]]
            assert [day[:10] for day in days] == [run["day"]] and abs(values[0] - run["value"]) < 1e-4

    assert [run["day"] for run in answer] == list(DATES)
    eventually(page, check)


def test_release_dates_follow_the_metric(browser, copied, tmp_path):
    store = open_store(copied)
    runs = [run for (run,) in store.snapshot().rows("select run from runs where dataset = 'pyramid' order by position")]
    for run, date in zip(runs, DATES, strict=False):
        change_tags(store, run, {"released": date}, None)
    store.close()
    server = start_server(copied, tmp_path / "log", workers=1)
    visit = Visit(browser, server)
    try:
        page = visit.page
        page.goto("/?dataset=pyramid&sort=brier")
        page.get_by_role("heading", name="By release date").wait_for()
        shows(page, "brier")
        page.locator("thead button", has_text="Accuracy").click()
        shows(page, "accuracy")
    finally:
        visit.close()
        server.stop()
    assert not visit.complaints, visit.complaints
