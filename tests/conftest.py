"""Options, tiers and profiles that all tests share.

``make test`` runs the quick tier, ``make heavy`` with ``--rest`` the heavy one, ``make check`` with
``--heavy`` both, and ``--run-slow`` adds the long studies. See CONTRIBUTING.md.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import signal

import pytest
import tiers
from hypothesis import settings

import shuffledp
from shuffledp.basics.extras import MissingExtraError

# Hypothesis draws constants that stand in the modules loaded so far. All are loaded now, so that
# its examples do not depend on which tests have run before.
for _module in pkgutil.walk_packages(shuffledp.__path__, "shuffledp."):
    if not _module.name.endswith("__main__"):
        with contextlib.suppress(MissingExtraError):  # its tests are skipped then
            importlib.import_module(_module.name)

# Deterministic: the same examples on every machine, and no failure because one is slow.
settings.register_profile("heavy", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("quick", settings.get_profile("heavy"), max_examples=tiers.QUICK_PERCENT)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--heavy", action="store_true", help="run the heavy tests, all examples")
    parser.addoption("--rest", action="store_true", help="run the heavy tests and no others")
    parser.addoption("--run-slow", action="store_true", help="run the long studies as well")


def pytest_configure(config: pytest.Config) -> None:
    # A shell lets what it starts in the background ignore Ctrl-C, and so would all processes below.
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    settings.load_profile("heavy" if _is_heavy(config) else "quick")


def pytest_itemcollected(item: pytest.Item) -> None:
    tiers.scale_examples(item)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = set()
    if not config.getoption("--run-slow"):
        left_out |= {item for item in items if item.get_closest_marker("slow")}
    if config.getoption("--rest"):
        left_out |= set(items) - tiers.heavy(items)
    elif not _is_heavy(config):
        left_out |= tiers.heavy(items)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def _is_heavy(config: pytest.Config) -> bool:
    return any(config.getoption(f"--{tier}") for tier in ("heavy", "rest", "run-slow"))
