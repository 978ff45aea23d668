"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import shuffledp

MODULES = [
    "shuffledp",
    *(module.name for module in pkgutil.walk_packages(shuffledp.__path__, "shuffledp.")),
]


def test_all_parts_are_found():
    assert {"shuffledp.accounting.accountant", "shuffledp.rounding"} <= set(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0
