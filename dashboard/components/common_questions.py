"""Notices for runs that answered different questions or clues: which ones count, and a link to the other choice."""

from __future__ import annotations

from urllib.parse import urlencode

from dash import html

from dashboard.components.links import page_link
from data.plurals import counted
from queries.engine.common_questions import Coverage
from queries.selection.facets import Facets

Pairs = list[tuple[str, str]]
MAX_NAMES, MAX_LISTED = 3, 24  # runs named in a notice, runs in a list


def answered(number: int, questions: int) -> str:
    """Say how many questions were answered, such as "81 of 808"; the number alone if all were."""
    return f"{number:,}" if number == questions else f"{number:,} of {questions:,}"


def clues_answered(number: int, clues: int, questions: int) -> str:
    """Say how many clues were answered, such as "60 of 339 clues"; blank if all were or each question has one."""
    return "" if number == clues or clues == questions else f"{answered(number, clues)} clues"


def coverage_notice(coverage: Coverage, facets: Facets, path: str, pairs: Pairs, *, restricted: bool) -> html.P | None:
    """Say which questions and clues count when runs answered different ones; None if all answered the same.

    Args:
        coverage: coverage of the selection.
        facets: facets of its dataset.
        path, pairs: path and query pairs of the page's address.
        restricted: whether only the common questions count.
    """
    if not coverage.differs:
        return None
    taking_part = coverage.taking_part
    if not restricted:
        total, counts = coverage.questions, coverage.answered
        what = "questions"
        if len({*counts.values()}) == 1:  # the same questions, but not the same clues
            total, counts, what = coverage.clues, coverage.answered_clues, "clues"
        fewest, most = min(counts.values()), max(counts.values())
        return _notice(
            [
                f"Runs answered different {what}: from {fewest:,} to {most:,} of {total:,}. Each run is measured on its own "
                f"{what}. A run that skips hard {what} looks better than it is. ",
                page_link(
                    f"Count only the {_common(coverage)} that {_all(len(taking_part))} answered", href=_address(path, pairs, "1")
                ),
            ]
        )
    if not taking_part:
        return _notice(
            [f"{_nobody(coverage)} ", page_link("Rank each run on its own questions", href=_address(path, pairs, "0"))]
        )
    parts: list[str | html.A] = [
        f"Runs are measured on the {_common(coverage, of_all=True)} that {_all(len(taking_part))} answered. "
    ]
    if coverage.apart:
        parts.append(f"Left out: {_left_out(coverage, facets)}. ")
    least = min((coverage.answered_clues[run] for run in taking_part), default=0)
    if any(coverage.answered_clues[run] > least for run in taking_part):
        shortest = [run for run in taking_part if coverage.answered_clues[run] == least]
        parts.append(f"Fewest answers{' among the others' if coverage.apart else ''}: {_names(shortest, coverage, facets)}. ")
    if coverage.apart:
        parts += [page_link("Let all runs take part", href=_address(path, pairs, "all")), ". "]
    return _notice([*parts, page_link("Show each run on its own questions", href=_address(path, pairs, "0"))])


def pair_notice(coverage: Coverage, path: str, pairs: Pairs) -> html.P | None:
    """Say that the leaderboard measures these two runs on fewer questions; None if it does not.

    Args:
        coverage: coverage of the selection.
        path, pairs: path and query pairs of the page's address.
    """
    if not coverage.differs or not coverage.common:
        return None
    return _notice(
        [
            "Measured on what both runs answered. The leaderboard has other values, because it measures runs on the "
            f"{_common(coverage)} that {_all(len(coverage.taking_part))} answered. ",
            page_link("Compare both runs on those", href=_address(path, pairs, "1")),
        ]
    )


def nothing_in_common(coverage: Coverage, facets: Facets, path: str, pairs: Pairs) -> html.Section:
    """Return what a page shows instead of its content if no run takes part, or nothing was answered by all that do.

    Args:
        coverage: coverage of the selection.
        facets: facets of its dataset.
        path, pairs: path and query pairs of the page's address.
    """
    nobody = not coverage.taking_part
    runs = [html.Li(f"{_name(run, facets)}: {_answered(run, coverage)}") for run in coverage.answered]
    return html.Section(
        [
            html.H2(
                "No run answered enough to be compared"
                if nobody
                else f"No question was answered by {_all(len(coverage.taking_part))}"
            ),
            html.P(f"{_nobody(coverage) if nobody else ''} Choose runs that answered the same questions, or"),
            html.P(page_link("measure all runs on what all of them answered", href=_address(path, pairs, "all")))
            if nobody
            else None,
            html.P(page_link("show each run on its own questions", href=_address(path, pairs, "0"))),
            html.P("Questions answered:"),
            html.Ul(runs[:MAX_LISTED]),
            html.P(f"and {len(runs) - MAX_LISTED} more") if len(runs) > MAX_LISTED else None,
        ],
        className="panel empty",
    )


def _notice(parts: list[str | html.A]) -> html.P:
    return html.P(parts, className="note coverage", role="note")


def _all(runs: int) -> str:
    return {1: "the run", 2: "both runs"}.get(runs, f"all {runs} runs")


def _common(coverage: Coverage, of_all: bool = False) -> str:
    """The common part, such as "44 of 60 questions (250 of 339 clues)"."""
    shares = ((coverage.common, coverage.questions, "question"), (coverage.common_clues, coverage.clues, "clue"))
    questions, clues = (f"{number:,} of {total:,} {what}s" if of_all else counted(number, what) for number, total, what in shares)
    return questions if coverage.clues == coverage.questions else f"{questions} ({clues})"


def _nobody(coverage: Coverage) -> str:
    """Say why no run takes part."""
    if coverage.lacking:
        return "No run can be ranked by metrics that need a confidence. Each is measured on its own answers."
    clues = counted(coverage.expected_clues, "question" if coverage.clues == coverage.questions else "clue")
    return f"No run can be ranked: none answered nine tenths of the {clues} that most runs answered."


def _answered(run: str, coverage: Coverage) -> str:
    """How much a run answered, such as "60; 60 of 339 clues"."""
    parts = (
        answered(coverage.answered[run], coverage.questions),
        clues_answered(coverage.answered_clues[run], coverage.clues, coverage.questions),
    )
    return "; ".join(part for part in parts if part)


def _names(runs: list[str], coverage: Coverage, facets: Facets) -> str:
    named = [f"{_name(run, facets)} ({_answered(run, coverage)})" for run in runs[:MAX_NAMES]]
    return ", ".join([*named, f"{len(runs) - MAX_NAMES} more"] if len(runs) > MAX_NAMES else named)


def _left_out(coverage: Coverage, facets: Facets) -> str:
    """Names the runs that take no part, each with the reason."""
    named = [f"{_name(run, facets)} ({reason})" for run, reason in [*coverage.apart.items()][:MAX_NAMES]]
    return ", ".join([*named, f"{len(coverage.apart) - MAX_NAMES} more"] if len(coverage.apart) > MAX_NAMES else named)


def _name(run: str, facets: Facets) -> str:
    names = {known: f"{model} · {elicitation}" for known, model, elicitation in facets.runs}
    return names.get(run, run)


def _address(path: str, pairs: Pairs, common: str) -> str:
    return f"{path}?{urlencode([*((key, value) for key, value in pairs if key != 'common'), ('common', common)])}"
