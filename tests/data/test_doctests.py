"""The examples in the docstrings of the data room."""

import doctest
import importlib
import pkgutil

import numpy as np
import pytest

import data

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(data.__path__, "data.") if not module.name.startswith("data.sample")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_are_right(name):
    failed, _ = doctest.testmod(importlib.import_module(name), extraglobs={"np": np})
    assert not failed


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    assert sum(bool(test.examples) for name in MODULES for test in finder.find(importlib.import_module(name))) >= 5
