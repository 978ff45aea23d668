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

from shuffledp.decomposition import Decomposition, SmoothLaw
from shuffledp.decomposition import transform as transform_module
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
