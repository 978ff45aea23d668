"""Enclosures for few users against sums over all outcomes in ball arithmetic and in fractions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from exact_laws import PRECISION, enumerated_mean, law_of_ratios
from flint import arb, ctx
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from strategies import Coefficients, coefficients, exp_epsilons, simplex

from shuffledp import Decomposition
from shuffledp.decomposition import Law
from shuffledp.divergence import BlockSum, LogEnclosure, log_delta, log_delta_bound
from shuffledp.divergence.contour import chernoff_log_mean, contour_log_mean

#: The largest n for so many atoms, the residual counted, that keeps the exact sum short.
MAX_USERS = {1: 40, 2: 30, 3: 24, 4: 14, 5: 8, 6: 6}

MAX_WORK = 1e6


@dataclass(frozen=True)
class Case:
    """Logarithms of ratios and weights that are exact doubles, with n and epsilon."""

    log0: tuple[float, ...]
    log1: tuple[float, ...]
    weight: tuple[float, ...]
    residual: float
    n: int
    epsilon: float

    @property
    def decomposition(self) -> Decomposition:
        return Decomposition(
            log_ratio0=np.array(self.log0),
            log_ratio1=np.array(self.log1),
            weight=np.array(self.weight),
            residual=self.residual,
            weight_error=np.zeros(1),
            residual_error=0.0,
        )

    @property
    def law(self) -> Law:
        return self.decomposition.at(self.epsilon).lower

    @property
    def log_mean(self) -> tuple[float, float]:
        """Ends of log E[S_+], minus infinity if the mean may be 0."""
        atoms = law_of_ratios(self.log0, self.log1, self.weight, self.residual, self.epsilon)
        mean = enumerated_mean(atoms, self.n)
        with ctx.workprec(PRECISION):
            lower, upper = mean.lower(), mean.upper()
            ends = (float(x.log().mid()) if x > 0 else -math.inf for x in (lower, upper))
            return next(ends), next(ends)


def log(x: Fraction) -> float:
    with ctx.workprec(PRECISION):
        return float((arb(x.numerator) / arb(x.denominator)).log().mid()) if x else -math.inf


def binary(weight: float, n: int, epsilon: float) -> Case:
    """Reports with probabilities 3/4 and 1/4 that the others send with ``weight`` each."""
    likely, unlikely = math.log(0.75 / weight), math.log(0.25 / weight)
    residual = 1 - 2 * weight
    return Case((likely, unlikely), (unlikely, likely), (weight, weight), residual, n, epsilon)


@st.composite
def cases(draw: st.DrawFn, *, max_components: int = 5) -> Case:
    size = draw(st.integers(2, max_components))
    a, b = draw(simplex(size, positive=True)), draw(simplex(size, positive=True))
    has_residual = draw(st.booleans())
    shrink = draw(st.sampled_from([1, 1, 1, 16, 4096])) if has_residual else 1
    if has_residual:
        c = [x / shrink for x in draw(simplex(size + 1, positive=True))[:size]]
    else:
        c = list(draw(st.sampled_from([a, b]) | simplex(size, positive=True)))
    log0 = [log(x / w) for x, w in zip(a, c, strict=True)]
    log1 = [log(x / w) for x, w in zip(b, c, strict=True)]
    n = draw(st.integers(1, MAX_USERS[size + has_residual]))
    top = max(x - y for x, y in zip(log0, log1, strict=True))
    kind = draw(st.sampled_from(["zero", "inside", "inside", "top", "hit"]))
    if kind == "zero":
        epsilon = 0.0
    elif kind == "inside":
        epsilon = max(top, 0.0) * draw(st.floats(0.0, 1.0)) ** 2
    elif kind == "top":
        epsilon = max(top, 0.0) * (1 - 10.0 ** -draw(st.floats(0.5, 12)))
    else:  # some count vector gives a sum of nearly or exactly 0
        counts = draw(st.lists(st.integers(0, n), min_size=size, max_size=size))
        first = sum(k * math.exp(x) for k, x in zip(counts, log0, strict=True))
        second = sum(k * math.exp(x) for k, x in zip(counts, log1, strict=True))
        assume(first > 0 and second > 0)
        nudge = draw(st.sampled_from([0.0, 1e-15, -1e-12, 1e-9, -1e-6]))
        epsilon = max(math.log(first / second) * (1 + nudge), 0.0)
    residual = float(1 - sum(c, Fraction(0)))
    return Case(tuple(log0), tuple(log1), tuple(map(float, c)), residual, n, epsilon)


def contains(enclosure: LogEnclosure, ends: tuple[float, float]) -> bool:
    """The true value lies between ``ends``, a hair apart: they may not be disjoint."""
    return enclosure.lower <= ends[1] and ends[0] <= enclosure.upper


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
@settings(max_examples=400)
@given(case=cases())
@example(case=binary(0.25, 24, 0.0))
def test_the_engine_encloses_the_exact_delta(rtol: float, case: Case) -> None:
    enclosure = log_delta(case.decomposition.at(case.epsilon), case.n, rtol=rtol)
    shift = math.log(case.n)
    ends = case.log_mean
    slack = 4e-16 * (1 + shift)  # of the subtraction in the next line
    assert contains(enclosure, (ends[0] - shift - slack, ends[1] - shift + slack))


def undoubtedly_positive(case: Case) -> bool:
    law = case.law
    top = int(np.argmax(law.values))
    return bool(law.values[top] > 8 * law.value_error[top])


@pytest.mark.heavy
@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
@settings(max_examples=400)
@given(case=cases())
# All mass of the sum close to 0, a rare jump, a sum that hits 0 exactly:
@example(case=binary(0.25, 20, 0.0))
@example(case=binary(2.0**-12, 9, 0.0))
@example(case=binary(0.25, 8, math.log(1.25)))
def test_the_contour_encloses_the_exact_mean(rtol: float, case: Case) -> None:
    assume(undoubtedly_positive(case))
    enclosure = contour_log_mean(BlockSum.of((case.law, case.n)), rtol, MAX_WORK)
    assert contains(enclosure, case.log_mean)


@settings(max_examples=250)
@given(case=cases())
def test_cheap_bounds_are_above_the_exact_mean(case: Case) -> None:
    lower, _ = case.log_mean
    shift = math.log(case.n)
    gparv = case.decomposition.at(case.epsilon)
    assert log_delta_bound(gparv, case.n) >= lower - shift - 4e-16 * (1 + shift)
    if undoubtedly_positive(case):
        assert chernoff_log_mean(BlockSum.of((case.law, case.n))) >= lower


@pytest.mark.parametrize("rtol", [1e-4, 1e-6])
@settings(max_examples=200)
@given(
    data=st.data(), coefficients=coefficients(max_components=4, singular=True), scale=exp_epsilons()
)
def test_fractions_lie_between_the_enclosures_on_either_side(
    rtol: float, data: st.DataObject, coefficients: Coefficients, scale: Fraction
) -> None:
    """e^epsilon is a fraction, epsilon is not a double: delta falls with epsilon."""
    atoms = len(coefficients.c) + 1
    n = data.draw(st.integers(1, MAX_USERS[atoms] // 2))
    exact = coefficients.delta(n, scale)
    decomposition = coefficients.decomposition()
    middle = math.log(scale)
    before = log_delta(decomposition.at(math.nextafter(middle, -1.0)), n, rtol=rtol)
    after = log_delta(decomposition.at(math.nextafter(middle, 100.0)), n, rtol=rtol)
    value = log(exact)
    slack = 2e-16 * abs(value) if exact else 0.0  # the logarithm is rounded to a double
    assert after.lower <= value + slack
    assert before.upper >= value - slack


@settings(max_examples=200)
@given(
    data=st.data(),
    coefficients=coefficients(max_components=4, singular=True),
)
def test_fractions_at_epsilon_zero(data: st.DataObject, coefficients: Coefficients) -> None:
    n = data.draw(st.integers(1, MAX_USERS[len(coefficients.c) + 1] // 2))
    value = log(coefficients.delta(n, Fraction(1)))
    slack = 2e-16 * abs(value) if value > -math.inf else 0.0
    enclosure = log_delta(coefficients.decomposition().at(0.0), n)
    assert enclosure.lower <= value + slack
    assert enclosure.upper >= value - slack


@pytest.mark.parametrize("n", [2, 10, 60])
@pytest.mark.parametrize("weight", [0.25, 2.0**-10, 2.0**-30])
@pytest.mark.parametrize("epsilon", [0.0, 0.4])
def test_few_outcomes_are_enclosed_to_rtol(n: int, weight: float, epsilon: float) -> None:
    """Also where S = 0 has nearly all the mass; there smoothing alone would drown the answer."""
    case = binary(weight, n, epsilon)
    for rtol in (1e-4, 1e-6):
        width = log_delta(case.decomposition.at(epsilon), n, rtol=rtol).width
        assert width <= rtol


@pytest.mark.parametrize("n", [5, 20])
@pytest.mark.parametrize("weight", [2.0**-10, 2.0**-20])
def test_the_contour_copes_with_rare_reports(n: int, weight: float) -> None:
    """The probability of S = 0 is subtracted exactly, so rare jumps keep their digits."""
    case = binary(weight, n, 0.2)
    enclosure = contour_log_mean(BlockSum.of((case.law, n)), 1e-4, 4 * MAX_WORK)
    assert enclosure.width <= 1e-4
    assert contains(enclosure, case.log_mean)


def perturbed(case: Case, ratio: float, weight: float, sign: int) -> Case:
    """The law with all data moved as far as their errors allow, so that the sum grows (or falls).

    Mass moves between the atoms with the largest and the smallest value of G.
    """
    log0 = tuple(x + sign * ratio for x in case.log0)
    log1 = tuple(x - sign * ratio for x in case.log1)
    values = [math.exp(x) - math.exp(case.epsilon + y) for x, y in zip(log0, log1, strict=True)]
    weights = list(case.weight)
    best, worst = values.index(max(values)), values.index(min(values))
    moved = sign * weight * min(weights[best], weights[worst])
    weights[best] += moved
    weights[worst] -= moved
    return Case(log0, log1, tuple(weights), case.residual, case.n, case.epsilon)


@settings(max_examples=200)
@given(
    case=cases(),
    ratio=st.sampled_from([0.0, 1e-10, 1e-8]),
    weight=st.sampled_from([0.0, 1e-12, 1e-8, 1e-5]),
    sign=st.sampled_from([-1, 1]),
    contour=st.booleans(),
)
def test_errors_of_the_data_are_part_of_the_enclosure(
    case: Case, ratio: float, weight: float, sign: int, contour: bool
) -> None:
    """A decomposition states how accurate its numbers are: the truth may be anywhere in there."""
    stated = Decomposition(
        log_ratio0=np.array(case.log0),
        log_ratio1=np.array(case.log1),
        weight=np.array(case.weight),
        residual=case.residual,
        log_ratio_error=np.array(ratio),
        weight_error=np.array(weight * (1 + 1e-6) + 4e-16),
        residual_error=0.0,
    )
    truth = perturbed(case, ratio * (1 - 1e-4), weight, sign).log_mean
    law = stated.at(case.epsilon).lower
    if contour:
        top = int(np.argmax(law.values))
        assume(law.values[top] > 8 * law.value_error[top])
        enclosure = contour_log_mean(BlockSum.of((law, case.n)), 1e-6, MAX_WORK)
    else:
        shift = math.log(case.n)
        delta = log_delta(stated.at(case.epsilon), case.n, rtol=1e-6)
        enclosure = LogEnclosure(delta.lower + shift, delta.upper + shift).widen(0.0)
    assert contains(enclosure, truth)


@pytest.mark.parametrize("error", [1e-5, 1e-2, 0.3])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_large_error_of_the_ratios_is_not_linearised(error: float, sign: int) -> None:
    """e^h - 1 is more than h: an error of the logarithms up to 1 is accepted, so it must hold."""
    log0, log1, weight = (math.log(3), 0.0), (0.0, math.log(3)), (0.25, 0.25)
    stated = Decomposition(
        log_ratio0=log0, log_ratio1=log1, weight=weight, residual=0.5, log_ratio_error=[error]
    )
    truth = Case(
        tuple(x + sign * error for x in log0),
        tuple(x - sign * error for x in log1),
        weight,
        0.5,
        1,
        0.5,
    )
    assert contains(log_delta(stated.at(0.5), 1), truth.log_mean)
