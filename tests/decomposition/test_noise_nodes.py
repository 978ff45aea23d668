"""The nodes of noise against its transform in many digits, from nothing but its densities."""

from __future__ import annotations

import copy
import dataclasses
import math

import mpmath as mp
import numpy as np
import pytest
from noise_transforms import (
    gaussian_cuts,
    gaussian_densities,
    laplace_cuts,
    laplace_densities,
    transform,
)

from shuffledp.arrays import UNIT
from shuffledp.decomposition import Decomposition, Law, LawRows, SmoothLaw
from shuffledp.decomposition import transform as transform_module
from shuffledp.decomposition.smooth import Atom, Piece, Smooth, _away_from_0
from shuffledp.decomposition.transform import TransformBound, transform_errors_of
from shuffledp.divergence.transform import log_mgf_errors
from shuffledp.randomizers import DiscreteLaplace, Gaussian, Laplace, Pair
from shuffledp.randomizers.noise import SymmetricNoise

#: theta and t in units of 1/G at its largest: resolved, and less and less so.
PLACES = [(0.0, 0.5), (1.0, 10.0), (0.1, 60.0), (4.0, 150.0)]
EPSILONS = [0.0, 0.3, -0.2, 1.0]


def known(decomposition: Decomposition):
    assert decomposition.smooth is not None
    return decomposition.smooth


def blanket(mechanism: SymmetricNoise, holder: int | None = None) -> Decomposition:
    pair = Pair(0, 1)
    return mechanism.blanket(pair) if holder is None else mechanism.background(pair, holder)


def rounding(law: SmoothLaw, z: complex) -> float:
    size = np.exp(z.real * law.values)
    vague = law.weight_error + abs(z) * law.value_error + 1e-15
    return float(law.weights @ (size * vague))


def check(law: SmoothLaw, exact: mp.mpc, z: complex) -> float:
    """Check the error at one point, and return how large it is."""
    found = complex(law.weights @ np.exp(z * law.values))
    bound = float(law.transform_errors(z.real, np.array([abs(z.imag)]))[0])
    error = float(abs(exact - mp.mpc(found)))
    assert error <= bound + rounding(law, z)
    modulus = float(law.weights[law.nodes :] @ np.exp(z.real * law.values[law.nodes :]))
    modulus += law.bound.variation(z.real) / abs(z.imag)
    assert float(abs(exact)) <= modulus * (1 + 1e-12)
    return error


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("holder", [None, 0, 1])
def test_the_transform_of_normal_noise(sigma, holder):
    errors = []
    with mp.workdps(25):
        for epsilon, (theta, t) in zip(EPSILONS, PLACES, strict=True):
            end = 5.0 if theta else 7.0
            law = known(blanket(Gaussian(sigma=sigma), holder)).quadrature(end, 1.2).law(epsilon)
            z = complex(theta, t) / float(np.abs(law.values).max())
            densities, cuts = gaussian_densities(sigma), gaussian_cuts(sigma, end)
            errors.append(check(law, transform(densities, cuts, epsilon, z, holder), z))
    assert min(errors) < 1e-13
    assert sigma > 2 or max(errors) > 1e-9  # bounds that are put to the test


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("epsilon0", [0.5, 4.0])
@pytest.mark.parametrize("holder", [None, 0, 1])
def test_the_transform_of_laplace_noise(epsilon0, holder):
    errors = []
    with mp.workdps(25):
        for epsilon, (theta, t) in zip(EPSILONS, PLACES, strict=True):
            smooth = known(blanket(Laplace(epsilon0=epsilon0), holder))
            law = smooth.quadrature(epsilon0, 2.0).law(epsilon)
            z = complex(theta, t) / float(np.abs(law.values).max())
            densities, cuts = laplace_densities(epsilon0), laplace_cuts(epsilon0)
            exact = transform(densities, cuts, epsilon, z, holder)
            errors.append(check(law, exact, z))
    assert min(errors) < 1e-13
    assert epsilon0 < 1 or max(errors) > 1e-9


@pytest.mark.parametrize("end", [3.0, 8.0])
def test_what_lies_beyond_the_end(end):
    smooth = known(blanket(Gaussian(sigma=0.7)))
    with mp.workdps(25):
        half, reach = 1 / (2 * mp.mpf(0.7)), mp.mpf(end)
        exact = 2 * (mp.ncdf(half - reach) + mp.ncdf(-half - reach))
        assert exact <= smooth.exposed(end) <= exact * (1 + mp.mpf(10) ** -8)
        nodes = smooth.quadrature(end, 1.2).nodes
        residual = mp.erf(half / mp.sqrt(2)) + 2 * mp.ncdf(-half - reach)
        assert abs(nodes.residual - residual) <= nodes.residual_error * residual
    assert known(blanket(Laplace(epsilon0=1.0))).exposed(1.0) == 0


def test_errors_grow_with_t_and_at_0_with_the_tilt():
    law = known(blanket(Gaussian(sigma=1.0))).quadrature(6.0, 1.2).law(0.1)
    times = np.concatenate([[0.0], np.geomspace(1e-3, 1e3, 40), [math.inf]])
    rows = np.array([law.transform_errors(theta, times) for theta in np.geomspace(1e-4, 0.05, 12)])
    assert (np.diff(rows, axis=1) >= 0).all()
    assert (np.diff(rows[:, 0]) >= 0).all()


@pytest.mark.parametrize("factor", [1e-3, 7.0])
def test_other_units_are_the_same_law(factor):
    law = known(blanket(Gaussian(sigma=1.0))).quadrature(6.0, 1.2).law(0.1)
    scaled = law.scaled(factor)
    times = np.array([0.0, 0.1, 3.0, 50.0, math.inf])
    expected = law.transform_errors(0.02, times)
    found = scaled.transform_errors(0.02 / factor, times / factor)
    assert np.allclose(found, expected, rtol=1e-9, atol=0)
    assert math.isclose(
        scaled.bound.variation(0.02 / factor) / (1 / factor), law.bound.variation(0.02)
    )


def test_no_node_counts_as_mass_at_0():
    """At epsilon = log u of a node its G is 0; the law has no atom there."""
    rule = known(blanket(Laplace(epsilon0=1.0))).quadrature(1.0, 2.0)
    law = rule.law(float(rule.nodes.log_ratio0[5]))
    nodes = slice(0, law.nodes)
    assert (law.values[nodes] != 0).all()
    assert abs(law.values[5]) <= law.value_error[5]
    at_end = rule.law(1.0)
    assert (at_end.values[law.nodes :] == 0).sum() == 2  # the atom at e^epsilon0, and the residual


def test_what_is_made_from_a_smooth_decomposition_is_not_smooth():
    made = blanket(Gaussian(sigma=1.0))
    other = Decomposition.silent()
    for changed in (
        made.merge(),
        made.product(other),
        other.product(made),
        Decomposition.mixture([0.5, 0.5], [made, other]),
        made.coarsen(100),
        dataclasses.replace(made),
    ):
        assert changed.smooth is None
    assert made.smooth is not None
    assert copy.deepcopy(made).smooth == made.smooth


def test_the_reversed_pair_has_the_reversed_law():
    made = blanket(Laplace(epsilon0=1.5), 1)
    law = known(made.swap()).quadrature(1.5, 2.0).law(0.4)
    densities = laplace_densities(1.5)
    z = complex(0.2, 1.5)
    with mp.workdps(25):
        exact = transform(densities[::-1], laplace_cuts(1.5), 0.4, z, 0)
        check(law, exact, z)


def test_laws_that_are_not_known_to_be_smooth():
    class Rounded(Gaussian):
        pass

    class Other(Laplace):
        pass

    assert DiscreteLaplace(epsilon0=1.0, bound=3).blanket(Pair(0, 3)).smooth is None
    assert Rounded(sigma=1.0).blanket(Pair(0, 1)).smooth is None
    assert Other(epsilon0=1.0).blanket(Pair(0, 1)).smooth is None
    assert Laplace(epsilon0=30.0).blanket(Pair(0, 1)).smooth is None
    assert Gaussian(sigma=1.0).background(Pair(0, 0), 0).smooth is None


def test_ratios_of_little_noise_are_steep():
    assert known(blanket(Gaussian(sigma=0.3))).is_steep
    assert known(blanket(Gaussian(sigma=0.44))).is_steep
    assert not known(blanket(Gaussian(sigma=0.46))).is_steep
    assert not known(blanket(Laplace(epsilon0=4.0))).is_steep


def test_errors_at_many_points_are_those_at_each(monkeypatch):
    law = known(blanket(Laplace(epsilon0=3.0))).quadrature(3.0, 1.0).law(0.2)
    times, thetas = np.geomspace(1e-3, 30.0, 7), np.geomspace(1e-3, 0.5, 5)
    at_times = law.bound.panel_errors(0.1, times)
    at_thetas = law.bound.panel_errors(thetas, 0.0)
    for cached in (1, 1 << 16):
        monkeypatch.setattr(transform_module, "_CACHED", cached)
        together = law.transform_errors(0.1, times)
        for t, row, error in zip(times.tolist(), at_times, together.tolist(), strict=True):
            np.testing.assert_allclose(law.bound.panel_errors(0.1, t), row, rtol=1e-9)
            assert error == pytest.approx(law.transform_errors(0.1, np.array([t]))[0], rel=1e-9)
        for theta, row in zip(thetas.tolist(), at_thetas, strict=True):
            np.testing.assert_allclose(law.bound.panel_errors(theta, 0.0), row, rtol=1e-9)
    whole = [law.transform_errors(theta, np.zeros(1))[0] for theta in thetas.tolist()]
    np.testing.assert_allclose(law.bound.errors_at_0(thetas), whole, rtol=1e-9)
    # By the definition: the least over ellipses of the largest over strips.
    bound = law.bound
    growth = np.maximum(0.1 * bound.top + 2.0 * bound.turn, 0.0)
    expected = np.exp((bound.log_size + growth).max(axis=0).min(axis=0))
    found = bound.panel_errors(0.1, 2.0)
    assert (found >= expected).all()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


SMOOTH = [
    blanket(Gaussian(sigma=0.5)),
    blanket(Gaussian(sigma=1.0), 0),
    blanket(Gaussian(sigma=0.8), 1),
    blanket(Laplace(epsilon0=2.0)),
    blanket(Laplace(epsilon0=1.0), 1).swap(),
]


def is_allowance(found, exact, size):
    """Whether what was found is above the truth by 1e-12 of a size, but for roundings."""
    return found - exact == pytest.approx(1e-12 * size, rel=0.05, abs=0.0)


@pytest.mark.parametrize("made", SMOOTH)
@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_bounds_in_strips_are_those_of_complex_outputs(made, epsilon):
    """Of c, of the real part and of the imaginary part of G, in all strips around a panel."""
    smooth = known(made)
    rule = smooth.quadrature(min(smooth.length, 4.0), 1.3)
    strips, bound = rule.panels.strips, rule.law(epsilon).bound
    left, right, height = (
        field[..., None, None] for field in (strips.left, strips.right, strips.height)
    )
    across, up = np.linspace(0.0, 1.0, 9)[:, None], np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    for number, piece in enumerate(smooth.pieces):
        own = slice(number * rule.panels.count, (number + 1) * rule.panels.count)
        rate = piece.rate0 + piece.rate1
        resolved = abs(rate) * strips.height <= math.pi / 2
        assert resolved.any()
        assert not resolved.all()
        log_size, top, turn = (
            field[..., own].T for field in (bound.log_size, bound.top, bound.turn)
        )
        assert np.array_equal(np.isfinite(log_size), resolved)
        # At one end of a strip or at the mode, on the axis or at the edge, each is attained.
        mode = -piece.slope / piece.curvature if piece.curvature else 0.0
        x = np.concatenate([left + across * (right - left), np.clip(mode, left, right)], axis=-2)
        s = (x + 1j * up * height).reshape(*log_size.shape, -1)[resolved]
        density = (piece.log_scale - s * (0.5 * piece.curvature * s + piece.slope)).real.max(axis=1)
        factor = np.broadcast_to(strips.log_factor[..., None], resolved.shape)[resolved]
        assert log_size[resolved] - factor - math.log(2) - 1e-6 == pytest.approx(density, abs=1e-9)
        gain = np.exp(piece.rate0 * s) - np.exp(epsilon + piece.rate1 * s)
        largest = np.exp(rate * s.real).max(axis=1)
        size = (math.exp(epsilon) + 1) * (largest + 1)
        assert is_allowance(top[resolved], gain.real.max(axis=1), size)
        turned = np.abs(gain.imag).max(axis=1)
        assert is_allowance(turn[resolved], turned, turned)


@pytest.mark.parametrize("made", SMOOTH)
@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_bounds_of_the_density_of_gains(made, epsilon):
    """The density of G is that of s over its derivative; on quarters of the panels."""
    smooth = known(made)
    rule = smooth.quadrature(min(smooth.length, 4.0), 1.3)
    bound, edges = rule.law(epsilon).bound, rule.panels.edges
    width = np.diff(edges)[:, None, None] / 4
    starts = edges[:-1, None, None] + width * np.arange(4)[:, None]
    for number, piece in enumerate(smooth.pieces):
        own = slice(number * rule.panels.count, (number + 1) * rule.panels.count)
        rate = piece.rate0 + piece.rate1
        mode = -(piece.slope + rate) / piece.curvature if piece.curvature else 0.0
        x = np.concatenate(
            [starts, starts + width / 2, starts + width, np.clip(mode, starts, starts + width)],
            axis=-1,
        )
        gain = np.exp(piece.rate0 * x) - np.exp(epsilon + piece.rate1 * x)
        slope = piece.rate0 * np.exp(piece.rate0 * x)
        slope -= piece.rate1 * np.exp(epsilon + piece.rate1 * x)
        density = piece.log_scale - x * (0.5 * piece.curvature * x + piece.slope)
        density = (density - np.log(np.abs(slope))).max(axis=-1)
        assert bound.log_density[own] - 1e-6 == pytest.approx(density, abs=1e-9)
        size = (math.exp(epsilon) + 1) * (np.exp(rate * x).max(axis=-1) + 1)
        assert is_allowance(bound.largest[own], gain.max(axis=-1), size)


def random_bound(rng: np.random.Generator, *laws: int) -> TransformBound:
    """Three strips, four ellipses and five panels of two pieces."""
    shape = (3, 4, *laws, 5)
    return TransformBound(
        log_size=rng.normal(-4, 2, shape),
        top=rng.normal(0, 2, shape),
        turn=rng.uniform(0, 1, shape),
        points=2,
        log_density=rng.normal(0, 1, (*laws, 5, 3)),
        largest=rng.normal(0, 1, (*laws, 5, 3)),
        piece=np.array([0, 0, 0, 1, 1]),
    )


def errors_by_definition(bound: TransformBound, theta: float, t: float) -> list[float]:
    growth = bound.log_size + np.maximum(theta * bound.top + t * bound.turn, 0.0)
    strips, ellipses, panels = growth.shape
    return [
        math.exp(min(max(growth[k, r, p] for k in range(strips)) for r in range(ellipses)))
        for p in range(panels)
    ]


@pytest.mark.parametrize(("theta", "t"), [(0.0, 0.0), (0.7, 0.0), (3.0, 0.0), (3.0, 0.5), (0, 2)])
def test_bounds_by_their_definition(theta, t):
    """Also where no part of G is positive; in other units, and given some of the panels."""
    bound = random_bound(np.random.default_rng(1))
    expected = np.array(errors_by_definition(bound, theta, t))
    close = {"rel": 1e-5, "abs": 0.0}
    assert bound.panel_errors(theta, t) == pytest.approx(expected, **close)
    scaled = bound.in_units(4.0)
    assert scaled.panel_errors(theta / 4, t / 4) == pytest.approx(expected, **close)
    panels = np.array([False, True, True, False, True])
    some = bound.of(panels, -1.5)
    assert some.panel_errors(theta, t) == pytest.approx(math.exp(1.5) * expected[panels], **close)
    peaks = np.exp(bound.log_density + theta * bound.largest)
    assert bound.variation(theta) == pytest.approx(4 * (peaks[:3].max() + peaks[3:].max()), **close)
    kept = 4 * math.exp(1.5) * (peaks[1:3].max() + peaks[4].max())
    assert some.variation(theta) == pytest.approx(kept, **close)
    assert scaled.variation(theta / 4) == pytest.approx(bound.variation(theta) / 4, **close)


def test_bounds_of_several_laws_are_those_of_each():
    """As many laws as there are ellipses, or fewer."""
    for laws in (2, 4):
        bound = random_bound(np.random.default_rng(laws), laws)
        rng = np.random.default_rng(5)
        thetas, times, factors = rng.uniform(0.1, 3.0, (3, laws))
        rows = rng.permutation(laws)
        changed = bound.in_units(factors).chosen(rows)
        found = changed.panel_errors(thetas[rows] / factors[rows], times[rows] / factors[rows])
        variation = changed.variation(thetas[rows] / factors[rows])
        for number, errors, total in zip(rows.tolist(), found, variation.tolist(), strict=True):
            own = one_of(bound, number)
            expected = errors_by_definition(own, float(thetas[number]), float(times[number]))
            assert errors == pytest.approx(np.array(expected), rel=1e-5, abs=0.0)
            whole = own.variation(float(thetas[number])) / factors[number]
            assert total == pytest.approx(whole, rel=1e-9)


def one_of(bound: TransformBound, number: int) -> TransformBound:
    """Return the bounds of one of several laws."""
    return TransformBound(
        *(field[:, :, number] for field in (bound.log_size, bound.top, bound.turn)),
        bound.points,
        bound.log_density[number],
        bound.largest[number],
        bound.piece,
    )


@pytest.mark.parametrize("cached", [1, 3])
@pytest.mark.parametrize("vague", [0.0, 0.9e-7, 1.1e-7])
def test_errors_of_laws_in_numbers(vague, cached, monkeypatch):
    """The bound of every panel, or twice what it can add; roundings are up, and show.

    Nodes whose errors are not covered by that say nothing about what a panel can add.
    """
    up = 1.25
    monkeypatch.setattr(transform_module, "_ROUND_UP", up)
    rng = np.random.default_rng(3)
    bound, thetas = random_bound(rng, 2), np.array([0.7, 1.9])
    values, weights = rng.normal(size=(2, 12)), rng.uniform(0, 0.02, (2, 12))
    errors = np.zeros((2, 2, 12))
    errors[0, :, 4], errors[1, :, 4] = 0.5 * vague / thetas, 0.5 * vague
    laws = LawRows(values, weights, *errors)
    times = [0.0, 0.3, 1.0, 4.0, math.inf]
    monkeypatch.setattr(transform_module, "_CACHED", cached * bound.log_size.size)
    found = transform_errors_of(laws, bound, thetas, np.array([times, times]).T).T
    chosen = set()
    for number, theta in enumerate(thetas.tolist()):
        own = one_of(bound, number)
        at_0 = up * np.array(errors_by_definition(own, theta, 0.0))
        sizes = weights[number, :10] * (1 + np.exp(theta * values[number, :10]))
        most = 2 * up * sizes.reshape(5, 2).sum(axis=1) + at_0
        if vague > 1e-7:
            most = np.full(5, math.inf)
        expected = [up * most.sum()]
        for t in reversed(times[:-1]):
            panels = up * np.array(errors_by_definition(own, theta, t))
            chosen.update((panels < most).tolist())
            expected.insert(0, up * np.minimum(panels, most).sum())
        assert found[number] == pytest.approx(np.array(expected))
        law = Law(values[number], weights[number], *errors[:, number])
        alone = transform_errors_of(law, own, theta, np.array(times))
        assert alone == pytest.approx(np.array(expected))
        assert own.errors_at_0(theta) == pytest.approx(up * at_0.sum())
        peaks = np.exp(own.log_density + theta * own.largest)
        variation = 4 * up * (peaks[:3].max() + peaks[3:].max())
        assert own.variation(theta) == pytest.approx(variation)
    assert chosen == ({True} if vague > 1e-7 else {False, True})


@pytest.mark.parametrize("atoms", [True, False])
def test_laws_given_some_panels_in_numbers(atoms, monkeypatch):
    """Nodes of the panels, and atoms or none; weights by their mass, which may be off."""
    unit, log_mass, error = 1e-3, -1.5, 0.02
    monkeypatch.setattr(transform_module, "UNIT", unit)
    rng = np.random.default_rng(6)
    bound, fields = random_bound(rng), rng.uniform(0, 1, (4, 12))
    panels = np.array([False, True, True, False, True])
    kept = [2, 3, 4, 5, 8, 9, *([10, 11] if atoms else [])]
    given = SmoothLaw(*fields, bound).given(panels, log_mass, error, atoms=atoms)
    values, weights, value_error, weight_error = fields[:, kept]
    assert np.array_equal(given.values, values)
    assert given.weights == pytest.approx(weights * math.exp(1.5))
    assert np.array_equal(given.value_error, value_error)
    assert given.weight_error == pytest.approx(weight_error + error + unit * (8 + 1.5))
    assert given.nodes == 6
    # The mass may be as small as the errors allow.
    least = math.exp(1.5 + error)
    expected = least * np.array(errors_by_definition(bound, 0.7, 0.2))[panels]
    assert given.bound.panel_errors(0.7, 0.2) == pytest.approx(expected, rel=1e-5)
    assert (given.bound.log_size - bound.log_size[..., panels] > 1.5 + error).all()
    assert (given.bound.log_density - bound.log_density[panels] > 1.5 + error).all()


def test_laws_of_huge_values_are_not_moderate():
    bound, fields = random_bound(np.random.default_rng(6)), np.ones((4, 12))
    assert SmoothLaw(*fields, bound).is_moderate
    fields[0, 3] = -2e90
    assert not SmoothLaw(*fields, bound).is_moderate


@pytest.mark.parametrize(("curvature", "slope"), [(2.0, -3.0), (0.5, -1.0), (4.0, 1.0), (0.0, 2.0)])
def test_the_largest_density_between_two_outputs(curvature, slope):
    """At either end, or at the mode -slope/curvature between them."""
    piece = Piece(0.3, curvature, slope, 1.0, 0.0)
    for left, right in ((0.0, 0.5), (0.2, 2.5), (1.8, 3.0)):
        s = np.linspace(left, right, 4001)
        largest = (0.3 - curvature / 2 * s**2 - slope * s).max()
        found = piece.largest_log_density(np.array([left]), np.array([right]))[0]
        assert found == pytest.approx(largest, abs=1e-6)


@pytest.mark.parametrize("curvature", [0.5, 4.0])
def test_masses_beyond_an_output(curvature):
    """Of a, b and c, integrated."""
    piece = Piece(0.3, curvature, -0.8, 1.5, -0.4)
    for rate, mass in zip((1.5, -0.4, 0.0), piece.tail(1.2), strict=True):
        exact = mp.quad(
            lambda s, rate=rate: mp.exp(0.3 - curvature / 2 * s**2 + (0.8 + rate) * s),
            [1.2, 3, 6, 20],
        )
        assert mass == pytest.approx(float(exact), rel=1e-9)
    assert Piece(0.3, 0.0, 1.0, 1.5, 0.0).tail(1.2) == (0.0, 0.0, 0.0)


def made_of(*rates: tuple[float, float], atoms: tuple[Atom, ...] = (), curvature=0.0) -> Smooth:
    """Pieces of length 2 with these rates."""
    pieces = tuple(Piece(0.0, curvature, 1.0, *both) for both in rates)
    return Smooth(pieces, 2.0, atoms, 0.0, 1.0)


def test_the_epsilon_of_the_largest_ratio():
    """At the end of a piece or at an atom; a product with a rate is rounded up, unless it is 1."""
    assert made_of((1.0, 0.0)).max_epsilon == 2.0
    assert made_of((0.0, -1.0), (-1.0, 0.0)).max_epsilon == 2.0
    assert made_of((-1.0, 0.0), (0.0, 1.0)).max_epsilon == 0.0
    assert made_of((1.0, 0.0), atoms=(Atom(0.5, -2.5, 0.1),)).max_epsilon == 3.0
    assert made_of((1.0, 0.0), (0.7, 0.0)).max_epsilon == math.nextafter(2.0, 3.0)
    assert made_of((0.7, 0.0), (0.0, -0.8)).max_epsilon == math.nextafter(1.6, 3.0)
    assert made_of((1.0, 0.0), curvature=1.0).max_epsilon == math.inf


def test_kinds_tell_which_ratios_grow():
    kind = made_of((0.5, 0.0), (-0.5, 0.0), (0.0, 0.5), (0.0, -0.5)).kind
    assert kind == tuple(map(tuple, np.eye(4, dtype=bool).tolist()))


@pytest.mark.parametrize("made", SMOOTH)
def test_errors_of_nodes_in_numbers(made):
    """In units of round-off: of ratios, of weights, and of what is left."""
    smooth = known(made)
    rule = smooth.quadrature(min(smooth.length, 4.0), 1.3)
    end, found = rule.panels.ends, rule.nodes
    for number, piece in enumerate(smooth.pieces):
        own = slice(number * end.size, (number + 1) * end.size)
        ratio = 8 * UNIT * (abs(piece.rate0) + abs(piece.rate1)) * end
        exponent = abs(piece.log_scale) + end * (piece.curvature * end + abs(piece.slope))
        assert found.log_ratio_error[own] == pytest.approx(ratio, abs=0.0)
        assert found.weight_error[own] == pytest.approx(16 * UNIT * (1 + exponent), abs=0.0)
    given = 0.0 if smooth.is_bounded else sum(piece.tail(4.0)[2] for piece in smooth.pieces)
    error = smooth.residual * 24 * UNIT + given * 1e-9
    assert found.residual == pytest.approx(smooth.residual + given)
    if found.residual > 0:
        expected = error / found.residual + 4 * UNIT
        assert found.residual_error == pytest.approx(expected, rel=1e-6, abs=0.0)


def test_numbers_of_panels():
    rule = known(SMOOTH[0]).quadrature(4.0, 1.3)
    count, pieces = rule.panels.count, len(rule.pieces)
    assert min(count, pieces) > 1
    for piece in range(pieces):
        numbers = [k - piece * count for k in range(count * pieces)]
        expected = [k if 0 <= k < count else -1 for k in numbers]
        assert rule.panel_numbers(piece).tolist() == expected


def test_nodes_at_0_are_moved_by_their_errors():
    values, error = np.array([0.0, 0.5, 0.0]), np.array([1e-3, 2e-3, 3e-3])
    moved = _away_from_0(values, error, 2)
    assert [own.tolist() for own in moved] == [[1e-3, 0.5, 0.0], [2e-3, 2e-3, 3e-3]]


def test_errors_of_k_cover_those_of_every_tilt():
    """In any order, and where there are fewer tilts than groups."""
    law = known(blanket(Gaussian(sigma=1.0))).quadrature(5.0, 1.2).law(0.1)
    rng = np.random.default_rng(1)
    for count in (1, 3, 8, 9, 30):
        thetas = rng.permutation(np.geomspace(1e-4, 0.05, count))
        mgfs = np.array([float(np.log(law.weights @ np.exp(x * law.values))) for x in thetas])
        found = log_mgf_errors(law, thetas, mgfs)
        least = law.bound.errors_at_0(thetas) * np.exp(-mgfs)
        assert (found >= least).all()
        assert found.max() <= 1.01 * least.max() + 1e-12
