"""What a model is to answer, as a file to fill in."""

from __future__ import annotations

import polars as pl
from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import pairs
from dashboard.api.responses import csv_parts, jsonl_parts, stream_response
from dashboard.service import service
from queries.prompts import prompts


@api.get("/api/v1/datasets/<dataset>/prompts.csv")
def get_prompts_csv(dataset: str) -> Response:
    """Question, clue and the text revealed so far, with columns to fill in, for what a selection keeps."""
    selection, _, _ = service().parse(pairs(), dataset=dataset)
    blank = (pl.lit(None, pl.String).alias("guess"), pl.lit(None, pl.Float64).alias("confidence"))
    frames = (frame.with_columns(blank) for frame in prompts(service().snapshot(), selection))
    header = ("question_id", "clue", "text", "guess", "confidence")
    return stream_response(csv_parts(header, frames), "csv", f"{dataset}-prompts")


@api.get("/api/v1/datasets/<dataset>/prompts.jsonl")
def get_prompts_jsonl(dataset: str) -> Response:
    """The same as JSON Lines, without columns to fill in."""
    selection, _, _ = service().parse(pairs(), dataset=dataset)
    return stream_response(jsonl_parts(prompts(service().snapshot(), selection)), "jsonl", f"{dataset}-prompts")
