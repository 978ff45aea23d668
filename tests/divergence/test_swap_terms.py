"""Each term of a single swap bound, and what becomes of bounds that are of no use."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from test_lead import slots_of
from test_swap import make_slots, plus, positive_part, random_rows, slot

from shuffledp.decomposition.gparv import Law
from shuffledp.divergence import swap
from shuffledp.divergence.lead import leading_type
from shuffledp.divergence.proposals.swap import SwapProposal
from shuffledp.divergence.shares import Points
from shuffledp.divergence.skipped import SkippedStretches
from shuffledp.divergence.slots import Slots
from shuffledp.divergence.stretches import listed
from shuffledp.divergence.swap import _Found, _Spectrum, swap_log_delta
from shuffledp.divergence.swap_integrand import ROUND_UP
from shuffledp.divergence.tilt import tilt

TWO = ("krr(k=2, epsilon0=2)", 1000, 0.33)
THREE = ("matrix([[0.6, 0.3, 0.1], [0.2, 0.3, 0.5], [0.3, 0.4, 0.3]])", 60, 0.3)
CALM = ("krr(k=10, epsilon0=1)", 3000, 0.05)
MIXED = pytest.mark.parametrize("case", [TWO, THREE], ids=["two types", "three types"])


def proposal_of(slots: Slots, n: int) -> SwapProposal:
    return SwapProposal(slots.first, slots.types, slots.blanket_mass, n, 2e-3)


def spectrum_of(slots: Slots, n: int, proposal: SwapProposal | None = None) -> _Spectrum:
    own = proposal or proposal_of(slots, n)
    first, *types = (tilt(law.scaled(own.theta), 1.0) for law in (slots.first, *slots.types))
    return _Spectrum(first, types, slots.blanket_mass, n, own)


def spectrum_at(case: tuple[str, int, float]) -> _Spectrum:
    text, n, epsilon = case
    return spectrum_of(slots_of(text, epsilon), n)


def corners_of(spectrum: _Spectrum) -> Points:
    return spectrum._at(np.eye(len(spectrum.types)))


# -- what is asked --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", range(4))
def test_a_single_huge_value_is_left_to_the_blanket(
    kind: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slots = slots_of(CALM[0], CALM[2])
    laws = [*slots.types, slots.first]
    values = laws[kind].values.copy()
    values[-1] = -1e150
    laws[kind] = replace(laws[kind], values=values)
    asked: list[int] = []
    monkeypatch.setattr(swap, "_bound", lambda *_: asked.append(kind))
    huge = replace(slots, types=tuple(laws[:-1]), first=laws[-1])
    assert swap_log_delta(huge, 3000, 2e-3) == math.inf
    assert not asked


class Rounds:
    """Rounds of ever less smoothing whose answers are known; it remembers their ceilings."""

    bias, excess = 0.5, 0.0

    def __init__(self, *answers: tuple[float, float, bool]) -> None:
        self.answers, self.asked = iter(answers), list[float]()
        self.is_usable = True

    def __call__(self, *_: object) -> Rounds:
        self.log_delta, self.work, self.is_hopeless = next(self.answers)
        return self

    def bound(self, ceiling: float) -> _Found:
        self.asked.append(ceiling)
        return _Found(self.log_delta, self.bias, self.excess)


def bound_in(rounds: Rounds, ceiling: float, monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(swap, "_Spectrum", rounds)
    monkeypatch.setattr(swap, "_ROUNDS", 4)
    monkeypatch.setattr(SwapProposal, "improve", lambda *_: True)
    return swap_log_delta(slots_of(CALM[0], CALM[2]), 3000, 2e-3, ceiling)


def test_a_ceiling_counts_until_something_is_below(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = Rounds((-3.0, 0.0, False), (-4.0, 0.0, False), (-3.9, 0.0, False), (-6.0, 0.0, False))
    assert bound_in(rounds, -3.5, monkeypatch) == -6.0
    assert rounds.asked == [-3.5, -3.5, math.inf, math.inf]


@pytest.mark.parametrize("ceiling", [-3.5, 0.0, 0.5])
def test_what_is_given_up_stays_above_its_ceiling(
    ceiling: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    above = math.nextafter(ceiling, math.inf)
    for last, expected in ((ceiling + 0.1, ceiling + 0.1), (ceiling - 0.1, above)):
        rounds = Rounds((ceiling + 0.2, 0.0, False), (last, 0.0, True))
        assert bound_in(rounds, ceiling, monkeypatch) == expected
        assert len(rounds.asked) == 2


def test_much_work_is_not_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    much = swap._MUCH_WORK
    rounds = Rounds((-3.0, 0.9 * much, False), (-4.0, 1.1 * much, False), (-5.0, 0.0, False))
    assert bound_in(rounds, math.inf, monkeypatch) == -4.0


@pytest.mark.parametrize(("excess", "rounds"), [(0.9, 2), (1.1, 1)])
def test_mixtures_that_add_far_more_than_smoothing_are_not_smoothed_less(
    excess: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """High frequencies, which less smoothing adds, make the errors of mixtures larger."""
    monkeypatch.setattr(Rounds, "excess", excess * swap._FAR_MORE * Rounds.bias)
    asked = Rounds((-3.0, 0.0, False), (-4.0, 10 * swap._MUCH_WORK, False))
    assert bound_in(asked, math.inf, monkeypatch) == (-3.0, -4.0)[rounds - 1]
    assert len(asked.asked) == rounds


def test_blankets_of_mass_one() -> None:
    """Nobody is examined in vain: of the sum over k the first term is left; no bound is below."""
    rows, n, ratio = random_rows(np.random.default_rng(5), 2, 3), 5, Fraction(1)
    gain = [a - ratio * b for a, b in zip(rows[0], rows[1], strict=True)]
    laws = [slot(gain, row) for row in rows]
    exact = Fraction(0)
    for others in combinations_with_replacement(laws, n - 1):
        total = slot(gain, [min(column) for column in zip(*rows, strict=True)])
        for own in others:
            total = plus(total, own)
        exact = max(exact, positive_part(total) / n)
    slots = replace(make_slots(rows, 0.0), blanket_mass=1.0)
    proposal = proposal_of(slots, n)
    proposal.last_examined = 0
    spectrum = spectrum_of(slots, n, proposal)
    assert spectrum.log_rest == -math.inf
    assert float(exact) * (1 - 1e-12) <= math.exp(spectrum.bound(math.inf).log_delta)


# -- what enters the sum --------------------------------------------------------------------------


@pytest.mark.parametrize(("last", "terms"), [(0, 1), (3, 4), (38, 39), (39, 40), (45, 40)])
def test_no_more_users_are_examined_than_there_are(last: int, terms: int) -> None:
    slots = slots_of("krr(k=2, epsilon0=1)", 0.3)
    proposal = proposal_of(slots, 40)
    proposal.last_examined = last
    assert spectrum_of(slots, 40, proposal).terms == terms


def log_mgf_of(law: Law, theta: float, weights: np.ndarray | None = None) -> float:
    used = law.weights if weights is None else weights
    return math.log1p(float(used @ np.expm1(theta * law.values)))


def tilted_up(law: Law, error: float) -> np.ndarray:
    """Weights that are off by no more than the error and favour positive values; they sum to 1."""
    weights, up = law.weights, law.values > 0
    size = error * min(float(weights[up].sum()), float(weights[~up].sum()))
    sign = np.where(up, 1 / weights[up].sum(), -1 / weights[~up].sum())
    moved: np.ndarray = weights * (1 + size * sign)
    return moved


@pytest.mark.parametrize("kind", range(4))
def test_errors_of_the_transforms_are_in_the_scale(kind: int) -> None:
    """Weights of one slot are moved by their errors: K of slot 0 counts once, of a type n - 1."""
    n, error = CALM[1], 1e-5
    slots = slots_of(CALM[0], CALM[2])
    laws = [*slots.types, slots.first]
    assert len(laws) == 4
    own = laws[kind] = replace(
        laws[kind],
        weight_error=laws[kind].weight_error + error,
        value_error=laws[kind].value_error + error,
    )
    vague = replace(slots, types=tuple(laws[:-1]), first=laws[-1])
    scale = spectrum_of(vague, n).scale
    theta, times = float(scale.theta), n - 1 if kind < 3 else 1
    moved = log_mgf_of(own, theta, tilted_up(own, error)) - log_mgf_of(own, theta)
    assert moved > 1e-8
    assert float(scale.log_mgf_error) >= times * moved
    assert float(scale.value_shift) >= times * theta * error


@pytest.mark.parametrize("main", [None, 0, 7, 10**9])
@pytest.mark.parametrize("part", [1, 4])
def test_every_node_is_kept_or_counted_once(
    main: int | None, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes that are kept, stretches that are skipped, and the end: all together, nothing twice."""
    skipped: list[tuple[int, int, float]] = []

    class Recorded(SkippedStretches):
        def bounds(self, starts: np.ndarray, sizes: np.ndarray, limit: float) -> np.ndarray:
            found = super().bounds(starts, sizes, limit)
            all_three = zip(starts.tolist(), sizes.tolist(), found.tolist(), strict=True)
            skipped.extend(own for own in all_three if own[2] <= limit)
            return found

    slots, n = slots_of("krr(k=3, epsilon0=1)", 0.2), 200
    proposal = proposal_of(slots, n)
    proposal.count //= part
    if main is not None:
        monkeypatch.setattr(SwapProposal, "main_nodes", property(lambda _: main))
    monkeypatch.setattr(swap, "SkippedStretches", Recorded)
    monkeypatch.setattr(swap, "ROUND_UP", 3.0)
    spectrum = spectrum_of(slots, n, proposal)
    starts, sizes = (np.array([own[i] for own in skipped], dtype=np.int64) for i in (0, 1))
    nodes = [*spectrum.numbers.tolist(), *listed(starts, sizes).tolist()]
    assert sorted(nodes) == list(range(proposal.count + 1))
    assert bool(skipped) == (main != 10**9)
    assert spectrum.nodes.t.size == spectrum.numbers.size > 1
    end = float(spectrum.integrand.cut(proposal.count, spectrum.integrand.height(np.zeros(1)))[0])
    expected = 3 * sum(own[2] for own in skipped) + end
    assert spectrum.left_out == pytest.approx(expected, rel=1e-9)
    assert part == 1 or end > 1e-9 * expected


def test_what_useless_nodes_may_add_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = spectrum_at(CALM).left_out
    with monkeypatch.context() as patch:
        patch.setattr(swap, "ROUND_UP", 3.0)
        whole_thrice = spectrum_at(CALM).left_out
    monkeypatch.setattr("shuffledp.divergence.swap_integrand._VAGUE", 5e-13)
    once = spectrum_at(CALM).left_out - whole
    monkeypatch.setattr(swap, "ROUND_UP", 3.0)
    thrice = spectrum_at(CALM).left_out - whole_thrice
    assert once > 0
    assert thrice == pytest.approx(3 * once, rel=1e-6)


def test_sums_over_nodes_are_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of the nodes and of adding them up, with units that are large enough to see."""
    unit, up = 1e-6, 3.0
    spectrum = spectrum_at(CALM)
    shares = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    nodes = replace(spectrum.nodes, error=spectrum.nodes.error + 1e-5 * spectrum.nodes.size)
    spectrum.nodes = nodes
    exponent, largest = (
        np.array([(row[:, None] * own).sum(axis=0) for row in shares])
        for own in (nodes.exponent, nodes.largest)
    )
    values, rounding = spectrum.integrand.at(nodes, exponent, spectrum.integrand.height(largest))
    monkeypatch.setattr(swap, "UNIT", unit)
    monkeypatch.setattr(swap, "ROUND_UP", up)
    expected = values.real.sum(axis=1) + up * rounding.sum(axis=1)
    expected += 64 * unit * np.abs(values).sum(axis=1)
    assert spectrum._at(shares).upper == pytest.approx(expected, rel=1e-9)


def test_a_bound_is_the_sum_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """The leading type, what mixtures add to it, what is left out, and errors of the values."""
    spectrum = spectrum_at(CALM)
    settled = float(corners_of(spectrum).upper.max())
    lost = 0.5 * spectrum.proposal.share_of_cells * settled
    asked: list[tuple[float, ...]] = []

    def losing(_: object, *terms: float) -> float:
        asked.append(terms)
        return lost

    monkeypatch.setattr(swap, "loss_of_leading", losing)
    spectrum.left_out = 0.1 * settled
    spectrum.scale = replace(spectrum.scale, value_shift=0.05)
    moved = float(spectrum.integrand.moved(spectrum.scale))
    total = settled + lost + 0.1 * settled + moved
    expected = float(spectrum.integrand.log_delta(total, spectrum.scale))
    assert moved > 1e-3 * settled
    assert spectrum.bound(math.inf).log_delta == pytest.approx(expected, rel=1e-12)
    log_ratio = math.log1p(-spectrum.gamma) - max(law.log_mgf for law in spectrum.types)
    [terms] = asked
    assert terms == pytest.approx((spectrum.others, spectrum.terms, log_ratio, spectrum.gamma))


@pytest.mark.parametrize(("lost", "mixture"), [(0.5, 0.3), (0.3, 0.5), (math.inf, 0.2)])
def test_of_two_bounds_on_mixtures_the_smaller_one_counts(
    lost: float, mixture: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    spectrum = spectrum_at(CALM)
    settled = float(corners_of(spectrum).upper.max())
    monkeypatch.setattr(swap, "loss_of_leading", lambda *_: lost * settled)
    monkeypatch.setattr(_Spectrum, "_worst_mixture", lambda *_: (1 + mixture) * settled)
    total = (1 + min(lost, mixture)) * settled + spectrum.left_out
    total += float(spectrum.integrand.moved(spectrum.scale))
    expected = float(spectrum.integrand.log_delta(total, spectrum.scale))
    assert spectrum.bound(math.inf).log_delta == pytest.approx(expected, rel=1e-12)


# -- bounds that are of no use --------------------------------------------------------------------


def test_a_bound_exceeds_what_is_below_it() -> None:
    """A sum that is not positive says nothing, and one at the ceiling is of use."""
    spectrum = spectrum_at(CALM)
    level = float(spectrum.integrand.log_delta(0.3, spectrum.scale))
    for ceiling, exceeds in (
        (level, False),
        (math.nextafter(level, -math.inf), True),
        (level + 1, False),
        (level - 1, True),
        (math.inf, False),
    ):
        spectrum.ceiling = ceiling
        assert spectrum._exceeds(0.3) == exceeds
        assert not spectrum._exceeds(0.0)
        assert not spectrum._exceeds(-0.3)


@pytest.mark.parametrize("lost", [0.5, math.inf])
def test_a_background_above_the_ceiling_ends_it(
    lost: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The largest one alone, unless what mixtures add to the leading type proves less."""
    monkeypatch.setattr(_Spectrum, "_worst_mixture", lambda *_: math.inf)
    corners = _Spectrum._corners

    def higher(own: _Spectrum, order: list[int], count: int) -> Points:
        found = corners(own, order, count)
        return replace(found, upper=found.upper.max() * np.linspace(1.0, 2.0, count))

    for factor, hopeless in ((0.9, True), (1.1, False)):
        spectrum = spectrum_at(THREE)
        settled = float(spectrum._at(np.eye(3)[[leading_type(spectrum.nodes)]]).upper[0])
        largest = float(corners_of(spectrum).upper.max())
        proved = min(2 * largest, (1 + lost) * settled)
        monkeypatch.setattr(swap, "loss_of_leading", lambda *_, own=settled: lost * own)
        monkeypatch.setattr(_Spectrum, "_corners", higher)
        spectrum.bound(float(spectrum.integrand.log_delta(factor * proved, spectrum.scale)))
        assert spectrum.is_hopeless == hopeless


@MIXED
def test_errors_of_who_is_examined_can_end_it(
    case: tuple[str, int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are in every bound that cuts find; where less is known, nothing is cut."""
    monkeypatch.setattr(_Spectrum, "_mixed", lambda *_: math.inf)
    monkeypatch.setattr(_Spectrum, "_cover", lambda *_: math.inf)
    for factor, hopeless in ((0.99, True), (1.01, False)):
        spectrum = spectrum_at(case)
        points, order = corners_of(spectrum), list(range(len(spectrum.types)))
        whole = float(points.upper.max()) + examined_of(spectrum)
        spectrum.ceiling = float(spectrum.integrand.log_delta(factor * whole, spectrum.scale))
        for known in (0.5 * whole, 0.999 * whole):
            assert spectrum._worst_mixture(points, order, known) == known
        assert not spectrum.is_hopeless
        assert spectrum._worst_mixture(points, order, 1.001 * whole) == math.inf
        assert spectrum.is_hopeless == hopeless


# -- all mixtures ---------------------------------------------------------------------------------


def examined_of(spectrum: _Spectrum, up: float = ROUND_UP) -> float:
    spread = spectrum.integrand.spread(spectrum.nodes)
    return float((spectrum.nodes.size * spread.everywhere).sum()) * up


class Scripted:
    """Bounds of cells that are known: in every round so many times the largest corner."""

    def __init__(self, *rounds: list[float]) -> None:
        self.rounds = list(rounds)

    def __call__(self, corners: np.ndarray, *_: object) -> np.ndarray:
        found = np.array(self.rounds.pop(0))
        assert len(found) == len(corners)
        return found


def scripted_cover(
    spectrum: _Spectrum,
    monkeypatch: pytest.MonkeyPatch,
    *rounds: list[float],
    slack: float = 0,
    enough: float = 0,
) -> float:
    """Cover all mixtures of two types; corners and bounds are in units of the larger corner."""
    at = _Spectrum._at

    def flat(own: _Spectrum, shares: np.ndarray) -> Points:
        return replace(at(own, shares), upper=np.where(shares[:, 0] == 1, 1.0, 0.8))

    monkeypatch.setattr(_Spectrum, "_at", flat)
    monkeypatch.setattr(swap, "largest_sums", Scripted(*rounds))
    return spectrum._cover(corners_of(spectrum), slack=slack, enough=enough)


def test_covers_end_with_the_largest_bound_of_a_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells of which little is left are settled; the halves of all others are looked at."""
    spectrum = spectrum_at(TWO)
    rounds = [2.0], [1.0002, 1.5], [1.0004, 0.9]
    assert scripted_cover(spectrum, monkeypatch, *rounds) == 1.0004
    rounds = [2.0], [1.0003, 1.5], [0.7, 0.9]
    assert scripted_cover(spectrum_at(TWO), monkeypatch, *rounds) == 1.0003
    rounds = [2.0], [0.9, 1.5], [0.7, 0.9]
    assert scripted_cover(spectrum_at(TWO), monkeypatch, *rounds) == 1.0
    assert scripted_cover(spectrum_at(TWO), monkeypatch, [2.0], enough=2.5) == 2.0
    assert scripted_cover(spectrum_at(TWO), monkeypatch, [2.0], slack=1.5) == 2.0
    assert spectrum.work == 5 * spectrum.nodes.t.size


def test_covers_of_one_type_are_its_sum() -> None:
    spectrum = spectrum_at(THREE)
    points = spectrum._at(np.eye(3)[[1]])
    assert spectrum._cover(points) == points.upper[0]


@pytest.mark.parametrize(("cells", "expected"), [(0.5, math.inf), (1.5, 3.0), (3.5, 1.5)])
def test_covers_of_much_work_keep_the_bounds_of_the_last_round(
    cells: float, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    spectrum = spectrum_at(TWO)
    monkeypatch.setattr(swap, "_STUCK", 0)
    monkeypatch.setattr(swap, "_MAX_WORK", cells * spectrum.nodes.t.size)
    rounds = [3.0], [1.2, 1.5], [1.3, 1.1, 1.4, 1.0]
    assert scripted_cover(spectrum, monkeypatch, *rounds) == expected


def test_covers_that_are_stuck_keep_the_bounds_of_this_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No cell is nearly as small as it should be, and not much more work may be done."""
    spectrum = spectrum_at(TWO)
    monkeypatch.setattr(swap, "_MAX_WORK", 9.0 * spectrum.nodes.t.size)
    rounds = [3.0], [1.4, 1.5]
    assert scripted_cover(spectrum, monkeypatch, *rounds) == 1.5
    rounds = [3.0], [1.2, 1.5], [1.0002, 0.9, 1.0, 1.0]
    assert scripted_cover(spectrum_at(TWO), monkeypatch, *rounds) == 1.0002


@pytest.mark.parametrize(("last", "expected"), [([1.2, 1.5], 1.5), ([1.0002, 0.9], 1.0002)])
def test_hopeless_covers_keep_the_bounds_of_this_round(
    last: list[float], expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A middle above the ceiling ends it after the bounds of both halves."""
    spectrum = spectrum_at(TWO)
    spectrum.ceiling = float(spectrum.integrand.log_delta(0.99, spectrum.scale))
    assert scripted_cover(spectrum, monkeypatch, [3.0], last) == expected
    assert spectrum.is_hopeless
    again = spectrum_at(TWO)
    again.is_hopeless = True
    assert scripted_cover(again, monkeypatch, [3.0]) == 3.0
    assert scripted_cover(again, monkeypatch, [0.7]) == 1.0
    far = spectrum_at(TWO)
    assert scripted_cover(far, monkeypatch, [1001.0]) == 1001.0
    assert not far.is_hopeless


def test_ceilings_above_all_middles_do_not_end_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    spectrum = spectrum_at(TWO)
    spectrum.ceiling = float(spectrum.integrand.log_delta(1.01, spectrum.scale))
    rounds = [2.0], [1.0002, 1.5], [1.0004, 0.9]
    assert scripted_cover(spectrum, monkeypatch, *rounds) == 1.0004
    assert not spectrum.is_hopeless


@pytest.mark.parametrize("bound", [math.inf, math.nan])
def test_what_overflows_is_infinite(bound: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not the largest double, which in units of a small transform would be a bound."""
    monkeypatch.setattr(swap, "largest_sums", lambda corners, *_: np.full(len(corners), bound))
    spectrum = spectrum_at(TWO)
    assert spectrum._cover(corners_of(spectrum)) == math.inf


@MIXED
@pytest.mark.parametrize("vague", [0.0, 1e-4])
def test_distances_and_weights_hold_for_all_true_exponents(
    case: tuple[str, int, float], vague: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exponents moved by their errors, in opposite directions; heights at shares in the cell."""
    spectrum = spectrum_at(case)
    nodes, types = spectrum.nodes, len(spectrum.types)
    relative = nodes.relative + vague
    largest = np.minimum(nodes.largest + vague, 0.0)
    spectrum.nodes = replace(nodes, relative=relative, largest=largest)
    asked: list[tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]] = []

    def first(
        corners: np.ndarray, weight: np.ndarray, squares: np.ndarray, edges: list[tuple[int, int]]
    ) -> np.ndarray:
        asked.append((weight, squares, edges))
        return np.full(len(corners), math.inf)

    monkeypatch.setattr(swap, "largest_sums", first)
    assert spectrum._cover(corners_of(spectrum)) == math.inf
    [(weight, squares, edges)] = asked
    assert len(edges) == types * (types - 1) // 2
    assert spectrum.work == len(edges) * nodes.t.size
    for (i, j), square in zip(edges, squares, strict=True):
        apart = nodes.exponent[i] - nodes.exponent[j]
        with np.errstate(invalid="ignore"):
            turn = np.where(apart != 0, apart / np.abs(apart), 1.0)
        true = (nodes.exponent[i] + relative * turn) - (nodes.exponent[j] - relative * turn)
        assert (square[0] >= (spectrum.others * np.abs(true)) ** 2 * (1 - 1e-12)).all()
        assert (square[0] <= (spectrum.others * np.abs(true)) ** 2 * (1 + 1e-9) + 1e-300).all()
    rng = np.random.default_rng(types)
    for shares in [*np.eye(types), *rng.dirichlet(np.ones(types), 20)]:
        height = spectrum.integrand.height(shares @ largest)
        assert (weight[0] >= nodes.size * height * (1 - 1e-12)).all()


@MIXED
def test_covers_add_errors_of_who_is_examined(
    case: tuple[str, int, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a cell with all mixtures: a third of the largest squared distance, rounded up."""
    spectrum = spectrum_at(case)
    points = corners_of(spectrum)
    spread = spectrum.integrand.spread(spectrum.nodes)
    monkeypatch.setattr(swap, "largest_sums", lambda corners, *_: np.full(len(corners), 0.25))
    monkeypatch.setattr(swap, "ROUND_UP", 3.0)
    spectrum.is_hopeless = True
    height = points.height.max(axis=0)
    error = np.minimum(2 * spectrum.integrand.height(spectrum.nodes.largest.max(axis=0)), np.inf)
    error = np.minimum(error, np.fmin(spread.absolute, height * spread.relative) / 3)
    added = 3 * float((spectrum.nodes.size * error).sum())
    assert added > 0
    expected = max(0.25 + added, float(points.upper.max()))
    assert spectrum._cover(points, spread) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("tried", "covered", "expected"),
    [
        ([(0.4, 0.1)], [0.6], 0.7),
        ([(0.9, 0.1)], [0.6], 1.0),
        ([(2.0, 0.1), (0.4, 0.3)], [0.6, 9.0], 0.9),
        ([(2.0, 0.1), (1.5, 0.1), (1.2, 0.2)], [0.6, 9.0], 1.4),
        ([(2.0, 0.1), (1.5, 0.1), (1.2, 1.2)], [0.6, 0.5], 2.1),
    ],
)
def test_types_that_are_not_looked_at_have_a_ceiling(
    tried: list[tuple[float, float]],
    covered: list[float],
    expected: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """More types are looked at where others decide; what mixing adds is in both bounds."""
    spectrum = spectrum_at(THREE)
    points = replace(corners_of(spectrum), upper=np.array([0.5, 1.0, 0.2]))
    ceilings, covers = iter(tried), iter(covered)
    kept: list[int] = []

    def ceiling(_: object, types: list[int]) -> tuple[float, float]:
        kept.append(len(types))
        return next(ceilings)

    monkeypatch.setattr(_Spectrum, "_ceiling", ceiling)
    monkeypatch.setattr(_Spectrum, "_corners", lambda *_: points)
    monkeypatch.setattr(_Spectrum, "_cover", lambda *_, **__: next(covers))
    monkeypatch.setattr(swap, "_MAX_CORNERS", 2 + len(tried))
    assert spectrum._mixed(points, list(range(9))) == pytest.approx(expected, rel=1e-12)
    assert kept == list(range(3, 3 + len(tried)))


def test_types_are_looked_at_in_their_order() -> None:
    spectrum = spectrum_at(THREE)
    assert spectrum._corners([2, 0, 1], 2).shares.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_mixtures_of_one_type_are_its_sum() -> None:
    slots = slots_of(THREE[0], THREE[2])
    spectrum = spectrum_of(replace(slots, types=slots.types[:1]), THREE[1])
    points = corners_of(spectrum)
    assert spectrum.terms > 1
    assert spectrum._worst_mixture(points, [0], math.inf) == points.upper[0]


def test_covers_of_some_types_do_not_stand_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three types are looked at: their mixtures say nothing about those with the third."""
    spectrum = spectrum_at(THREE)
    points = spectrum._corners([0, 1, 2], 2)
    examined = examined_of(spectrum)
    assert examined > spectrum.proposal.share_of_cells * float(points.upper.max())
    monkeypatch.setattr(_Spectrum, "_mixed", lambda *_: 0.7)
    monkeypatch.setattr(_Spectrum, "_cover", lambda *_: float(points.upper.max()))
    found = spectrum._worst_mixture(points, [0, 1, 2], math.inf)
    assert found == pytest.approx(0.7 + examined, rel=1e-12)


def test_ceilings_know_how_users_are_weighed(monkeypatch: pytest.MonkeyPatch) -> None:
    spectrum = spectrum_at(THREE)
    asked: list[tuple[object, ...]] = []

    def ceiling(_: object, *terms: object) -> tuple[float, float]:
        asked.append(terms)
        return 0.3, 0.1

    monkeypatch.setattr(swap, "ceiling_of_mixtures", ceiling)
    assert spectrum._ceiling([0, 2, 1]) == (0.0, 0.0)
    assert spectrum._ceiling([2, 1]) == (0.3, 0.1)
    log_ratio = math.log1p(-spectrum.gamma) - max(law.log_mgf for law in spectrum.types)
    expected = [2, 1], 59, spectrum.terms, pytest.approx(log_ratio), spectrum.gamma
    assert asked == [expected]


@MIXED
@pytest.mark.parametrize("last", [0, 1, 9])
def test_averages_over_who_is_examined_are_in_every_bound(
    case: tuple[str, int, float], last: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In all cells or once for all; only where nobody is examined in vain there are none."""
    text, n, epsilon = case
    slots = slots_of(text, epsilon)
    proposal = proposal_of(slots, n)
    proposal.last_examined = last
    spectrum = spectrum_of(slots, n, proposal)
    points, order = corners_of(spectrum), list(range(len(slots.types)))
    monkeypatch.setattr(swap, "ROUND_UP", 300.0)  # so that these errors count
    examined, largest = examined_of(spectrum, 300.0), float(points.upper.max())
    monkeypatch.setattr(_Spectrum, "_mixed", lambda *_: 0.7)
    if last == 0:
        assert examined == 0
        assert spectrum._worst_mixture(points, order, math.inf) == 0.7
        return
    share = spectrum.proposal.share_of_cells
    assert examined > 10 * share * largest
    limit = largest * (1 + share) + examined
    for found, expected in (
        (limit * (1 - 1e-9), limit * (1 - 1e-9)),
        (limit * (1 + 1e-9), 0.7 + examined),
        (math.nan, 0.7 + examined),
    ):
        slacks: list[float] = []

        def cover(*given: object, found: float = found, slacks: list[float] = slacks) -> float:
            slacks.append(given[-1])  # type: ignore[arg-type]
            return found

        monkeypatch.setattr(_Spectrum, "_cover", cover)
        assert spectrum._worst_mixture(points, order, math.inf) == pytest.approx(expected, 1e-12)
        assert slacks == pytest.approx([swap._SHARE_OF_SPREAD * examined], rel=1e-12)
