"""Models of names: proposed, merged, split and renamed. Runs, and addresses that name them, stay as they are."""

import pytest

from clueline.data.store import StoreError
from clueline.data.store.audit import Audit
from clueline.data.store.migrations import (
    m0015_models,
    m0016_scores,
    m0017_distinct_models,
    m0018_models_of_datasets,
    m0019_unstated_ends,
    m0020_evaluation_days,
)
from clueline.data.store.models import BadModel, describe, dismiss, merge, rename, split
from clueline.queries.models import models
from tests.helpers.bundle_factory import RESPONSES, put, records, table, write

NAMES = ("opus-5", "lab/opus-5", "mockllm/Opus-5-20251101", "sonnet")


def fill(store, folder):
    answers = table([row | {"model": name} for name in NAMES for row in records(RESPONSES)])
    put(store, write(folder / "toy", responses=answers))


@pytest.fixture
def filled(prefilled):
    return prefilled(fill)


def runs_of(store):
    return store.snapshot().rows("select run, model, position from runs order by position")


def named(store):
    return {row.model: row.names for row in models(store.snapshot()).models}


def test_names_are_proposed_but_not_merged(filled):
    listed = models(filled.snapshot())
    assert [row.model for row in listed.models] == sorted(NAMES)
    assert listed.proposals == [["lab/opus-5", "mockllm/Opus-5-20251101", "opus-5"]]


def test_models_are_merged_renamed_and_split(filled):
    before = runs_of(filled)
    describe(filled, "lab/opus-5", {"organisation": "Lab", "released": "2025-11"}, "ann")
    assert merge(filled, NAMES[:3], "opus-5", "ann")
    assert named(filled) == {"opus-5": sorted(NAMES[:3]), "sonnet": ["sonnet"]}
    (opus, _) = models(filled.snapshot()).models
    assert (opus.runs, opus.organisation, opus.released) == (3, "Lab", "2025-11")
    assert not merge(filled, ["lab/opus-5"], "opus-5", "ann"), "it is one of its names already"
    assert rename(filled, "opus-5", "Opus 5", "ann") and not rename(filled, "Opus 5", "Opus 5", "ann")
    assert split(filled, "lab/opus-5", "ann")
    assert named(filled) == {"lab/opus-5": ["lab/opus-5"], "Opus 5": [NAMES[2], "opus-5"], "sonnet": ["sonnet"]}
    assert runs_of(filled) == before
    changes = [(event.action, event.by, event.model, event.names) for event in reversed(Audit(filled.register).page(9))]
    assert changes[-4:] == [
        ("described_model", "ann", "lab/opus-5", "organisation, released"),
        ("merged_models", "ann", "opus-5", ", ".join(sorted(NAMES[:3]))),
        ("renamed_model", "ann", "Opus 5", "opus-5"),
        ("split_model", "ann", "lab/opus-5", None),
    ]


def test_a_dismissed_proposal_comes_back_only_with_a_new_name(filled, tmp_path):
    group = models(filled.snapshot()).proposals[0]
    assert dismiss(filled, group, "ann") and not dismiss(filled, group, "ann")
    assert models(filled.snapshot()).proposals == []
    (event, *_) = Audit(filled.register).page(1)
    assert (event.action, event.by, event.names) == ("dismissed_proposal", "ann", ", ".join(group))
    rename(filled, "opus-5", "Opus", None)
    assert models(filled.snapshot()).proposals == []
    put(filled, write(tmp_path / "more", responses=RESPONSES.replace("0.25", "0.3")), model="hf/opus-5", dataset="toy")
    assert "hf/opus-5" in models(filled.snapshot()).proposals[0]


def test_a_split_leaves_the_other_names_together(filled):
    merge(filled, NAMES[:3], "opus-5", None)
    assert split(filled, "opus-5", None)
    assert named(filled) == {"opus-5": ["opus-5"], "lab/opus-5": sorted(NAMES[1:3]), "sonnet": ["sonnet"]}
    assert not split(filled, "opus-5", None)


IMPOSSIBLE = [
    (merge, ["nobody", "sonnet"], "sonnet"), (merge, ["sonnet"], " "), (rename, "sonnet", "opus-5"), (split, "nobody"),
    (dismiss, ["nobody", "sonnet"]), (describe, "sonnet", {"released": "soon"}), (describe, "sonnet", {"colour": "red"}),
    (describe, "sonnet", {"notes": "x" * 2001}),
]  # fmt: skip


def test_what_cannot_be_done_changes_nothing(filled):
    version = filled.version()
    for change, *arguments in IMPOSSIBLE:
        with pytest.raises(BadModel):
            change(filled, *arguments, None)
    assert filled.version() == version
    assert not describe(filled, "sonnet", {}, None)


def test_a_later_import_under_a_merged_name_is_of_that_model(filled, tmp_path):
    merge(filled, NAMES[:3], "Opus", None)
    other = RESPONSES.replace("0.25", "0.3")
    put(filled, write(tmp_path / "more", responses=other), model="lab/opus-5", dataset="toy")
    assert {row.model: row.runs for row in models(filled.snapshot()).models} == {"Opus": 4, "sonnet": 1}


def test_a_step_back_keeps_what_the_earlier_schema_can_hold(filled):
    def back(connection):
        of_models = (m0015_models, m0016_scores, m0017_distinct_models, m0018_models_of_datasets)
        steps = (*of_models, m0019_unstated_ends, m0020_evaluation_days)
        for step in reversed(steps):
            step.revert(connection)
        for step in steps:
            step.migrate(connection, None)

    before = named(filled)
    filled.write(back)
    assert named(filled) == before
    merge(filled, NAMES[:2], "opus-5", None)
    with pytest.raises(StoreError, match="models"):
        filled.write(back)
    dismiss(filled, NAMES[1:3], None)
    with pytest.raises(StoreError, match="dismissed"):
        filled.write(m0017_distinct_models.revert)
