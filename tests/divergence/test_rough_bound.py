"""The quick bound on stretches: above the truth, close to the other bound, errors that count."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest

from shuffledp.arrays import UNIT
from shuffledp.divergence import rough_bound
from shuffledp.divergence.characteristic import bound_square
from shuffledp.divergence.rough_bound import (
    MANY_ATOMS,
    bound_powers,
    bound_roughly,
    loses_little,
)
from shuffledp.divergence.row_atoms import PlacedAtoms, RowAtoms
from shuffledp.divergence.tilt import TiltedLaw, tilt
from shuffledp.randomizers import KRR, DiscreteLaplace, Laplace, LocalRandomizer

MECHANISMS = [DiscreteLaplace(2.0, 40), Laplace(2.0), KRR(3, 2.0)]
SINGLE = 2.0**-24


def tilted_law(mechanism: LocalRandomizer, theta: float = 0.5) -> TiltedLaw:
    return tilt(mechanism.blanket(mechanism.neighbours()[0]).at(0.3).upper, theta)


def exact_square(law: TiltedLaw, t: float) -> mpmath.mpf:
    with mpmath.workdps(30):
        phi = mpmath.fsum(
            mpmath.mpf(p) * mpmath.expj(mpmath.mpf(t) * mpmath.mpf(c))
            for p, c in zip(law.probability, law.centred, strict=True)
        )
        return abs(phi) ** 2


@pytest.mark.parametrize("mechanism", MECHANISMS[:1])
@pytest.mark.parametrize("reach", [0.3, 30.0, 3e4, 3e9])
def test_it_is_above_the_truth_everywhere_on_a_stretch(
    mechanism: LocalRandomizer, reach: float
) -> None:
    law = tilted_law(mechanism)
    deviation = math.sqrt(law.variance)
    rng = np.random.default_rng(3)
    centre = rng.uniform(0.1, 1, 8) * reach / deviation
    half = rng.uniform(0, 0.5, 8) / deviation
    for middle, width, bound in zip(centre, half, bound_roughly(law, centre, half), strict=True):
        for t in np.linspace(middle - width, middle + width, 4):
            assert exact_square(law, t) <= bound


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_it_is_close_to_the_bound_in_doubles(mechanism: LocalRandomizer) -> None:
    law = tilted_law(mechanism)
    deviation = math.sqrt(law.variance)
    centre = np.linspace(0.1, 50, 300) / deviation
    half = np.full(300, 0.3) / deviation
    difference = bound_roughly(law, centre, half) - bound_square(law, centre, half)
    allowed = 16 * 12 * SINGLE
    assert difference.max() < 1.01 * allowed
    assert difference.min() > -1e-9
    assert bound_roughly(law, centre, half).min() < 0.5


def test_rows_are_bounded_as_single_laws() -> None:
    laws = [tilted_law(MECHANISMS[0], theta) for theta in (0.1, 0.5, 1.0)]
    centre, half = np.array([0.5, 2.0, 7.0]), np.array([0.0, 0.05, 0.1])
    rows = RowAtoms(
        probability=np.array([law.probability for law in laws]),
        probability_error=np.array([law.probability_error for law in laws]),
        centred=np.array([law.centred for law in laws]),
        mean_deviation=np.array([law.mean_deviation for law in laws]),
        variance=np.array([law.variance for law in laws]),
    )
    together = bound_roughly(PlacedAtoms(rows, np.arange(3)), centre, half)
    alone = [
        float(bound_roughly(law, centre[i : i + 1], half[i : i + 1])[0])
        for i, law in enumerate(laws)
    ]
    assert together == pytest.approx(alone, abs=1e-6)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("wrong", ["sin", "cos", "both"])
def test_sines_may_be_off_by_eight_units(
    sign: int, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every sine or cosine moves the sum away from the truth as far as it may."""
    law = tilted_law(MECHANISMS[0])
    deviation = math.sqrt(law.variance)
    centre, half = np.linspace(0.2, 6, 60) / deviation, np.full(60, 0.2) / deviation
    true = bound_square(law, centre, half)

    class Moved:
        def __getattr__(self, name: str) -> object:
            if name not in {"sin", "cos"} or wrong not in {name, "both"}:
                return getattr(np, name)
            return lambda angle: (
                getattr(np, name)(angle.astype(np.float64)) + sign * 8 * SINGLE
            ).astype(np.float32)

    monkeypatch.setattr(rough_bound, "np", Moved())
    assert (bound_roughly(law, centre, half) >= true - 1e-9).all()


def test_without_its_error_it_would_be_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    law = tilted_law(MECHANISMS[0])
    centre = np.linspace(0.2, 60, 4000) / math.sqrt(law.variance)
    half = np.zeros(4000)
    true = bound_square(law, centre, half)
    monkeypatch.setattr(rough_bound, "_SINGLE", 0.0)
    assert (bound_roughly(law, centre, half) < true - 1e-10).any()


def test_angles_of_many_turns_have_errors_of_their_own() -> None:
    """Beyond 2**53 units an angle says nothing, and neither does the bound."""
    law = tilted_law(MECHANISMS[0])
    centre = np.array([1e16, 1e18, 1e300]) / math.sqrt(law.variance)
    assert bound_roughly(law, centre, np.zeros(3)) == pytest.approx(1.0)


def test_wide_stretches_say_nothing() -> None:
    law = tilted_law(MECHANISMS[0])
    deviation = math.sqrt(law.variance)
    assert bound_roughly(law, np.array([5.0]), np.array([1.0 / deviation]))[0] == 1


def test_large_powers_use_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    law = tilted_law(MECHANISMS[0])
    atoms = law.centred.size
    assert atoms >= MANY_ATOMS
    assert loses_little(1000)
    assert not loses_little(10**9)
    starts, sizes = np.arange(0, 640, 64), np.full(10, 64)
    (few,), (many,) = (bound_powers([law], 0.002, starts, sizes, times) for times in (10, 10**9))
    assert few == pytest.approx(many, abs=1e-3)
    assert (few > many).any()
    monkeypatch.setattr(rough_bound, "MANY_ATOMS", atoms + 1)
    assert bound_powers([law], 0.002, starts, sizes, 10)[0] == pytest.approx(many, abs=1e-9)


def test_errors_of_probabilities_count_sixteen_times() -> None:
    law = tilted_law(MECHANISMS[0])
    centre, half = np.array([1.5]) / math.sqrt(law.variance), np.zeros(1)
    vague = replace(law, probability_error=law.probability_error + 1e-3)
    difference = bound_roughly(vague, centre, half) - bound_roughly(law, centre, half)
    assert difference[0] == pytest.approx(0.016, rel=1e-6)


def test_errors_of_angles_do_not_depend_on_units() -> None:
    law = tilted_law(MECHANISMS[0])
    large = replace(
        law,
        centred=1e4 * law.centred,
        variance=1e8 * law.variance,
        mean_deviation=1e4 * law.mean_deviation,
    )
    turns = np.array([1e11]) / math.sqrt(law.variance)
    angle = 16 * 8 * UNIT * 1e11
    for own, t in ((law, turns), (large, turns / 1e4)):
        without = bound_square(own, t, np.zeros(1))
        assert (bound_roughly(own, t, np.zeros(1)) - without)[0] > 0.5 * angle
    assert bound_roughly(large, turns / 1e4, np.zeros(1))[0] < 0.9


def test_several_laws_are_bounded_one_by_one() -> None:
    laws = [tilted_law(MECHANISMS[0], theta) for theta in (0.1, 0.5)]
    starts, sizes = np.arange(0, 640, 64), np.full(10, 64)
    together = bound_powers(laws, 0.002, starts, sizes, 10)
    alone = [bound_powers([law], 0.002, starts, sizes, 10)[0] for law in laws]
    assert np.array_equal(together, alone)
    assert not np.array_equal(*alone)


def test_a_law_without_deviation_is_bounded_by_1() -> None:
    law = replace(tilted_law(MECHANISMS[0]), variance=0.0, mean_deviation=0.0)
    still = replace(law, centred=0 * law.centred)
    assert bound_roughly(still, np.array([3.0]), np.array([0.5]))[0] == 1
