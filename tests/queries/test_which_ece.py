"""The page Which ECE: values of the variants, ranks, bins and left-out items."""

import pytest
from msgspec import structs

from clueline.dashboard.views.which_ece import first_words, review_words
from clueline.queries.compare import compare
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.which_ece import WHICH_METRICS, RunError, which_ece

PYRAMID = Selection("pyramid")


@pytest.fixture(scope="module")
def result(bundled):
    return which_ece(bundled, PYRAMID)


def test_values_and_ranks_are_those_of_the_leaderboard(bundled, result):
    board = leaderboard(bundled, PYRAMID, (*WHICH_METRICS, CATALOGUE["ece"]))
    for variant in result.variants:
        for row, cell in zip(board.rows, variant.runs, strict=True):
            expected = row.metrics[variant.key]
            assert (row.run, expected.value, expected.rank) == (cell.run, cell.value, cell.rank), variant.key
    (variant,) = (variant for variant in result.variants if variant.key == "ece_width10")
    assert [cell.value for cell in variant.runs] == pytest.approx([row.metrics["ece"].value for row in board.rows], abs=1e-12)
    other = which_ece(bundled, PYRAMID.replace(conventions=Conventions("mass15")))
    assert other.variants == result.variants, "the binning of the address does not matter"


def test_bins_are_those_of_the_chosen_run(bundled, result):
    with pytest.raises(BadRequest) as caught:
        which_ece(bundled, PYRAMID, "nobody")
    assert caught.value.field == "focus"
    other = result.runs[2].run
    chosen = which_ece(bundled, PYRAMID, other)
    assert (result.focus, chosen.focus) == (result.runs[0].run, other)
    for variant in chosen.variants:
        cell = next(cell for cell in variant.runs if cell.run == other)
        counted = sum(part.items for part in variant.bins if part.counted)
        if variant.bins:
            assert counted + cell.left_out == chosen.items
    script = next(variant for variant in chosen.variants if variant.key == "rms_hle")
    assert [part.counted for part in script.bins] == [True, True, False]
    assert script.runs[0].left_out == script.bins[-1].items > 100


def test_few_items_say_why_the_script_has_no_value(bundled):
    small = which_ece(bundled, PYRAMID.replace(questions=("lit-01",)))
    (script,) = (variant for variant in small.variants if variant.key == "rms_hle")
    assert {cell.value for cell in script.runs} == {None} and "fewer than 100 items" in script.runs[0].missing
    assert script.bins == [] and which_ece(bundled, PYRAMID.replace(q="zzzz")).variants == []


def test_the_text_names_the_range_and_what_is_left_out(result):
    names = {run.run: run.model for run in result.runs}
    text = review_words(result, names, "Pyramid")
    errors = {variant.key: variant.runs[0].value for variant in result.variants}
    others = ("corp_mcb", "ks", "smooth_ece", "ece_debiased", "rms_hle", "rms_hle_whole")  # no means of gaps over bins
    means = [error for key, error in errors.items() if key not in others]
    assert f"from {min(means):.3f} (" in text and f"to {max(means):.3f} (" in text and f"over {len(means)} ways" in text
    assert f"HLE's script reports is {errors['rms_hle']:.3f}." in text
    (script,) = (variant for variant in result.variants if variant.key == "rms_hle")
    assert f"RMS HLE {script.runs[0].left_out} of {result.items}" in text


def test_the_text_does_not_contradict_itself(result):
    """A range of two equal numbers, a script that drops every item, variants that all agree, and an undefined one."""
    names = {run.run: run.model for run in result.runs}

    def words(error, left_out, tau):
        cells = [RunError(run.run, error, float(place), left_out, None) for place, run in enumerate(result.runs, 1)]
        undefined = [RunError(run.run, None, None, 0, "why") for run in result.runs]
        variants = [
            structs.replace(variant, runs=undefined if variant.key == "ece_debiased" else cells) for variant in result.variants
        ]
        agreement = [structs.replace(pair, tau=tau) for pair in result.agreement]
        return review_words(structs.replace(result, variants=variants, agreement=agreement), names, "Pyramid")

    text = words(0.0001, result.items, 1.0)
    assert "is 0.000 by all 11 ways" in text and "ranges from" not in text
    assert "HLE's script reports is 0.000, because it leaves out every item." in text
    assert "All variants that tell the runs apart rank them alike." in text and "agree least" not in text
    assert "Undefined here: ECE deb. " in text and ".." not in text
    text = words(0.25, 3, 0.5)
    assert "because it leaves out" not in text and "agree least: tau-b = 0.50" in text
    assert "No variant tells the runs apart." in words(0.25, 3, None)


def test_words_say_whether_another_first_run_is_shown(bundled, result):
    names = {run.run: f"{run.model} {run.elicitation}" for run in result.runs}
    firsts = [variant for variant in result.variants if variant.first]
    usual = max(firsts, key=lambda variant: sum(other.first == variant.first for other in firsts)).first
    others = [variant for variant in firsts if variant.first != usual]
    assert others and all((variant.p_value is None) == (variant.first == usual) for variant in firsts)
    for variant in others:
        pair = compare(bundled, PYRAMID, usual, variant.first, [CATALOGUE[variant.key]])
        assert variant.p_value == pytest.approx(pair.metrics[variant.key].p_value, abs=1e-9)
        assert variant.p_value > 0.05
    most = f"{len(firsts) - len(others)} of {len(firsts)} variants put {names[usual]} first."
    unshown = f"; a difference is shown by none of these {len(others)} (p < 0.05)."
    first, second = first_words(result, names)
    assert first == most and second.endswith(unshown)
    certain = [structs.replace(variant, p_value=variant.p_value and 0.01) for variant in result.variants]
    assert f"shown by {len(others)} of these" in first_words(structs.replace(result, variants=certain), names)[1]
    alone = [variant for variant in result.variants if variant.first in (None, usual)] + others[:1]
    assert first_words(structs.replace(result, variants=alone), names)[1].endswith("the difference is not shown (p < 0.05).")
