"""What is selected: the filters and conventions of an address, and what a dataset offers to filter by.

Other packages import the selection from here, and kinds of parameters, filters and facets from their modules.
"""

from clueline.queries.selection.selection import (
    CONVENTIONS,
    Answer,
    ClueMask,
    Request,
    Selection,
    dataset_conventions,
    has_forecasts,
    head,
    number,
    read_address,
    read_facets,
    read_parameters,
    read_selection,
    selection_keys,
)

__all__ = [
    "CONVENTIONS",
    "Answer",
    "ClueMask",
    "Request",
    "Selection",
    "dataset_conventions",
    "has_forecasts",
    "head",
    "number",
    "read_address",
    "read_facets",
    "read_parameters",
    "read_selection",
    "selection_keys",
]
