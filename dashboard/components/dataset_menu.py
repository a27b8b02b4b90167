"""The menu of datasets in the header."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from dash import html

from dashboard.components.html_attributes import aria, data
from dashboard.components.links import page_link
from dashboard.name_shortening import shorten_middle
from data.importing.seed import BUNDLED
from data.plurals import counted
from queries.datasets import Dataset

MAX_TITLE_LENGTH = 34  # characters of a title in the header
SAMPLES = frozenset(bundle.name for bundle in BUNDLED)


def dataset_menu(datasets: Sequence[Dataset], chosen: str | None, path: str) -> html.Details:
    """Return a menu that leads to the same page of another dataset. ``assets/dataset_menu.js`` adds a search box if it is long.

    Args:
        datasets: datasets in order of import.
        chosen: id of the dataset that the page shows.
        path: path of this page.
    """
    title = next((dataset.title for dataset in datasets if dataset.dataset == chosen), "")
    label = shorten_middle(title, MAX_TITLE_LENGTH) if title else "Datasets"
    links = [
        html.Li(
            page_link(
                [
                    html.Span(dataset.title, className="name"),
                    html.Span(
                        f"{dataset.dataset} · {counted(dataset.questions, 'question')}, {counted(dataset.runs, 'run')}"
                        + (" · sample" if dataset.dataset in SAMPLES else ""),
                        className="about",
                    ),
                ],
                href=f"{path}?{urlencode({'dataset': dataset.dataset})}",
                class_name="current" if dataset.dataset == chosen else "",
            )
        )
        for dataset in samples_last(datasets)
    ]
    return html.Details(
        [
            html.Summary(label, title=title, **aria(label=f"Dataset: {title or 'choose'}")),
            html.Div(html.Ul(links), className="choices", **data(search="Find a dataset")),
        ],
        className="datasets",
    )


def only_samples(datasets: Sequence[Dataset]) -> bool:
    """Whether a store holds only the bundled samples."""
    return bool(datasets) and all(dataset.dataset in SAMPLES for dataset in datasets)


def samples_last(datasets: Sequence[Dataset]) -> list[Dataset]:
    """Return datasets in order of import, with the bundled samples last."""
    return sorted(datasets, key=lambda dataset: dataset.dataset in SAMPLES)
