"""Sums of several attributes: exact fractions over all datasets of few users, and references."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from itertools import combinations_with_replacement, permutations, product

import pytest

from shuffledp import ShuffleAccountant, joint
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.basics.interval import Interval
from shuffledp.mechanisms.composed.joint import Joint

Law = dict[tuple[int, ...], Fraction]
Dichotomy = tuple[Law, Law]

QUARTER = Fraction(1, 4)
RTOL = 0.01  # of what is composed
NORMAL = "joint(gaussian(3), gaussian(2))"


@pytest.fixture(autouse=True)
def _wide_is_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        yield


def unary(a: Fraction, b: Fraction, size: int) -> list[Law]:
    """The laws of the submitted vectors, one for each input."""
    return [
        {
            bits: math.prod((p if bit else 1 - p) for bit, p in zip(bits, ones, strict=True))
            for bits in product((0, 1), repeat=size)
        }
        for x in range(size)
        for ones in [[a if v == x else b for v in range(size)]]
    ]


def one_hot(rows: list[list[Fraction]]) -> list[Law]:
    """The laws of indicator vectors of a channel."""
    size = len(rows[0])
    return [{tuple(int(i == y) for i in range(size)): p for y, p in enumerate(row)} for row in rows]


def add(first: Law, second: Law) -> Law:
    total: Law = {}
    for (x, p), (y, q) in product(first.items(), second.items()):
        key = tuple(i + j for i, j in zip(x, y, strict=True))
        total[key] = total.get(key, Fraction(0)) + p * q
    return total


def dichotomies(laws: list[Law], n: int, changed: bool) -> list[Dichotomy]:
    """What one attribute may reveal: all columns of the others, all inputs of one user."""
    if not changed:
        return [({(): Fraction(1)}, {(): Fraction(1)})]
    found = []
    for others in combinations_with_replacement(range(len(laws)), n - 1):
        rest: Law = {tuple(0 for _ in next(iter(laws[0]))): Fraction(1)}
        for x in others:
            rest = add(rest, laws[x])
        found += [
            (add(rest, laws[x]), add(rest, laws[y])) for x, y in permutations(range(len(laws)), 2)
        ]
    return found


def hockey_stick(pairs: tuple[Dichotomy, ...], growth: Fraction) -> Fraction:
    total = Fraction(0)
    for outputs in product(*(pair[0] for pair in pairs)):
        p, q = (
            math.prod(pair[side][y] for pair, y in zip(pairs, outputs, strict=True))
            for side in (0, 1)
        )
        total += max(p - growth * q, Fraction(0))
    return total


def truth(parts: list[list[Law]], n: int, growth: Fraction, most: int) -> Fraction:
    """The largest delta of all neighbouring datasets."""
    largest = Fraction(0)
    for changed in product((True, False), repeat=len(parts)):
        if not 0 < sum(changed) <= most:
            continue
        known = [dichotomies(laws, n, c) for laws, c in zip(parts, changed, strict=True)]
        largest = max(largest, *(hockey_stick(pairs, growth) for pairs in product(*known)))
    return largest


BINARY = (
    one_hot([[3 * QUARTER, QUARTER], [QUARTER, 3 * QUARTER]]),
    "matrix([[0.75, 0.25], [0.25, 0.75]])",
)
SKEWED = (
    one_hot([[3 * QUARTER, QUARTER], [QUARTER * 2, QUARTER * 2]]),
    "matrix([[0.75, 0.25], [0.5, 0.5]])",
)
BITS = (unary(3 * QUARTER, QUARTER, 2), "unary(0.75, 0.25, 2)")
MANY_BITS = (unary(Fraction(1, 2), QUARTER, 3), "unary(0.5, 0.25, 3)")

CASES = [
    (2, (BINARY, BINARY)),
    (3, (BINARY, SKEWED)),
    (2, (BITS, BINARY)),
    (3, (BITS, SKEWED)),
    (2, (MANY_BITS, BINARY)),
    (1, (BITS, MANY_BITS)),
]  # fmt: skip


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(("n", "parts"), CASES)
@pytest.mark.parametrize("growth", [Fraction(1), Fraction(3, 2), Fraction(4)])
def test_all_datasets_of_few_users(n, parts, growth):
    laws, texts = [part[0] for part in parts], [part[1] for part in parts]
    epsilon = math.log(growth)
    for most in (1, 2):
        mechanism = joint(*texts, at_most=most)
        sums = ShuffleAccountant(mechanism, n, view="sum", rtol=RTOL)
        exact = float(truth(laws, n, growth, most))
        found = sums.delta_interval(epsilon)
        assert found.lower <= exact * (1 + 1e-12)
        assert exact <= found.upper * (1 + 1e-12)
        assert sums.delta_lower_bound(epsilon) <= exact * (1 + 1e-12)
        assert found.upper <= ShuffleAccountant(mechanism, n).get_delta(epsilon) * (1 + 1e-12)


def test_what_is_published_of_two_bits_is_less_than_the_pairs():
    """The truth itself is below what the multiset of pairs reveals."""
    laws, texts = [BINARY[0], BINARY[0]], [BINARY[1], BINARY[1]]
    exact = float(truth(laws, 3, Fraction(3, 2), 2))
    assert exact < ShuffleAccountant(joint(*texts), 3).delta_lower_bound(math.log(1.5))


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(("n", "parts"), [(3, (BINARY, SKEWED)), (2, (BITS, BINARY))])
@pytest.mark.parametrize("limits", [{}, {"exactly": 1}])
def test_datasets_attain_the_lower_bound(n, parts, limits):
    growth = Fraction(3, 2)
    sums = ShuffleAccountant(
        joint(*(part[1] for part in parts), **limits), n, view="sum", rtol=RTOL
    )
    report = sums.delta_report(math.log(growth))
    pairs = []
    entries = zip(
        parts, report.datasets.pair.first, report.datasets.pair.second, report.datasets.other,
        strict=True,
    )  # fmt: skip
    for (laws, _), first, second, other in entries:
        rest: Law = {tuple(0 for _ in next(iter(laws[0]))): Fraction(1)}
        for _ in range(n - 1):
            rest = add(rest, laws[other])
        pairs.append((add(rest, laws[first]), add(rest, laws[second])))
    pair = report.datasets.pair
    changed = sum(x != y for x, y in zip(pair.first, pair.second, strict=True))
    assert changed == (limits.get("exactly") or len(parts))
    exact = float(hockey_stick(tuple(pairs), growth))
    assert 0.9 * exact < report.lower_bound <= exact * (1 + 1e-12)


@pytest.mark.heavy
@pytest.mark.parametrize("n", [1, 50, 10**6])
def test_two_normal_sums_are_one_with_a_longer_shift(n):
    """A shift by (1, 1) is one by the root of 2 along the diagonal."""
    sums = ShuffleAccountant("joint(gaussian(3), gaussian(3))", n, view="sum", rtol=RTOL)
    one = ShuffleAccountant(f"gaussian({3 / math.sqrt(2)!r})", n, view="sum", rtol=RTOL)
    for delta in (1e-3, 1e-8):
        exact = one.epsilon_interval(delta)
        found = sums.epsilon_interval(delta)
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper <= 1.01 * exact.upper
        assert sums.get_delta(found.upper) <= delta
        assert sums.meets(found.upper, delta)
        assert found.upper == 0 or not sums.meets(0.9 * found.lower, delta)


@pytest.mark.heavy
def test_limits_on_what_changes():
    texts = ("krr(4, 1)", "krr(4, 2)", "krr(4, 2)")
    single = ShuffleAccountant("krr(4, 2)", 300, view="sum")
    one = ShuffleAccountant(joint(*texts, at_most=1), 300, view="sum", rtol=RTOL)
    assert one.epsilon_interval(1e-6).upper == single.epsilon_interval(1e-6).upper
    assert str(one.epsilon_report(1e-6).datasets) == (
        "x1 = (0, 0, 0) vs (0, 1, 0), all others hold (0, 2, 0)"
    )
    two, both, three = (
        ShuffleAccountant(mechanism, 300, view="sum", rtol=RTOL).epsilon_interval(1e-6)
        for mechanism in (joint(*texts, exactly=2), joint(*texts[1:]), joint(*texts))
    )
    assert two.upper == pytest.approx(both.upper, rel=0.01)
    assert both.upper < three.lower


@pytest.mark.heavy
def test_answers_say_what_they_are_about():
    report = ShuffleAccountant(NORMAL, 100, view="sum", rtol=RTOL).epsilon_report(1e-4)
    assert report.bound == "composition"
    assert report.view_in_words == "the sums of the reports alone, one for each attribute"
    assert report.bound_reason is None
    assert report.guarantee.upper < ShuffleAccountant(NORMAL, 100).epsilon_lower_bound(1e-4)


@pytest.mark.heavy
def test_which_bound_of_the_parts_counts():
    best, blanket = (
        ShuffleAccountant("joint(krr(4, 1), oue(1))", 100, view="sum", rtol=RTOL, bound=bound)
        for bound in ("best", "blanket")
    )
    assert blanket.get_epsilon(1e-4) == pytest.approx(best.get_epsilon(1e-4), rel=0.02)


@pytest.mark.heavy
def test_corrupted_users_are_not_there():
    text = "joint(krr(3, 1), krr(2, 2))"
    few = ShuffleAccountant(text, 70, view="sum", rtol=RTOL)
    many = ShuffleAccountant(text, 100, corrupted=30, view="sum", rtol=RTOL)
    assert many.get_delta(0.2) == few.get_delta(0.2)
    learned, multiset = (
        ShuffleAccountant(text, 100, corrupted_adaptively=3, view=v) for v in ("sum", "multiset")
    )
    assert learned.get_delta(0.2) == multiset.get_delta(0.2)
    assert "learned adaptively" in learned.delta_report(0.2).view_in_words


@pytest.mark.heavy
def test_ends():
    sums = ShuffleAccountant("joint(krr(3, 1), krr(2, 1))", 10, view="sum", rtol=RTOL)
    assert sums.epsilon_interval(1.0) == Interval(0.0, 0.0)
    assert 1.9 < sums.get_epsilon(0.0) <= 2 * (1 + 1e-12)
    assert sums.get_delta(2.1) == 0.0
    noisy = ShuffleAccountant("joint(krr(3, 1), gaussian(1))", 10, view="sum", rtol=RTOL)
    assert noisy.get_epsilon(0.0) == math.inf


class Skewed(Joint):
    """A class derived from the joint composition, which may state another law."""


def test_derived_classes_have_the_guarantee_of_the_multiset():
    derived = Skewed(joint("krr(2, 1)", "krr(2, 1)").parts)
    report = ShuffleAccountant(derived, 9, view="sum").delta_report(0.1)
    assert "the guarantee is that of the multiset" in report.view_in_words


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(("n", "part"), [(1, MANY_BITS), (2, BITS), (2, SKEWED)])
@pytest.mark.parametrize("growth", [Fraction(1), Fraction(2)])
def test_two_rounds_of_sums(n, part, growth):
    """What users hold may differ from round to round, as attributes do."""
    laws, text = part
    rounds = ShuffleAccountant(text, n, view="sum").rounds(2)
    exact = float(truth([laws, laws], n, growth, 2))
    found = rounds.delta_interval(math.log(growth))
    assert found.lower <= exact * (1 + 1e-12)
    assert rounds.delta_lower_bound(math.log(growth)) <= exact * (1 + 1e-12)
    assert exact <= found.upper * (1 + 1e-12)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("growth", [Fraction(1), Fraction(3)])
def test_joints_within_joints(n, growth):
    laws, texts = [part[0] for part in (BITS, SKEWED, BINARY)], (BITS[1], SKEWED[1], BINARY[1])
    nested = joint(joint(*texts[:2]), texts[2])
    corrupted = ShuffleAccountant(nested, n + 2, corrupted=2, view="sum", rtol=RTOL)
    exact = float(truth(laws, n, growth, 3))
    found = corrupted.delta_interval(math.log(growth))
    assert found.lower <= exact * (1 + 1e-12)
    assert exact <= found.upper * (1 + 1e-12)


def test_rounds_of_no_finite_level():
    """Both bounds, and different mechanisms: their levels cannot be added as doubles."""
    exposed = "matrix([[1.0, 0.0], [0.5, 0.5]])", "matrix([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])"
    for bound in ("best", "blanket"):
        sums = ShuffleAccountant(joint(*exposed), 2, view="sum", rtol=RTOL, bound=bound)
        assert 0.7 < sums.get_delta(0.0) < 0.8
        assert sums.get_epsilon(0.0) == math.inf
