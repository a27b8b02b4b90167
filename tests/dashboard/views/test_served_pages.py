"""Pages as they leave the server: their status, and that nothing in them points to another host."""

import re

import pytest

from tests.helpers.paths import ROOT

ASSETS = ROOT / "assets"
ELSEWHERE = re.compile(r"(?:https?:)?//[a-z0-9-]+(?:\.[a-z0-9-]+)+[^\s\"'<>)]*", re.IGNORECASE)
NAMESPACES = ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml", "http://www.w3.org/1998/Math/MathML")
GOOD = [
    "/?dataset=tone&subcategory=open", "/questions/tone/work-01",
    "/", "/?dataset=pyramid&category=History&sort=-brier&theme=dark", "/questions", "/questions?dataset=pyramid&metric=calscore",
    "/questions/pyramid/lit-01", "/questions/pyramid/lit-01?clue=0&human=survival", "/questions/lifeeval/0", "/datasets",
    "/questions/pyramid/lit-01?threshold=0.5&metric=brier",
    "/metrics", "/?published=grace-table-1",
    "/?dataset=pyramid&difficulty=0..0.01", "/buzz",
    "/buzz?dataset=pyramid&curve=dataset&human=survival&threshold=0.5&theme=dark",
    # keys that a page does not have, such as those of tracking links
    "/?colour=red", "/metrics?metric=ece", "/buzz?dataset=pyramid&sort=brier",
    "/questions/pyramid/lit-01?utm_source=news&utm_source=x",
]  # fmt: skip
BAD = [
    ("/?category=Cookery", 400),
    ("/?dataset=pyramid&dataset=lifeeval", 400),
    ("/datasets?dataset=nowhere", 400),
    ("/questions/pyramid/lit-01?run=x", 400),
    ("/?sort=beauty", 400),
    ("/?published=beauty", 400),
    ("/?theme=pink", 400),
    ("/questions?metric=beauty", 400),
    ("/questions/pyramid/lit-01?clue=99", 400),
    ("/questions/pyramid/lit-01?metric=beauty", 400),
    ("/questions/pyramid/lit-01?metric=hard_easy_slope", 400),
    ("/questions/pyramid/lit-01?threshold=2", 400),
    ("/buzz?dataset=pyramid&threshold=2", 400),
    ("/buzz?dataset=pyramid&scale=percent", 400),
    ("/questions/pyramid/lit-99", 404),
    ("/questions/nowhere/lit-01", 404),
    ("/questions/pyramid", 404),
    ("/nowhere", 404),
    ("/questions/pyramid/lit-01/more", 404),
]


@pytest.mark.parametrize("address", GOOD)
def test_a_good_address_is_a_page(client, address):
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.mimetype == "text/html"
    assert "<title>" in answer.text and 'lang="en"' in answer.text


@pytest.mark.parametrize(("address", "status"), BAD)
def test_a_bad_address_has_its_error_status(client, address, status):
    answer = client.get(address)
    assert answer.mimetype == "text/html"
    assert answer.status_code == status


def pointing_elsewhere(text):
    return [address for address in ELSEWHERE.findall(text) if not address.startswith(NAMESPACES)]


@pytest.mark.parametrize("address", ["/", "/questions/pyramid/lit-01", "/nowhere"])
def test_the_served_page_asks_no_other_host(client, address):
    assert not pointing_elsewhere(client.get(address).text)


def test_no_asset_asks_another_host():
    hosts_by_asset = {
        path.name: pointing_elsewhere(path.read_text(encoding="utf-8"))
        for path in ASSETS.rglob("*")
        if path.suffix in (".js", ".css", ".svg", ".html", ".json")
    }
    assert hosts_by_asset
    assert not {name: hits for name, hits in hosts_by_asset.items() if hits}


def test_every_script_of_the_page_is_served(client):
    text = client.get("/").text
    sources = re.findall(r'(?:src|href)="([^"]+)"', text)
    assert any("question" in source for source in sources)
    for source in sources:
        answer = client.get(source.replace("&amp;", "&"))
        assert answer.status_code == 200, source


def test_figures_never_offer_to_upload():
    from dashboard.ui.figure import CONFIG

    assert CONFIG["showSendToCloud"] is False
