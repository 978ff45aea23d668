"""A larger level reveals more, as long as no discrete parameter follows it."""

from __future__ import annotations

import math

import pytest
from enumeration import assert_dominated, excess, levels
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import examples

from shuffledp.mechanisms import (
    KRR,
    AnyPureLDP,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    LocalHash,
    Pair,
    SubsetSelection,
    parse_family,
)

FAMILIES = [
    "krr(k=2)",
    "krr(k=7)",
    "blh(domain_size=4)",
    "blh()",
    "olh(buckets=5, domain_size=3)",
    "rappor(domain_size=3)",
    "rappor()",
    "oue(domain_size=3)",
    "oue()",
    "hadamard(domain_size=6)",
    "subset(domain_size=7, size=3)",
    "discrete_laplace(bound=1)",
    "discrete_laplace(bound=4)",
    "discrete_laplace(bound=5)",
    "any_pure_ldp()",
]


@pytest.mark.parametrize("text", FAMILIES)
def test_law_grows_with_the_level(text):
    family = parse_family(text)
    assert family(1.0).monotone

    @settings(max_examples=examples(20))
    @given(level=st.floats(0.01, 8), factor=st.floats(1, 3), share=st.floats(-1.5, 1.5))
    def check(level, factor, share):
        smaller, larger = family(level), family(level * factor)
        pair = smaller.neighbours()[0]
        # Mechanisms alone are ordered at every epsilon, the generic bound within the level.
        epsilon = level * (max(-1.0, min(1.0, share)) if text == "any_pure_ldp()" else share)
        assert_dominated(
            smaller.decomposition(pair).at(epsilon).upper,
            larger.decomposition(pair).at(epsilon).upper,
        )

    check()


@pytest.mark.parametrize(("low", "high"), [(0.5, 0.6), (2.0, 2.5), (5.0, 6.0)])
def test_laplace_grows_with_the_level(low, high):
    pair = Pair(0, 1)
    smaller, larger = (
        Laplace(epsilon0=low).decomposition(pair),
        Laplace(epsilon0=high).decomposition(pair),
    )
    for epsilon in (-0.3 * low, 0.0, 0.4 * low, 0.9 * low):
        assert_dominated(smaller.at(epsilon).lower, larger.at(epsilon).upper)


def test_parameters_that_follow_the_level_are_known_to_jump():
    assert not LocalHash(epsilon0=1.0).monotone
    assert not SubsetSelection(epsilon0=1.0, domain_size=10).monotone
    for fixed in (
        KRR(k=3, epsilon0=1.0),
        LocalHash(epsilon0=1.0, buckets=4),
        SubsetSelection(epsilon0=1.0, domain_size=10, size=3),
        Laplace(epsilon0=1.0),
        Gaussian(sigma=1.0),
        DiscreteLaplace(epsilon0=1.0, bound=3),
        AnyPureLDP(epsilon0=1.0),
    ):
        assert fixed.monotone


@pytest.mark.parametrize(
    ("below", "above"),
    [
        # log 3.5: from four buckets to five.
        (LocalHash(epsilon0=1.25), LocalHash(epsilon0=1.2535)),
        # log(17/3): from two values of ten to one.
        (
            SubsetSelection(epsilon0=math.log(17 / 3) - 1e-3, domain_size=10),
            SubsetSelection(epsilon0=math.log(17 / 3) + 1e-3, domain_size=10),
        ),
    ],
    ids=["olh", "subset"],
)
def test_jumps_reverse_the_order(below, above):
    pair = Pair(0, 1)
    smaller, larger = (
        below.decomposition(pair).at(0.3).upper,
        above.decomposition(pair).at(0.3).upper,
    )
    thresholds = levels(smaller, larger)
    assert below.epsilon0 < above.epsilon0
    assert (excess(smaller, thresholds) > excess(larger, thresholds) + 1e-3).any()
