"""Two rounds of up to three users, enumerated in fractions, with data that react to the first one.

After every first output the adversary may choose other datasets for the second round, so what is
compared is not a product of laws but the whole adaptive transcript.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement, permutations, product

import pytest
from oracles import histogram_law

from shuffledp import MatrixRandomizer, ShuffleAccountant

Row = tuple[Fraction, ...]

MATRICES: dict[str, tuple[Row, ...]] = {
    "2-RR": ((Fraction(3, 4), Fraction(1, 4)), (Fraction(1, 4), Fraction(3, 4))),
    "skew": ((Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 8), Fraction(7, 8))),
    "three": (
        (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)),
        (Fraction(1, 4), Fraction(5, 8), Fraction(1, 8)),
        (Fraction(1, 8), Fraction(3, 8), Fraction(1, 2)),
    ),
}


@cache
def pairs_of_laws(name: str, n: int) -> tuple[tuple[tuple[Fraction, Fraction], ...], ...]:
    """The histograms of every pair of neighbouring datasets, as pairs of probabilities."""
    rows = MATRICES[name]
    found = []
    for first, second in permutations(range(len(rows)), 2):
        for others in combinations_with_replacement(range(len(rows)), n - 1):
            laws = [histogram_law([rows[x], *(rows[o] for o in others)]) for x in (first, second)]
            keys = laws[0].keys() | laws[1].keys()
            zero = Fraction(0)
            found.append(tuple((laws[0].get(k, zero), laws[1].get(k, zero)) for k in keys))
    return tuple(found)


@cache
def worst(name: str, n: int, ratio: Fraction) -> Fraction:
    """The largest hockey stick of one round."""
    return max(
        sum((max(p - ratio * q, Fraction(0)) for p, q in law), Fraction(0))
        for law in pairs_of_laws(name, n)
    )


def adaptive(first: str, second: str, n: int, ratio: Fraction) -> Fraction:
    """The largest delta of two rounds, the second one chosen after each output of the first."""
    totals = []
    for law in pairs_of_laws(first, n):
        total = Fraction(0)
        for p, q in law:
            total += p * worst(second, n, ratio * q / p) if p else Fraction(0)
        totals.append(total)
    return max(totals)


def fixed(first: str, second: str, n: int, ratio: Fraction) -> Fraction:
    """The largest delta of two rounds with datasets chosen before."""
    return max(
        sum(
            (max(a * p - ratio * b * q, Fraction(0)) for (a, b), (p, q) in product(x, y)),
            Fraction(0),
        )
        for x in pairs_of_laws(first, n)
        for y in pairs_of_laws(second, n)
    )


def accountant(name: str, n: int) -> ShuffleAccountant:
    rows = [[float(p) for p in row] for row in MATRICES[name]]
    return ShuffleAccountant(MatrixRandomizer(rows), n)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    ("first", "second"), [("2-RR", "2-RR"), ("skew", "skew"), ("2-RR", "skew")]
)
def test_two_adaptive_rounds_stay_below(first, second, n):
    rounds = accountant(first, n).rounds(1) + accountant(second, n).rounds(1)
    for ratio in (Fraction(1), Fraction(6, 5), Fraction(2), Fraction(11, 2)):
        epsilon = math.log(ratio)
        guarantee = rounds.get_delta(epsilon) * (1 + 1e-12)
        assert adaptive(first, second, n, ratio) <= guarantee
        assert rounds.delta_lower_bound(epsilon) * (1 - 1e-12) <= fixed(first, second, n, ratio)


@pytest.mark.heavy
@pytest.mark.parametrize("n", [1, 2, 3])
def test_two_adaptive_rounds_of_three_inputs_stay_below(n):
    rounds = accountant("three", n).rounds(2)
    for ratio in (Fraction(1), Fraction(6, 5), Fraction(2)):
        epsilon = math.log(ratio)
        assert adaptive("three", "three", n, ratio) <= rounds.get_delta(epsilon) * (1 + 1e-12)
        lower = rounds.delta_lower_bound(epsilon) * (1 - 1e-12)
        assert lower <= fixed("three", "three", n, ratio)


def test_one_user_is_met_exactly():
    """With a pair that is worst in both orders the bound is the truth."""
    rounds = accountant("2-RR", 1).rounds(2)
    for ratio in (Fraction(1), Fraction(3, 2)):
        true = float(adaptive("2-RR", "2-RR", 1, ratio))
        assert rounds.get_delta(math.log(ratio)) <= true * 1.01


@pytest.mark.parametrize("n", [2, 3])
def test_a_permanent_response_costs_one_round_however_often_it_is_reported(n):
    """Memoized values z = PRR(x), reported through fresh noise in each of two shuffled rounds."""
    permanent, instant = MATRICES["skew"], MATRICES["2-RR"]
    one_collection = accountant("skew", n)

    def transcript(inputs: tuple[int, ...]) -> dict[tuple[object, object], Fraction]:
        law: dict[tuple[object, object], Fraction] = {}
        for memory in product(range(2), repeat=n):
            kept = math.prod((permanent[x][z] for x, z in zip(inputs, memory, strict=True)))
            shown = histogram_law([instant[z] for z in memory])
            for (y1, p1), (y2, p2) in product(shown.items(), repeat=2):
                law[y1, y2] = law.get((y1, y2), Fraction(0)) + kept * p1 * p2
        return law

    for others in combinations_with_replacement(range(2), n - 1):
        for first, second in ((0, 1), (1, 0)):
            one, other = transcript((first, *others)), transcript((second, *others))
            for ratio in (Fraction(1), Fraction(3, 2), Fraction(3)):
                true = sum((max(p - ratio * other[y], Fraction(0)) for y, p in one.items()))
                assert true <= one_collection.get_delta(math.log(ratio)) * (1 + 1e-12)
