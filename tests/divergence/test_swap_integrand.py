"""What stands at the nodes of the swap bound, against sums with forty digits."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from tiers import examples

from shuffledp.divergence import swap_integrand
from shuffledp.divergence.characteristic import Characteristic
from shuffledp.divergence.examined import _mean_terms
from shuffledp.divergence.swap_integrand import (
    ROUND_UP,
    Nodes,
    SlotValues,
    SwapIntegrand,
    SwapScale,
)

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


def test_parts_of_a_ratio_that_cancel_count_for_every_term() -> None:
    """A ratio of terms next to 1, known from parts around 30: in closed form, in forty digits."""
    rng = np.random.default_rng(3)
    terms = 10**9
    with mpmath.workdps(DIGITS):
        for _ in range(examples(140)):
            log_rest, top = -float(rng.uniform(20, 40)), -float(rng.uniform(2, 12))
            integrand = draw_integrand(rng, others=1, terms=terms, log_rest=log_rest, top=top)
            far = float(rng.choice([1e-10, 1e-7, 1e-2])) * float(rng.choice([-1, 1]))
            exponent = log_rest - top + far
            log_ratio = mpmath.mpf(log_rest) - mpmath.mpf(top) - mpmath.mpf(exponent)
            bound = integrand.log_ratio_bound(np.array([exponent]))
            assert log_ratio <= bound[0] <= log_ratio + 1e-13
            if log_ratio < 0:
                mean = mpmath.exp(log_ratio) / mpmath.expm1(log_ratio) ** 2
                assert _mean_terms(bound)[0] * ROUND_UP >= mean
            whole = mpmath.mpf(integrand.gamma) * mpmath.exp(mpmath.mpf(exponent))
            if far < 0 or terms * far < 500:
                whole *= mpmath.expm1(terms * log_ratio) / mpmath.expm1(log_ratio)
                assert integrand.height(np.array([exponent]))[0] >= whole
    certain = draw_integrand(rng, gamma=1.0, log_rest=-math.inf, terms=1)
    assert certain.log_ratio_bound(np.zeros(1)).tolist() == [-math.inf]


def test_the_logarithm_in_a_ratio_is_rounded_as_well() -> None:
    """1 - gamma exactly: its logarithm may be all there is, or cancel against the other parts."""
    rng = np.random.default_rng(16)
    rounded_down = 0
    with mpmath.workdps(DIGITS):
        for _ in range(examples(140)):
            gamma = float(rng.choice([1e-6, 1e-3, 0.1, 1.0])) * float(rng.uniform(0.3, 0.999))
            log_rest = math.log1p(-gamma)
            share = float(rng.choice([-1.0, 0.0, 0.5, 1.0]))
            top = share * log_rest
            integrand = draw_integrand(rng, gamma=gamma, log_rest=log_rest, top=top)
            exact = mpmath.log1p(-mpmath.mpf(gamma))
            rounded_down += bool(log_rest < exact and share == 1)
            for exponent in (0.0, min(log_rest - top, 0.0)):
                true = exact - mpmath.mpf(top) - mpmath.mpf(exponent)
                bound = float(integrand.log_ratio_bound(np.array([exponent]))[0])
                assert true <= bound <= true - 1e-14 * log_rest
    assert rounded_down > 0


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


def test_the_end_knows_its_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end, its square and the exponential are all off by as many units as are allowed."""
    unit, up = 1e-4, 2.0
    integrand = draw_integrand(np.random.default_rng(4), tau=0.1, step=0.5)
    x = 80 * integrand.step * integrand.tau * (1 - 4 * unit)
    gaussian = math.exp(-x * x / 2 * (1 - 4 * unit)) * (1 + 16 * unit)
    expected = 2.0 * integrand.tau * gaussian / (math.pi * x**3) * up
    monkeypatch.setattr(swap_integrand, "UNIT", unit)
    monkeypatch.setattr(swap_integrand, "ROUND_UP", up)
    assert integrand.cut(80, np.array([2.0])).tolist() == pytest.approx([expected], rel=1e-5)


def vague_nodes() -> Nodes:
    """Nodes of two types, the exponents of which are off by up to a twentieth."""
    exponent = np.array(
        [[-0.001, -0.02 + 0.1j, -0.11 - 0.2j, -0.2], [0.0, -0.08 + 0.3j, -0.03 + 0.2j, -0.1j]]
    )
    relative, ones = np.array([0.0, 0.01, 0.02, 0.05]), np.ones(4)
    largest = np.minimum(exponent.real + relative, 0.0)
    return Nodes(np.arange(4.0), ones + 0j, ones, 0 * ones, 0 * ones, exponent, largest, relative)


def test_the_highest_exponents_of_vague_nodes() -> None:
    assert vague_nodes().highest.tolist() == pytest.approx([0.0, -0.01, -0.01, 0.0])


def test_who_is_examined_in_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The largest and smallest exponents and distances that the errors of nodes allow."""
    monkeypatch.setattr(swap_integrand, "ROUND_UP", 1.5)
    integrand = SwapIntegrand(40, 0.3, math.log(0.7), -0.1, 30, 0.1, 0.5)
    spread = integrand.spread(vague_nodes())
    largest, smallest = np.array([0.0, -0.01, -0.01, 0.0]), np.array([-0.001, -0.09, -0.13, -0.25])
    height, full = integrand.height(largest), 1.5 * 0.3 * np.exp(40 * largest)
    apart = np.array([0.001, math.hypot(0.06, 0.2), math.hypot(0.08, 0.4), math.hypot(0.2, 0.1)])
    half = (apart + 2 * np.array([0.0, 0.01, 0.02, 0.05])) ** 2 / 2
    at_largest, at_smallest = (0.7 * np.exp(0.1 - end) for end in (largest, smallest))
    assert (full * at_largest / (1 - at_largest) ** 2 < height * 29).all()
    assert spread.most == pytest.approx(2 * height)
    assert spread.absolute == pytest.approx(full * at_largest / (1 - at_largest) ** 2 * half)
    assert spread.relative == pytest.approx(at_smallest / (1 - at_smallest) ** 2 * half)
    assert spread.variance == 1 / 3
    # No more than so many users are examined, and the height of a sum bounds every term of it.
    few = replace(integrand, terms=2).spread(vague_nodes())
    assert few.absolute == pytest.approx(replace(integrand, terms=2).height(largest) * half)


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


def test_exponents_next_to_zero_keep_their_digits() -> None:
    """A unit of 1 would be a factor of e in the power that very many users make of it."""
    own = SlotValues(Characteristic(np.array([-1e-17]), np.zeros(1), np.zeros(1)), 0.0, 0.0)
    integrand = draw_integrand(np.random.default_rng(14), top=0.0)
    nodes, _, _ = integrand.evaluate(np.ones(1, dtype=np.int64), own, [own])
    assert float(nodes.largest[0, 0]) == pytest.approx(-1e-17, rel=1e-9, abs=0)


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


def test_kernels_are_those_of_the_formula() -> None:
    """With much smoothing; slot 0 is moved by its error, which the bounds know."""
    rng = np.random.default_rng(13)
    numbers = np.arange(0, 40, 3)
    for _ in range(examples(35)):
        integrand = draw_integrand(rng, tau=float(rng.uniform(0.3, 1.2)), top=0.0)
        first = slot(rng, numbers.size, float(rng.choice([0.0, 1e-3, 0.3])))
        still = Characteristic(*np.zeros((3, numbers.size)))
        nodes, useful, _ = integrand.evaluate(numbers, first, [SlotValues(still, 0.0, 0.0)])
        assert useful.all()
        for i, k in enumerate(numbers.tolist()):
            with mpmath.workdps(DIGITS):
                t, tau = k * mpmath.mpf(integrand.step), mpmath.mpf(integrand.tau)
                exponent = mpmath.mpc(-((tau * t) ** 2) / 2, t * first.mean + tau**2 * t)
                weight = integrand.step / mpmath.pi * (1 if k else 0.5)
                factor = complex(weight * mpmath.exp(exponent) / (1 + 1j * t) ** 2)
            phi = np.exp(first.phi.log_modulus[i] + 1j * first.phi.argument[i])
            assert complex(nodes.kernel[i]) == pytest.approx(factor * phi, rel=1e-11, abs=1e-300)
            for turn in (1, 1j, -1, -1j):
                moved = phi + turn * first.phi.error[i]
                true = factor * moved / max(abs(moved), 1.0)
                assert abs(true) <= nodes.size[i]
            error = abs(factor) * float(first.phi.error[i])
            assert error == pytest.approx(float(nodes.error[i]), rel=1e-11, abs=1e-300)


def test_nodes_that_rounding_makes_useless_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
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
    monkeypatch.setattr(swap_integrand, "ROUND_UP", 2.0)  # of a height, and of a product with it
    _, _, rounded = integrand.evaluate(numbers, first, types)
    np.testing.assert_allclose(rounded, 4 * left_out, rtol=1e-8)


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


@pytest.mark.parametrize(("top", "others"), [(-0.8, 900), (-0.69, 900), (-0.4, 3000), (0.4, 900)])
def test_many_terms_are_added_from_the_largest_one_on(top: float, others: int) -> None:
    """Ratios on both sides of 1, with powers beyond doubles; one row has a single term."""
    gamma = 0.5
    exponent = np.array([-1e-3 + 2e-3j, -2e-3 + 1j, -1e-4 + 0.1j])
    terms = np.array([others, others, 1])
    nodes = Nodes(
        t=np.zeros(3),
        kernel=np.ones(3, dtype=np.complex128),
        size=np.ones(3),
        error=np.zeros(3),
        phase_error=np.zeros(3),
        exponent=exponent[None, :],
        largest=exponent.real[None, :],
        relative=np.zeros(3),
    )
    integrand = SwapIntegrand(others, gamma, math.log(gamma), top, terms, 0.1, 0.1)
    height = integrand.height(exponent.real)
    values, rounding = integrand.at(nodes, exponent, height)
    for i, k in enumerate(terms.tolist()):
        alone = SwapIntegrand(others, gamma, math.log(gamma), top, k, 0.1, 0.1)
        with mpmath.workdps(DIGITS):
            exact = exact_sum(alone, complex(exponent[i]))
            assert abs(exact - mpmath.mpc(complex(values[i]))) <= rounding[i]
            assert rounding[i] <= 1e-8 * height[i]


@pytest.mark.parametrize("exponent", [-0.4 + 0j, -0.1 + 2j, -0.01 - 1j])
def test_the_rounding_of_sums_is_counted(
    exponent: complex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the power and of the sum over k, with units that are large enough to see."""
    unit, off = 1e-6, 1e-3
    rng = np.random.default_rng(9)
    integrand = draw_integrand(rng, others=50, terms=1)
    nodes = Nodes(
        t=np.zeros(1),
        kernel=np.ones(1, dtype=np.complex128),
        size=np.ones(1),
        error=np.zeros(1),
        phase_error=np.zeros(1),
        exponent=np.array([[exponent]]),
        largest=np.array([[exponent.real]]),
        relative=np.zeros(1),
    )
    height = integrand.height(nodes.largest[0])
    monkeypatch.setattr(swap_integrand, "UNIT", unit)
    _, rounding = integrand.at(nodes, nodes.exponent[0], height)
    power = 50 * (abs(exponent.real) + abs(exponent.imag))
    expected = 8 * unit * (8 + power) * float(height[0])
    assert float(rounding[0]) == pytest.approx(expected, rel=1e-9)
    # A ratio below 1, so that the first term is the largest.
    integrand = draw_integrand(rng, others=50, terms=20, gamma=0.5, log_rest=-9.0, top=0.0)
    monkeypatch.setattr(
        swap_integrand, "geometric_sum", lambda ratio, _: (np.ones_like(ratio), np.full(1, off))
    )
    _, rounding = integrand.at(nodes, nodes.exponent[0], height)
    added = off * 0.5 * math.exp(50 * exponent.real)
    assert float(rounding[0]) == pytest.approx(expected + added, rel=1e-9)


def test_the_bound_on_delta_is_that_of_its_parts() -> None:
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


def test_the_bound_on_delta_is_rounded_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number that enters has eight units, and so has every sum of them."""
    unit = 1e-6
    rng = np.random.default_rng(15)
    for _ in range(examples(35)):
        integrand = draw_integrand(rng)
        scale = SwapScale(float(rng.uniform(0.01, 3)), float(rng.uniform(-9, 9)), 0.0, 0.0)
        total = 10.0 ** float(rng.uniform(-9, 1))
        with monkeypatch.context() as patch:
            patch.setattr(swap_integrand, "UNIT", unit)
            found = float(integrand.log_delta(total, scale))
        n = integrand.others + 1
        sizes = [integrand.others * abs(integrand.top), abs(scale.log_mgf)]
        base = integrand.others * integrand.top + scale.log_mgf + integrand.tau**2 / 2
        shift = math.log(n) + math.log(scale.theta)
        mean = math.log(total) + base - shift
        mean += 8 * unit * (sum(sizes) + 8 + abs(base) + abs(shift) + abs(math.log(total)) + 8)
        tail = integrand.terms * integrand.log_rest if integrand.terms < n else -math.inf
        bound = float(np.logaddexp(mean, tail))
        bound += 8 * unit * (abs(bound) + (abs(tail) if integrand.terms < n else 0) + 8)
        assert found == pytest.approx(bound, rel=1e-12, abs=1e-12)


def test_errors_of_values_add_their_mean(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    integrand = draw_integrand(rng)
    whole = float(exact_sum(integrand, 0.0).real)
    for shift in (0.0, 1e-6, 0.1, 2.0):
        added = float(integrand.moved(SwapScale(1.0, 0.0, 0.0, shift)))
        assert whole * shift * math.exp(shift) <= added <= 1.6 * whole * shift * math.exp(shift)
    monkeypatch.setattr(swap_integrand, "ROUND_UP", 2.0)  # of a height, and of a product with it
    rounded = float(integrand.moved(SwapScale(1.0, 0.0, 0.0, 2.0)))
    assert rounded == pytest.approx(4 * added, rel=1e-8)


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
