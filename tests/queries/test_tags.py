"""Tags of runs: import, changes, filters and exports."""

import pytest

from clueline.data.importing import distributed_import
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions
from clueline.data.store.run_tags import BadTag, change_tags, read_tag
from clueline.data.store.run_withdrawal import NoSuchRun
from clueline.queries.changes import pinned_version
from clueline.queries.leaderboard import leaderboard
from clueline.queries.runs import run
from clueline.queries.selection import Selection, read_facets, read_selection
from tests.helpers.bundle_factory import CLUES, QUESTIONS, in_format, put, write

RESPONSES = "model,elicitation,question_id,clue,guess,confidence\n" + "".join(
    f"{model},verbalized,q1,{clue},Paris,{confidence}\n"
    for model, confidence in (("alpha", 0.25), ("beta", 0.75))
    for clue in range(3)
)
TAGS = "model,elicitation,tag,value\nalpha,verbalized,reasoning,yes\nbeta,verbalized,reasoning,no\nbeta,verbalized,a = b,ü\n"


def two_runs(importing, folder):
    return importing(folder / "store", write(folder / "toy", questions=QUESTIONS, clues=CLUES, responses=RESPONSES, tags=TAGS))


@pytest.fixture
def tagged(prefilled):
    return prefilled(two_runs)


def ids(snapshot):
    return dict(snapshot.rows("select model, run from runs"))


def read(snapshot, *pairs):
    return read_selection(pairs, lambda dataset: read_facets(snapshot, dataset))


def test_runs_are_chosen_by_their_tags(tagged):
    snapshot = tagged.snapshot()
    for pairs, expected in (
        ([], {"alpha", "beta"}),
        ([("tag.reasoning", "yes")], {"alpha"}),
        ([("tag.reasoning", "yes"), ("tag.reasoning", "no")], {"alpha", "beta"}),
        ([("tag.reasoning", "no"), ("tag.a = b", "ü")], {"beta"}),
        ([("tag.reasoning", "yes"), ("tag.a = b", "ü")], set()),
    ):
        selection = read(snapshot, ("dataset", "toy"), *pairs)
        assert {row.model for row in leaderboard(snapshot, selection, ()).rows} == expected
        assert selection.pairs() == [("dataset", "toy"), *pairs]
        assert selection.without_filters("runs") == Selection("toy")
    selection = read(snapshot, ("dataset", "toy"), ("tag.reasoning", "yes"), ("tag.a = b", "ü"))
    assert [kind.sentence(key, selection.value(key)) for key, kind in selection.applied().items()] == ["reasoning yes", "a = b ü"]


def test_tags_are_changed(tagged):
    before = tagged.snapshot()
    name, version = ids(before)["alpha"], pinned_version(before, Selection("toy"))
    assert change_tags(tagged, name, {"reasoning": None, "released": "2026-05"}, "ann")
    after = tagged.snapshot()
    assert run(after, name).tags == {"released": "2026-05"}
    assert after.states["toy"].base == before.states["toy"].base and after.states["toy"].revision != before.states["toy"].revision
    assert pinned_version(after, Selection("toy")) != version
    assert not change_tags(tagged, name, {"released": "2026-05", "size": None}, "ann")
    with pytest.raises(NoSuchRun):
        change_tags(tagged, "nobody", {"a": "b"}, "ann")
    with pytest.raises(BadTag, match="at most 100 tags"):
        change_tags(tagged, name, {f"t{n}": "1" for n in range(100)}, "ann")


def test_a_stored_run_keeps_its_tags(tagged, tmp_path):
    path = write(tmp_path / "copy", questions=QUESTIONS, clues=CLUES, responses=RESPONSES)
    report = import_paths(tagged, [path], ImportOptions(tags=(("reasoning", "yes"),)))
    name = ids(tagged.snapshot())["beta"]
    assert report.warnings == [f"run {name} is already stored and keeps its tags; not added: reasoning"]
    assert run(tagged.snapshot(), name).tags["reasoning"] == "no"


def test_bad_tags_of_a_bundle_are_refused(empty, tmp_path):
    lines = {
        "gamma,verbalized,reasoning,yes": "no such run in this bundle",
        "alpha,verbalized,reasoning,yes\nalpha,verbalized,reasoning,no": "this tag of the run is in the file already",
        "alpha,verbalized,,yes": "a value is required here",
    }
    for line, reason in lines.items():
        tags = f"model,elicitation,tag,value\n{line}\n"
        with pytest.raises(Refused) as caught:
            put(empty, write(tmp_path / "toy", questions=QUESTIONS, clues=CLUES, responses=RESPONSES, tags=tags))
        assert [problem.reason for problem in caught.value.problems] == [reason]


def test_invalid_tags_are_refused():
    for text in ("reasoning", "=yes", "reasoning=", "x" * 101 + "=1", "a=" + "x" * 501, "a\x07=1"):
        with pytest.raises(BadTag):
            read_tag(text)


def test_tags_stated_for_all_runs_override_the_bundle(empty, tmp_path):
    path = write(tmp_path / "toy", questions=QUESTIONS, clues=CLUES, responses=RESPONSES, tags=TAGS)
    import_paths(empty, [path], ImportOptions(tags=(("reasoning", "unknown"), ("size", "7b"))))
    snapshot = empty.snapshot()
    assert run(snapshot, ids(snapshot)["beta"]).tags == {"a = b": "ü", "reasoning": "unknown", "size": "7b"}


def test_runs_of_a_distributed_import_have_tags(importing, tmp_path):
    store = importing(tmp_path / "store", write(tmp_path / "toy", questions=QUESTIONS, clues=CLUES, responses=None))
    path = tmp_path / "rows.parquet"
    path.write_bytes(in_format(RESPONSES, "parquet"))
    options = ImportOptions(dataset="toy", tags=(("reasoning", "yes"), ("a = b", "ü")))
    groups = distributed_import.merge_groups(distributed_import.groups_of_file(path))
    prepared = [distributed_import.prepare(store.url, group, options) for group in groups]
    published = distributed_import.publish(store, prepared)
    assert len(published) == 2
    assert [run(store.snapshot(), name).tags for name in published] == [{"reasoning": "yes", "a = b": "ü"}] * 2
