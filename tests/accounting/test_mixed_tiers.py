"""Users of different levels: exact fractions, reference values, and shortcuts that are wrong."""

from __future__ import annotations

import json
import math
import warnings
from collections import Counter
from fractions import Fraction
from itertools import pairwise, product

import pytest
from click.testing import CliRunner

from shuffledp import (
    KRR,
    Group,
    Laplace,
    MatrixRandomizer,
    MixedAccountant,
    ShuffleAccountant,
    SubsetSelection,
)
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.cli import main

SLACK = 1 + 1e-9  # levels are logarithms of the exact ratios, rounded


@pytest.fixture(autouse=True)
def _wide_is_fine():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        yield


def krr(k: int, *groups: tuple[float, int], **more: float) -> MixedAccountant:
    return MixedAccountant([Group(KRR(k, level), n) for level, n in groups], **more)


#: k, victim and others as (level, users) with the victim first, dummies, epsilon, e_1 in 40 digits.
REFERENCE = [
    (10, [(1, 21), (2, 20), (4, 20)], 0, 0.3, 0.00014004115332663561),
    (10, [(2, 21), (1, 20), (4, 20)], 0, 0.5, 0.0074974794527136003),
    (10, [(4, 21), (1, 20), (2, 20)], 0, 1.0, 0.041094388864252241),
    (3, [(4, 31), (0.5, 30)], 0, 0.8, 0.012786833316731795),
    (2, [(2, 1), (1, 40), (3, 40)], 0, 0.5, 0.0085230783726784216),
    (4, [(1, 11), (6, 50)], 0, 0.4, 0.01443506906237373),
    (2, [(3, 60)], 20, 0.7, 0.0055284595055781774),
    (10, [(3, 60)], 20, 0.7, 0.019629187488231409),
    (10, [(3, 1)], 30, 0.7, 0.034952527323310497),
]


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(("k", "groups", "dummies", "epsilon", "expected"), REFERENCE)
def test_reference_values(k, groups, dummies, epsilon, expected):
    accountant = krr(k, *groups, dummies=dummies)
    found = accountant.delta_intervals(epsilon)[0]
    assert found.lower * (1 - 1e-12) <= expected <= found.upper * (1 + 1e-12)
    assert found.width < 0.03 * expected


@pytest.mark.heavy
@pytest.mark.parametrize(("k", "groups", "dummies", "epsilon", "expected"), REFERENCE)
def test_four_digits(k, groups, dummies, epsilon, expected):
    accountant = krr(k, *groups, dummies=dummies, rtol=1e-7)
    found = accountant.delta_intervals(epsilon)[0]
    assert found.lower * (1 - 1e-12) <= expected <= found.upper * (1 + 1e-12)
    assert found.width < 1e-4 * expected


@pytest.mark.heavy
def test_more_digits_of_an_epsilon():
    few, more = (krr(10, (1, 30), (4, 30), rtol=rtol) for rtol in (1e-3, 1e-4))
    for wide, narrow in zip(few.epsilon_intervals(1e-3), more.epsilon_intervals(1e-3), strict=True):
        assert wide.lower <= narrow.lower <= narrow.upper <= wide.upper
        assert narrow.width < 2e-4 * narrow.upper < wide.width
    assert more.get_delta(more.get_epsilon(1e-3)) <= 1e-3


def response(k: int, ratio: Fraction) -> list[list[Fraction]]:
    return [[(ratio if x == y else 1) / (ratio + k - 1) for y in range(k)] for x in range(k)]


def true_delta(k: int, ratios: list[Fraction], growth: Fraction) -> Fraction:
    """The largest delta of the first user over all datasets, from all histograms."""
    laws = [response(k, ratio) for ratio in ratios]
    worst = Fraction(0)
    for others in product(range(k), repeat=len(ratios) - 1):
        seen = {(0,) * k: Fraction(1)}
        for law, x in zip(laws[1:], others, strict=True):
            seen = _with(seen, law[x])
        excess = [laws[0][0][y] - growth * laws[0][1][y] for y in range(k)]
        worst = max(worst, sum(max(mass, 0) for mass in _with(seen, excess).values()))
    return worst


def _with(seen: dict[tuple[int, ...], Fraction], law: list[Fraction]) -> dict:
    after: dict[tuple[int, ...], Fraction] = {}
    for histogram, mass in seen.items():
        for y, probability in enumerate(law):
            key = (*histogram[:y], histogram[y] + 1, *histogram[y + 1 :])
            after[key] = after.get(key, Fraction(0)) + mass * probability
    return after


@pytest.mark.parametrize(
    ("k", "ratios", "growth"),
    [
        (2, [3], Fraction(5, 4)),
        (2, [3, 5], Fraction(1)),
        (2, [5, 3], Fraction(5, 4)),
        (3, [3, 8], Fraction(5, 4)),
        (2, [3, 3, 8], Fraction(11, 10)),
        (3, [8, 2, 2], Fraction(3, 2)),
        (3, [2, 8, 8, 3], Fraction(11, 10)),
        (2, [4, 2, 9, 9, 2, 2], Fraction(6, 5)),
        (3, [9, 2, 2, 9, 4], Fraction(2)),
    ],
)
def test_all_datasets_of_few_users(k, ratios, growth):
    truth = float(true_delta(k, [Fraction(r) for r in ratios], growth))
    counts = Counter(ratios)
    groups = sorted(counts.items(), key=lambda item: item[0] != ratios[0])
    accountant = krr(k, *((math.log(ratio), n) for ratio, n in groups))
    tier = accountant.delta_tiers(math.log(growth))[0]
    assert tier.lower_bound <= truth * SLACK
    assert truth <= tier.guarantee.upper * SLACK


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (999, [(0.102384, 0.102455), (0.290973, 0.291173), (0.690821, 0.691330)]),
        (9999, [(0.029768, 0.029770), (0.085179, 0.085185), (0.194973, 0.194987)]),
    ],
)
def test_three_tiers(n, expected):
    accountant = krr(10, (1, n // 3), (2, n // 3), (4, n // 3))
    for found, (low, high) in zip(accountant.epsilon_intervals(1e-6), expected, strict=True):
        assert found.lower <= high
        assert low <= found.upper <= high * (1 + 1e-3)
        assert found.upper <= found.lower * (1 + 2e-3)
    assert accountant.get_epsilon(1e-6) == accountant.epsilons(1e-6)[2]


@pytest.mark.heavy
def test_three_tiers_of_a_million():
    careless = krr(10, (1, 333_333), (2, 333_333), (4, 333_333)).epsilon_intervals(1e-6)[2]
    assert careless.lower == pytest.approx(0.016349, rel=1e-3)
    assert careless.upper == pytest.approx(0.016349, rel=1e-3)
    alone = ShuffleAccountant(KRR(10, 4.0), 333_333, bound="blanket")
    assert alone.get_epsilon(1e-6) == pytest.approx(0.057599, rel=1e-4)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    ("dummies", "low", "high"),
    [(100, 1.081344, 1.083637), (1000, 0.449649, 0.449831), (10_000, 0.138913, 0.138919)],
)
def test_dummies_among_a_thousand_users(dummies, low, high):
    (found,) = krr(10, (4, 1000), dummies=dummies).epsilon_intervals(1e-6)
    assert found.lower <= high
    assert low <= found.upper <= high * (1 + 1e-3)


def test_tiers_reveal_nearly_as_much_as_is_guaranteed():
    for tier in krr(10, (1, 3333), (2, 3333), (4, 3333)).epsilon_tiers(1e-6):
        assert 0.99 * tier.guarantee.upper < tier.lower_bound <= tier.guarantee.upper
        assert tier.among == "all"
        assert str(tier.datasets) == "x1 = 0 vs 1, all others hold 2"


@pytest.mark.heavy
def test_an_epsilon_keeps_its_word():
    accountant = krr(4, (1, 50), (3, 20), dummies=10)
    for delta in (1e-3, 1e-9):
        epsilons = accountant.epsilons(delta)
        for i, epsilon in enumerate(epsilons):
            assert accountant.deltas(epsilon)[i] <= delta


def test_one_tier_is_the_accountant():
    alone = ShuffleAccountant(KRR(10, 2.0), 300, rtol=1e-3)
    for accountant in (krr(10, (2, 300)), krr(10, (2, 100), (2, 200))):
        assert set(accountant.epsilons(1e-6)) == {alone.get_epsilon(1e-6)}
        assert set(accountant.deltas(0.2)) == {alone.get_delta(0.2)}
        assert accountant.epsilon_tiers(1e-6)[0].lower_bound == alone.epsilon_lower_bound(1e-6)


@pytest.mark.heavy
def test_more_company_never_hurts():
    deltas = [krr(10, (2, 50), (4, n), dummies=m).deltas(0.5)[0] for n, m in ((1, 0), (50, 0))]
    deltas += [krr(10, (2, 50), (4, 50), dummies=m).deltas(0.5)[0] for m in (1, 100, 10_000)]
    assert deltas == sorted(deltas, reverse=True)
    assert deltas[-1] < 1e-3 * deltas[0]
    corrupted = [krr(10, (2, 50), (4, 50), corrupted=f).deltas(0.5)[0] for f in (0, 1, 49, 99)]
    assert corrupted == sorted(corrupted)
    alone = ShuffleAccountant(KRR(10, 2.0), 1, rtol=1e-3).get_delta(0.5)
    assert corrupted[-1] == pytest.approx(alone)


@pytest.mark.heavy
def test_the_worst_users_are_corrupted():
    """The largest alphas hide most: those of the small levels."""
    left = krr(10, (4, 50), (1, 30))
    found = krr(10, (4, 50), (1, 50), corrupted=20)
    assert found.deltas(0.8)[0] == pytest.approx(left.deltas(0.8)[0])
    assert found.deltas(0.8)[0] > krr(10, (4, 30), (1, 50)).deltas(0.8)[0]


def test_mechanisms_without_a_common_law_count_on_their_own_tier():
    accountant = MixedAccountant([Group(Laplace(1.0), 400), Group(KRR(5, 1.0), 600)])
    expected = [
        ShuffleAccountant(r, n, rtol=1e-3).get_epsilon(1e-6)
        for r, n in ((Laplace(1.0), 400), (KRR(5, 1.0), 600))
    ]
    assert list(accountant.epsilons(1e-6)) == expected
    tiers = accountant.epsilon_tiers(1e-6)
    assert {tier.among for tier in tiers} == {"own tier"}
    assert [tier.lower_bound for tier in tiers] == [0.0, 0.0]


FIRST = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 2), Fraction(1, 2)]]
SECOND = [[Fraction(7, 8), Fraction(1, 8)], [Fraction(3, 8), Fraction(5, 8)]]


def matrices(*groups, **more):
    return MixedAccountant(
        [Group(MatrixRandomizer([[float(p) for p in row] for row in m]), n) for m, n in groups],
        **more,
    )


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("growth", [Fraction(1), Fraction(5, 4), Fraction(2)])
@pytest.mark.parametrize("sizes", [(1, 1), (2, 1), (1, 3), (2, 3)])
def test_matrices_with_as_many_outputs(sizes, growth):
    """All datasets, each user with rows of the own tier."""
    accountant = matrices((FIRST, sizes[0]), (SECOND, sizes[1]))
    tiers = accountant.delta_tiers(math.log(growth))
    for place, own in enumerate((FIRST, SECOND)):
        left = [n - (i == place) for i, n in enumerate(sizes)]
        channels = [FIRST] * left[0] + [SECOND] * left[1]
        worst = Fraction(0)
        for others in product(range(2), repeat=len(channels)):
            seen = {(0, 0): Fraction(1)}
            for channel, x in zip(channels, others, strict=True):
                seen = _with(seen, channel[x])
            for x, other in ((0, 1), (1, 0)):
                excess = [p - growth * q for p, q in zip(own[x], own[other], strict=True)]
                worst = max(worst, sum(max(m, 0) for m in _with(seen, excess).values()))
        assert float(worst) <= tiers[place].guarantee.upper * SLACK


@pytest.mark.heavy
def test_users_of_matrices_hide_each_other():
    few, many = matrices((FIRST, 100)), matrices((FIRST, 100), (SECOND, 10_000))
    assert many.epsilons(1e-6)[0] < 0.4 * few.epsilons(1e-6)[0]
    assert many.epsilon_tiers(1e-6)[0].among == "all"
    corrupted = matrices((FIRST, 100), (SECOND, 10_000), corrupted=10_000)
    assert corrupted.epsilons(1e-6)[0] >= few.epsilons(1e-6)[0]
    three = [[*row, Fraction(0)] for row in SECOND]
    apart = matrices((FIRST, 100), (three, 10_000))
    assert apart.epsilons(1e-6)[0] == few.epsilons(1e-6)[0]


def test_noise_and_dummies():
    plain, helped = (
        MixedAccountant([Group("laplace(epsilon0=1)", 300)], dummies=m).get_epsilon(1e-6)
        for m in (0, 300)
    )
    assert helped < 0.8 * plain


@pytest.mark.heavy
def test_subsets_of_one_size_share_a_law_and_others_do_not():
    same = [SubsetSelection(level, domain_size=8, size=2) for level in (1.0, 3.0)]
    other = SubsetSelection(3.0, domain_size=8, size=3)
    assert same[0].blanket_shape == same[1].blanket_shape != other.blanket_shape
    tiers = MixedAccountant([Group(r, 200) for r in same]).epsilon_tiers(1e-4)
    for tier in tiers:
        assert tier.among == "all"
        assert 0.9 * tier.guarantee.upper < tier.lower_bound <= tier.guarantee.upper


class Skewed(KRR):
    """A class derived from k-RR, which may state another law."""


def test_derived_classes_share_nothing_but_with_themselves():
    assert Skewed(3, 1.0).blanket_shape != KRR(3, 1.0).blanket_shape
    assert Skewed(3, 1.0).blanket_shape != Skewed(3, 2.0).blanket_shape


# What is tempting and wrong.


def phi(values: dict[Fraction, Fraction], size: int) -> Fraction:
    """E[(L_1 + ... + L_m)_+]/m."""
    sums = {Fraction(0): Fraction(1)}
    for _ in range(size):
        after: dict[Fraction, Fraction] = {}
        for total, mass in sums.items():
            for value, weight in values.items():
                key = total + value
                after[key] = after.get(key, Fraction(0)) + mass * weight
        sums = after
    return sum((max(total, Fraction(0)) * mass for total, mass in sums.items()), Fraction(0)) / size


def test_phi_is_not_convex():
    half = Fraction(1, 2)
    values = [phi({Fraction(1): half, Fraction(-1): half}, m) for m in range(1, 7)]
    assert values == [half, *(Fraction(x, 32) for x in (8, 8, 6, 6, 5))]
    steps = [a - b for a, b in pairwise(values)]
    assert steps != sorted(steps, reverse=True)


def expected_phi(values: dict[Fraction, Fraction], alphas: list[Fraction]) -> Fraction:
    sizes = {0: Fraction(1)}
    for alpha in alphas:
        after: dict[int, Fraction] = {}
        for size, mass in sizes.items():
            after[size + 1] = after.get(size + 1, Fraction(0)) + mass * alpha
            after[size] = after.get(size, Fraction(0)) + mass * (1 - alpha)
        sizes = after
    return sum(mass * phi(values, 1 + size) for size, mass in sizes.items())


def test_the_mean_of_the_alphas_is_no_bound():
    """k = 2, a user with E = 3 among E = 1, 1, 1000, 1000, at epsilon = 0."""
    ratio = Fraction(3)
    spread = 2 * (ratio - 1) / (ratio + 1)
    values = {spread: Fraction(1, 2), -spread: Fraction(1, 2)}
    alphas = [Fraction(2, 1 + e) for e in (1, 1, 1000, 1000)]
    exact = expected_phi(values, alphas)
    shortcut = expected_phi(values, [sum(alphas) / 4] * 4)
    assert float(exact) == pytest.approx(0.2497505, abs=1e-7)
    assert float(shortcut) == pytest.approx(0.2458755, abs=1e-7)
    # A report with E = 1 is a dummy.
    accountant = krr(2, (math.log(3), 1), (math.log(1000), 2), dummies=2)
    assert accountant.deltas(0.0)[0] * SLACK >= exact > shortcut


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([],), TypeError),
        (([KRR(3, 1.0)],), TypeError),
        (([Group(KRR(3, 1.0), 2**53), Group(KRR(3, 2.0), 1)],), ValueError),
    ],
)
def test_wrong_groups_are_refused(arguments, error):
    with pytest.raises(error, match="group"):
        MixedAccountant(*arguments)


def test_wrong_numbers_are_refused():
    for more in ({"dummies": -1}, {"dummies": 1.5}, {"corrupted": 2}, {"rtol": 0.0}):
        with pytest.raises(ValueError, match=next(iter(more))):
            krr(3, (1, 2), **more)
    with pytest.raises(ValueError, match="n must be"):
        Group(KRR(3, 1.0), 0)


LINE = ("tiers", "--group", "krr(k=10, epsilon0=1)=500", "--group", "krr(10, 4)=5e2")


@pytest.mark.heavy
def test_the_command():
    text = CliRunner().invoke(main, [*LINE, "--delta", "1e-6"]).stdout
    assert "krr(k=10, epsilon0=4.0)  500    0.7" in text
    answer = json.loads(CliRunner().invoke(main, [*LINE, "--delta", "1e-6", "--json"]).stdout)
    accountant = krr(10, (1, 500), (4, 500))
    assert [tier["guarantee"]["upper"] for tier in answer["tiers"]] == list(
        accountant.epsilons(1e-6)
    )
    assert (answer["command"], answer["n"], answer["dummies"]) == ("tiers", 1000, 0)
    asked = [*LINE, "--epsilon", "0.5", "--dummies", "10", "--corrupted", "1%", "--json"]
    answer = json.loads(CliRunner().invoke(main, asked).stdout)
    assert (answer["quantity"], answer["dummies"], answer["corrupted"]) == ("delta", 10, 10)
    assert "dummies are drawn" in answer["assumptions"][-1]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--delta", "1e-6", "--epsilon", "1"),
        ("--delta", "1e-6", "--group", "krr(k=10, epsilon0=1)"),
        ("--delta", "1e-6", "--group", "krr(k=10, epsilon0=1)=0"),
        ("--delta", "1e-6", "--group", "nothing=3"),
        ("--delta", "1e-6", "--corrupted", "1000"),
    ],
)
def test_wrong_command_lines(arguments):
    assert CliRunner().invoke(main, [*LINE, *arguments]).exit_code == 2
