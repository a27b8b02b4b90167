"""The table of formats is in the documentation (twice), on the page of datasets and in the help of ``import``."""

import pytest

from dashboard.cli.format_docs import documentation, in_guide
from data.readers import formats
from tests.helpers.paths import ROOT


def test_the_documentation_is_generated():
    assert (ROOT / "docs" / "formats.md").read_text(encoding="utf-8") == documentation()


def test_the_guide_has_the_table():
    text = (ROOT / "docs" / "importing.md").read_text(encoding="utf-8")
    assert in_guide(text) == text


@pytest.mark.parametrize("format_", formats(), ids=lambda f: f.key)
def test_a_row_has_every_text(format_):
    for text in (format_.reads, format_.recognised, format_.becomes):
        assert text and text[0] not in " ." and not text.endswith(".") and "|" not in text
    assert not format_.source.endswith(".")
