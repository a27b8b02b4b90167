"""What intervals and tests claim, and how often their claims held in simulations."""

from __future__ import annotations

from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.components.table import row, table
from queries.interval_coverage_in_simulations import MeasuredClaim
from queries.metric_definitions import MetricDefinitions


def intervals_section(known: MetricDefinitions) -> html.Section:
    """Return a sentence on each kind of interval and test, with how often its claim held in simulations."""
    parts: list[Component] = []
    for kind in known.uncertainty:
        claims = [claim for claim in known.measured if claim.claim in kind.claims]
        parts += [html.Dt(kind.name), html.Dd([kind.words, _measured(kind.name, claims)] if claims else kind.words)]
    lead = (
        "The unit is the question, because its clues are correlated, or a cluster of questions. Each claim was tested by "
        "simulating runs whose truth is known; the tables say how often it held. benchmarks/inference.py produces them."
    )
    return html.Section([html.H2("Intervals and tests"), html.P(lead), html.Dl(parts)], id="intervals", className="metric")


def _measured(name: str, claims: Sequence[MeasuredClaim]) -> html.Details:
    rows = [
        row(claim.claim, html.Span(claim.setting), f"{claim.nominal:.3f}", f"{claim.measured:.3f}", f"{claim.noise:.3f}")
        for claim in claims
    ]
    return html.Details(
        [
            html.Summary("How often it held"),
            table(["Claim", "Setting", "Claimed", "Measured", "Noise"], rows, f"{name}: measured"),
        ]
    )
