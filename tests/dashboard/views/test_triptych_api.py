"""The figures next to the reliability diagrams, as JSON and as CSV."""

import csv
import io


def test_the_csv_has_the_numbers_of_the_json(client):
    runs = client.get("/api/v1/triptych?dataset=pyramid").get_json()["runs"]
    rows = list(csv.DictReader(io.StringIO(client.get("/api/v1/triptych.csv?dataset=pyramid").text)))
    for row, run in zip(rows, runs, strict=True):
        assert row["run"] == run["run"]
        for field in ("brier", "mcb", "dsc", "unc", "auroc", "smooth_ece", "p_spiegelhalter", "p_kuiper", "p_ks"):
            assert float(row[field]) == run[field]
