"""The content of a page with the banners and notices above it."""

from __future__ import annotations

from typing import Any

from dash.development.base_component import Component

from dashboard.registry.pages import Page, PageRequest, Pairs
from dashboard.service import service
from dashboard.ui.messages import forecast_notice, grading_notice, ignored_keys, untested_notice, version_notice, withdrawn_banner
from dashboard.ui.notices import cluster_notice, coverage_notice, disagreement_notice, judge_notice, nothing_in_common
from queries.changes import version_changes
from queries.engine.common_questions import coverage
from queries.engine.units import count_units
from queries.gradings import grading_coverage
from queries.leaderboard import grading_disagreement
from queries.reviewed_samples import reviewed_runs
from queries.runs import run


def content_of(page: Page[Any], request: PageRequest[Any], path: str, pairs: Pairs) -> list[Component | None]:
    """Return the content of a page, below banners and notices, such as those for withdrawn runs that its address names."""
    named = [name for name in request.facets.withdrawn if any(name in value for _, value in pairs)]
    above = [*(withdrawn_banner(service().ask(run, name)) for name in named), ignored_keys(request.ignored)]
    if request.parameters.version:
        above.append(version_notice(service().ask(version_changes, request.selection, request.parameters.version)))
    if "grading" in page.filters and len(request.facets.gradings) > 1:
        above.append(grading_notice(request.selection, service().ask(grading_coverage, request.selection)))
        disagreement = service().ask(grading_disagreement, request.selection)
        above.append(disagreement_notice(disagreement, request.selection, path, pairs))
        above.append(judge_notice(service().ask(reviewed_runs, request.selection), request.link("/gradings")))
    if "cluster" in page.filters:
        above.append(cluster_notice(service().ask(count_units, request.selection), path, pairs))
    if page.table:
        above.append(forecast_notice(request.facets))
    if page.table and "difficulty" in page.filters:
        above.append(untested_notice(request.selection, request.facets))
    common = page.common if request.selection.common is None else request.selection.common
    if common is None or (page.common is None and not common):
        return [*above, *page.draw(request)]
    counts = service().ask(coverage, request.selection)
    where = (counts, request.facets, page.path, pairs)
    # Where only confidences lack, each run is shown on its own answers.
    nothing = not counts.common and (counts.taking_part or not (page.lists_unranked or counts.lacking))
    if common and counts.differs and nothing:
        return [*above, nothing_in_common(*where)]
    return [*above, coverage_notice(*where, restricted=bool(common)), *page.draw(request)]
