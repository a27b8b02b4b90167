"""Arguments of the commands that read files of runs: ``import`` and ``score``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import click

from data.importing.staging import MAX_MOMENTS, ImportOptions
from data.readers import formats, readers
from data.store.run_tags import BadTag, read_tag


class FileOptions(TypedDict):
    """Values of the options; None for an option that was not given."""

    form: str | None
    model: str | None
    elicitation: str | None
    classes: str | None
    confidence_scale: str
    respondents: bool
    series: int | None


def file_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument for paths and the options of ``FileOptions`` to a command."""
    for decorate in (
        click.option(
            "--confidence-scale",
            type=click.Choice(["unit", "percent"]),
            default="unit",
            show_default=True,
            help="Scale of the confidences: 0 to 1, or 0 to 100.",
        ),
        click.option("--respondents", is_flag=True, help="Each value in the column `sample` is a person who answered."),
        click.option(
            "--series",
            type=click.IntRange(1, MAX_MOMENTS),
            metavar="N",
            help="Metaculus: take the forecasts standing at N moments between opening and close as clues of each question.",
        ),
        click.option("--classes", metavar="A,B,C", help="Order of the classes in a new dataset or in ChaosNLI predictions."),
        click.option("--elicitation", help="How the confidence was elicited, if the file does not say."),
        click.option("--model", help="The model, if the file does not say."),
        click.option("--as", "form", metavar="FORMAT", callback=_check_form, help="Format; detected by default."),
        click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH..."),
    ):
        command = decorate(command)
    return command


def format_list() -> str:
    """Return the list of formats for the end of a command's help, one line per format."""
    rows = formats()
    width = max(len(row.key) for row in rows) + 2
    lines = [f"  {row.key:{width}}{row.reads.replace('`', '')}" for row in rows]
    return "\n".join(["\b", "Formats (details in docs/formats.md):", *lines])


def read_tags(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Return tags and their values; used as a click ``callback``."""
    try:
        return tuple(read_tag(text) for text in texts)
    except BadTag as error:
        raise click.BadParameter(str(error)) from error


def import_options(
    options: FileOptions,
    *,
    dataset: str | None,
    title: str | None = None,
    replace: bool = False,
    names: bool = False,
    tags: tuple[tuple[str, str], ...] = (),
) -> ImportOptions:
    """Return the import's options for the options given on the command line."""
    return ImportOptions(
        dataset=dataset,
        title=title,
        model=options["model"],
        elicitation=options["elicitation"],
        percent=options["confidence_scale"] == "percent",
        respondents=options["respondents"],
        series=options["series"],
        classes=tuple(name.strip() for name in options["classes"].split(",")) if options["classes"] else (),
        replace=replace,
        names=names,
        tags=tags,
    )


def _check_form(context: click.Context, parameter: click.Parameter, form: str | None) -> str | None:
    if form is not None and form not in readers():
        raise click.BadParameter(f"this version reads: {', '.join(sorted(readers()))}")
    return form
