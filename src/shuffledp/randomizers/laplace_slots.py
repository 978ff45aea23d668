r"""Types of background that stand for all inputs and all pairs of Laplace noise on [0, 1].

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
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition import Decomposition, decompose_segments

#: Inputs that are so near to an end point count as the end point, which is thinned for that: half
#: of epsilon0 times this is what is lost, relatively. Less would take more types.
_REACH, _LARGEST_REACH = 1.5e-3, 0.2
_FLAT = 3.0  # beyond this level types differ little

#: Pairs that are closer are bounded by their level alone.
_CLOSE = 0.05

#: By how much a type may be thinned to cover more inputs, which share of its distance to the end
#: points it may lose by that. Half of what the end points are thinned is always allowed.
_THINNED = np.append(np.geomspace(0.25, 0.01, 15), 0.0)
_SHARE, _LEAST, _FAR_BELOW = 0.35, 0.5, 0.8

#: The tilt at which types are compared, in standard deviations: as for some thousand users.
_TILT = 0.1

#: With more types it takes too long.
_MAX_TYPES = 500

#: Cells of the outputs per unit of length, at least, and per unit of epsilon0.
_CELLS, _FINE_CELLS = 48, 64


@dataclass(frozen=True)
class _Type:
    """Others hold any number within ``width``/2 of ``holder``; the pair is (0, distance).

    Types that are far below the end points may be coarse.
    """

    distance: float
    holder: float
    width: float
    is_coarse: bool = False


@dataclass(frozen=True)
class _Reach:
    """How many inputs a type covers, and whether it is far below the end points."""

    width: float
    is_long: bool


def interval_slots(
    epsilon0: float,
) -> tuple[tuple[Decomposition, ...], tuple[float, ...]] | None:
    """Return the types, and for each the largest epsilon at which its pair reveals anything.

    None if there are too many.

    >>> types, levels = interval_slots(1.0)
    >>> len(types) == len(levels) < 200
    True
    """
    ends = [_Type(1.0, v, 2 * _reach(epsilon0)) for v in (0.0, 1.0)]
    inner = islice(_between(epsilon0), _MAX_TYPES)
    rest = [*inner, *islice(_outside(epsilon0), _MAX_TYPES)]
    if len(rest) >= _MAX_TYPES:
        return None
    types = [
        *(_decompose(epsilon0, kind) for kind in (*ends, *rest)),
        *_close(epsilon0),
    ]
    up = 1 + 8 * UNIT
    levels = [epsilon0 * kind.distance * up for kind in (*ends, *rest)]
    return tuple(types), (*levels, *[epsilon0 * _CLOSE * up] * 2)


def _reach(epsilon0: float) -> float:
    """Return up to where inputs count as an end point."""
    return min(_REACH * max(1.0, 1 / epsilon0, epsilon0 / _FLAT), _LARGEST_REACH)


def _between(epsilon0: float) -> Iterator[_Type]:
    """Cover the inputs between those that count as end points, symmetrically."""
    start, comparison = _reach(epsilon0), _Comparison(epsilon0)
    while start < 0.5:
        reach = comparison.reach(1.0, start)
        stop = min(start + reach.width, 1 - start)
        middle = 0.5 * (start + stop)
        # Ends and middle are rounded, by less than a unit each.
        width = (stop - start) + 8 * UNIT
        yield _Type(1.0, middle, width, reach.is_long)
        if stop < 1 - start:
            yield _Type(1.0, 1 - middle, width, reach.is_long)
        start = stop


def _outside(epsilon0: float) -> Iterator[_Type]:
    """Cover the inputs outside a pair that do not count as end points, until the pair is close."""
    comparison, end = _Comparison(epsilon0), _reach(epsilon0)
    near = end / (1 + end) * (1 - 8 * UNIT)
    while 1 - near > _CLOSE:
        distance = 1 - near
        reach = comparison.reach(distance, -near)
        far = 1 - distance / (1 + reach.width)
        furthest = far * distance / (1 - far)
        # The numbers above have a few roundings each; the distance is rounded up.
        width = (furthest - near) + 64 * UNIT * (1 + furthest)
        middle = 0.5 * (near + furthest)
        for holder in (-middle, distance + middle):
            yield _Type(distance * (1 + 4 * UNIT), holder, width, reach.is_long)
        near = far


class _Comparison:
    """Chooses how far a type reaches; any choice is valid."""

    def __init__(self, epsilon0: float) -> None:
        self.epsilon0 = epsilon0
        end = _Outputs.of(epsilon0, 1.0, 0.0, _CELLS)
        _, log1 = end.logs(end.middle)
        deviation = math.sqrt(float(end.mass @ np.expm1(log1) ** 2))
        self.excess = min(_TILT * deviation, math.expm1(0.5 * epsilon0))  # of e^epsilon over 1
        self.tilt = _TILT / deviation
        self.largest = max(self._spread(1.0, v, np.zeros(1))[0] for v in (0.0, 1.0))

    def reach(self, distance: float, holder: float) -> _Reach:
        """Return how far to go from an input."""
        spread = self._spread(distance, holder, _THINNED)
        own = min(spread[-1], self.largest)
        fits = spread <= own * (self.largest / own) ** _SHARE
        thinned = float(_THINNED[np.argmax(fits)]) if fits.any() else 0.0
        width = 2 * max(thinned / self.epsilon0, _LEAST * _reach(self.epsilon0))
        return _Reach(min(width, 1.0), bool(own < _FAR_BELOW * self.largest))

    def _spread(self, distance: float, holder: float, thinned: FloatArray) -> FloatArray:
        """Return the mean of e^(tilt x) - 1 for thinned laws, x centred."""
        outputs = _Outputs.of(self.epsilon0, distance, holder, _CELLS)
        log0, log1 = outputs.logs(outputs.middle)
        gain = np.expm1(log0) - (1 + self.excess) * np.expm1(log1) - self.excess
        with np.errstate(over="ignore"):
            seen = np.exp(thinned[:, None]) * gain + self.excess
            shown = np.expm1(self.tilt * seen) @ outputs.mass
            spread: FloatArray = np.exp(-thinned) * shown - np.expm1(-thinned) * math.expm1(
                self.tilt * self.excess
            )
        return spread


@dataclass(frozen=True, eq=False)
class _Outputs:
    """Stretches of outputs between the three inputs; the first and the last one are end points.

    All outputs beyond an end have the ratios of the end.
    """

    epsilon0: float
    distance: float
    holder: float
    start: FloatArray
    stop: FloatArray

    @classmethod
    def of(cls, epsilon0: float, distance: float, holder: float, cells: int) -> _Outputs:
        """Cut the outputs between the inputs into stretches of about equal length."""
        inputs = sorted({0.0, distance, holder})
        edges = [
            np.linspace(a, b, 1 + max(1, math.ceil(cells * (b - a)))) for a, b in pairwise(inputs)
        ]
        ends = np.array([inputs[0]]), np.array([inputs[-1]])
        start = np.concatenate([ends[0], *(e[:-1] for e in edges), ends[1]])
        stop = np.concatenate([ends[0], *(e[1:] for e in edges), ends[1]])
        return cls(epsilon0, distance, holder, start, stop)

    @property
    def middle(self) -> FloatArray:
        return 0.5 * (self.start + self.stop)

    def logs(self, outputs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the logs of the ratios of R(0) and R(distance) to R(holder) at some outputs.

        A ratio that does not change along a stretch is the same at all outputs of it: it is
        computed from inputs alone.
        """
        beside = np.where(self.middle < self.holder, -1.0, 1.0)
        found = []
        for x in (0.0, self.distance):
            side = np.where(self.middle < x, -1.0, 1.0)
            same = side * (x - self.holder)
            change = same + (beside - side) * (outputs - self.holder)
            found.append(self.epsilon0 * np.where(side == beside, same, change))
        return found[0], found[1]

    @property
    def mass(self) -> FloatArray:
        """The mass under R(holder)."""
        nearest = np.minimum(np.abs(self.start - self.holder), np.abs(self.stop - self.holder))
        share = -np.expm1(-self.epsilon0 * (self.stop - self.start))
        share[[0, -1]] = 1.0
        mass: FloatArray = 0.5 * np.exp(-self.epsilon0 * nearest) * share
        return mass


def _decompose(epsilon0: float, kind: _Type) -> Decomposition:
    """Return the thinned law of a type.

    The mean of a ratio over a stretch is its value in the middle. Errors in units: an output is off
    by 4 of the largest input, ratios by a few of these times epsilon0.
    """
    cells = _CELLS if kind.is_coarse else max(_CELLS, math.ceil(_FINE_CELLS * epsilon0))
    outputs = _Outputs.of(epsilon0, kind.distance, kind.holder, cells)
    thinned = 0.5 * epsilon0 * kind.width * (1 + 8 * UNIT)
    mean, start, stop = (
        tuple(log + thinned for log in outputs.logs(y))
        for y in (outputs.middle, outputs.start, outputs.stop)
    )
    size = epsilon0 * (2 + abs(kind.holder)) + thinned
    return decompose_segments(
        (mean[0], mean[1]),
        outputs.mass * math.exp(-thinned),
        start=(start[0], start[1]),
        stop=(stop[0], stop[1]),
        residual=-math.expm1(-thinned),
        log_ratio_error=32 * UNIT * size,
        weight_error=UNIT * (32 + 32 * size),
    )


def _close(epsilon0: float) -> Iterator[Decomposition]:
    r"""Yield the two laws of close pairs.

    The mean of r is 1, so r = E has the mass 1/(1 + E); that of R(x') is 1, so the larger quotient,
    :math:`q=e^{\epsilon_0\eta}`, has the share 1/(1 + q) of the mass of R(x). One law gives it to
    r = E, the other one to r = 1/E as far as possible. Every mass takes less than 16 roundings,
    besides those of exponents, which are at most twice epsilon0.
    """
    log_q = epsilon0 * _CLOSE
    small, q = math.exp(-epsilon0), math.exp(log_q)
    few, many = small / (1 + small), 1 / (1 + small)
    at_large = few * small * math.expm1(epsilon0 + log_q) / (1 + q)
    at_small = few * -math.expm1(log_q - epsilon0) / (1 + q)
    up, down = epsilon0 + log_q, epsilon0 - log_q
    laws = (
        {(epsilon0, up): small / (1 + q), (epsilon0, down): at_large, (-epsilon0, -up): many},
        {(epsilon0, up): at_small, (epsilon0, down): small * q / (1 + q), (-epsilon0, -down): many},
    )
    for law in laws:
        log0, log1 = np.array(list(law)).T
        yield Decomposition(
            log_ratio0=log0,
            log_ratio1=log1,
            weight=np.array(list(law.values())),
            residual=0.0,
            log_ratio_error=np.array(8 * UNIT * epsilon0),
            weight_error=np.array(UNIT * (32 + 4 * epsilon0)),
        )
