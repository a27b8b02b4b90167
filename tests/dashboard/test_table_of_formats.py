"""The table of formats is in the documentation (twice), on the page of datasets and in the help of ``import``."""

import pytest

from clueline.dashboard.cli.format_docs import documents
from clueline.data.readers import formats


def test_the_documentation_is_generated():
    for path, text in documents().items():
        assert path.read_text(encoding="utf-8") == text, path


@pytest.mark.parametrize("format_", formats(), ids=lambda f: f.key)
def test_a_row_has_every_text(format_):
    for text in (format_.reads, format_.recognised, format_.becomes):
        assert text and text[0] not in " ." and not text.endswith(".") and "|" not in text
    assert not format_.source.endswith(".")
