"""Clusters of questions as units, against definitions written out with whole clusters."""

import numpy as np
import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.engine.bootstrap import resampling_weights
from clueline.queries.engine.extra_question import with_extra_question
from clueline.queries.engine.gather import gather
from clueline.queries.engine.units import count_units
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.selection import Selection
from tests.helpers.clustered_bundle import CLUES, EACH, PACKETS, clustered_bundle
from tests.helpers.simulated_evidence import repeated

PACKET = Selection("packets", cluster="packet")
SETTINGS = [Conventions(), Conventions("mass3"), Conventions("width10+1", beta=2.0)]


@pytest.fixture(scope="module")
def packets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("packets")
    store = open_store(folder / "store")
    import_paths(store, [clustered_bundle(folder / "bundle")], ImportOptions())
    return store.snapshot()


def test_units_are_the_values_of_the_attribute(packets):
    def counted(cluster, **filters):
        counts = count_units(packets, Selection("packets", cluster=cluster, **filters))
        return counts.name, counts.units, counts.questions

    assert counted("") == counted("question") == ("question", 48, 48)
    assert counted("packet") == ("packet", 12, 48)
    assert counted("packet", questions=("q00", "q03", "q04")) == ("packet", 2, 3)
    assert counted("everything", category=("Arts",)) == ("everything", 1, 24)
    assert counted("pair") == ("pair", 44, 48)  # four pairs, and forty questions without the attribute


@pytest.mark.parametrize("conventions", SETTINGS, ids=lambda settings: settings.binning)
def test_a_replicate_draws_whole_clusters(packets, conventions):
    evidence = gather(packets, PACKET.replace(conventions=conventions), METRICS)
    drawn = resampling_weights(PACKETS)
    for metric in METRICS:
        if metric.cross_fitted:
            continue  # its folds follow the clusters too
        replicates = evidence.replicates(metric)
        for row in (0, 7, 999):
            written_out = repeated(evidence, drawn[row][evidence.unit_of_rows].astype(int))
            assert replicates[row] == pytest.approx(written_out.values(metric), abs=1e-12, nan_ok=True), metric.key


@pytest.mark.parametrize("conventions", SETTINGS, ids=lambda settings: settings.binning)
def test_the_jackknife_leaves_out_whole_clusters(packets, conventions):
    evidence = gather(packets, PACKET.replace(conventions=conventions), METRICS)
    assert evidence.units_answered.tolist() == [PACKETS] * len(evidence.runs)
    for metric in METRICS:
        if metric.binned and conventions.mass_bins:
            continue  # bins are cut again without each cluster
        units, whole = evidence.units_with(metric), evidence.values(metric)
        expected = np.array([
            units * whole - (units - 1) * evidence.select_rows(evidence.unit_of_rows != unit).values(metric)
            for unit in range(PACKETS)
        ])  # fmt: skip
        pseudo_values = evidence.pseudo_values(metric)
        known = np.isfinite(pseudo_values)  # of clusters that have what the metric needs
        assert known.sum(axis=0).tolist() in (units.tolist(), np.isfinite(expected).sum(axis=0).tolist()), metric.key
        assert pseudo_values[known] == pytest.approx(expected[known], abs=1e-9), metric.key


def test_counts_are_of_clusters(packets):
    evidence = gather(packets, PACKET, [CATALOGUE["brier"], CATALOGUE["auroc"]])
    assert evidence.largest_clusters.tolist() == [EACH * CLUES] * len(evidence.runs)
    for run, rarer in enumerate(evidence.rarer_outcomes(CATALOGUE["accuracy"])):
        _, correct = evidence.items_of(run)
        units = evidence.unit_of_items(run)
        assert rarer == min(len({*units[correct == outcome]}) for outcome in (0, 1))
    for extended in with_extra_question(evidence):
        assert extended.units.count == PACKETS + 1
        assert (extended.sums["items"][extended.ends - 1] == EACH * CLUES).all()


def test_folds_do_not_divide_clusters(packets):
    metric = CATALOGUE["ece_debiased"]
    evidence = gather(packets, PACKET, [metric])
    folds = evidence.contributions(metric)["items_by_fold"].bin  # of each row
    assert len({*zip(evidence.unit_of_rows.tolist(), folds.tolist(), strict=True)}) == PACKETS
    single = evidence.by_question()
    assert (single.units.count, evidence.units.count) == (PACKETS * EACH, PACKETS)
    assert (
        len({*zip(evidence.unit_of_rows.tolist(), single.contributions(metric)["items_by_fold"].bin.tolist(), strict=True)})
        > PACKETS
    )
