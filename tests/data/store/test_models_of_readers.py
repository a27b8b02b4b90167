"""Models of datasets that somebody may not read do not exist for them: neither their names nor what is said of them."""

import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import StoreError
from clueline.data.store.audit import Audit
from clueline.data.store.migrations import m0017_distinct_models, m0018_models_of_datasets
from clueline.data.store.models import (
    BadModel,
    NoSuchModel,
    SeveralModels,
    describe,
    dismiss,
    distinct_pairs,
    known_models,
    merge,
    proposals,
    rename,
    split,
)
from tests.helpers.bundle_factory import FACTS, RESPONSES, put, write

HIDDEN = ("hush",)  # from the outsider


def fill(store, folder):
    """Make a public dataset ``toy`` and a private one ``hush``, each with a run of its own model."""
    put(store, write(folder / "toy", responses=RESPONSES), model="open")
    put(store, write(folder / "hush", FACTS | {"dataset": "hush"}, responses=RESPONSES), model="secret")
    describe(store, "secret", {"organisation": "Hush Labs", "notes": "unannounced"}, "ann")


@pytest.fixture
def filled(prefilled):
    return prefilled(fill)


def add(store, folder, dataset, model, confidence, hidden=()):
    """Import a run of a model on a dataset."""
    path = folder / f"{dataset}-{confidence}.csv"
    path.write_text(RESPONSES.replace("0.25", confidence))
    import_paths(store, [path], ImportOptions(dataset=dataset, model=model), hidden=hidden)


def seen(store, hidden=()):
    """Return the models that somebody sees: label -> names, datasets and organisation."""
    known = known_models(store.snapshot().without(hidden))
    return {model.label: (model.names, model.datasets, model.fact("organisation")) for model in known}


def proposed(store, hidden=()):
    snapshot = store.snapshot().without(hidden)
    return proposals(known_models(snapshot), distinct_pairs(snapshot.connection))


OPEN = (["open"], ["toy"], None)
SECRET = (["secret"], ["hush"], "Hush Labs")


def test_a_name_of_others_is_free(filled, tmp_path):
    add(filled, tmp_path, "toy", "secret", "0.3", HIDDEN)
    assert seen(filled, HIDDEN) == {"open": OPEN, "secret": (["secret"], ["toy"], None)}
    assert seen(filled) == {
        "open": OPEN, "secret (hush)": SECRET, "secret (toy)": (["secret"], ["toy"], None),
    }  # fmt: skip
    assert proposed(filled) == [["secret (hush)", "secret (toy)"]] and proposed(filled, HIDDEN) == []
    assert merge(filled, ["secret (hush)", "secret (toy)"], "secret", "ann")
    assert seen(filled) == {"open": OPEN, "secret": (["secret"], ["hush", "toy"], "Hush Labs")}
    assert seen(filled, HIDDEN) == {"open": OPEN, "secret": (["secret"], ["toy"], None)}


def test_an_upload_of_somebody_who_sees_the_model_is_one_of_it(filled, tmp_path):
    add(filled, tmp_path, "toy", "secret", "0.3")
    assert seen(filled) == {"open": OPEN, "secret": (["secret"], ["hush", "toy"], "Hush Labs")}
    assert seen(filled, HIDDEN) == {"open": OPEN, "secret": (["secret"], ["toy"], None)}


def test_an_upload_under_the_name_of_two_models_is_a_third(filled, tmp_path):
    put(filled, write(tmp_path / "more", FACTS | {"dataset": "more"}))
    add(filled, tmp_path, "toy", "secret", "0.3", HIDDEN)
    add(filled, tmp_path, "more", "secret", "0.3")
    assert list(seen(filled)) == ["open", "secret (hush)", "secret (more)", "secret (toy)"]
    assert proposed(filled) == [["secret (hush)", "secret (more)", "secret (toy)"]]


@pytest.mark.parametrize("name", ["secret", "unheard-of"])
def test_a_private_name_is_for_others_like_one_that_nobody_has(filled, name):
    """Whatever they try, they are answered the same, and nothing of the private model changes."""
    for change in (
        lambda: merge(filled, ["open", name], "open", "bob", HIDDEN),
        lambda: rename(filled, name, "open", "bob", HIDDEN),
        lambda: split(filled, name, "bob", HIDDEN),
        lambda: split(filled, "open", "bob", HIDDEN, name),
        lambda: dismiss(filled, ["open", name], "bob", HIDDEN),
        lambda: describe(filled, name, {"notes": "mine"}, "bob", HIDDEN),
    ):
        with pytest.raises(NoSuchModel) as refused:
            change()
        assert str(refused.value).replace(name, "NAME") in ("no model is called 'NAME'", "no run has the model name 'NAME'",
                                                            "no run on 'NAME' has the model name 'open'")  # fmt: skip
    assert merge(filled, ["open"], name, "bob", HIDDEN)
    assert seen(filled, HIDDEN) == {name: OPEN}
    assert rename(filled, name, "mine", "bob", HIDDEN) and rename(filled, "mine", name, "bob", HIDDEN)
    assert describe(filled, name, {"organisation": "Bob"}, "bob", HIDDEN)
    private = "secret (hush)" if name == "secret" else "secret"
    assert seen(filled)[private] == SECRET
    assert {event.datasets for event in Audit(filled.register).page(4)} == {("toy",)}


def test_each_sees_the_part_of_a_model_that_they_may_read(filled):
    assert merge(filled, ["open", "secret"], "secret", "ann")
    assert seen(filled) == {"secret": (["open", "secret"], ["hush", "toy"], "Hush Labs")}
    assert seen(filled, HIDDEN) == {"open": OPEN}, "a name of private runs is not said of others"
    assert seen(filled, ("toy",)) == {"secret": SECRET}
    assert describe(filled, "open", {"organisation": "Bob"}, "bob", HIDDEN)
    assert seen(filled, HIDDEN) == {"open": (["open"], ["toy"], "Bob")}
    assert seen(filled, ("toy",)) == {"secret": SECRET}
    assert rename(filled, "secret", "One", "ann"), "what insiders say from now on, they say of both"
    assert seen(filled, HIDDEN) == {"One": (["open"], ["toy"], "Bob")}
    (renamed, described, merged) = Audit(filled.register).page(3)
    assert (renamed.datasets, described.datasets, merged.datasets) == (("hush", "toy"), ("toy",), ("hush", "toy"))


def test_a_model_keeps_the_name_and_facts_that_each_saw(filled):
    rename(filled, "secret", "Codename", "ann")
    describe(filled, "open", {"organisation": "Open Lab"}, "bob", HIDDEN)
    merge(filled, ["open"], "Codename", "ann")
    assert seen(filled) == {"Codename": (["open", "secret"], ["hush", "toy"], "Hush Labs")}
    assert seen(filled, HIDDEN) == {"open": (["open"], ["toy"], "Open Lab")}


def test_an_outsider_splits_only_what_they_see(filled, tmp_path):
    add(filled, tmp_path, "toy", "other", "0.3")
    merge(filled, ["open", "secret", "other"], "secret", "ann")
    assert seen(filled, HIDDEN) == {"open": (["open", "other"], ["toy"], None)} or seen(filled, HIDDEN)
    (mine,) = seen(filled, HIDDEN)
    assert split(filled, "other", "bob", HIDDEN)
    assert not split(filled, "open", "bob", HIDDEN), "as they see it, it is alone"
    assert seen(filled, HIDDEN) == {"open": OPEN, "other": (["other"], ["toy"], None)} and mine == "open"
    assert seen(filled) == {
        "other": (["other"], ["toy"], None), "secret": (["open", "secret"], ["hush", "toy"], "Hush Labs"),
    }  # fmt: skip


def test_one_name_is_split_by_dataset(filled, tmp_path):
    add(filled, tmp_path, "toy", "secret", "0.3")
    assert split(filled, "secret", "ann", dataset="toy")
    assert seen(filled)["secret (hush)"] == SECRET and seen(filled)["secret (toy)"] == (["secret"], ["toy"], None)
    with pytest.raises(SeveralModels, match=r"say which: 'secret \(hush\)', 'secret \(toy\)'"):
        describe(filled, "secret", {"notes": "which?"}, "ann")
    assert describe(filled, "secret (toy)", {"organisation": "Toy Lab"}, "ann")
    assert seen(filled)["secret (hush)"] == SECRET
    with pytest.raises(BadModel, match="say which"):
        merge(filled, ["open"], "secret", "ann")


def test_a_dismissed_proposal_is_dismissed_for_those_nodes(filled, tmp_path):
    put(filled, write(tmp_path / "more", FACTS | {"dataset": "more"}))
    add(filled, tmp_path, "toy", "secret", "0.3", HIDDEN)
    assert dismiss(filled, ["secret (hush)", "secret (toy)"], "ann")
    assert proposed(filled) == []
    add(filled, tmp_path, "more", "lab/secret", "0.3", HIDDEN)
    assert proposed(filled, HIDDEN) == [["lab/secret", "secret"]]
    assert dismiss(filled, ["lab/secret", "secret"], "bob", HIDDEN)
    assert proposed(filled, HIDDEN) == []
    assert proposed(filled) == [["lab/secret", "secret (hush)"]], "of the private one nobody said so"


def test_a_dataset_that_becomes_private_takes_its_part_along(filled):
    merge(filled, ["open", "secret"], "Both", "ann")
    assert seen(filled, HIDDEN) == {"Both": OPEN} and seen(filled, ("toy",)) == {"Both": SECRET}
    assert seen(filled, ("toy", "hush")) == {}


EARLIER = """
    insert into models values ('Opus', 'Hush Labs', null, null, 'unannounced'), ('b', null, null, null, null),
        ('alone', 'Toy Lab', null, null, null);
    insert into model_names values ('open', 'Opus'), ('secret', 'Opus'), ('a', 'b'), ('b', 'b'), ('alone', 'alone')"""


def back(connection):
    """Take the tables back to the earlier schema, and migrate them again."""
    m0018_models_of_datasets.revert(connection)
    m0017_distinct_models.revert(connection)
    m0017_distinct_models.migrate(connection, None)
    m0018_models_of_datasets.migrate(connection, None)


def test_an_earlier_schema_takes_a_run_of_a_private_name(store, tmp_path):
    """As for a name that nobody has. There, it can only be one of the private model, of which the uploader sees nothing."""
    put(store, write(tmp_path / "toy", responses=RESPONSES), model="open")
    put(store, write(tmp_path / "hush", FACTS | {"dataset": "hush"}, responses=RESPONSES), model="secret")
    add(store, tmp_path, "toy", "secret", "0.3", HIDDEN)
    add(store, tmp_path, "toy", "unheard-of", "0.4", HIDDEN)
    assert "secret (toy)" in seen(store)
    store.write(back)
    assert seen(store)["secret"] == (["secret"], ["hush", "toy"], None)
    own = {name: ([name], ["toy"], None) for name in ("open", "secret", "unheard-of")}
    assert seen(store, HIDDEN) == own
    with pytest.raises(StoreError, match="what is said of models"):
        store.write(lambda connection: connection.execute(STATED) and back(connection))


STATED = "insert into model_facts values ('secret', 'hush', 'notes', 'new', 1, null)"


def test_earlier_facts_are_shown_to_who_reads_all_datasets(store, tmp_path):
    """Nobody knows which datasets those could read who stated it."""
    put(store, write(tmp_path / "toy"))
    put(store, write(tmp_path / "hush", FACTS | {"dataset": "hush"}))
    for number, (dataset, model) in enumerate(
        [("toy", "open"), ("toy", "a"), ("toy", "alone"), ("hush", "secret"), ("hush", "b")], 1
    ):
        add(store, tmp_path, dataset, model, f"0.{number}")

    def earlier(connection):
        m0018_models_of_datasets.revert(connection)
        connection.execute("delete from models; delete from model_names")
        connection.execute(EARLIER)
        m0018_models_of_datasets.migrate(connection, None)

    store.write(earlier)
    alone = (["alone"], ["toy"], "Toy Lab")
    assert seen(store) == {
        "alone": alone, "b": (["a", "b"], ["hush", "toy"], None), "Opus": (["open", "secret"], ["hush", "toy"], "Hush Labs"),
    }  # fmt: skip
    assert seen(store, HIDDEN) == {"alone": alone, "a": (["a"], ["toy"], None), "open": OPEN}
    assert seen(store, ("toy",)) == {"b": (["b"], ["hush"], None), "secret": (["secret"], ["hush"], None)}
    before = seen(store)

    store.write(back)
    assert seen(store) == before
    split(store, "secret", None)
    assert seen(store)["Opus"] == (["open"], ["toy"], "Hush Labs"), "a split leaves the others their facts"
    assert seen(store, HIDDEN)["open"] == OPEN, "which still only readers of all datasets see"
