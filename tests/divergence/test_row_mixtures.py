"""The worst mixture of two types, for many bounds at once: all backgrounds one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import gammaln
from test_row_swap import check_exactly, sums_of, swap_log_deltas
from test_swap import random_rows
from tiers import examples

from shuffledp import parse
from shuffledp.divergence import row_mixtures, row_swap
from shuffledp.divergence.row_lead import RowNodes
from shuffledp.divergence.row_mixtures import RowMixtures
from shuffledp.divergence.slots import SlotRows, Slots
from shuffledp.divergence.swap import swap_log_delta
from shuffledp.divergence.swap_integrand import Nodes

CASES = [(1.0, 40, 0.3), (2.0, 25, 0.9), (3.0, 60, 0.8), (0.3, 200, 0.02), (4.0, 90, 2.0)]


def slots_at(epsilon0: float, *epsilons: float) -> SlotRows:
    mechanism = parse(f"krr(k=2, epsilon0={epsilon0})")
    laws = mechanism.slot_laws(mechanism.neighbours()[0])
    assert laws is not None
    return SlotRows.joined([SlotRows.of(laws.blanket, laws.backgrounds, np.array(epsilons))])


def mixtures_of(sums: row_swap._Sums, share: float = 3e-4) -> RowMixtures:
    return RowMixtures(sums.nodes, sums.integrand, share)


def true_sums(sums: row_swap._Sums) -> list[float]:
    """The sum over the nodes for each number of users of the second type, user by user.

    Who is examined is averaged over: so many of the second type among k of all.
    """
    nodes: Nodes = sums.nodes.nodes
    integrand = sums.integrand
    others, terms = int(np.asarray(integrand.others)[0]), int(np.asarray(integrand.terms)[0])
    gamma, top = (float(np.asarray(x)[0]) for x in (integrand.gamma, integrand.top))
    zero, one = nodes.exponent
    found = []
    for ones in range(others + 1):
        total = np.zeros_like(nodes.kernel)
        for k in range(terms):
            weight = gamma * math.exp(k * (math.log1p(-gamma) - top))
            for hit in range(max(0, k - others + ones), min(k, ones) + 1):
                share = math.exp(
                    log_choose(ones, hit)
                    + log_choose(others - ones, k - hit)
                    - log_choose(others, k)
                )
                total += (
                    weight * share * np.exp((ones - hit) * one + (others - ones - k + hit) * zero)
                )
        found.append(float((nodes.kernel * total).real.sum()))
    return found


def log_choose(n: int, k: int) -> float:
    return float(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def test_cuts_are_in_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    """In every round each interval is half as long as before, with the sums at its own ends."""
    counts: list[int] = []
    bound = RowMixtures._bounds

    def checked(
        self: RowMixtures, rows: np.ndarray, cells: row_mixtures._Cells, *, averaged: bool
    ) -> np.ndarray:
        for shares, known in ((cells.left, cells.at_left), (cells.right, cells.at_right)):
            assert known == pytest.approx(self._uppers(rows[cells.number], shares))
        width = 0.5 ** len(counts)
        starts = cells.left / width
        assert np.array_equal(cells.right, cells.left + width)
        assert np.array_equal(starts, np.rint(starts))
        assert len({*zip(cells.number.tolist(), starts.tolist(), strict=True)}) == starts.size
        counts.append(starts.size)
        return bound(self, rows, cells, averaged=averaged)

    monkeypatch.setattr(RowMixtures, "_bounds", checked)
    sums = sums_of(slots_at(4.0, 2.0), 90)
    whole = RowMixtures(sums.nodes, sums.integrand, 3e-4)
    one, ends = np.zeros(1, dtype=np.int64), [np.zeros(1), np.ones(1)]
    cells = row_mixtures._Cells(one, *ends, *(whole._uppers(one, end) for end in ends))
    covered = whole._cover(one, cells, np.zeros(1), averaged=False)[0]
    assert len(counts) > 3
    assert covered < math.inf


@pytest.mark.parametrize("share", [0.0003, 0.03, math.inf])
@pytest.mark.parametrize(("epsilon0", "n", "epsilon"), CASES)
def test_no_background_is_worse(epsilon0: float, n: int, epsilon: float, share: float) -> None:
    sums = sums_of(slots_at(epsilon0, epsilon), n)
    truth = max(true_sums(sums))
    [bound] = mixtures_of(sums, share).worst(np.arange(1), np.array([False])).tolist()
    assert bound >= truth * (1 - 1e-9)
    [rough] = mixtures_of(sums).worst(np.arange(1), np.array([True])).tolist()
    assert rough >= truth * (1 - 1e-9)


@pytest.mark.parametrize("bound", [math.inf, math.nan])
def test_what_overflows_is_infinite(bound: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not the largest double, which in units of a small transform would be a bound."""
    monkeypatch.setattr(row_mixtures, "largest_between", lambda ends, *_: np.full(len(ends), bound))
    mixtures = mixtures_of(sums_of(slots_at(1.0, 0.3), 40))
    for hopeless in (True, False):
        assert mixtures.worst(np.arange(1), np.array([hopeless])).tolist() == [math.inf]


@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_intervals_bound_what_is_in_them(averaged: bool, parts: int) -> None:
    """Every interval, with the shares of all numbers of users in it."""
    n = 40
    sums = sums_of(slots_at(1.0, 0.3), n)
    mixtures, rows = mixtures_of(sums), np.zeros(1, dtype=np.int64)
    edges = np.linspace(0.0, 1.0, parts + 1)
    every = np.zeros(parts, dtype=np.int64)
    at = [mixtures._uppers(every, ends) for ends in (edges[:-1], edges[1:])]
    cells = row_mixtures._Cells(every, edges[:-1], edges[1:], *at)
    bounds = mixtures._bounds(rows, cells, averaged=averaged)
    shares = np.arange(n) / (n - 1)
    central = mixtures._uppers(np.zeros(n, dtype=np.int64), shares)
    wanted = np.array(true_sums(sums)) if averaged else central * (1 - 1e-9)
    for left, right, bound in zip(edges[:-1], edges[1:], bounds.tolist(), strict=True):
        inside = (shares >= left) & (shares <= right)
        assert bound >= wanted[inside].max() * (1 - 1e-9)
    assert (bounds >= np.maximum(*at)).all()


def test_sums_at_shares() -> None:
    """Upper bounds at shares of the second type, next to the sums themselves."""
    n = 40
    sums = sums_of(slots_at(1.0, 0.3), n)
    nodes, integrand = sums.nodes.nodes, sums.integrand
    gamma, top, terms = (
        float(np.asarray(x)[0]) for x in (integrand.gamma, integrand.top, integrand.terms)
    )
    shares = np.array([0.0, 0.25, 0.9, 1.0])
    found = mixtures_of(sums)._uppers(np.zeros(4, dtype=np.int64), shares)
    for share, upper in zip(shares.tolist(), found.tolist(), strict=True):
        exponent = (1 - share) * nodes.exponent[0] + share * nodes.exponent[1]
        series = sum(
            gamma * np.exp((n - 1 - k) * exponent + k * (math.log1p(-gamma) - top))
            for k in range(int(terms))
        )
        truth = float((nodes.kernel * series).real.sum())
        assert truth * (1 - 1e-12) <= upper <= truth * (1 + 1e-8)


def test_rows_do_not_disturb_each_other() -> None:
    """Nodes in any order, some rows asked for: what comes out is what each row has alone."""
    epsilons, n = [0.2, 0.3, 0.45], 300
    slots = slots_at(1.0, *epsilons)
    with np.errstate(all="ignore"):
        bounds = row_swap._Bounds(slots, np.full(3, n), 2e-3)
        sums = row_swap._Sums(bounds, np.arange(3))
    order = np.random.default_rng(3).permutation(sums.nodes.row.size)
    nodes = RowNodes(sums.nodes.nodes.chosen(order), sums.nodes.row[order], sums.nodes.own[order])
    together = RowMixtures(nodes, sums.integrand, 3e-4)
    found = together.worst(np.array([2, 0]), np.array([False, False]))
    for epsilon, own in zip((epsilons[2], epsilons[0]), found.tolist(), strict=True):
        alone = mixtures_of(sums_of(slots_at(1.0, epsilon), n))
        assert own == pytest.approx(alone.worst(np.arange(1), np.array([False]))[0], rel=1e-9)


def test_errors_of_exponents_count() -> None:
    """Exponents that may be off by d are n times as far apart: the interval hides more."""
    sums = sums_of(slots_at(1.0, 0.3), 100)
    nodes = sums.nodes
    off = replace(nodes.nodes, relative=nodes.nodes.relative + 1e-3)
    vague = RowMixtures(replace(nodes, nodes=off), sums.integrand, math.inf)
    one, no = np.arange(1), np.array([True])
    largest = max(float(vague._uppers(one, np.full(1, share))[0]) for share in (0.0, 1.0))
    sharp = mixtures_of(sums, math.inf)
    more = vague.worst(one, no)[0] - sharp.worst(one, no)[0]
    assert more > 99 * 1e-3 * float(nodes.nodes.size.sum()) * 1e-3
    assert vague.worst(one, no)[0] > largest


def test_exact_bounds_of_all_backgrounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random mechanisms of two inputs among few users, in fractions, with many cuts or none."""
    monkeypatch.setattr("shuffledp.divergence.proposals.row_swap.FEWEST_BLANKET_USERS", 0.0)
    answered = 0
    for seed in range(examples(20)):
        rng = np.random.default_rng(seed)
        share = float(rng.choice([1e-3, 0.05, 1.0]))
        monkeypatch.setattr(row_swap, "share_of_cells", lambda _, share=share: share)
        answered += check_exactly(random_rows(rng, 2, 3), int(rng.integers(3, 7)))
    assert answered > examples(20)


@pytest.mark.parametrize(("epsilon0", "factor"), [(0.1, 1.0), (1.0, 0.9), (3.0, 0.5), (4.0, 0.2)])
def test_as_good_as_single_bounds(epsilon0: float, factor: float) -> None:
    users = np.array([2500, 5000, 30_000, 10**6, 10**9])
    epsilons = factor * 4 * epsilon0 / np.sqrt(users) * (1 + epsilon0) ** 1.5
    slots = slots_at(epsilon0, *epsilons.tolist())
    mechanism = parse(f"krr(k=2, epsilon0={epsilon0})")
    laws = mechanism.slot_laws(mechanism.neighbours()[0])
    assert laws is not None
    found = swap_log_deltas(slots, users, 2e-3)
    assert None not in found
    for n, epsilon, bound in zip(users.tolist(), epsilons.tolist(), found, strict=True):
        single = swap_log_delta(Slots.of(laws.blanket, laws.backgrounds, epsilon), n, 2e-3)
        assert single - 0.01 < bound <= single + 1e-3


def test_what_is_above_the_ceiling_is_bounded_roughly() -> None:
    """It stays above it; what is below does not depend on it."""
    slots, users = slots_at(4.0, 0.6, 0.6), np.array([3000, 3000])
    fine, same = swap_log_deltas(slots, users, 2e-3)
    assert fine is not None
    assert fine == same
    assert swap_log_deltas(slots, users, 2e-3, fine) == [fine, fine]
    [rough, _] = swap_log_deltas(slots, users, 2e-3, fine - 1)
    assert rough is not None
    assert fine <= rough < math.inf


def test_what_is_above_the_ceiling_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leading type alone shows it: it is said that no cuts help, and that in one round."""
    asked: list[list[bool]] = []
    worst = RowMixtures.worst

    def noted(self: RowMixtures, rows: np.ndarray, hopeless: np.ndarray) -> np.ndarray:
        asked.append(hopeless.tolist())
        return worst(self, rows, hopeless)

    monkeypatch.setattr(RowMixtures, "worst", noted)
    monkeypatch.setattr(row_swap, "shrink_of", lambda bias, tolerance: 0.9)
    slots, users = slots_at(4.0, 0.6, 0.6), np.array([3000, 3000])
    [fine, _] = swap_log_deltas(slots, users, 2e-3)
    assert fine is not None
    assert len(asked) > 1
    assert not np.any(asked)
    asked.clear()
    row_swap.swap_log_deltas(slots, users, 2e-3, np.array([fine - 1, fine + 1]))
    assert asked[0] == [True, False]
    assert all(later == [False] for later in asked[1:])


def test_a_row_that_takes_too_many_cuts_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_mixtures, "_MAX_WORK", 0.0)
    assert swap_log_deltas(slots_at(4.0, 0.6), np.array([3000]), 2e-3) == [None]


def test_rows_without_nodes_are_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shuffledp.divergence.row_selection._MOST_NODES", 3)
    assert swap_log_deltas(slots_at(4.0, 0.6), np.array([3000]), 2e-3) == [None]


@pytest.mark.parametrize("ends", [(0.0, 1.0), (0.0, 0.1), (0.9, 1.0), (0.2, 0.45)])
@pytest.mark.parametrize("averaged", [True, False])
def test_every_term_of_an_interval(
    ends: tuple[float, float], averaged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound of one interval, from its formula, with vague nodes and a rounding that shows."""
    up = 1.5
    sums = sums_of(slots_at(2.0, 0.5), 60)
    off = replace(sums.nodes.nodes, relative=sums.nodes.nodes.relative + 1e-3)
    sums.nodes = replace(sums.nodes, nodes=off)
    monkeypatch.setattr(row_mixtures, "ROUND_UP", up)
    mixtures, row = mixtures_of(sums), np.zeros(1, dtype=np.int64)
    left, right = (np.full(1, end) for end in ends)
    at = [mixtures._uppers(row, end) for end in (left, right)]
    [found] = mixtures._bounds(
        row, row_mixtures._Cells(row, left, right, *at), averaged=averaged
    ).tolist()

    integrand = sums.integrand.of(np.zeros(off.t.size, dtype=np.int64))
    heights = np.max(
        [integrand.height((1 - end) * off.largest[0] + end * off.largest[1]) for end in ends],
        axis=0,
    )
    apart = (ends[1] - ends[0]) * np.abs(off.exponent[1] - off.exponent[0])
    squares = (59 * (apart + 2 * off.relative)) ** 2
    bent = float((off.size * heights * squares)[squares < 16].sum())
    far = 2 * float((off.size * heights)[squares >= 16].sum())
    high, low = max(at)[0], min(at)[0]
    shares = np.linspace(0.0, 1.0, 100_001)
    parabola = high - shares * (high - low) + shares * (1 - shares) * bent / 2
    expected = float(parabola.max()) + far
    if averaged:
        spread = integrand.spread(off)
        variance = min(ends[1], 1 - ends[0], 1 / 3)
        expected += up * float((off.size * spread.at(np.array(variance), heights)).sum())
    assert found == pytest.approx(expected, rel=1e-7)


def test_what_is_examined_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    sums = sums_of(slots_at(4.0, 0.6), 3000)
    once = mixtures_of(sums).examined[0]
    monkeypatch.setattr(row_mixtures, "ROUND_UP", 3.0)
    assert mixtures_of(sums).examined[0] == pytest.approx(3 * once, rel=1e-6)
