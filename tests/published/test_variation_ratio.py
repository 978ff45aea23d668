"""The reduction that is no bound: its formula by hand, its mark, and what refutes it."""

from __future__ import annotations

import math
from math import comb

import pytest

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    HadamardResponse,
    Laplace,
    LocalHash,
    Setting,
    ShuffleAccountant,
    SubsetSelection,
    compare,
    curve,
)
from shuffledp.basics.errors import NoAnswerError
from shuffledp.comparison.published import BASELINES, VariationRatio
from shuffledp.planning.analysis import BestPublished


def claimed(E: float, variation: float, n: int, epsilon: float) -> float:
    """The divergence of the two pairs of counts, summed up."""
    a = variation / (E - 1)
    laws: tuple[dict[tuple[int, int], float], ...] = ({}, {})
    for clones in range(n):
        weight = comb(n - 1, clones) * (2 * a) ** clones * (1 - 2 * a) ** (n - 1 - clones)
        for zeros in range(clones + 1):
            mass = weight * comb(clones, zeros) / 2**clones
            rest = 1 - a - a * E
            for i, j, *added in ((1, 0, a * E, a), (0, 1, a, a * E), (0, 0, rest, rest)):
                for law, share in zip(laws, added, strict=True):
                    seen = zeros + i, clones - zeros + j
                    law[seen] = law.get(seen, 0.0) + mass * share
    return sum(max(laws[0][s] - math.exp(epsilon) * laws[1][s], 0.0) for s in laws[0])


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
@pytest.mark.parametrize(
    ("mechanism", "variation"),  # as published, with E = e^2
    [
        (KRR(k=2, epsilon0=2.0), lambda E: (E - 1) / (E + 1)),
        (KRR(k=7, epsilon0=2.0), lambda E: (E - 1) / (E + 6)),
        (RAPPOR(epsilon0=2.0), lambda E: (math.sqrt(E) - 1) / (math.sqrt(E) + 1)),
        (BinaryLocalHash(epsilon0=2.0), lambda E: (E - 1) / (E + 1)),
        (LocalHash(2.0, 4), lambda E: (E - 1) / (E + 3)),
        (HadamardResponse(epsilon0=2.0), lambda E: (E - 1) / (E + 1) / 2),
        (
            SubsetSelection(2.0, 9, 3),
            lambda E: (E - 1) * (comb(8, 2) - comb(7, 1)) / (E * comb(8, 2) + comb(8, 3)),
        ),
        (OUE(epsilon0=2.0), lambda E: (E - 1) / (E + 1) / 2),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_formula(mechanism, variation, n, epsilon):
    E = math.exp(2.0)
    wanted = claimed(E, variation(E), n, epsilon)
    found = VariationRatio(mechanism, n, rtol=1e-9).get_delta(epsilon)
    assert found == pytest.approx(wanted, rel=1e-7, abs=1e-15)


@pytest.mark.parametrize(
    ("k", "epsilon0", "n", "claim", "attained"),
    [
        (10, 4.0, 1000, 1.52239, 1.52685),
        (100, 4.0, 1000, 0.75870, 0.76116),
        (10, 2.0, 10_000, 0.079792, 0.079801),
    ],
)
def test_two_datasets_reveal_more(k, epsilon0, n, claim, attained):
    mechanism = KRR(k, epsilon0)
    said = VariationRatio(mechanism, n, rtol=1e-7).get_epsilon(1e-6)
    shown = ShuffleAccountant(mechanism, n, rtol=1e-7).epsilon_lower_bound(1e-6)
    assert said == pytest.approx(claim, rel=1e-5)
    assert shown == pytest.approx(attained, rel=1e-5)
    assert said < shown


def test_it_is_marked_wherever_it_is_shown():
    unsound = [name for name, analysis in BASELINES.items() if not analysis.sound]
    assert unsound == ["variation_ratio"]
    found = compare("krr(k=10, epsilon0=4)", 1000, 1e-6)
    assert [row.bound for row in found.rows if not row.sound] == unsound
    assert "Wang et al. 2024, variation ratio (unsound)" in str(found)
    drawn = curve("krr(k=10, epsilon0=4)", x=[1000], target_delta=1e-6, bounds="variation_ratio")
    assert drawn.curves[0].label.endswith("(unsound)")
    assert drawn.curves[0].to_dict()["sound"] is False


def test_it_proves_nothing():
    """Searches for the best published bound do not ask it."""
    mechanism, published = KRR(10, 4.0), BestPublished(Setting(n=1000), delta=1e-6)
    answer = published.least_epsilon(mechanism)
    assert answer is not None
    assert answer[1] != "variation_ratio"
    assert answer[0] > ShuffleAccountant(mechanism, 1000).epsilon_lower_bound(1e-6)


def test_regime():
    with pytest.raises(NoAnswerError, match="support mechanisms such as krr"):
        VariationRatio(Laplace(epsilon0=1.0), 1000).get_epsilon(1e-6)
