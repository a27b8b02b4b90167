"""Views as files: nothing is asked of a server, nobody gets what they may not read, and text is only ever text."""

import re
from datetime import UTC, datetime
from urllib.parse import quote, urlsplit

import pytest

from clueline.dashboard.access.signed_links import sign
from clueline.dashboard.app import create_app
from clueline.dashboard.cli import report
from clueline.dashboard.settings import Settings
from clueline.dashboard.views.report.file import frame
from clueline.dashboard.views.report.site import Site
from clueline.data.store import open_store
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.bundle_factory import FACTS, RESPONSES, put, write
from tests.helpers.html_elements import Elements

HOSTILE = '</script><img src=x onerror="alert(1)">&amp;'
DOZEN = (
    "/?dataset=pyramid", "/reliability?dataset=pyramid", "/questions/pyramid/lit-01", "/questions?dataset=pyramid",
    "/decide?dataset=pyramid", "/compare?dataset=pyramid", "/difficulty?dataset=pyramid", "/buzz?dataset=pyramid",
    "/slices?dataset=pyramid", "/teams?dataset=pyramid", "/which-ece?dataset=pyramid", "/people?dataset=tone",
)  # fmt: skip


def saved(client, *views, **more):
    query = "&".join(f"view={quote(view, safe='')}" for view in views)
    return client.get(f"/api/v1/report.html?{query}", **more)


@pytest.fixture(scope="module")
def dozen(seeded, cli, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    done = cli("report", *DOZEN, "-o", path, "--store", seeded, url="https://lab.example")
    assert done.returncode == 0, done.stderr
    return path


def test_a_dozen_views_are_one_small_file_without_requests(dozen):
    text = dozen.read_text(encoding="utf-8")
    elements = Elements(text)
    assert len(text.encode()) < 6_000_000
    assert sum("view " in (kind or "") for kind in elements.values("class")) == 12
    assert elements.values("src", "srcset", "action") == [] and not any(tag == "link" for tag, _ in elements.tags)
    assert re.findall(r'url\("?(?!"?data:)', text.partition("</style>")[0]) == []
    ids = elements.values("id")
    assert len(ids) == len(set(ids))
    links = elements.values("href")
    assert {link.partition("#")[2] for link in links if link.startswith("#")} <= set(ids)
    assert "#view-3" in links and "https://lab.example/runs?dataset=pyramid" not in links  # a link between two of its views
    assert all(link.startswith(("#", "https://")) for link in links)
    for words in (
        "data version",
        "Methods",
        "Results are for 60 questions of Pyramid",
        "Definitions",
        "Metric per run: <b>CalScore",
    ):
        assert words in text, words


def test_without_a_known_address_no_link_leaves_the_file(client):
    answer = saved(client, "/reliability?dataset=tone&category=Work", "/metrics")
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert not any(link.startswith(("/", "http://localhost")) for link in Elements(answer.text).values("href"))
    assert "category Work" in answer.text


@pytest.mark.parametrize(
    ("views", "status"),
    [
        (("/nowhere",), 404),
        (("https://elsewhere.example/",), 400),
        (("/upload",), 400),
        (("/?category=x",), 400),
        (("/",) * 25, 400),
    ],
)
def test_what_cannot_be_saved_is_refused(client, views, status):
    assert saved(client, *views).status_code == status


def test_hostile_text_is_text(tmp_path):
    store = open_store(tmp_path / "store")
    questions = f'question_id,answer,category\nq1,"{HOSTILE.replace(chr(34), chr(34) * 2)}",Places\nq2,Nile,Places\n'
    facts = FACTS | {"title": HOSTILE}
    put(store, write(tmp_path / "toy", facts, questions=questions, responses=RESPONSES), model=HOSTILE)
    client = create_app(Settings(store=store.url, workers=1)).test_client()
    text = saved(client, "/?dataset=toy", "/questions/toy/q1", "/questions?dataset=toy", "/reliability?dataset=toy").text
    elements = Elements(text)
    assert "img" not in {tag for tag, _ in elements.tags} and elements.values("onerror") == []
    assert "&lt;img src=x" in text and "</script><img" not in text
    assert b"</script><img" not in frame(HOSTILE, "", "", {"figure": {"data": [{"name": HOSTILE}]}})


def test_nobody_gets_what_they_may_not_read(tmp_path, cli):
    store = open_store(tmp_path / "store")
    put(store, write(tmp_path / "toy", responses=RESPONSES), model="open-model")
    put(store, write(tmp_path / "lab", FACTS | {"dataset": "lab", "title": "Secret"}, responses=RESPONSES), model="secret-model")
    tokens = Tokens(store.register)
    secret = tokens.create("ann", "read")
    tokens.make_private("lab", ["ann"])
    client = create_app(Settings(store=store.url, workers=1)).test_client()
    assert saved(client, "/?dataset=lab").status_code == 400
    for text in (saved(client, "/across", "/?dataset=toy", "/datasets?dataset=toy").text, saved(client, "/?dataset=lab").text):
        assert "Secret" not in text and "secret-model" not in text
    assert "secret-model" in saved(client, "/?dataset=lab", headers={"Authorization": f"Bearer {secret}"}).text

    refused = cli("report", "/?dataset=lab", "-o", tmp_path / "no.html", "--public", store=store.url)
    assert refused.returncode == 1 and not (tmp_path / "no.html").exists()
    assert cli("report", "/?dataset=lab", "-o", tmp_path / "own.html", store=store.url).returncode == 0

    # A signed link of a view opens the view as a file, which passes the signature on to nobody.
    until = datetime(2999, 1, 1, tzinfo=UTC)
    signature = sign(tokens.new_link_key(), "/api/v1/report.html", [("view", "/?dataset=lab")], "lab", until)
    signed = client.get(f"/api/v1/report.html?view=/?dataset%3Dlab&signed={signature}")
    assert "secret-model" in signed.text and "signed=" not in signed.text
    assert "secret-model" not in client.get(f"/api/v1/report.html?view=/across&signed={signature}").text


LITTLE = {
    "none": None,
    "some-lack": "question_id,clue,guess,confidence,model\nq1,0,Nile,0.5,a\nq1,0,Nile,,b\nq2,0,Nile,,b\n",
}


@pytest.mark.parametrize("name", LITTLE)
def test_every_page_of_little_data_is_saved(tmp_path, name):
    store = open_store(tmp_path / "store")
    put(store, write(tmp_path / "toy", responses=LITTLE[name]), model=None if name == "some-lack" else "m")
    with create_app(Settings(store=store.url, workers=1)).app_context():
        site = Site(tmp_path / "site", "toy")
        site.prepare()
        site.write()
    written = [path.relative_to(site.folder).as_posix() for path in site.folder.rglob("*.html")]
    assert sorted(written) == sorted(site.files) and {"compare.html", "questions.html", "questions/q1.html"} <= {*written}


def test_links_of_a_site_lead_to_public_files(tmp_path, cli, monkeypatch):
    monkeypatch.setattr(report, "PAGES_OF_A_PROCESS", 9)  # so that two processes write it
    store = open_store(tmp_path / "store")
    put(store, write(tmp_path / "toy", responses=RESPONSES), model="same-model")
    put(store, write(tmp_path / "lab", FACTS | {"dataset": "lab", "title": "Secret"}, responses=RESPONSES), model="same-model")
    Tokens(store.register).make_private("lab", [])
    for folder, options in ((tmp_path / "public", ["--public"]), (tmp_path / "own", [])):
        done = cli("report", "--site", folder, "--dataset", "toy", *options, store=store.url)
        assert done.returncode == 0, done.stderr
        pages = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
        assert f"{len(pages)} pages" in done.stderr and len(pages) > 18
        assert any("Secret" in text for text in pages.values()) == (folder.name == "own")
        for path, text in pages.items():
            for link in Elements(text).values("href", "src"):
                parts = urlsplit(link)
                assert parts.scheme in ("", "https") and not parts.path.startswith("/"), link
                assert parts.scheme or not parts.path or (path.parent / parts.path).is_file(), (path, link)
    assert cli("report", "--site", folder, store=store.url).returncode == 1  # it exists


def test_links_name_the_address_that_people_use(seeded):
    client = create_app(Settings(store=str(seeded), workers=1, url="https://lab.example")).test_client()
    at_lab = {"base_url": "http://lab.example"}  # behind a proxy
    assert client.get("/api/v1/cite?view=/", **at_lab).json["permalink"].startswith("https://lab.example/?dataset=")
    assert "https://lab.example/upload" in saved(client, "/", **at_lab).text
    assert client.get("/", base_url="http://other.example").status_code == 403
