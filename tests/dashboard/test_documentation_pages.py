"""The documentation at /docs: every document has a page, links resolve, and HTML in a document is shown as text."""

import mimetypes
import re
from collections import Counter
from urllib.parse import urlsplit

import pytest
import yaml

from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.views import docs as documentation_pages
from tests.helpers.html_elements import Elements
from tests.helpers.paths import ROOT

NAMES = [document.name for document in documentation_pages.documents()]


@pytest.fixture(scope="module")
def pages(client):
    """The elements of each document's page, by the document's name."""
    result = {}
    for name in NAMES:
        answer = client.get(f"/docs/{name}")
        assert answer.status_code == 200 and answer.mimetype == "text/html", name
        result[name] = Elements(answer.text)
    return result


def test_every_document_of_the_folder_has_a_page():
    expected = {path.relative_to(ROOT).with_suffix("").as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert expected | {"README", "CHANGELOG", "CONTRIBUTING"} == set(NAMES)


def test_every_page_is_described(client):  # pages register themselves when the application is made
    """Pages of one question, run or model have a row of their own, such as ``/runs/<run>``."""
    rows = re.findall(r"^\| `(/[^`]*)`", (ROOT / "docs" / "pages.md").read_text(encoding="utf-8"), re.MULTILINE)
    described = Counter(row.partition("/<")[0] for row in rows)
    pages = Counter(page.path for page in PAGES.values() if page.path)
    assert pages.total() > 20 and pages <= described and len(rows) == len(set(rows))


def test_links_lead_to_pages_and_headings(client, pages):
    """Links to documents must lead to existing pages and headings. Others lead to other servers or to pages of this one."""
    for name, page in pages.items():
        for href in page.values("href"):
            parts = urlsplit(href)
            if parts.scheme or parts.netloc:
                assert parts.scheme in ("http", "https"), (name, href)
                continue
            target = parts.path.removeprefix("/docs/") if parts.path else name
            if target in pages:
                assert not parts.fragment or parts.fragment in pages[target].values("id"), (name, href)
            else:
                assert client.get(parts.path or "/").status_code == 200, (name, href)
        for source in page.values("src"):
            assert client.get(source).status_code == 200, (name, source)


def test_images_have_their_content_type(client, monkeypatch):
    monkeypatch.setattr(mimetypes, "guess_type", lambda *_, **__: (None, None))  # as on a system without a list of types
    assert client.get("/docs/docs/images/clues.webp").mimetype == "image/webp"


def test_tables_and_code_are_drawn(client):
    text = client.get("/docs/docs/api").text
    assert "<table>" in text and "<!--" not in text.partition("<article>")[2] and "&lt;!--" not in text
    assert "<pre><code" in client.get("/docs/docs/client").text


def test_html_in_a_document_is_shown_as_text(client, monkeypatch, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(
        "# A <b>title</b>\n\n<script>alert(1)</script>\n\n[run](javascript:alert(1)) [file](LICENSE) [up](../../etc/passwd)\n\n"
        "<img src=x onerror=alert(1)>\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(documentation_pages, "ROOT", tmp_path)
    for cached in (documentation_pages.documents, documentation_pages.as_html):
        cached.cache_clear()
    try:
        article = client.get("/docs/README").text.partition("<article>")[2].partition("</article>")[0]
    finally:
        monkeypatch.undo()
        for cached in (documentation_pages.documents, documentation_pages.as_html):
            cached.cache_clear()
    assert {tag for tag, _ in Elements(article).tags} == {"h1", "p", "span"}
    assert "&lt;script&gt;" in article and Elements(article).values("href") == []


@pytest.mark.parametrize(
    "path",
    ["/docs/nothing", "/docs/pyproject", "/docs/../pyproject.toml", "/docs/docs/images/../../pyproject.toml", "/docs/README.md"],
)
def test_only_documents_are_served(client, path):
    answer = client.get(path)
    assert answer.status_code == 404 and "requires-python" not in answer.text


def test_pages_lead_to_the_documentation(client):
    assert client.get("/docs").status_code == client.get("/docs/").status_code == 200


def test_the_citation_file_is_valid():
    """It has the fields that the format requires: https://github.com/citation-file-format/citation-file-format."""
    facts = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(facts) and facts["cff-version"] == "1.2.0"
    assert facts["type"] == "software" and facts["authors"]
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert facts["version"] == version[1]
