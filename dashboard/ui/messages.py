"""Messages on pages: errors, empty selections, banners, notices about what counts, and the content of a page below them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.http.messages import error_message, what_changed
from clueline.dashboard.http.paths import address
from clueline.dashboard.registry.pages import Page, PageRequest, Pairs
from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.service import service
from clueline.dashboard.ui.html import banner, choices, note, page_link, panel
from clueline.dashboard.ui.runs import run_names
from clueline.dashboard.ui.text import brackets, enumerated, percent, short
from clueline.data.human_curves import UNSTATED_LEFT_OUT
from clueline.data.plurals import counted
from clueline.queries.changes import version_changes
from clueline.queries.datasets import Dataset
from clueline.queries.engine.common_questions import Coverage, coverage
from clueline.queries.engine.plays_of_people import APART, Plays, count_plays
from clueline.queries.engine.question_difficulties import FROM_RUNS, UNTESTED
from clueline.queries.engine.units import UnitCounts, count_units
from clueline.queries.gradings import GradingCoverage, grading_coverage
from clueline.queries.leaderboard import GradingDisagreement, GradingLeader, board_coverage, grading_disagreement
from clueline.queries.metrics import CATALOGUE
from clueline.queries.reviewed_samples import MeanEstimate, ReviewedRun, ReviewedRuns, reviewed_runs
from clueline.queries.runs import RunFacts, run
from clueline.queries.selection import Selection
from clueline.queries.selection.facets import AGES, IMPORTED, QUESTION, STATED_ENDS, YEARS, Facets
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.view_parameters_base import kind_of

MAX_LINKS = 24
TITLES = {
    "empty_store": "Nothing to show yet",
    "query_timeout": "This took too long",
    "busy": "The server is busy",
    "too_many_at_once": "Too much at once",
}
MAX_IGNORED = 10  # ignored keys of an address that are named


def withdrawn_banner(run: RunFacts) -> html.Aside:
    """Say that a run named by the address was withdrawn."""
    by = f" by {run.withdrawn_by}" if run.withdrawn_by else ""
    by += f" ({run.withdrawn_reason})" if run.withdrawn_reason else ""
    return banner(
        "Withdrawn run.",
        f"{run.model} ({run.elicitation}), run {run.run}, was withdrawn on {(run.withdrawn_at or '')[:10]}{by}. It is shown "
        "because the address names it; other pages leave it out.",
    )


def grading_notice(selection: Selection, coverage: GradingCoverage) -> html.P | None:
    """Say which runs the grading in force measures; None if the address names one that all have, or none has corrections."""
    if not (coverage.without_it if selection.grading else coverage.with_it):
        return None
    total = coverage.with_it + coverage.without_it
    if selection.grading:
        runs = f"{counted(coverage.without_it, 'run')} of {total:,}"
        return note(f"Without the grading “{selection.grading}”: {runs}, measured by the first grading.", role="note")
    text = f"Measured by the grading “reviewed”, with reviewers' corrections: {counted(coverage.with_it, 'run')} of {total:,}"
    return note(text + ("; the others by their first grading." if coverage.without_it else "."), role="note")


def forecast_notice(facets: Facets) -> html.P | None:
    """Say what confidence and correctness are where answers are forecasts; None elsewhere."""
    if not facets.forecasts:
        return None
    text = (
        "Answers are forecasts: the confidence is the probability of yes, and right means that yes came true. Accuracy, net "
        "score, HMR, its rewards and risk are about the likelier side of each forecast, with its probability as the confidence. "
    )
    return note([text, html.A("More", href="/docs/docs/metrics#forecasts")], role="note")


def ignored_keys(keys: Sequence[str]) -> html.P | None:
    """Say which keys of the address have no effect here."""
    named = ", ".join(key[:100] for key in keys[:MAX_IGNORED])
    return html.P(f"Ignored keys in the link: {named}", className="note ignored") if keys else None


def alert(title: str, *parts: Component | None) -> html.Section:
    """Return what stands in place of a page that cannot be shown."""
    return html.Section([html.H1(title), *parts], className="panel", role="alert")


def error_panel(error: BadRequest, path: str, pairs: list[tuple[str, str]], runs: Mapping[str, str]) -> html.Section:
    """Say what is wrong with an address, and link to valid addresses with an allowed value in place of the bad one.

    ``runs`` are the names of runs by their ids.
    """
    if error.status == 401:
        login = html.A("Log in", href=address("/login", [("next", address(path, pairs))]))
        return alert("Log in to read this", html.P(login))
    links: list[Component] = []
    if error.code == "unknown_value" and error.field and error.status == 400:
        kept = [pair for pair in pairs if pair[0] != error.field]
        links = [
            page_link(runs.get(value, value), href=f"{path}?{urlencode([*kept, (error.field, value)])}")
            for value in error.allowed[:MAX_LINKS]
        ]
    elif error.code == "unknown_key":
        links = [html.Code(key) for key in error.allowed]
    title = "There is no such page" if error.status == 404 else "Unknown value in the link"
    if error.retry_after is not None:
        text = [html.H1(TITLES.get(error.code, title)), html.P(str(error)), html.P("This page asks again by itself.")]
        return html.Section(text, className="panel", role="status")
    way_out: list[Component | str] = [page_link("To the leaderboard", href="/")]
    if error.code == "empty_store":
        way_out = [page_link("Add results in the browser", href="/upload"), " · ", page_link("Datasets", href="/datasets")]
    if error.field and error.status == 400:
        without = [(key, old) for key, old in pairs if key != error.field and kind_of(key, Selection.kinds())]
        way_out = [page_link(f"Remove {error.field} from the link", href=f"{path}?{urlencode(without)}")]
    return alert(
        TITLES.get(error.code, title),
        html.P(error_message(error)),
        html.Div([html.P("Possible values:"), choices(links)]) if links else None,
        html.P(way_out),
    )


def ended_selection(days: int) -> html.Aside:
    """Say that the stored selection in an address is not there, so that the page shows more than whoever shared it saw."""
    text = f"This server has no selection of that id: one ends when nobody uses it for {counted(days, 'day')}."
    return banner("The selection of this link has ended.", f"{text} Below is what the rest of the link selects.")


def nothing_selected(path: str, selection: Selection, what: str, facets: Facets, title: str | None = None) -> html.Div:
    """Explain an empty selection: which filters are set, each with a link that removes it; without filters, how to add runs.

    ``what`` is missing, in the plural, such as "answers". If only people have answered the dataset, there are links to what they
    did. ``title`` is for a page that has no other content.
    """
    pairs, filters = selection.pairs(), selection.applied()
    drop = [
        page_link(
            f"without {key}: " + ", ".join(value for name, value in pairs if name == key),
            href=f"{path}?{urlencode([(name, value) for name, value in pairs if name != key])}",
        )
        for key in filters
    ]
    missing = _no_runs(what, facets)
    if drop:
        sentences = "; ".join(filters[key].sentence(key, selection.value(key)) for key in filters)
        missing = panel(f"No {what} match these filters", f"{sentences}. Remove one of them:", choices(drop))
    return html.Div([html.H1(title) if title else None, missing])


def _no_runs(what: str, facets: Facets) -> html.Section:
    dataset = urlencode({"dataset": facets.dataset})
    people: list[str | Component] = [
        f"{counted(facets.human_teams, 'human team')} heard its questions: see ",
        page_link("where they buzzed", href=f"/teams?{dataset}"),
        " and ",
        page_link("its questions", href=f"/questions?{dataset}"),
        ".",
    ]
    upload = page_link("here", href=f"/upload?{dataset}")
    needs = "This page needs more runs than the dataset has. Add one by uploading a file of answers "
    return panel(
        f"No {what} yet",
        html.P(people) if facets.human_teams else None,
        html.P([needs, upload, ", or with"]),
        html.P(html.Code(f"clueline import FILE --dataset {facets.dataset} --model NAME")),
        html.P(["Its questions as prompts for a model: ", *prompts(facets.dataset)]),
    )


def dataset_links(path: str, wanted: Callable[[Dataset], bool], above: str, none: str) -> tuple[str, html.Ul | None]:
    """Return links to a page of other datasets and what stands ``above`` them, or that there are ``none``: parts of a panel."""
    links = [page_link(one.title, href=f"{path}?dataset={one.dataset}") for one in service().datasets() if wanted(one)]
    return (above, choices(links)) if links else (none, None)


def prompts(dataset: str) -> list[html.A | str]:
    """Return links to the prompt files of a dataset."""
    path = f"/api/v1/datasets/{dataset}/prompts"
    return [html.A("CSV", href=f"{path}.csv"), ", ", html.A("JSON Lines", href=f"{path}.jsonl")]


MAX_NAMES, MAX_LISTED = 3, 24  # runs named in a notice, runs in a list


def answered(number: int, questions: int) -> str:
    """Say how many questions were answered, such as "81 of 808"; the number alone if all were."""
    return f"{number:,}" if number == questions else f"{number:,} of {questions:,}"


def clues_answered(number: int, clues: int, questions: int) -> str:
    """Say how many clues were answered, such as "60 of 339 clues"; blank if all were or each question has one."""
    return "" if number == clues or clues == questions else f"{answered(number, clues)} clues"


def coverage_notice(
    coverage: Coverage, path: str, pairs: Pairs, *, compared: bool, restricted: bool = False, ranks: bool = False
) -> html.P | None:
    """Say which questions and clues count when runs answered different ones; None if all answered the same.

    ``compared`` says whether only runs that take part count, ``restricted`` whether only their common questions do,
    ``ranks`` whether the page ranks them.
    """
    if not coverage.differs:
        return None
    taking_part = coverage.taking_part
    if not compared:
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
                    f"Count only the {_common(coverage)} that {_all(len(taking_part))} answered",
                    href=_with_key(path, pairs, "common", "1"),
                ),
            ]
        )
    if not taking_part:
        return _notice(
            [f"{_nobody(coverage)} ", page_link("Rank each run on its own questions", href=_with_key(path, pairs, "common", "0"))]
        )
    parts: list[str | html.A] = ["Runs answered different questions. Each is measured on all that it answered. "]
    if ranks:
        how = page_link("how", href="/docs/metrics#which-questions-count")
        parts += ["A mean ranks after it is adjusted for what each skipped (", how, "). "]
    if restricted:
        parts = [f"Runs are measured on the {_common(coverage, of_all=True)} that {_all(len(taking_part))} answered. "]
    names = names_of(coverage.answered)
    if coverage.apart:
        apart = [f"{names[run]} ({why})" for run, why in coverage.apart.items()]
        parts.append(f"Left out: {enumerated(apart, MAX_NAMES, ', ')}. ")
    least = min((coverage.answered_clues[run] for run in taking_part), default=0)
    if any(coverage.answered_clues[run] > least for run in taking_part):
        shortest = [run for run in taking_part if coverage.answered_clues[run] == least]
        named = [f"{names[run]} ({_answered(run, coverage)})" for run in shortest]
        parts.append(f"Fewest answers: {enumerated(named, MAX_NAMES, ', ')}. ")
    if not restricted and coverage.common:
        only = f"Count only the {_common(coverage)} that {_all(len(taking_part))} answered"
        parts += [page_link(only, href=_with_key(path, pairs, "common", "1")), ". "]
    if restricted and coverage.apart:
        parts += [page_link("Let all runs take part", href=_with_key(path, pairs, "common", "all")), ". "]
    own = "Rank all runs" if ranks else "Show all runs"
    own = "Show each run on its own questions" if restricted else own
    return _notice([*parts, page_link(own, href=_with_key(path, pairs, "common", "0"))])


def pair_notice(coverage: Coverage, path: str, pairs: Pairs) -> html.P | None:
    """Say that the leaderboard measures these two runs on fewer questions; None if it does not."""
    if not coverage.differs:
        return None
    parts: list[str | html.A] = [
        "Measured on what both runs answered. The leaderboard has other values, because it measures each run on all that it "
        "answered. "
    ]
    if coverage.common:
        only = f"Compare both runs on the {_common(coverage)} that {_all(len(coverage.taking_part))} answered"
        parts.append(page_link(only, href=_with_key(path, pairs, "common", "1")))
    return _notice(parts)


def nothing_in_common(coverage: Coverage, path: str, pairs: Pairs) -> html.Section:
    """Return what a page shows instead of its content if no run takes part, or nothing was answered by all that do."""
    nobody = not coverage.taking_part
    runs = [html.Li(f"{name}: {_answered(run, coverage)}") for run, name in names_of(coverage.answered).items()]
    every = page_link("measure all runs on what all of them answered", href=_with_key(path, pairs, "common", "all"))
    return panel(
        "No run answered enough to be compared" if nobody else f"No question was answered by {_all(len(coverage.taking_part))}",
        f"{_nobody(coverage) if nobody else ''} Choose runs that answered the same questions, or",
        html.P(every) if nobody else None,
        html.P(page_link("show each run on its own questions", href=_with_key(path, pairs, "common", "0"))),
        "Questions answered:",
        html.Ul(runs[:MAX_LISTED]),
        f"and {len(runs) - MAX_LISTED} more" if len(runs) > MAX_LISTED else None,
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


def cluster_words(name: str) -> str:
    """Say which questions are in a cluster, such as "the same packet"."""
    return f"the same {YEARS} years of age" if name == AGES else f"the same “{name}”"


def cluster_notice(counts: UnitCounts, path: str, pairs: Pairs) -> html.P | None:
    """Say what the units are; None if they are single questions."""
    if counts.name == QUESTION:
        return None
    if counts.units < 2:
        text = (
            f"All questions here are in one cluster, of {cluster_words(counts.name)}. One cluster does not show how much values "
            "vary, so there are no intervals, tests and bands. "
        )
    else:
        text = (
            f"Questions with {cluster_words(counts.name)} depend on each other, so intervals, tests and bands count "
            f"{counted(counts.units, 'cluster')}, not {counted(counts.questions, 'question')}. "
        )
    return _notice([text, page_link("Count single questions", href=_with_key(path, pairs, "cluster", QUESTION))])


DISPUTED = "gradings differ"
HIDE = "undisputed"  # key of the address


def disputed_mark() -> html.Span:
    """Mark an answer on which the gradings of its run differ."""
    return html.Span(f" {DISPUTED}", className="row-note")


def disagreement_notice(
    disagreement: GradingDisagreement, selection: Selection, path: str, pairs: Sequence[tuple[str, str]]
) -> html.Aside | None:
    """Say on how many answers gradings differ, and who leads under each grading; None if they differ on few."""
    if not disagreement.matters:
        return None
    metric = CATALOGUE[disagreement.metric]
    parts: list[Component | str] = [f"On {percent(disagreement.share)} of the answers, the gradings of a run differ. "]
    for nth, (grading, leaders) in enumerate(groupby(disagreement.leaders, key=lambda leader: leader.grading)):
        link = page_link(f"“{grading}”", href=_with_key(path, pairs, "grading", grading))
        parts += ["; " if nth else f"First by {metric.name}: ", f"{_leader_names([*leaders])} under ", link]
    shown = (
        f"“{selection.grading}” or, where a run lacks it, its first grading"
        if selection.grading
        else "“reviewed” or, where a run lacks it, its first grading (its file's or, if the file states none, Clueline's)"
    )
    hidden = selection.undisputed
    parts += [
        f"{'. ' if disagreement.leaders else ''}Shown: {shown}. ",
        page_link("Compare the gradings", href=f"/gradings?{urlencode(selection.pairs())}"),
        " ",
        page_link(
            "List disputed answers again" if hidden else "Leave disputed answers out of lists",
            href=_with_key(path, pairs, HIDE, "" if hidden else "1"),
        ),
    ]
    return banner("Gradings differ.", *parts)


def _leader_names(leaders: Sequence[GradingLeader]) -> str:
    return f"{enumerated([*run_names(leaders).values()], MAX_NAMES)} ({short(leaders[0].value)})"


def _with_key(path: str, pairs: Sequence[tuple[str, str]], key: str, value: str) -> str:
    kept = [pair for pair in pairs if pair[0] != key]
    return f"{path}?{urlencode([*kept, (key, value)] if value else kept)}"


def judge_notice(result: ReviewedRuns, link: str) -> html.Aside | None:
    """Say which runs are graded by a judge that errs, and by how much; None if no sample is reviewed.

    ``link`` is the address of the page of gradings.
    """
    runs = [run for run in result.runs if run.means]
    if not runs:
        return None
    names = run_names(runs)
    parts = [
        f"{names[run.run]} is graded by a judge that {judge_error(run)}: {_estimate('accuracy', run.means['accuracy'])}"
        for run in runs
    ]
    more = f"; and {len(parts) - MAX_NAMES} more runs" if len(parts) > MAX_NAMES else ""
    text = f"{'; '.join(parts[:MAX_NAMES])}{more}. Other values on this page are by the grading in force. "
    return banner("Judges err.", text, page_link("All estimates", href=link))


def judge_error(run: ReviewedRun) -> str:
    """Say how often the judge of a reviewed run errs."""
    assert run.judge_error is not None
    return f"errs about {short(100 * run.judge_error, 0)} %" if run.judge_error else "erred on no reviewed answer"


def _estimate(key: str, mean: MeanEstimate) -> str:
    interval = brackets(mean.low, mean.high)
    return f"{CATALOGUE[key].name.lower()} {short(mean.value)} {interval} instead of {short(mean.judged)}"


def left_out_note(left_out: Mapping[str, int]) -> html.P | None:
    """Say which plays and buzzes of people a curve lacks, and why; None if it lacks none.

    ``left_out`` counts plays or buzzes by what they are and why, in words.
    """
    if not left_out:
        return None
    parts = "; ".join(f"{reason}: {plays:,}" for reason, plays in left_out.items())
    again = " Import the files again to count these plays as heard to the end." if UNSTATED_LEFT_OUT in left_out else ""
    return html.P(f"Left out of the curves of people at the import: {parts}.{again}", className="note left-out-plays")


def unstated_plays(page: Page[Any], request: PageRequest[Any]) -> Plays | None:
    """Count the plays that a page rests on; None if it rests on none of which nobody stated where they ended."""
    selection, facets = request.selection, request.facets
    if "people" not in page.filters or not facets.unstated_ends or facets.human_collection(selection.people):
        return None
    if page.name == "question":  # whatever filters there are
        selection = Selection(selection.dataset, questions=(request.item or "",))
    counts = service().ask(count_plays, selection.replace(people=IMPORTED))
    return counts if counts.unstated else None


def plays_notice(page: Page[Any], request: PageRequest[Any], path: str, pairs: Pairs) -> html.P | None:
    """Say how plays of people count of which nobody stated where they ended, and link to the other reading; None without any."""
    counts = unstated_plays(page, request)
    if counts is None:
        return None
    plays = plays_words(counts)
    if request.selection.people == STATED_ENDS:
        link = page_link("Count them as heard to the end", href=_with_key(path, pairs, "people", ""))
        return note([f"{plays} These are left out here. ", link], role="note")
    link = page_link("Show every value without them", href=_with_key(path, pairs, "people", STATED_ENDS))
    counted_as = "They count as heard to the end. Where a value without them differs by more than"
    return note([f"{plays} {counted_as} {APART}, it stands beside it. ", link], role="note")


def plays_words(counts: Plays) -> str:
    """Say of how many plays nobody stated where they ended."""
    return f"Nobody stated where {counts.unstated:,} of {counted(counts.plays, 'play')} of people, all without a buzz, ended."


def content_of(page: Page[Any], request: PageRequest[Any], path: str, pairs: Pairs) -> list[Component | None]:
    """Return the content of a page, below banners and notices, such as those for withdrawn runs that its address names."""
    named = [name for name in request.facets.withdrawn if any(name in value for _, value in pairs)]
    above = [*(withdrawn_banner(service().ask(run, name)) for name in named), ignored_keys(request.ignored)]
    if request.parameters.version:
        changes = service().ask(version_changes, request.selection, request.parameters.version)
        text = what_changed(changes)
        above.append(
            note(text, role="note") if changes.same else banner("Figures have changed.", f"{text} The figures below are today's.")
        )
    if "grading" in page.filters and len(request.facets.gradings) > 1:
        above.append(grading_notice(request.selection, service().ask(grading_coverage, request.selection)))
        disagreement = service().ask(grading_disagreement, request.selection)
        above.append(disagreement_notice(disagreement, request.selection, path, pairs))
        above.append(judge_notice(service().ask(reviewed_runs, request.selection), request.link("/gradings")))
    if "cluster" in page.filters:
        above.append(cluster_notice(service().ask(count_units, request.selection), path, pairs))
    above.append(plays_notice(page, request, path, pairs))
    if page.table:
        above.append(forecast_notice(request.facets))
    # Runs are not tested on questions that were selected by what they themselves answered.
    from_runs = request.selection.difficulty is not None and request.facets.difficulty_source == FROM_RUNS
    if page.table and "difficulty" in page.filters and from_runs:
        above.append(note(UNTESTED, role="note"))
    common = page.common if request.selection.common is None else request.selection.common
    if common is None or (page.common is None and not common):
        return [*above, *page.draw(request)]
    counts = service().ask(board_coverage if page.lists_unranked else coverage, request.selection)
    where = (counts, page.path, pairs)
    # Where only confidences lack, each run is shown on its own answers.
    restricted = page.restricts(request)
    nobody = not counts.taking_part and not (page.lists_unranked or counts.lacking)
    nothing = nobody or (restricted and not counts.common and bool(counts.taking_part))
    if common and counts.differs and nothing:
        return [*above, nothing_in_common(*where)]
    return [
        *above,
        coverage_notice(*where, compared=bool(common), restricted=restricted, ranks=page.lists_unranked),
        *page.draw(request),
    ]
