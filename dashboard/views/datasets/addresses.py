"""The prompts a model has to answer, as a file to fill in."""

from __future__ import annotations

import polars as pl
from flask import Response

from dashboard.registry.addresses import get_selected
from dashboard.registry.responses import csv_parts, jsonl_parts, stream_response
from dashboard.service import service
from queries.datasets import prompts
from queries.selection import Request
from queries.selection.view_parameters_base import NoParameters


@get_selected("/api/v1/datasets/<dataset>/prompts.csv", NoParameters)
def get_prompts_csv(query: Request[NoParameters], dataset: str) -> Response:
    """The prompts that a model has to answer: `question_id, clue, text` (the text revealed so far), and empty columns `guess` and
    `confidence` to fill in.
    """
    blank = (pl.lit(None, pl.String).alias("guess"), pl.lit(None, pl.Float64).alias("confidence"))
    frames = (frame.with_columns(blank) for frame in service().stream(prompts, query.selection))
    header = ("question_id", "clue", "text", "guess", "confidence")
    return stream_response(csv_parts(header, frames), "csv", f"{dataset}-prompts")


@get_selected("/api/v1/datasets/<dataset>/prompts.jsonl", NoParameters)
def get_prompts_jsonl(query: Request[NoParameters], dataset: str) -> Response:
    """The same as JSON Lines, without the empty columns."""
    return stream_response(jsonl_parts(service().stream(prompts, query.selection)), "jsonl", f"{dataset}-prompts")
