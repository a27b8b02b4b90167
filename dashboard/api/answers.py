"""What every address says: JSON and CSV in full precision, and the one envelope of errors."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

import msgspec
from flask import Response


def json_response(answer: object, status: int = 200) -> Response:
    """A struct as JSON, numbers in full precision."""
    return Response(msgspec.json.encode(answer), status, mimetype="application/json")


def error_response(code: str, message: str, status: int, field: str | None = None, allowed: Sequence[str] = ()) -> Response:
    """The envelope of every error."""
    envelope: dict[str, Any] = {"code": code, "message": message, "field": field, "allowed": list(allowed), "rows": []}
    return json_response({"error": envelope}, status)


def csv_response(header: Sequence[str], rows: Sequence[Sequence[object]], name: str) -> Response:
    """A table as CSV, numbers in full precision, missing values blank."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([["" if cell is None else repr(cell) if isinstance(cell, float) else cell for cell in row] for row in rows])
    return Response(out.getvalue(), mimetype="text/csv", headers={"Content-Disposition": f'attachment; filename="{name}.csv"'})
