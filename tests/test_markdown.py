"""Files that the Markdown documents of the checkout name exist."""

import re

import pytest

from tests.helpers.paths import ROOT

PLACEHOLDERS = {"queries/engine/x.py", "tests/queries/engine/test_x.py"}  # in CONTRIBUTING.md
FOLDERS = "data|queries|dashboard|assets|tests|benchmarks|scripts|docs|deploy"
FILES = sorted(path for folder in (ROOT, ROOT / "docs", ROOT / "benchmarks") for path in folder.glob("*.md"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_file_that_is_named_exists(path):
    text = path.read_text(encoding="utf-8")
    if path.name == "CHANGELOG.md":  # its other sections are about earlier versions
        text = text.partition("## Unreleased")[2].partition("\n## ")[0]
    named = set(re.findall(rf"`((?:{FOLDERS})/[\w./-]*\.(?:py|js|css|md|sh|csv|json|toml|yml|conf))(?:::\w+)?`", text))
    assert sorted(name for name in named - PLACEHOLDERS if not (ROOT / name).exists()) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_to_a_file_leads_somewhere(path):
    text = re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = {link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in link}
    assert sorted(link for link in links if link and not link.startswith("/") and not (path.parent / link).exists()) == []
