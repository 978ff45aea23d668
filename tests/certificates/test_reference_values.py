"""Values that another program proved in ball arithmetic lie in our enclosures."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path

import pytest
from agreement import log

from shuffledp.accounting import Datasets
from shuffledp.certificates.proof import Claim, Proof, prove_guarantee, prove_leak
from shuffledp.engine.progress import silent
from shuffledp.mechanisms import Pair, parse

FILE = Path(__file__).parents[1] / "data" / "reference_cases.json"
CASES = json.loads(FILE.read_text(encoding="utf-8"))["cases"]


def name_of(case: dict) -> str:
    return ", ".join(f"{k}={v}" for k, v in case.items() if k not in ("lower", "upper"))


def prove(case: dict, epsilon: float, delta: Decimal) -> Proof:
    name, level = case["mechanism"], case["epsilon0"]
    k = f"k={case['k']}, " if name.startswith("krr") else ""
    randomizer = parse(f"{name.removesuffix('_lower')}({k}epsilon0={level})")
    claim = Claim(randomizer, case["n"], Decimal(epsilon), delta)
    if name == "krr_lower":
        return prove_leak(claim, Datasets(Pair(0, 1), 2), silent)
    return prove_guarantee(claim, silent)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_reference(case: dict) -> None:
    if case["question"] == "log_delta":
        delta = Decimal(math.exp(case["upper"]))
        proof = prove(case, case["epsilon"], delta)
        assert log(proof.lower) <= case["upper"] + 1e-12
        assert log(proof.upper) >= case["lower"] - 1e-12
        assert log(proof.upper) - log(proof.lower) <= 6e-5
        return
    delta = Decimal(case["delta"])
    assert prove(case, case["upper"], delta).lower <= delta
    if case["lower"] > 0:
        assert prove(case, case["lower"], delta).upper >= delta
