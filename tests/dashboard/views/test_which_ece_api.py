"""Variants of the calibration error as JSON and as CSV."""

import csv
import io


def test_the_csv_has_the_errors_of_the_json(client):
    answer = client.get("/api/v1/which-ece?dataset=pyramid").get_json()
    rows = list(csv.DictReader(io.StringIO(client.get("/api/v1/which-ece.csv?dataset=pyramid").text)))
    expected = [
        (variant["key"], cell["run"], cell["value"], cell["rank"]) for variant in answer["variants"] for cell in variant["runs"]
    ]
    assert [(row["variant"], row["run"], float(row["value"]), float(row["rank"])) for row in rows] == expected


def test_intervals_are_those_of_the_leaderboard(client):
    answer = client.get("/api/v1/which-ece?dataset=pyramid&intervals=1").get_json()
    keys = [variant["key"] for variant in answer["variants"]]
    board = client.get(f"/api/v1/leaderboard?dataset=pyramid&intervals=1&metrics={','.join(keys)}").get_json()["rows"]
    for variant in answer["variants"]:
        expected = [(row["run"], row["metrics"][variant["key"]]["low"], row["metrics"][variant["key"]]["high"]) for row in board]
        assert [(cell["run"], cell["low"], cell["high"]) for cell in variant["runs"]] == expected
        assert all(low is not None for _, low, _ in expected)
    rows = list(csv.DictReader(io.StringIO(client.get("/api/v1/which-ece.csv?dataset=pyramid&intervals=1").text)))
    assert float(rows[0]["low"]) == answer["variants"][0]["runs"][0]["low"]
    plain = client.get("/api/v1/which-ece?dataset=pyramid").get_json()["variants"][0]["runs"][0]
    assert plain["low"] is None and plain["high"] is None


def test_the_leaderboard_has_variants_on_request(client):
    board = client.get("/api/v1/leaderboard?dataset=pyramid").get_json()
    assert "rms_hle" not in board["rows"][0]["metrics"]
    asked = client.get("/api/v1/leaderboard?dataset=pyramid&metrics=rms_hle,smooth_ece&intervals=1").get_json()
    for row in asked["rows"]:
        for cell in row["metrics"].values():
            assert 0 <= cell["low"] <= cell["value"] <= cell["high"] <= 1
