"""Which plays and buzzes of people a curve lacks, and why."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html


def left_out_note(left_out: Mapping[str, int]) -> html.P | None:
    """Return a sentence that stands beside a curve of people; None if nothing was left out.

    ``left_out`` counts plays or buzzes by what they are and why, in words.
    """
    if not left_out:
        return None
    parts = "; ".join(f"{reason}: {plays:,}" for reason, plays in left_out.items())
    return html.P(f"Left out of the curves of people at the import: {parts}.", className="note left-out-plays")
