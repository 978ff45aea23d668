r"""Types of background for Laplace noise on [0, 1], in balls: for all pairs and all inputs.

By reflection x < x'. Laplace noise is self-decomposable: for s <= 1 further noise turns R(w) into
R(sw + b) for all w at once: the law of (R(x)/R(v), R(x')/R(v)) under R(v) is dominated in convex
order by that of the inputs before scaling. Hence three families stand for all:

- v between x and x': the pair (0, 1), others hold w in [0, 1];
- v < x: the pair :math:`(\xi,1)`, others hold 0, with :math:`1-\xi=(x'-x)/(x'-v)\ge x'-x`;
- v > x': its mirror image, the pair :math:`(0,1-\xi)`, others hold 1.

Families become finitely many types by thinning. If :math:`h\le R(v)`, then g/R(v) is the
conditional expectation of a variable that is g/h with the probability h/R(v) of the output and else
0. All v in [v1, v2] have :math:`h=\min(R(v_1),R(v_2))=e^{-\epsilon_0(v_2-v_1)/2}R((v_1+v_2)/2)`, a
thinned law of the middle. For :math:`\xi` in [a, b] scaling turns the pair into (0, 1 - a) and
the others' input into one in [-p, -a], p = b(1 - a)/(1 - b).

Pairs closer than some :math:`\eta` have :math:`r=R(x)/R(v)` in :math:`[1/E,E]` and
:math:`R(x')/R(x)` in :math:`[e^{-\epsilon_0\eta},e^{\epsilon_0\eta}]`; all mass is spread to the
four corners of this region. Laws there with the mean (1, 1) are mixtures of two.

Outputs are cut into cells, whose mass is split between their ends. The ratios of a cell whose ends
are h apart change by :math:`e^{\pm2\epsilon_0h}` or not at all, against the direction in which R(v)
changes by :math:`e^{\pm\epsilon_0h}`; so of its mass the share :math:`1/(1+e^{-\epsilon_0h})` goes
to the end that is nearer to v. Which cells and which types is a matter of accuracy alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, pairwise

import numpy as np
from flint import arb, fmpq

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.balls import ball, precision, upper_double
from shuffledp.decomposition.decomposition import Component, Decomposition

#: Inputs that are so near to an end point count as the end point, which is thinned for that: half
#: of epsilon0 times this is what is lost, relatively. Less would take more types.
_NEAR_END, _LARGEST_NEAR_END = 1.5e-3, 0.2
_FLAT = 3.0  # beyond this level types differ little

#: Pairs that are closer are bounded by their level alone.
_CLOSE = Fraction(1, 20)

#: By how much a type may be thinned to cover more inputs, which share of its distance to the end
#: points it may lose by that, less of it beyond the level at which types differ little. Half of
#: what the end points are thinned is always allowed.
_THINNED = np.append(np.geomspace(0.25, 0.01, 15), 0.0)
_SHARE, _SHARE_BEYOND, _LEAST, _FAR_BELOW = 0.35, 0.2, 0.5, 0.8

#: The tilt at which types are compared, in standard deviations: as for some thousand users.
_TILT = 0.1

#: With more types it takes too long.
_MAX_TYPES = 600

#: Cells of the outputs per unit of length, and per unit of epsilon0; of types far below less.
_CELLS, _CELLS_PER_LEVEL = 48, 32
_COARSE_CELLS, _COARSE_CELLS_PER_LEVEL = 12, 8


@dataclass(frozen=True)
class _Type:
    """Others hold any number within ``width``/2 of ``holder``; the pair is (0, distance)."""

    distance: Fraction
    holder: Fraction
    width: Fraction
    is_far_below: bool = False


def interval_types(
    epsilon0: float,
) -> tuple[tuple[Decomposition, ...], tuple[float, ...]] | None:
    """Return the types, and for each the largest epsilon at which its pair reveals anything.

    None if there are too many.

    >>> types, levels = interval_types(1.0)
    >>> len(types) == len(levels) < 200
    True
    """
    near, comparison = Fraction(_near_end(epsilon0)), _Comparison(epsilon0)
    ends = [_Type(Fraction(1), Fraction(v), 2 * near) for v in (0, 1)]
    inner = islice(_between(near, comparison), _MAX_TYPES)
    rest = [*inner, *islice(_outside(near, comparison), _MAX_TYPES)]
    if len(rest) >= _MAX_TYPES:
        return None
    rate, kinds = Fraction(epsilon0), (*ends, *rest)
    with precision():
        types = [*(_decompose(rate, kind) for kind in kinds), *_close(rate)]
        levels = [upper_double(ball(rate * kind.distance)) for kind in kinds]
        return tuple(types), (*levels, *[upper_double(ball(rate * _CLOSE))] * 2)


def _near_end(epsilon0: float) -> float:
    """Return up to where inputs count as an end point."""
    return min(_NEAR_END * max(1.0, 1 / epsilon0, epsilon0 / _FLAT), _LARGEST_NEAR_END)


def _between(near: Fraction, comparison: _Comparison) -> Iterator[_Type]:
    """Cover the inputs between those that count as end points, symmetrically."""
    start = near
    while start < Fraction(1, 2):
        width, is_far_below = comparison.reach(1.0, float(start))
        stop = min(start + Fraction(width), 1 - start)
        middle = (start + stop) / 2
        yield _Type(Fraction(1), middle, stop - start, is_far_below)
        if stop < 1 - start:
            yield _Type(Fraction(1), 1 - middle, stop - start, is_far_below)
        start = stop


def _outside(near: Fraction, comparison: _Comparison) -> Iterator[_Type]:
    """Cover the inputs outside a pair that do not count as end points, until the pair is close."""
    start = near / (1 + near)  # with p = near for a = 0
    while 1 - start > _CLOSE:
        distance = 1 - start
        width, is_far_below = comparison.reach(float(distance), -float(start))
        stop = Fraction(float(1 - distance / (1 + Fraction(width))))
        furthest = stop * distance / (1 - stop)
        middle = (start + furthest) / 2
        for holder in (-middle, distance + middle):
            yield _Type(distance, holder, furthest - start, is_far_below)
        start = stop


class _Comparison:
    """Chooses how far a type reaches, in doubles; any choice is valid."""

    def __init__(self, epsilon0: float) -> None:
        self.epsilon0 = epsilon0
        _, log1, mass = self._outputs(1.0, 0.0)
        deviation = math.sqrt(float(mass @ np.expm1(log1) ** 2))
        self.excess = min(_TILT * deviation, math.expm1(0.5 * epsilon0))  # of e^epsilon over 1
        self.tilt = _TILT / deviation
        self.largest = max(self._spread(1.0, v, np.zeros(1))[0] for v in (0.0, 1.0))

    def reach(self, distance: float, holder: float) -> tuple[float, bool]:
        """Return how far to go from an input, and whether it is far below the end points."""
        spread = self._spread(distance, holder, _THINNED)
        fitting = min(spread[-1], self.largest)
        share = _SHARE if self.epsilon0 <= _FLAT else _SHARE_BEYOND
        fits = spread <= fitting * (self.largest / fitting) ** share
        thinned = float(_THINNED[np.argmax(fits)]) if fits.any() else 0.0
        width = 2 * max(thinned / self.epsilon0, _LEAST * _near_end(self.epsilon0))
        return min(width, 1.0), bool(fitting < _FAR_BELOW * self.largest)

    def _spread(self, distance: float, holder: float, thinned: FloatArray) -> FloatArray:
        """Return the mean of e^(tilt x) - 1 for thinned laws, x centred."""
        log0, log1, mass = self._outputs(distance, holder)
        gain = np.expm1(log0) - (1 + self.excess) * np.expm1(log1) - self.excess
        with np.errstate(over="ignore"):
            seen = np.exp(thinned[:, None]) * gain + self.excess
            shown = np.expm1(self.tilt * seen) @ mass
            spread: FloatArray = np.exp(-thinned) * shown - np.expm1(-thinned) * math.expm1(
                self.tilt * self.excess
            )
        return spread

    def _outputs(self, distance: float, holder: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the logs of both ratios in the middle of cells, and the masses of R(holder)."""
        inputs = sorted({0.0, distance, holder})
        edges = [
            np.linspace(a, b, 1 + max(1, math.ceil(_CELLS * (b - a)))) for a, b in pairwise(inputs)
        ]
        start = np.concatenate([[inputs[0]], *(part[:-1] for part in edges), [inputs[-1]]])
        stop = np.concatenate([[inputs[0]], *(part[1:] for part in edges), [inputs[-1]]])
        middle, far = (start + stop) / 2, np.minimum(abs(start - holder), abs(stop - holder))
        share = -np.expm1(-self.epsilon0 * (stop - start))
        share[[0, -1]] = 1.0  # all that is beyond an end
        log0, log1 = (
            self.epsilon0 * (np.abs(middle - holder) - np.abs(middle - x)) for x in (0.0, distance)
        )
        return log0, log1, 0.5 * np.exp(-self.epsilon0 * far) * share


def _decompose(rate: Fraction, kind: _Type) -> Decomposition:
    """Return the thinned law of a type, its cells split between their ends."""
    few = (_COARSE_CELLS, _COARSE_CELLS_PER_LEVEL)
    least, per_level = few if kind.is_far_below else (_CELLS, _CELLS_PER_LEVEL)
    cells = max(least, math.ceil(per_level * rate))
    kappa, distance, holder = (
        fmpq(*x.as_integer_ratio()) for x in (rate, kind.distance, kind.holder)
    )
    outputs, shrunk = [], []
    for low, high in pairwise(sorted({fmpq(0), distance, holder})):
        count = max(1, math.ceil(cells * float(high - low)))
        step = (high - low) / count
        outputs += [low + i * step for i in range(count)]
        shrunk += [arb(-kappa * step).exp()] * count
    outputs.append(max(distance, holder))
    far = [abs(y - holder) for y in outputs]
    beyond = [arb(-kappa * x).exp() / 2 for x in far]
    weights = [beyond[0], *[arb(0)] * (len(outputs) - 2), beyond[-1]]
    for i, less in enumerate(shrunk):
        # Of the mass between two outputs the share 1/(1 + less) goes to the nearer one.
        nearer = i if outputs[i] >= holder else i + 1
        mass = beyond[nearer] * (1 - less) / (1 + less)
        weights[nearer] += mass
        weights[2 * i + 1 - nearer] += mass * less
    thinned = ball(rate * kind.width / 2)
    shrink = (-thinned).exp()
    components = []
    for y, x, weight in zip(outputs, far, weights, strict=True):
        first, second = kappa * (x - abs(y)), kappa * (x - abs(y - distance))
        log0 = arb(first) + thinned
        log1 = log0 if first == second else arb(second) + thinned
        components.append(Component(log0, log1, weight * shrink))
    return Decomposition(tuple(components), 1 - shrink)


def _close(rate: Fraction) -> Iterator[Decomposition]:
    r"""Yield the two laws of close pairs.

    The mean of r is 1, so r = E has the mass 1/(1 + E); that of R(x') is 1, so the larger quotient,
    :math:`q=e^{\epsilon_0\eta}`, has the share 1/(1 + q) of the mass of R(x). One law gives it to
    r = E, the other one to r = 1/E as far as possible.
    """
    level, log_q = ball(rate), ball(rate * _CLOSE)
    small, q = (-level).exp(), log_q.exp()
    many = 1 / (1 + small)
    few = small * many
    at_large = few * small * (level + log_q).expm1() / (1 + q)
    at_small = -few * (log_q - level).expm1() / (1 + q)
    up, down = level + log_q, level - log_q
    for laws in (
        [(level, up, small / (1 + q)), (level, down, at_large), (-level, -up, many)],
        [(level, up, at_small), (level, down, small * q / (1 + q)), (-level, -down, many)],
    ):
        yield Decomposition(tuple(Component(*law) for law in laws), arb(0))
