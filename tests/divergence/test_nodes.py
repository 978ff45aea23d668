"""The nodes of the contour, one formula at a time, against definitions.

Errors of rounding are too small to see in doubles. Here the unit round-off is made large (or 0)
inside the module, and what it stands for is done on purpose: angles, exponents and probabilities
are moved by that much, and the stated bound must cover it.
"""

from __future__ import annotations

import cmath
import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from shuffledp.decomposition import Law
from shuffledp.divergence import characteristic as characteristics
from shuffledp.divergence import integrand as integrands
from shuffledp.divergence import nodes
from shuffledp.divergence.characteristic import Characteristic
from shuffledp.divergence.nodes import NodeSums, _Nodes, sum_nodes
from shuffledp.divergence.proposals import stretches
from shuffledp.divergence.proposals.grid import Grid
from shuffledp.divergence.tilt import TiltedLaw, TiltedSum, tilt

Array = NDArray[np.float64]


def tilted_law(values: list[float], weights: list[float], theta: float = 0.8) -> TiltedLaw:
    zeros = np.zeros(len(values))
    law = Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())
    return tilt(law, theta)


SKEWED = tilted_law([2.0, -1.0, -0.4, 0.0], [0.2, 0.3, 0.1, 0.4])
TWO = tilted_law([1.0, -1.0], [math.exp(-0.8), math.exp(0.8)])  # even odds at -1 and 1 once tilted


def copies(law: TiltedLaw, n: int) -> TiltedSum:
    """The sum of n copies of a tilted law, only with what the nodes need."""
    return TiltedSum(
        theta=law.theta,
        laws=(law,),
        times=(n,),
        log_mgf=n * law.log_mgf,
        log_mgf_error=0.0,
        mean=n * law.mean,
        mean_size=n * abs(law.mean),
        variance=n * law.variance,
        log_zero=-math.inf,
        zero_error=0.0,
        value_shift=0.0,
    )


def characteristic(tilted: TiltedLaw, t: Array | float) -> NDArray[np.complex128]:
    return np.exp(1j * np.multiply.outer(t, tilted.centred)) @ tilted.probability


def set_unit(monkeypatch: pytest.MonkeyPatch, unit: float) -> None:
    for module in (integrands, characteristics):
        monkeypatch.setattr(module, "UNIT", unit)


@pytest.fixture
def no_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    set_unit(monkeypatch, 0.0)


# -- stretches ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_rounding")
@pytest.mark.parametrize("n", [1, 6, 50])
@pytest.mark.parametrize(("start", "size"), [(1, 1), (9, 30), (400, 101), (3000, 5)])
def test_the_bound_of_a_stretch_is_the_second_order_one(n: int, start: int, size: int) -> None:
    """R = E cos(t(G-G')) from all pairs of values, its slope and half its largest curvature."""
    tau, step = 0.05, 0.004
    tilted = replace(SKEWED, probability_error=0.0)
    mean, density = _Nodes(copies(tilted, n), tau, step).bounds(np.array([start]), np.array([size]))
    gap = np.subtract.outer(tilted.centred, tilted.centred)
    pairs = np.outer(tilted.probability, tilted.probability)
    half, left = step * (size - 1) / 2, step * start
    middle = left + half
    square = float((pairs * np.cos(middle * gap)).sum())
    slope = abs(float((pairs * gap * np.sin(middle * gap)).sum()))
    curvature = float((pairs * gap**2).sum())
    bound = min(square + slope * half + curvature * half**2 / 2, 1.0)
    expected = size * step / math.pi * bound ** (n / 2) * math.exp(-((tau * left) ** 2) / 2)
    assert density[0] == pytest.approx(expected, rel=1e-9)
    assert bound == 1 or density[0] > expected * (1 + 1e-13)  # the bound itself is rounded up
    assert mean[0] == pytest.approx(expected / abs(tilted.theta + 1j * left) ** 2, rel=1e-9)


@pytest.mark.parametrize("start", [10, 400, 20_000])
def test_the_bound_of_a_stretch_covers_wrong_angles_and_probabilities(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit, step, n = 1e-4, 0.01, 3
    set_unit(monkeypatch, unit)
    for stated in (0.0, 1e-3):
        integrand_ = _Nodes(copies(replace(SKEWED, probability_error=stated), n), 1e-6, step)
        _, density = integrand_.bounds(np.array([start]), np.array([1]))
        for sign in (-1, 1):
            t = step * start * (1 + sign * unit)
            tips = stated * np.sign(np.cos(t * SKEWED.centred) * sign)
            moved = replace(SKEWED, probability=SKEWED.probability * (1 + tips))
            modulus = min(abs(characteristic(moved, t)), 1.0)
            assert density[0] >= step / math.pi * modulus**n
        plain = _Nodes(copies(replace(SKEWED, probability_error=0.0), n), 1e-6, step)
        assert density[0] >= plain.bounds(np.array([start]), np.array([1]))[1][0]


@pytest.mark.parametrize(
    ("values", "step", "start", "size"),
    [
        ([1.0, -1.0], math.pi / 40, 10, 21),  # from a peak of R over its zero to half height
        ([1.0, -1.0], 0.01, 20_000, 1),  # a large angle
        ([100.0, -100.0], 0.0157, 1, 1),  # a wide law
    ],
)
def test_the_bound_of_a_stretch_counts_rounded_angles(
    values: list[float],
    step: float,
    start: int,
    size: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An angle t c that is off by unit times itself moves R by at most 2 unit t E|c|."""
    law = tilted_law(values, [0.5, 0.5], 1e-9)
    bounds = []
    unit = 1e-5
    for chosen in (0.0, unit):
        set_unit(monkeypatch, chosen)
        integrand_ = _Nodes(copies(replace(law, probability_error=0.0), 2), 1e-9, step)
        _, density = integrand_.bounds(np.array([start]), np.array([size]))
        bounds.append(float(density[0]) * math.pi / (step * size))  # n = 2: the bound itself
    assert bounds[1] < 1
    middle = step * (start + (size - 1) / 2)
    rest = 8 * unit * (law.probability.size + 10)
    assert bounds[1] - bounds[0] >= rest + 2 * unit * middle * law.mean_deviation


@pytest.mark.parametrize("n", [30, 1000, 30_000])
@pytest.mark.parametrize("lobe", [7.5, 0.5])
def test_a_node_is_kept_or_its_bound_is_counted(
    n: int, lobe: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the nodes that are kept without asking end where the integrand is still large."""
    monkeypatch.setattr(stretches, "MAIN_LOBE", lobe)
    step, tau, allowance = 0.3 / math.sqrt(n * SKEWED.variance), 0.05, 1e-7
    count = int(8 / (tau * step))
    integrand_ = _Nodes(copies(SKEWED, n), tau, step)
    kept = integrand_.select(count, allowance, 1e9)
    assert kept is not None
    assert len(set(kept.tolist())) == kept.size
    assert kept.min() == 0
    assert kept.max() <= count
    left_out = np.setdiff1d(np.arange(count + 1), kept)
    t = step * left_out
    size = np.abs(characteristic(SKEWED, t)) ** n * np.exp(-0.5 * (tau * t) ** 2) * step / math.pi
    assert float(size.sum()) <= integrand_.sums.skipped_density
    assert float((size / (SKEWED.theta**2 + t**2)).sum()) <= integrand_.sums.skipped_mean
    assert integrand_.sums.skipped_mean <= 4 * allowance
    assert integrand_.sums.skipped_density <= 4 * allowance / tau**2
    if n >= 1000:  # far from the peak nearly everything is skipped
        assert kept.size < 400
    assert integrand_.sums.work >= kept.size * SKEWED.probability.size


def test_a_law_that_hardly_varies_skips_nothing() -> None:
    still = replace(SKEWED, variance=0.0)
    assert _Nodes(copies(still, 5), 0.1, 0.1).select(100, 1.0, 1e9) is None


def test_work_is_refused_before_it_is_done() -> None:
    step, count = 0.01, 5000
    integrand_ = _Nodes(copies(SKEWED, 2), 0.1, step)
    assert integrand_.select(count, 1e-12, 100.0) is None  # not even the main lobe
    assert integrand_.select(count, 1e-12, 20_000.0) is None  # nor the rest
    assert integrand_.sums == NodeSums()
    assert integrand_.select(count, 1e-12, 1e9) is not None


def test_many_nodes_that_cannot_be_skipped_are_summed_together() -> None:
    """With many atoms one matrix product is cheaper than a sine for each of them."""
    size, count = 400, 3000
    tilted = tilted_law(np.linspace(-1, 1.3, size).tolist(), [1.0] * size)
    sums = sum_nodes(copies(tilted, 1), 0.01, Grid(0.03, count, 0, 0), 1e-12, 1e9)
    assert sums is not None
    assert sums.skipped_mean == 0
    assert 2 * count * 0.1 * size <= sums.work < count * size / 2
    sparse = _Nodes(copies(tilted, 1), 0.01, 0.03)
    sparse.add(np.arange(count + 1))
    assert sums.mean == pytest.approx(sparse.sums.mean, rel=1e-12)
    assert sum_nodes(copies(tilted, 1), 0.01, Grid(0.03, count, 0, 0), 1e-12, count * 30.0) is None


# -- evaluation -----------------------------------------------------------------------------------


class Recorder(_Nodes):
    """Keeps what is handed on instead of summing it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.nodes, self.t, self.phi, self.error = (np.empty(0) for _ in range(4))

    def _accumulate(self, k, t, characteristics):
        (phi,) = characteristics
        self.nodes, self.t = np.append(self.nodes, k), np.append(self.t, t)
        self.error = np.append(self.error, phi.error)
        self.phi = np.append(self.phi, np.exp(phi.log_modulus + 1j * phi.argument))


def wide(factor: float) -> TiltedLaw:
    """Even odds at -factor and factor."""
    return replace(TWO, centred=factor * TWO.centred, mean_deviation=factor)


def evaluate(tilted: TiltedLaw, step: float, count: int, *, dense: bool) -> Recorder:
    recorder = Recorder(copies(tilted, 3), 0.1, step)
    if dense:
        recorder.add_all(count)
    else:
        recorder.add(np.arange(count + 1))
    return recorder


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("step", [1e-6, 0.01, 1.7])
@pytest.mark.parametrize("count", [1, 2, 3, 17])
def test_the_characteristic_function_at_the_nodes(dense: bool, step: float, count: int) -> None:
    recorder = evaluate(SKEWED, step, count, dense=dense)
    assert recorder.nodes.tolist() == list(range(count + 1))
    assert recorder.t.tolist() == [step * k for k in range(count + 1)]
    gap = np.abs(recorder.phi - characteristic(SKEWED, recorder.t))
    assert (gap <= recorder.error + 4e-16).all()
    assert (recorder.error < 1e-13).all()


def test_tiles_and_chunks_meet_without_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "_DENSE_SIDE", 3)
    monkeypatch.setattr(nodes, "_SPARSE_CHUNK", 20)
    for dense in (False, True):
        recorder = evaluate(SKEWED, 0.1, 50, dense=dense)
        assert recorder.nodes.tolist() == list(range(51))
        assert recorder.phi == pytest.approx(characteristic(SKEWED, recorder.t), abs=1e-14)


def test_a_characteristic_function_that_vanishes() -> None:
    """Rounding may take the square of its modulus below 0; the logarithm must not notice."""
    for k in range(1, 60, 2):
        sparse = evaluate(TWO, k * math.pi / 2, 1, dense=False)
        assert abs(sparse.phi[1]) < 1e-7


@pytest.mark.usefixtures("no_rounding")
@pytest.mark.parametrize("factor", [1.0, 100.0])
@pytest.mark.parametrize("angle", [1e-3, 1e-2, math.pi])
def test_the_error_of_the_probabilities_is_bounded_sharply(angle: float, factor: float) -> None:
    """At worst each probability moves p(e^{itc} - 1) outwards."""
    stated, t = 1e-4, angle / factor
    tilted = replace(wide(factor), probability_error=stated)
    worst = stated * float(TWO.probability @ np.abs(np.exp(1j * t * tilted.centred) - 1))
    sparse = evaluate(tilted, t, 1, dense=False).error
    assert sparse[0] == 0
    assert worst <= sparse[1] <= 1.001 * worst
    assert evaluate(tilted, t, 1, dense=True).error[1] >= stated


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("t", [0.01, 3.0, 500.0])
@pytest.mark.parametrize("factor", [1.0, 100.0])
def test_the_error_of_the_angles_is_bounded(
    dense: bool, t: float, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = 1e-6
    set_unit(monkeypatch, unit)
    law = replace(wide(factor), probability_error=0.0)
    error = evaluate(law, t, 1, dense=dense).error[1]
    for sign in (-1, 1):
        moved = characteristic(law, t * (1 + sign * unit))
        assert abs(moved - characteristic(law, t)) <= error
    assert error >= unit * t * law.mean_deviation


# -- sums -----------------------------------------------------------------------------------------


def accumulate(
    phi: complex, t: float, *, n: int, tau: float, tilted: TiltedLaw, error: float = 0.0, k: int = 1
) -> NodeSums:
    integrand_ = _Nodes(copies(tilted, n), tau, step=math.pi)  # so that a node counts as it is
    characteristic = Characteristic(
        np.array([math.log(abs(phi))]), np.array([cmath.phase(phi)]), np.array([error])
    )
    integrand_._accumulate(np.array([k]), np.array([t]), [characteristic])
    return integrand_.sums


def integrand(phi: complex, t: float, *, n: int, tau: float, tilted: TiltedLaw) -> complex:
    """F(theta + it)/F(theta)."""
    z = tilted.theta + 1j * t
    smoothing = cmath.exp(tau**2 * (z**2 - tilted.theta**2) / 2)
    return phi**n * cmath.exp(1j * n * t * tilted.mean) * smoothing


@pytest.mark.parametrize("n", [1, 4, 60])
@pytest.mark.parametrize("t", [0.0, 0.3, 2.0])
def test_one_node_adds_the_integrand(n: int, t: float) -> None:
    phi, tau = cmath.rect(0.97, 0.2), 0.4
    sums = accumulate(phi, t, n=n, tau=tau, tilted=SKEWED)
    value = integrand(phi, t, n=n, tau=tau, tilted=SKEWED)
    assert sums.density == pytest.approx(value.real, rel=1e-12)
    assert sums.mean == pytest.approx((value / (SKEWED.theta + 1j * t) ** 2).real, rel=1e-12)
    half = accumulate(phi, t, n=n, tau=tau, tilted=SKEWED, k=0)
    assert half.density == pytest.approx(sums.density / 2, rel=1e-14)
    assert half.mean == pytest.approx(sums.mean / 2, rel=1e-14)


@pytest.mark.usefixtures("no_rounding")
@pytest.mark.parametrize("n", [1, 7, 1000])
@pytest.mark.parametrize("t", [0.0, 1.3])
def test_an_error_of_phi_is_bounded_sharply(n: int, t: float) -> None:
    """At worst phi moves along itself: the n-th power moves n times as much."""
    phi, tau, error = cmath.rect(0.95, -0.4), 0.3, 1e-7
    sums = accumulate(phi, t, n=n, tau=tau, tilted=SKEWED, error=error)
    size = abs(integrand(phi, t, n=n, tau=tau, tilted=SKEWED))
    worst = abs(integrand(phi * (1 + error / 0.95), t, n=n, tau=tau, tilted=SKEWED)) - size
    assert worst <= sums.rounding_density <= worst * 1.001
    scale = abs(SKEWED.theta + 1j * t) ** 2
    assert worst <= sums.rounding_mean * scale <= worst * 1.001


@pytest.mark.usefixtures("no_rounding")
def test_a_large_error_of_phi() -> None:
    """The modulus cannot exceed 1, and the power grows from phi to phi + error."""
    for modulus, error in ((0.5, 0.2), (0.9, 0.3)):
        sums = accumulate(modulus, 0.0, n=5, tau=0.1, tilted=SKEWED, error=error)
        assert sums.rounding_density >= min(modulus + error, 1.0) ** 5 - modulus**5
        assert sums.rounding_density <= 5 * error * (1 + 1e-8)


@pytest.mark.parametrize("error", [1e-25, 1e-18, 1e-17])
@pytest.mark.parametrize("x", [3e-17, 5e-17, 7e-17, 1.4e-16])
def test_the_power_of_a_modulus_next_to_one(x: float, error: float) -> None:
    """The logarithm of a modulus that is rounded to a unit of 1 would be off by a factor of 2."""
    n = 2**53
    integrand_ = _Nodes(copies(SKEWED, n), 1e-9, step=math.pi)
    phi = Characteristic(np.array([-x]), np.zeros(1), np.array([error]))
    terms = integrand_.integrand.terms(np.ones(1, dtype=np.int64), np.zeros(1), [phi])
    wobble = 9 * characteristics.UNIT * (8 + n * x) * math.exp(-n * x)
    moved = float(terms.rounding_density[0]) - wobble
    worst = math.exp(-n * (x - error)) - math.exp(-n * x)
    assert worst * (1 - 1e-6) <= moved or worst < 1e-3 * wobble
    assert moved <= 2 * worst + 1e-3 * wobble


@pytest.mark.parametrize(
    ("phi", "n", "t", "tau", "mean"),
    [
        (math.exp(-0.02), 1000, 1e-3, 1e-3, 0.0),  # the modulus
        (cmath.rect(1.0, 1.5), 1000, 1e-3, 1e-3, 0.0),  # the argument
        (cmath.rect(1.0, -1.5), 1000, 1e-3, 1e-3, 0.0),
        (1.0, 1000, 1.0, 1e-3, 2.0),  # the drift of the mean
        (1.0, 1000, 1.0, 1e-3, -2.0),
        (1.0, 1, 1e-4, 6e4, 0.0),  # the normal factor
        (1.0, 1, 1e-3, 1e-3, 0.0),  # none: what is left is the rounding of exp and cos
    ],
)
def test_rounded_exponents_are_covered(
    phi: complex, n: int, t: float, tau: float, mean: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = 1e-5
    set_unit(monkeypatch, unit)
    tilted = replace(SKEWED, mean=mean, theta=1e-9)
    sums = accumulate(phi, t, n=n, tau=tau, tilted=tilted)
    size = abs(integrand(phi, t, n=n, tau=tau, tilted=tilted))
    parts = [n * math.log(abs(phi)), n * cmath.phase(phi), n * mean * t, (tau * t) ** 2, 1.0]
    needed = unit * size * sum(map(abs, parts))
    assert needed <= sums.rounding_density <= 12 * (needed + 8 * unit * size)
    assert needed <= sums.rounding_mean * (1e-18 + t**2) <= 12 * (needed + 8 * unit * size)


def test_a_modulus_of_zero_adds_nothing() -> None:
    integrand_ = _Nodes(copies(SKEWED, 3), 0.1, 0.1)
    zero = np.array([0.0])
    nothing = Characteristic(zero - np.inf, zero, zero + 1e-16)
    integrand_._accumulate(np.array([1]), zero + 0.1, [nothing])
    assert integrand_.sums.density == 0
    assert integrand_.sums.mean == 0
    assert 0 <= integrand_.sums.rounding_density < 1e-15
