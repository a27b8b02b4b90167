"""Waits until a page is at rest, that is, has drawn everything that it requested."""

import time

from playwright.sync_api import Error

AT_REST = r"""() => {
    if (!document.querySelector("#content > *")) return false;
    if (window.owed) return false;
    const figures = [...document.querySelectorAll("#content figure.figure")].filter((one) => !one.closest("details:not([open])"));
    const plots = figures.map((figure) => figure.querySelector(".js-plotly-plot"));
    if (!plots.every((plot) => plot && plot._fullData)) return false;
    if (document.querySelector("#content [aria-busy=true]")) return false;
    const labels = [...document.querySelectorAll(".filter > .label")]; // a control comes after its label, by a script of its own
    if (!labels.every((label) => label.parentElement.querySelector('[id*=\'"role":"control"\']'))) return false;
    const frame = document.querySelector("#content .questions-grid"); // the grid comes into it by a script of its own
    if (frame && !frame.querySelector(".ag-row a")) return false;
    const answers = document.getElementById("answers");
    if (answers && !answers.children.length) return false;
    return [...document.querySelectorAll("[data-html]")].every((one) => !one.dataset.html || one.childNodes.length);
}"""
# Counts the responses that the server still owes to Dash. Installed before a page's own scripts run.
COUNT = r"""
    window.owed = 0;
    const fetched = window.fetch;
    window.fetch = function (...asked) {
        if (!/_dash-|_rows/.test(String(asked[0]))) return fetched.apply(this, asked);
        window.owed += 1;
        const done = () => window.setTimeout(() => { window.owed -= 1; }, 30);
        return fetched.apply(this, asked).then((answer) => { done(); return answer; }, (error) => { done(); throw error; });
    };
"""


def eventually(page, check, seconds=120):
    """Return the result of ``check`` once it stops failing or being False. The page keeps running in the meantime.

    A script that fails because the page is only half drawn counts as a failing check, too.
    """
    until = time.monotonic() + seconds
    while True:
        try:
            result = check()
            assert result is not False
            return result
        except (AssertionError, Error) as error:
            half_drawn = isinstance(error, AssertionError) or "TypeError" in str(error)
            if not half_drawn or time.monotonic() > until:
                raise
            page.wait_for_timeout(40)


def let_scripts_run(page, milliseconds):
    """Let time pass on the page's own clock. Earlier timers that are due by then have run, even on a busy machine."""
    page.evaluate("(milliseconds) => new Promise((done) => { setTimeout(done, milliseconds); })", milliseconds)


def wait_for_rest(page):
    """Wait until the page has drawn everything that it requested. Input while it still changes can be lost."""

    def rests():
        assert page.evaluate(AT_REST), f"{page.url} does not come to rest"

    eventually(page, rests)
