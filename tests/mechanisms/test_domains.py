"""Which inputs mechanisms have, which of them are neighbours, and what shares a value."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from blankets import blanket_accountant

from shuffledp import KRR, ShuffleAccountant, joint, one_of, parallel, parse, subsample
from shuffledp.mechanisms import Integers, MatrixRandomizer, Pair, Tuples, UnitInterval

BITS = Tuples((Integers(2), Integers(2), Integers(2)), 1, 3)


def test_what_each_mechanism_reads():
    assert KRR(k=5, epsilon0=1.0).input_domain == Integers(5)
    assert parse("oue(epsilon0=1)").input_domain == Integers(None)
    assert parse("laplace(epsilon0=1)").input_domain == Integers(2)
    assert parse("laplace(epsilon0=1, domain='interval')").input_domain == UnitInterval()
    assert parse("gaussian(sigma=1)").input_domain == UnitInterval()
    assert parse("discrete_laplace(epsilon0=1, bound=4)").input_domain == Integers(5)
    assert parse("matrix([[1, 0], [0, 1], [0.5, 0.5]])").input_domain == Integers(3)
    both = parse("joint(krr(k=2, epsilon0=1), krr(k=3, epsilon0=1), at_most=1)")
    assert both.input_domain == Tuples((Integers(2), Integers(3)), 1, 1)
    assert subsample(both, 0.5).input_domain == both.input_domain
    either = parse("one_of(0.5*krr(k=2, epsilon0=1), 0.5*krr(k=3, epsilon0=1))")
    assert either.input_domain == Tuples((Integers(2), Integers(3)), 1, 2)


@pytest.mark.parametrize(
    ("fewest", "most", "count"), [(1, 3, 56), (1, 1, 24), (2, 2, 24), (3, 3, 8), (1, 2, 48)]
)
def test_neighbours_are_pairs_that_differ_in_so_many_entries(fewest, most, count):
    domain = Tuples(BITS.entries, fewest, most)
    pairs = list(domain.neighbours())
    assert len(pairs) == count
    for pair in pairs:
        changed = sum(x != y for x, y in zip(pair.first, pair.second, strict=True))
        assert fewest <= changed <= most


def test_a_nested_limit_stays():
    inner = Tuples((Integers(2), Integers(2)), 1, 1)
    outer = Tuples((inner, Integers(2)), 1, 2)
    assert outer.are_neighbours(((0, 0), 0), ((0, 1), 1))
    assert not outer.are_neighbours(((0, 0), 0), ((1, 1), 0))
    assert Pair(((0, 0), 0), ((1, 1), 1)) not in set(outer.neighbours())


def test_domains_that_meet():
    assert Integers(None).meet(Integers(None)) == Integers(None)
    assert Integers(None).meet(Integers(4)) == Integers(4).meet(Integers(None)) == Integers(4)
    assert Integers(4).meet(Integers(5)) is None
    assert Integers(2).meet(UnitInterval()) is UnitInterval().meet(Integers(2)) is None
    open_pair = Tuples((Integers(None), Integers(2)), 1, 2)
    assert open_pair.meet(Tuples((Integers(3), Integers(2)), 1, 2)) == Tuples(
        (Integers(3), Integers(2)), 1, 2
    )
    assert open_pair.meet(Tuples((Integers(3), Integers(2)), 1, 1)) is None
    assert open_pair.meet(Tuples((Integers(3),), 1, 1)) is None
    assert open_pair.meet(Integers(3)) is None


def test_domains_without_neighbours():
    assert not Integers(1).has_neighbours
    assert not Tuples((Integers(1), Integers(2)), 2, 2).has_neighbours
    assert Tuples((Integers(1), Integers(2)), 1, 2).has_neighbours


@pytest.mark.parametrize(
    "text",
    [
        "parallel(0.5*krr(k=2, epsilon0=1), 0.5*discrete_laplace(epsilon0=1, bound=2))",
        "parallel(0.5*krr(k=2, epsilon0=1), 0.5*laplace(epsilon0=1, domain='interval'))",
        "parallel(0.5*krr(k=4, epsilon0=1), 0.5*joint(krr(k=2, epsilon0=1), krr(k=2, epsilon0=1)))",
        "parallel(0.5*joint(krr(2, 1), krr(2, 1)), 0.5*joint(krr(2, 1), krr(2, 1), at_most=1))",
    ],
)
def test_parts_of_parallel_that_cannot_share_a_value(text):
    with pytest.raises(ValueError, match=r"domains must agree, got .* use one_of"):
        parse(text)


def test_parallel_over_domains_too_large_to_compare():
    large = joint(KRR(k=1000, epsilon0=1.0), KRR(k=1000, epsilon0=1.0), at_most=1)
    with pytest.raises(ValueError, match="all pairs of 1,000,000 inputs"):
        ShuffleAccountant(parallel({large: 1.0}), 10).get_delta(0.1)
    open_pair = parse("joint(oue(epsilon0=1), krr(k=2, epsilon0=1), at_most=1)")
    with pytest.raises(ValueError, match="all pairs of any number of inputs"):
        ShuffleAccountant(parallel({open_pair: 1.0}), 10).get_delta(0.1)


@pytest.mark.heavy
def test_pairs_of_parallel_are_all_pairs_of_its_domain():
    """The list of inputs must not come from those that dominate an unchanged attribute."""
    for inner in (
        "joint(krr(k=2, epsilon0=2), krr(k=2, epsilon0=1), at_most=1)",
        "joint(matrix([[0.6, 0.4], [0.55, 0.45]]), krr(k=2, epsilon0=2))",
        "joint(krr(k=2, epsilon0=2), krr(k=3, epsilon0=1), exactly=2)",
    ):
        part = parse(inner)
        both = parallel({part: 1.0})
        assert set(both.neighbours()) == set(part.input_domain.neighbours())
        assert blanket_accountant(both, 3).get_delta(0.3) >= 0.9999 * (
            blanket_accountant(part, 3).get_delta(0.3)
        )


def test_a_mixture_of_a_mechanism_with_itself_is_that_mechanism():
    part = parse("joint(krr(k=2, epsilon0=2), krr(k=2, epsilon0=1), at_most=1)")
    twice = parse(f"parallel(0.5*{part}, 0.5*{part})")
    one, other = (blanket_accountant(r, 3).delta_report(0.3) for r in (part, twice))
    assert other.guarantee.upper == pytest.approx(one.guarantee.upper, rel=1e-9)
    assert other.lower_bound == pytest.approx(0.56407737578, rel=1e-9)


def test_interchangeable_attributes_have_the_same_law_not_the_same_text():
    mild = MatrixRandomizer([[0.5, 0.5], [0.49, 0.51]], path="m.csv")
    strong = MatrixRandomizer([[0.9, 0.1], [0.1, 0.9]], path="m.csv")
    assert str(mild) == str(strong)
    both = joint(mild, strong, at_most=1)
    assert ShuffleAccountant(both, 4).get_delta(0.2) > 0.55
    right = joint(MatrixRandomizer(mild.matrix), MatrixRandomizer(strong.matrix), at_most=1)
    assert ShuffleAccountant(right, 4).get_delta(0.2) == ShuffleAccountant(both, 4).get_delta(0.2)
    assert mild != strong


def test_one_of_takes_each_attribute_at_its_worst():
    part, matrix = KRR(k=3, epsilon0=1.0), MatrixRandomizer([[0.7, 0.3], [0.4, 0.6]])
    either = one_of({part: 0.25, matrix: 0.75})
    assert not either.has_worst_pair
    found = {(pair.first[1], pair.second[1]) for pair in either.neighbours()}
    assert found == set(product(range(2), repeat=2))
    proved = one_of({part: 0.25, KRR(k=5, epsilon0=2.0): 0.75})
    assert proved.has_worst_pair
    assert len(proved.neighbours()) == 1


def test_one_of_does_not_exchange_attributes_of_different_weight():
    matrix = MatrixRandomizer([[0.7, 0.3], [0.4, 0.6]])
    equal = parse(f"one_of(0.5*{matrix}, 0.5*{matrix})")
    unequal = parse(f"one_of(0.25*{matrix}, 0.75*{matrix})")
    assert len(equal.neighbours()) < len(unequal.neighbours()) == 12


def test_noise_at_an_inner_pair_is_bounded_by_its_end_points():
    """A matrix compares all pairs; noise of many inputs beside it knows only its end points."""
    rows = [[x / 16, 1 - x / 16] for x in range(2, 14)]
    mixed = parse(f"parallel(0.5*matrix({rows}), 0.5*discrete_laplace(epsilon0=1, bound=11))")
    noise = mixed.parts[1]
    assert mixed.common_inputs(Pair(0, 1)) == ()
    assert mixed.common_inputs(Pair(0, 11)) == (0, 11)
    inner, ends = noise.decomposition(Pair(0, 1)), noise.decomposition(Pair(0, 11))
    assert (inner.weight == ends.weight).all()
    with pytest.raises(ValueError, match="end points"):
        noise.decomposition(Pair(0, 1), 0)


def test_levels_over_all_inputs():
    parts = ", ".join(["krr(k=3, epsilon0=2)"] * 6)
    limited = parse(f"joint({parts}, at_most=1)")
    assert limited.epsilon0 == 2.0
    assert limited.domain_epsilon0 == subsample(limited, 0.5).domain_epsilon0 == 12.0
    assert parallel({limited: 1.0}).domain_epsilon0 == 12.0
    assert KRR(k=3, epsilon0=2.0).domain_epsilon0 == 2.0


@pytest.mark.parametrize(
    ("level", "parts"), [(0.1, 10), (2.9033774592155766, 100), (0.6222820180184456, 200)]
)
@pytest.mark.parametrize("at_most", [None, 7])
def test_sums_of_levels_are_rounded_up(level, parts, at_most):
    """Bounds that know a level alone must not be given less than that of the mechanism."""
    mechanism = joint(*[KRR(k=2, epsilon0=level)] * parts, at_most=at_most)
    assert Fraction(mechanism.epsilon0) >= Fraction(level) * (at_most or parts)
    assert Fraction(mechanism.domain_epsilon0) >= Fraction(level) * parts
    assert mechanism.domain_epsilon0 <= level * parts * (1 + 1e-15)
