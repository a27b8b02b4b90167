"""All datasets in a browser: a metric and some datasets are chosen, and the table is that of the JSON address."""

from tests.helpers.page_actions import api, choose, eventually, heading, pairs, path, traces, written

TABLE = """() => [...document.querySelectorAll("table.across tbody tr")].map((row) => [
    row.querySelector("th .name").innerText.split(" · ")[0], row.querySelector("th .row-note")?.innerText ?? "",
    [...row.querySelectorAll("td a")].map((link) => [link.innerText, link.getAttribute("href")])])"""


def shows(page, keys):
    """Wait until address and table are those of the given keys."""

    def check():
        assert pairs(page) == sorted(keys)
        columns = [column["dataset"] for column in expected["datasets"]]
        assert page.evaluate(TABLE) == [
            [row["model"], row["elicitation"],
             [[written(row["cells"][name]["value"]), f"/runs/{row['cells'][name]['run']}"] for name in columns
              if name in row["cells"] and row["cells"][name]["value"] is not None]]
            for row in expected["rows"]
        ]  # fmt: skip

    expected = _answer(page, keys)
    eventually(page, check)


def _answer(page, keys):
    metric = dict(keys).get("metric", "net_score")
    answer = api(page, "across", [pair for pair in keys if pair[0] == "datasets"], metric=metric)
    assert answer["metric"] == metric and answer["rows"]
    return answer


def test_a_metric_and_datasets_are_chosen(page):
    page.goto("/across")
    page.wait_for_selector("table.across")
    assert heading(page) == "All datasets"
    shows(page, [])
    choose(page, "metric", "Brier score")
    shows(page, [("metric", "brier")])
    choose(page, "datasets", "Tone")
    shows(page, [("datasets", "tone"), ("metric", "brier")])
    choose(page, "diagrams", "Shown")
    eventually(page, lambda: _diagrams(page))
    page.locator("table.across td a").first.click()
    eventually(page, lambda: _is_a_run(page))
    page.go_back()
    eventually(page, lambda: _diagrams(page))


def _diagrams(page):
    """Check that the figure of diagrams has a mark for each bin that holds items."""
    assert pairs(page) == [("datasets", "tone"), ("diagrams", "1"), ("metric", "brier")]
    answer = api(page, "across/diagrams", datasets="tone")
    bins = [bin_ for diagram in answer["diagrams"] for bin_ in diagram["bins"] if bin_["items"]]
    marks = [trace for trace in traces(page, "across-diagrams") if trace["symbol"]]
    assert bins and sum(len(trace["x"]) for trace in marks) == len(bins)


def _is_a_run(page):
    assert path(page).startswith("/runs/")
