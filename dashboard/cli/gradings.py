"""``clueline grades``: shows how the gradings of a run differ, and corrects single grades."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import click
import msgspec

from clueline.dashboard.cli.progress import CommandRefused
from clueline.dashboard.settings import Settings
from clueline.data.importing.run_gradings import MAX_STORED, TooManyGuesses, grade_run
from clueline.data.plurals import counted
from clueline.data.store import open_store
from clueline.data.store.gradings import (
    DRAWN,
    CannotAdopt,
    Correction,
    NothingToDraw,
    adopt_grading,
    correct_grades,
    draw_for_review,
)
from clueline.queries.gradings import SHOWN, GradedGuess, Show, graded_guesses, gradings
from clueline.queries.reviewed_samples import reviewed_runs
from clueline.queries.runs import run as run_facts
from clueline.queries.selection import Selection

VALUES = {"right": 1.0, "wrong": 0.0, "undo": None}


@click.command("grades")
@click.argument("run")
@click.option("--show", type=click.Choice(SHOWN), default="differ", show_default=True, help="Which guesses to list.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="How many guesses to list.")
@click.option(
    "--correct",
    "corrected",
    type=(str, str, str),
    multiple=True,
    metavar="QUESTION GUESS GRADE",
    help="Correct a grade: right, wrong, a number from 0 to 1, or undo. Can be repeated.",
)
@click.option("--clue", type=click.IntRange(0), help="Correct it only at this clue; by default, at every clue with this guess.")
@click.option("--note", help="The reason for the correction.")
@click.option("--adopt", metavar="GRADING", help="Measure the run by this grading; by its first one again: imported or graded.")
@click.option("--by-rules", is_flag=True, help="Also grade a run that came with grades by Clueline's current rules.")
@click.option("--review", "size", type=click.IntRange(1, 10_000), help="Draw so many answers at random for review.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="Seed of the draw; by default a random one.")
@click.option("--json", "as_json", is_flag=True, help="JSON as from /api/v1/runs/RUN/grades.")
@click.pass_obj
def grades_command(
    settings: Settings,
    run: str,
    show: Show,
    limit: int,
    corrected: Sequence[tuple[str, str, str]],
    clue: int | None,
    note: str | None,
    adopt: str | None,
    by_rules: bool,
    size: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """List the guesses of RUN on which its gradings differ, correct grades, or draw answers for review.

    A correction is recorded with your user name and the time. Nothing is overwritten; corrections form the grading `reviewed`.
    """
    if (note or "").startswith(DRAWN):
        raise click.BadParameter(f"a note cannot begin with {DRAWN.strip()!r}: that marks drawn answers", param_hint="--note")
    corrections = [Correction(question, guess or None, _value(grade), clue, note) for question, guess, grade in corrected]
    store = open_store(settings.store)
    try:
        if by_rules:
            differs = grade_run(store, run, None)
            click.echo(
                "Clueline's rules add nothing to the run's own grades."
                if differs is None
                else f"Graded by Clueline's rules: {counted(differs, 'answer differs', 'answers differ')} from the first grading."
            )
        if adopt:
            count = adopt_grading(store, run, adopt, None)
            differ = counted(count, "answer is graded", "answers are graded")
            click.echo(f"The run is measured by {adopt!r} now: {differ} otherwise than in its first grading.")
        if corrections:
            correct_grades(store, run, corrections, None)
            click.echo(f"{len(corrections):,} corrected; `grading=reviewed` shows the run with all corrections.")
        if size:
            seed = secrets.randbelow(2**31) if seed is None else seed
            drawn = draw_for_review(store, run, size, seed, None)
            click.echo(f"{counted(drawn, 'answer')} drawn with seed {seed}; `--show drawn` lists those that wait for review.")
        if by_rules or adopt or corrections or size:
            return
        snapshot = store.snapshot()
        selection = Selection(run_facts(snapshot, run).dataset)
        listed = graded_guesses(snapshot, selection, run, show, limit)
        if as_json:
            click.echo(msgspec.json.encode(listed))
            return
        graded = next(iter(gradings(snapshot, selection.on_runs([run])).runs), None)
        reviewed = next(iter(reviewed_runs(snapshot, selection.on_runs([run])).runs), None)
    except TooManyGuesses:
        raise CommandRefused(f"the run has more than {MAX_STORED:,} different guesses, too many to grade at once") from None
    except CannotAdopt as error:
        raise CommandRefused(str(error)) from error
    except NothingToDraw:
        raise CommandRefused("the run has no answers to draw from") from None
    if graded is None:
        click.echo(f"Run {run} has one grading: {listed.gradings[0]}.")
    else:
        for grading in graded.gradings:
            accuracy = "no answers" if grading.accuracy is None else f"accuracy {grading.accuracy:.4f}"
            click.echo(f"{grading.name} ({grading.source}): {accuracy}")
        for pair in graded.agreements:
            kappa = "" if pair.kappa is None else f", kappa {pair.kappa:.4f}"
            click.echo(f"{pair.a} and {pair.b} agree on {pair.agreeing:,} of {graded.answers:,} answers{kappa}")
    if reviewed:
        click.echo(f"{reviewed.drawn:,} answers drawn at random for review, {reviewed.reviewed:,} reviewed")
    if reviewed and reviewed.judge_error is not None:
        click.echo(f"graded by a judge that errs about {100 * reviewed.judge_error:.0f} %; estimated means with 95 % intervals:")
        for key, mean in reviewed.means.items():
            click.echo(f"  {key}: {mean.value:.4f} ({mean.low:.4f} to {mean.high:.4f}), by the judge alone {mean.judged:.4f}")
    for guess in listed.guesses:
        click.echo(_line(guess))
    if listed.total > len(listed.guesses):
        click.echo(f"the first {len(listed.guesses):,} of {listed.total:,}")


def _line(guess: GradedGuess) -> str:
    grades = ", ".join(f"{name} {value:g}" for name, value in guess.grades.items())
    rule = f" ({guess.rule})" if guess.rule else ""
    return f"{guess.question_id}\t{guess.guess or ''}\tfor {guess.answer or '-'}\t{grades}{rule}"


def _value(grade: str) -> float | None:
    if grade in VALUES:
        return VALUES[grade]
    try:
        value = float(grade)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise click.BadParameter(f"{grade!r} is not right, wrong, undo, or a number from 0 to 1", param_hint="--correct")
    return value
