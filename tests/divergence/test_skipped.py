"""Stretches that the swap bound skips, against every node and every type."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest

from shuffledp import parse
from shuffledp.arrays import UNIT
from shuffledp.divergence.characteristic import evaluate
from shuffledp.divergence.proposals.swap import SwapProposal
from shuffledp.divergence.skipped import SkippedStretches, _factor
from shuffledp.divergence.slots import Slots
from shuffledp.divergence.swap import _Spectrum
from shuffledp.divergence.tilt import tilt

CASES = [
    ("joint(blh(epsilon0=4, domain_size=3), krr(k=5, epsilon0=3), blh(epsilon0=0.5))", 3000, 2.0),
    ("joint(krr(k=5, epsilon0=4), krr(k=3, epsilon0=1))", 300, 1.5),
    ("discrete_laplace(epsilon0=2, bound=4)", 60, 0.5),
    ("krr(k=3, epsilon0=1)", 200, 0.2),
]


def spectrum_of(text: str, n: int, epsilon: float) -> _Spectrum:
    mechanism = parse(text)
    laws = mechanism.slot_laws(mechanism.neighbours()[0])
    assert laws is not None
    slots = Slots.of(laws.blanket, laws.backgrounds, epsilon)
    proposal = SwapProposal(slots.first, slots.types, slots.blanket_mass, n, 2e-3)
    first, *types = (tilt(law.scaled(proposal.theta), 1.0) for law in (slots.first, *slots.types))
    return _Spectrum(first, types, slots.blanket_mass, n, proposal)


def stretches_of(spectrum: _Spectrum) -> SkippedStretches:
    return SkippedStretches(spectrum.integrand, spectrum.types, spectrum.others, spectrum.step)


def most_added(spectrum: _Spectrum, start: int, size: int) -> float:
    """Return what a background of one type adds in a stretch, at most, in absolute values."""
    t = spectrum.step * np.arange(start, start + size)
    k = np.arange(spectrum.terms)[:, None]
    largest = 0.0
    for law in spectrum.types:
        excess = evaluate(law, t).log_modulus + law.log_mgf - spectrum.top
        powers = k * (spectrum.log_rest - spectrum.top) + (spectrum.others - k) * excess
        values = (
            spectrum.gamma * np.exp(powers).sum(axis=0) * np.exp(-((spectrum.tau * t) ** 2) / 2)
        )
        largest = max(largest, float((values / (1 + t * t)).sum()) * spectrum.step / math.pi)
    return largest


@pytest.mark.parametrize(("text", "n", "epsilon"), CASES, ids=lambda value: str(value)[:24])
def test_no_type_adds_more(text, n, epsilon):
    spectrum = spectrum_of(text, n, epsilon)
    stretches, rng = stretches_of(spectrum), np.random.default_rng(n)
    count = spectrum.proposal.count
    for limit in (math.inf, 1e-3, 1e-9, math.inf):
        starts, sizes = np.sort(rng.integers(1, count, 12)), rng.integers(1, 12, 12)
        bounds = stretches.bounds(starts, sizes, limit)
        exact = np.array([most_added(spectrum, *both) for both in zip(starts, sizes, strict=True)])
        assert (bounds > 0).all()
        assert (exact <= np.where(bounds <= limit, bounds, math.inf) * (1 + 1e-9)).all()
        tight = stretches.bounds(starts, np.ones_like(sizes), math.inf)
        alone = np.array([most_added(spectrum, int(start), 1) for start in starts])
        assert (tight <= alone * 1.1 + 1e-9).all()


@pytest.mark.parametrize(("text", "n", "epsilon"), CASES, ids=lambda value: str(value)[:24])
def test_what_decides_does_not_depend_on_who_is_asked_first(text, n, epsilon):
    """A stretch is skipped if and only if it is by a bound that asks all types."""
    spectrum = spectrum_of(text, n, epsilon)
    stretches, count = stretches_of(spectrum), spectrum.proposal.count
    for size in (1, 3, 9):
        starts = np.arange(5, count, max(count // 200, 1))
        sizes = np.full(starts.size, size)
        whole = stretches_of(spectrum).bounds(starts, sizes, math.inf)
        for limit in np.quantile(whole, [0.1, 0.5, 0.9]):
            found = stretches.bounds(starts, sizes, float(limit))
            assert np.array_equal(found <= limit, whole <= limit)
            assert np.array_equal(found[found <= limit], whole[whole <= limit])


def test_squares_at_the_tilt_are_rounded_up():
    """By more than the roundings of a product with them, and by little more."""
    rng = np.random.default_rng(1)
    for top in (0.0, 1e-9, -0.7, 3.0):
        for log_mgf in (top - 10 ** rng.uniform(-12, 2, 50)).tolist():
            exact = (2 * (Decimal(log_mgf) - Decimal(top))).exp()
            above = Decimal(_factor(log_mgf, top)) / exact - 1
            size = 1 + abs(log_mgf) + abs(top)
            assert Decimal(UNIT) <= above <= Decimal(40 * UNIT * size)
    assert _factor(-1e4, 0.0) == pytest.approx(math.exp(-600))
