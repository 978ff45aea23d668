"""Rounded noise: every report has exactly the probability of its cell."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from fit import assert_fits, assert_follows
from numpy.typing import NDArray
from scipy.special import ndtr

from shuffledp.basics.arrays import FloatArray, IntArray
from shuffledp.mechanisms.sampling import Bits, Probability
from shuffledp.mechanisms.sampling import geometric as geometric_module
from shuffledp.mechanisms.sampling import rounded_noise as module
from shuffledp.mechanisms.sampling.rounded_noise import rounded_laplace, rounded_normal

mp = mpmath.MPContext()
mp.dps = 40

Draw = Callable[[Bits, FloatArray, Fraction], IntArray]
Cell = Callable[[int, float, Fraction], mpmath.mpf]

#: The probability that a proposal for normal noise is kept.
KEPT = mp.exp(mp.mpf(-1) / 2) * mp.sqrt(mp.pi / 2)


def laplace_cell(k: int, x: float, rate: Fraction) -> mpmath.mpf:
    """The probability that x plus Laplace noise is nearest to k."""
    return _cell(k, x, lambda z: mp.exp(-abs(z) * rate.numerator / rate.denominator) / 2)


def normal_cell(k: int, x: float, sigma: Fraction) -> mpmath.mpf:
    return _cell(
        k, x, lambda z: mp.erfc(abs(z) * sigma.denominator / sigma.numerator / mp.sqrt(2)) / 2
    )


def _cell(k: int, x: float, tail: Callable[[mpmath.mpf], mpmath.mpf]) -> mpmath.mpf:
    low, high = (mp.mpf(k) + side * mp.mpf(1) / 2 - mp.mpf(x) for side in (-1, 1))
    if low < 0 < high:
        return 1 - tail(low) - tail(high)
    return abs(tail(low) - tail(high))


# -- all decisions that one report can take -------------------------------------------------------


class AskedError(Exception):
    """A decision that the script does not know."""

    def __init__(self, probability: Probability) -> None:
        self.probability = probability


class RejectedError(Exception):
    """The sampler proposes again."""


class Script(Bits):
    """Decisions written in advance; U has the digits of a word and then those of another one."""

    def __init__(self, decisions: tuple[bool, ...], word: int, rest: int) -> None:
        super().__init__(None)
        self.decisions = list(reversed(decisions))
        self.words_left = [rest] * 40 + [word]
        self.proposals = 0

    def words(self, size: int) -> NDArray[np.uint64]:
        assert size == 1
        return np.array([self.words_left.pop()], dtype=np.uint64)


def written(bits: Bits, probability: Probability, size: int) -> NDArray[np.bool_]:
    """Stand in for ``decide``."""
    assert isinstance(bits, Script)
    if size == 0:
        return np.zeros(0, dtype=np.bool_)
    assert size == 1
    if not bits.decisions:
        raise AskedError(probability)
    return np.array([bits.decisions.pop()])


def once(bits: Bits, rate: Fraction, size: int) -> IntArray:
    assert isinstance(bits, Script)
    bits.proposals += 1
    if bits.proposals > 1:
        raise RejectedError
    return geometric_module.geometric(bits, rate, size)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometric_module, "decide", written)
    monkeypatch.setattr(module, "decide", written)
    monkeypatch.setattr(module, "geometric", once)


def enumerate_reports(
    draw: Draw, x: float, parameter: Fraction, least: float
) -> tuple[dict[int, mpmath.mpf], mpmath.mpf]:
    """Return the mass of each report of one proposal, and the mass that is left open.

    For given decisions what happens changes twice as U grows, from keeping over asking for more to
    rejecting: what happens at both ends of an interval happens within.
    """

    def event(decisions: tuple[bool, ...], word: int, rest: int) -> object:
        try:
            return int(draw(Script(decisions, word, rest), np.array([x]), parameter)[0])
        except AskedError as asked:
            return asked.probability
        except RejectedError:
            return None

    found: dict[int, mpmath.mpf] = {}
    missing = mp.mpf(0)
    todo: list[tuple[tuple[bool, ...], mpmath.mpf, int, int]] = [((), mp.mpf(1), 0, (1 << 64) - 1)]
    while todo:
        decisions, mass, low, high = todo.pop()
        weight = mass * (high - low + 1) / mp.mpf(2) ** 64
        if weight < least:
            missing += weight
            continue
        happens = event(decisions, low, 0)
        if happens != event(decisions, high, (1 << 64) - 1):
            middle = (low + high) // 2
            todo += [(decisions, mass, low, middle), (decisions, mass, middle + 1, high)]
        elif isinstance(happens, Probability):
            p = mp.mpf(happens.scaled(120)) / mp.mpf(2) ** 120
            todo += [((*decisions, True), mass * p, low, high)]
            todo += [((*decisions, False), mass * (1 - p), low, high)]
        elif isinstance(happens, int):
            found[happens] = found.get(happens, mp.mpf(0)) + weight
    return found, missing


def assert_encloses(draw: Draw, cell: Cell, x: float, parameter: Fraction, least: float) -> None:
    """What is known after some decisions bounds every probability from both sides."""
    found, missing = enumerate_reports(draw, x, parameter, least)
    kept = KEPT if draw is rounded_normal else 1
    assert missing < 6 * least**0.5
    for k in range(-40, 40):
        exact = kept * cell(k, x, parameter)
        assert found.get(k, 0) <= exact + mp.mpf(10) ** -30
        assert exact <= found.get(k, 0) + missing


@pytest.mark.parametrize("rate", [Fraction(1, 3), Fraction(1.7)], ids=str)
@pytest.mark.parametrize("x", [0.0, 0.5, 2.3, 1 - 2.0**-53])
def test_decisions_of_laplace_make_the_exact_law(scripted: None, rate: Fraction, x: float) -> None:
    assert_encloses(rounded_laplace, laplace_cell, x, rate, 1e-6)


@pytest.mark.parametrize("least", [1e-4, pytest.param(2e-6, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("sigma", [Fraction(1, 10), Fraction(1, 3), Fraction(1.7)], ids=str)
@pytest.mark.parametrize("x", [0.0, 2.3])
def test_decisions_of_normal_make_the_exact_law(
    scripted: None, sigma: Fraction, x: float, least: float
) -> None:
    assert_encloses(rounded_normal, normal_cell, x, sigma, least)


@pytest.mark.parametrize("above", [-1, 0, 1])
@pytest.mark.parametrize("end", [0, 1])
def test_where_the_digits_of_u_do_not_decide_more_are_drawn(
    scripted: None, end: int, above: int
) -> None:
    """For G = 0 the probability p grows with F; below its least value U is kept, above all not."""
    sigma = 3
    power = mp.exp(-((mp.mpf(end) / sigma - 1) ** 2) / 2)
    word = int(mp.floor(power * 2**64)) + above
    script = Script((False,) * 4, word, 0)  # three for G, one for the sign
    before = len(script.words_left)
    with pytest.raises((AskedError, RejectedError)) as stop:
        rounded_normal(script, np.array([0.0]), Fraction(sigma))
    more = before - len(script.words_left) - 1
    kept = end == 0 and above < 0
    rejected = end == 1 and above > 0
    assert more == int(not kept and not rejected)
    assert (stop.type is RejectedError) == rejected


# -- many reports ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "cell", "parameter"),
    [
        (rounded_laplace, laplace_cell, Fraction(1, 7)),
        (rounded_laplace, laplace_cell, Fraction(5)),
        (rounded_normal, normal_cell, Fraction(14.3)),
        (rounded_normal, normal_cell, Fraction(1000, 3)),
    ],
)
@pytest.mark.parametrize("x", [0.0, 0.3, 6.9])
def test_counts_fit_the_exact_law(draw: Draw, cell: Cell, parameter: Fraction, x: float) -> None:
    size, reach = 20_000, 40
    drawn = draw(Bits(np.random.default_rng(1)), np.full(size, x), parameter)
    law = np.array([float(cell(k, x, parameter)) for k in range(-reach, reach)])
    inside = drawn[(drawn >= -reach) & (drawn < reach)]
    counts = np.bincount(inside + reach, minlength=law.size)
    assert_fits(np.append(counts, size - inside.size), np.append(law, max(1 - law.sum(), 0.0)))


@pytest.mark.parametrize(
    ("draw", "parameter", "cdf"),
    [
        (
            rounded_laplace,
            Fraction(1, 2**20),
            lambda z: np.where(z < 0, np.exp(z) / 2, 1 - np.exp(-z) / 2),
        ),
        (rounded_normal, Fraction(2**20), ndtr),
    ],
)
def test_fine_grids_look_like_ideal_noise(
    draw: Draw, parameter: Fraction, cdf: Callable[[FloatArray], FloatArray]
) -> None:
    places = np.random.default_rng(1).random(100_000) * 2**20
    drawn = draw(Bits(np.random.default_rng(2)), places, parameter)
    assert_follows((drawn - places) / 2**20, cdf)


class Digest(Bits):
    """The same bits on every machine."""

    def __init__(self) -> None:
        super().__init__(None)
        self._count = 0

    def words(self, size: int) -> NDArray[np.uint64]:
        blocks = [hashlib.sha256(str(self._count + i).encode()).digest()[:8] for i in range(size)]
        self._count += size
        return np.frombuffer(bytearray(b"".join(blocks)), dtype="<u8")


@pytest.mark.parametrize(
    ("draw", "parameter", "reports"),
    [
        (rounded_laplace, Fraction(1e-5), [-50478, -189149, -18578, 22825, 1186811, 11365]),
        (rounded_normal, Fraction(1e5) / 3, [9880, 42311, -7240, -18494, 981431, -28211]),
    ],
)
def test_the_same_bits_give_the_same_reports_everywhere(
    draw: Draw, parameter: Fraction, reports: list[int]
) -> None:
    places = np.array([0.0, 1.0, 0.1, 12345.678, 2.0**20, 2.0**-60])
    assert draw(Digest(), places, parameter).tolist() == reports


def test_nothing_is_drawn_for_nobody() -> None:
    for draw in (rounded_laplace, rounded_normal):
        assert draw(Bits(None), np.empty(0), Fraction(3)).tolist() == []
