"""What stands at the nodes of the swap bound, against sums with forty digits."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from tiers import examples

from shuffledp.divergence import swap_integrand
from shuffledp.divergence.characteristic import Characteristic
from shuffledp.divergence.swap_integrand import Nodes, SlotValues, SwapIntegrand, SwapScale

DIGITS = 40


def draw_integrand(rng: np.random.Generator, **fixed: float) -> SwapIntegrand:
    gamma = float(rng.uniform(0.05, 0.95))
    others = int(rng.integers(2, 60))
    own = {
        "others": others,
        "gamma": gamma,
        "log_rest": math.log1p(-gamma),
        "top": float(rng.uniform(-0.8, 0.4)),
        "terms": int(rng.integers(1, others + 2)),
        "tau": float(rng.uniform(0.02, 0.3)),
        "step": float(rng.uniform(0.05, 0.5)),
    }
    return SwapIntegrand(**(own | fixed))


def exact_sum(integrand: SwapIntegrand, exponent: complex) -> mpmath.mpc:
    """The sum over k, term by term."""
    with mpmath.workdps(DIGITS):
        x = mpmath.mpc(exponent)
        ratio = mpmath.mpf(integrand.log_rest) - mpmath.mpf(integrand.top)
        return mpmath.fsum(
            mpmath.mpf(integrand.gamma) * mpmath.exp(k * ratio + (integrand.others - k) * x)
            for k in range(int(integrand.terms))
        )


def test_heights_are_above_all_sums_and_not_far() -> None:
    rng = np.random.default_rng(1)
    for _ in range(examples(210)):
        integrand = draw_integrand(rng)
        exponent = -float(rng.choice([0.0, 1e-3, 0.05, 0.5])) * float(rng.uniform())
        turn = float(rng.uniform(-3, 3))
        [height] = integrand.height(np.array([exponent])).tolist()
        whole = exact_sum(integrand, exponent).real
        assert whole <= height <= 1.6 * whole
        assert abs(exact_sum(integrand, complex(exponent, turn))) <= height


def test_heights_know_their_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    integrand = draw_integrand(rng, others=40, terms=30)
    exponent = np.array([-0.2])
    before = float(integrand.height(exponent)[0])
    monkeypatch.setattr(swap_integrand, "UNIT", 1e-5)
    growth = math.log(float(integrand.height(exponent)[0]) / before)
    assert growth >= 8e-5 * (40 * 0.2 + 30 + 8) * 0.999


def test_stretches_are_bounded_by_their_largest_node() -> None:
    """Nodes whose types all have the modulus that is given, whatever slot 0 does."""
    rng = np.random.default_rng(3)
    for _ in range(examples(70)):
        integrand = draw_integrand(rng)
        start, size = int(rng.integers(1, 40)), int(rng.integers(1, 9))
        square = float(rng.uniform(0.2, 1.0))
        [bound] = integrand.bounds(np.array([start]), np.array([size]), np.array([square])).tolist()
        whole = float(exact_sum(integrand, 0.5 * math.log(square)).real)
        total, largest = 0.0, 0.0
        for k in range(start, start + size):
            t = k * integrand.step
            part = whole * math.exp(-((integrand.tau * t) ** 2) / 2) / (1 + t * t)
            total += part * integrand.step / math.pi
            largest = max(largest, part * integrand.step / math.pi)
        assert total <= bound <= 1.6 * size * largest


def test_what_lies_beyond_the_nodes_is_bounded() -> None:
    rng = np.random.default_rng(4)
    for _ in range(examples(70)):
        integrand = draw_integrand(rng)
        count = math.ceil(float(rng.uniform(3.0, 5.0)) / integrand.tau / integrand.step)
        [bound] = integrand.cut(count, np.array([2.0])).tolist()
        t = integrand.step * np.arange(count + 1, 20 * count)
        terms = np.exp(-((integrand.tau * t) ** 2) / 2) / (1 + t**2)
        beyond = 2.0 * integrand.step / math.pi * float(terms.sum())
        assert beyond <= bound <= 3 * beyond + 1e-300
    assert float(integrand.cut(count, np.zeros(1))[0]) == 0


def slot(rng: np.random.Generator, size: int, error: float) -> SlotValues:
    log_modulus = -rng.uniform(0.0, 1.5, size)
    phi = Characteristic(log_modulus, rng.uniform(-3, 3, size), np.full(size, error))
    return SlotValues(phi, float(rng.uniform(-1, 1)), float(rng.uniform(-0.5, 0.2)))


def test_exponents_are_off_by_what_they_say() -> None:
    """Characteristic functions moved by their errors: logarithms move by at most as much."""
    rng = np.random.default_rng(5)
    numbers = np.arange(0, 30, 2)
    for _ in range(examples(70)):
        error = float(rng.choice([1e-4, 1e-3]))
        types = [slot(rng, numbers.size, error) for _ in range(3)]
        top = max(float(own.log_mgf) for own in types)
        integrand = draw_integrand(rng, top=top, others=30, terms=5)
        first = slot(rng, numbers.size, error)
        nodes, useful, left_out = integrand.evaluate(numbers, first, types)
        assert useful.sum() == nodes.t.size == numbers.size - left_out.size
        assert (nodes.t == integrand.step * numbers[useful]).all()
        for own, exponent, largest in zip(types, nodes.exponent, nodes.largest, strict=True):
            modulus = np.exp(own.phi.log_modulus[useful])
            for turn in (1, 1j, -1, -1j):
                moved = modulus + turn * error
                assert (np.abs(np.log(moved / modulus)) <= nodes.relative).all()
                modulus_moved = np.minimum(np.abs(moved), 1.0)
                assert (np.log(modulus_moved) + own.log_mgf - top <= largest + 1e-12).all()
            angle = own.phi.argument[useful] + nodes.t * own.mean
            expected = np.exp(own.log_mgf - top + 1j * angle) * modulus
            np.testing.assert_allclose(np.exp(exponent), expected, rtol=1e-12)
        assert (np.abs(nodes.exponent.imag - nodes.exponent[0].imag) <= math.pi * 1.001).all()


def test_exponents_know_their_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swap_integrand, "UNIT", 1e-7)
    rng = np.random.default_rng(6)
    numbers = np.arange(1, 12)
    types = [slot(rng, numbers.size, 0.0) for _ in range(2)]
    top = max(float(own.log_mgf) for own in types)
    integrand = draw_integrand(rng, top=top, others=10, terms=5)
    nodes, _, _ = integrand.evaluate(numbers, slot(rng, numbers.size, 0.0), types)
    for own, largest in zip(types, nodes.largest, strict=True):
        levels = abs(float(own.log_mgf)) + abs(top)
        sizes = np.abs(own.phi.log_modulus) + np.abs(own.phi.argument) + levels
        sizes += np.abs(nodes.t * own.mean)
        assert (nodes.relative >= 8e-7 * sizes * 0.999).all()
        exact = own.phi.log_modulus + own.log_mgf - top
        assert (largest >= exact + 4e-7 * levels * 0.999).all()
    phase = 8e-7 * 8
    assert (nodes.phase_error >= phase).all()


def test_nodes_that_rounding_makes_useless_are_bounded() -> None:
    """As large as the types and slot 0 can be, twice the error included."""
    rng = np.random.default_rng(7)
    numbers = np.arange(1, 8)
    error = 0.05
    types = [slot(rng, numbers.size, error) for _ in range(2)]
    top = max(float(own.log_mgf) for own in types)
    integrand = draw_integrand(rng, top=top, others=40, terms=6)
    first = slot(rng, numbers.size, 0.2)
    nodes, useful, left_out = integrand.evaluate(numbers, first, types)
    assert not useful.any()
    assert nodes.t.size == 0
    t = integrand.step * numbers
    modulus0 = np.minimum(np.exp(first.phi.log_modulus) + 0.2, 1.0)
    largest = [
        np.minimum(np.log(np.exp(own.phi.log_modulus) + error), 0.0) + own.log_mgf - top
        for own in types
    ]
    scale = integrand.step / math.pi * np.exp(-((integrand.tau * t) ** 2) / 2) / (1 + t**2)
    for i, exponent in enumerate(np.max(largest, axis=0).tolist()):
        most = float(exact_sum(integrand, exponent).real) * float(scale[i] * modulus0[i])
        assert most * (1 - 1e-9) <= left_out[i] <= 1.6 * most


def test_sums_move_by_no_more_than_is_said() -> None:
    """Exponents, kernel and phase moved by their errors: exact values differ by at most that."""
    rng = np.random.default_rng(8)
    for _ in range(examples(105)):
        integrand = draw_integrand(rng)
        size = 5
        relative = np.full(size, 0.01 / float(integrand.others) * float(rng.uniform()))
        kernel = rng.uniform(0.1, 1, size) * np.exp(1j * rng.uniform(-3, 3, size))
        exponent = -rng.uniform(0, 0.2, size) + 1j * rng.uniform(-3, 3, size)
        error = np.full(size, 1e-3 * float(rng.uniform()))
        phase_error = np.full(size, 1e-3 * float(rng.uniform()))
        nodes = Nodes(
            t=np.arange(size) * 1.0,
            kernel=kernel,
            size=np.abs(kernel) + error,
            error=error,
            phase_error=phase_error,
            exponent=exponent[None, :],
            largest=exponent.real[None, :] + relative,
            relative=relative,
        )
        height = integrand.height(np.minimum(nodes.largest[0], 0.0))
        values, rounding = integrand.at(nodes, exponent, height)
        for i in range(size):
            near = complex(kernel[i]) * exact_sum(integrand, complex(exponent[i]))
            assert abs(near - complex(values[i])) <= 1e-9 * float(height[i])
            turn = np.exp(2j * math.pi * rng.uniform())
            moved = complex(exponent[i] + relative[i] * turn)
            moved = complex(min(moved.real, 0.0), moved.imag)
            true = complex(kernel[i] * np.exp(1j * phase_error[i])) * exact_sum(integrand, moved)
            true += error[i] * turn * exact_sum(integrand, moved)
            assert abs(true - complex(values[i])) <= rounding[i] * (1 + 1e-9)


def test_the_rounding_of_sums_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    integrand = draw_integrand(rng, others=50, terms=20)
    nodes = Nodes(
        t=np.zeros(1),
        kernel=np.ones(1, dtype=np.complex128),
        size=np.ones(1),
        error=np.zeros(1),
        phase_error=np.zeros(1),
        exponent=np.array([[-0.1 + 2j]]),
        largest=np.array([[-0.1]]),
        relative=np.zeros(1),
    )
    height = integrand.height(nodes.largest[0])
    monkeypatch.setattr(swap_integrand, "UNIT", 1e-6)
    _, rounding = integrand.at(nodes, nodes.exponent[0], height)
    power = 50 * abs(-0.1 + 2j)
    assert float(rounding[0]) >= 8e-6 * (8 + power) * 0.5 * float(height[0])


def test_the_bound_on_delta_is_that_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(10)
    for _ in range(examples(70)):
        integrand = draw_integrand(rng)
        scale = SwapScale(
            float(rng.uniform(0.01, 3)), float(rng.uniform(-1, 1)), float(rng.uniform(0, 0.1)), 0.0
        )
        total = float(rng.uniform(0.01, 2))
        with mpmath.workdps(DIGITS):
            n = integrand.others + 1
            base = integrand.others * mpmath.mpf(integrand.top) + scale.log_mgf
            base += mpmath.mpf(integrand.tau) ** 2 / 2 + scale.log_mgf_error
            mean = total * mpmath.exp(base) / (n * scale.theta)
            if integrand.terms < n:
                mean += mpmath.exp(integrand.terms * mpmath.mpf(integrand.log_rest))
            exact = float(mpmath.log(mean))
        found = float(integrand.log_delta(total, scale))
        assert exact - 1e-15 <= found <= exact + 1e-12
    assert float(integrand.log_delta(0.0, scale)) == math.inf
    assert float(integrand.log_delta(math.nan, scale)) == math.inf
    monkeypatch.setattr(swap_integrand, "UNIT", 1e-6)
    assert float(integrand.log_delta(total, scale)) >= found + 8e-6 * 16


def test_errors_of_values_add_their_mean() -> None:
    rng = np.random.default_rng(11)
    integrand = draw_integrand(rng)
    whole = float(exact_sum(integrand, 0.0).real)
    for shift in (0.0, 1e-6, 0.1, 2.0):
        added = float(integrand.moved(SwapScale(1.0, 0.0, 0.0, shift)))
        assert whole * shift * math.exp(shift) <= added <= 1.6 * whole * shift * math.exp(shift)


def test_rows_are_several_bounds_at_once() -> None:
    rng = np.random.default_rng(12)
    several = [draw_integrand(rng) for _ in range(4)]
    names = ("others", "gamma", "log_rest", "top", "terms", "tau", "step")
    rows = SwapIntegrand(
        **{name: np.array([float(getattr(own, name)) for own in several]) for name in names}
    )
    exponent = np.array([-0.1, -0.02, -0.3, 0.0])
    order = np.array([2, 0, 3, 1])
    found = rows.of(order).height(exponent[order])
    alone = [float(own.height(np.array([x]))[0]) for own, x in zip(several, exponent, strict=True)]
    np.testing.assert_allclose(found, np.array(alone)[order], rtol=1e-12)
