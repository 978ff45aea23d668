"""Randomizers chosen in view of earlier reports: the generic bound holds for them, too.

Users come in random order, and each is told how to randomize after all reports so far were seen.
The truth is the divergence of the whole sequence of reports, in exact fractions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations, product

from blankets import blanket_accountant
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import blanket, exp_epsilons, randomized_response, randomizers

from shuffledp import AnyPureLDP

Rows = list[tuple[Fraction, ...]]
INPUTS, OUTPUTS = 3, 2


@st.composite
def protocols(draw: st.DrawFn, n: int) -> dict[tuple[int, ...], Rows]:
    """A randomizer for every sequence of earlier reports, diluted with the uniform law."""
    prefixes = [p for length in range(n) for p in product(range(OUTPUTS), repeat=length)]
    made = {}
    for prefix in prefixes:
        rows = draw(randomizers(inputs=INPUTS, max_outputs=OUTPUTS, positive=False))
        made[prefix] = [tuple((3 * p + Fraction(1, OUTPUTS)) / 4 for p in row) for row in rows]
    return made


def exp_level(protocol: dict[tuple[int, ...], Rows]) -> Fraction:
    """The smallest E = e^epsilon0 of which all its randomizers are LDP."""
    return max(
        max(column) / min(column)
        for rows in protocol.values()
        for column in zip(*rows, strict=True)
    )


def law_of_reports(
    protocol: dict[tuple[int, ...], Rows], inputs: tuple[int, ...]
) -> dict[tuple[int, ...], Fraction]:
    law = {}
    orders = list(permutations(inputs))
    for reports in product(range(OUTPUTS), repeat=len(inputs)):
        total = Fraction(0)
        for order in orders:
            probability = Fraction(1)
            for i, x in enumerate(order):
                probability *= protocol[reports[:i]][x][reports[i]]
            total += probability
        law[reports] = total / len(orders)
    return law


@settings(max_examples=150)
@given(data=st.data(), n=st.integers(1, 3), exp_epsilon=exp_epsilons(16, 48))
def test_the_generic_bound_holds_for_adaptive_randomizers(data, n, exp_epsilon):
    protocol = data.draw(protocols(n))
    E = exp_level(protocol)
    assume(E > 1)
    others = tuple(data.draw(st.lists(st.integers(0, INPUTS - 1), min_size=n - 1, max_size=n - 1)))
    law0, law1 = (law_of_reports(protocol, (x, *others)) for x in (0, 1))
    truth = sum((max(law0[y] - exp_epsilon * law1[y], Fraction(0)) for y in law0), Fraction(0))
    assert truth <= blanket(randomized_response(2, E), 0, 1).delta(n, exp_epsilon)
    accountant = blanket_accountant(AnyPureLDP(epsilon0=math.log(E) * (1 + 1e-15)), n)
    assert float(truth) <= accountant.get_delta(math.log(exp_epsilon)) * (1 + 1e-12) + 1e-15
