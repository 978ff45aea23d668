"""Values proved in ball arithmetic, from one user to a billion."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from blankets import blanket_accountant, enclose_epsilon, enclose_log_delta

from shuffledp import KRR, OUE, RAPPOR, BinaryLocalHash, Interval, ShuffleAccountant
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import LocalRandomizer

FILE = Path(__file__).parents[1] / "data" / "reference_cases.json"
CASES = json.loads(FILE.read_text(encoding="utf-8"))["cases"]


def name_of(case: dict) -> str:
    parameters = [f"{k}={v}" for k, v in case.items() if k not in ("lower", "upper")]
    return ", ".join(parameters)


def randomizer_of(case: dict) -> LocalRandomizer:
    epsilon0 = case["epsilon0"]
    if case["mechanism"].startswith("krr"):
        return KRR(k=case["k"], epsilon0=epsilon0)
    return {"blh": BinaryLocalHash, "rappor": RAPPOR, "oue": OUE}[case["mechanism"]](epsilon0)


def third_value(case: dict) -> Decomposition:
    randomizer = randomizer_of(case)
    return randomizer.decomposition(randomizer.neighbours()[0], 2)


def answer(case: dict, rtol: float) -> Interval:
    lower = case["mechanism"] == "krr_lower"
    if case["question"] == "log_delta":
        if lower:
            return enclose_log_delta(third_value(case), case["n"], case["epsilon"], rtol)
        accountant = blanket_accountant(randomizer_of(case), case["n"], rtol=rtol)
        return accountant.log_delta_interval(case["epsilon"])
    delta = float(case["delta"])
    if lower:
        return enclose_epsilon(third_value(case), case["n"], delta, rtol)
    return blanket_accountant(randomizer_of(case), case["n"], rtol=rtol).epsilon_interval(delta)


def slope_of(case: dict) -> float:
    """How much faster than epsilon delta changes, relatively: so much wider it may be."""
    law, epsilon = third_value(case), case["epsilon"]
    logs = [enclose_log_delta(law, case["n"], x).upper for x in (epsilon, 1.001 * epsilon)]
    return max(1.0, 1e3 * (logs[0] - logs[1]))


def test_all_cases_are_there() -> None:
    assert len(CASES) == 32
    assert {case["mechanism"] for case in CASES} == {"krr", "krr_lower", "blh", "rappor", "oue"}
    assert all(case["lower"] <= case["upper"] for case in CASES)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", CASES, ids=name_of)
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
def test_the_proved_value_is_enclosed(case: dict, rtol: float) -> None:
    interval = answer(case, rtol)
    assert interval.lower <= case["upper"]
    assert interval.upper >= case["lower"]
    if case["question"] == "epsilon":
        assert interval.width <= rtol * interval.upper
    else:
        assert interval.width <= 2 * rtol * slope_of(case)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("case", [c for c in CASES if c["mechanism"] == "krr_lower"], ids=name_of)
def test_the_lower_bound_is_at_least_that_of_a_third_value(case: dict) -> None:
    accountant = ShuffleAccountant(randomizer_of(case), case["n"])
    if case["question"] == "epsilon":
        bound = accountant.epsilon_lower_bound(float(case["delta"]))
        assert bound >= case["lower"] * (1 - 1e-4)
    else:
        bound = accountant.delta_lower_bound(case["epsilon"])
        assert bound >= math.exp(case["lower"]) * (1 - 1e-4 * slope_of(case))
