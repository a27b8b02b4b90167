"""The examples in docstrings show what the code returns."""

import doctest
import importlib

import pytest

from tests.helpers.paths import ROOT

WITH_EXAMPLES = [
    path for room in ("data", "queries", "dashboard") for path in sorted((ROOT / room).rglob("*.py")) if ">>>" in path.read_text()
]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_examples(path):
    module = importlib.import_module(".".join(("clueline", *path.relative_to(ROOT).with_suffix("").parts)))
    failures, tried = doctest.testmod(module)
    assert tried and not failures


def test_main_kernels_have_examples():
    kernels = ("brier", "hmr", "ece", "ks", "auroc", "calscore", "murphy", "corp", "buzz_mass")
    texts = [path.read_text() for path in (ROOT / "queries" / "metrics" / "kernels").glob("*.py")]
    for name in kernels:
        (source,) = (text for text in texts if f"def {name}(" in text)
        assert ">>>" in source.partition(f"def {name}(")[2].partition("\ndef ")[0], name
