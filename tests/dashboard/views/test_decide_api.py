"""Answer or abstain as JSON and as CSV."""

import csv
import io


def test_the_csv_has_the_curves_of_the_json(client):
    answer = client.get("/api/v1/decide?dataset=pyramid").get_json()
    rows = list(csv.DictReader(io.StringIO(client.get("/api/v1/decide.csv?dataset=pyramid").text)))
    assert len(rows) == 100 * (len(answer["runs"]) + 1)
    for number, run in enumerate(answer["runs"]):
        for place in (0, 50, 99):
            row = rows[100 * number + place]
            assert (row["run"], float(row["t"])) == (run["run"], answer["thresholds"][place])
            assert float(row["murphy"]) == run["murphy"][place]
            assert float(row["best_threshold"]) == run["best_threshold"][place]
            for curve in ("net_score", "best_score"):
                for part, ending in (("values", ""), ("low", "_low"), ("high", "_high")):
                    assert float(row[curve + ending]) == run[curve][part][place]
    people = rows[-50]
    assert (people["run"], people["model"], people["murphy"]) == ("", "people", "")
    assert float(people["net_score"]) == answer["people"]["net_score"]["values"][50]
