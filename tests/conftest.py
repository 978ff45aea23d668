"""Options and profiles that all tests share."""

from __future__ import annotations

import importlib
import pkgutil

import perturbation
import pytest
from hypothesis import settings

import shuffledp

# Hypothesis draws constants that stand in the modules loaded so far. All are loaded now, so that
# its examples do not depend on which tests have run before.
for _module in pkgutil.walk_packages(shuffledp.__path__, "shuffledp."):
    if not _module.name.endswith("__main__"):
        importlib.import_module(_module.name)

# Deterministic: the same examples on every machine, and no failure because one is slow.
settings.register_profile("shuffledp", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("shuffledp")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--run-slow", action="store_true", help="run the long studies as well")
    parser.addoption(
        "--perturb", type=int, metavar="SEED", help="move elementary functions by an ulp or not"
    )


def pytest_configure(config: pytest.Config) -> None:
    if (seed := config.getoption("--perturb")) is not None:
        perturbation.install(seed)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--run-slow"):
        return
    skip = pytest.mark.skip(reason="a long study: run with --run-slow")
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(skip)
