"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest
from tiers import EVERY_CASE

import shuffledp
from shuffledp.basics.extras import MissingExtraError

MODULES = [
    "shuffledp",
    *(module.name for module in pkgutil.walk_packages(shuffledp.__path__, "shuffledp.")),
]


def test_all_parts_are_found():
    assert {"shuffledp.accounting.accountant", "shuffledp.basics.rounding"} <= set(MODULES)


#: Modules whose examples compare many mechanisms.
LONG = (
    "shuffledp.accounting.rounds.renyi",
    "shuffledp.accounting.calibration.tier_calibration",
    "shuffledp.outputs.pld.events",
    "shuffledp.deployment.files.frame_estimation",
    "shuffledp.planning.error_chart",
    "shuffledp.planning.plan",
)


@pytest.mark.parametrize(
    "name",
    [pytest.param(m, marks=pytest.mark.heavy if m in LONG else EVERY_CASE) for m in MODULES],
)
def test_docstring_examples(name):
    try:
        module = importlib.import_module(name)
    except MissingExtraError as error:
        pytest.skip(str(error))
    assert doctest.testmod(module).failed == 0
