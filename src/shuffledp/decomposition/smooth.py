r"""Continuous laws whose ratios and densities are exponentials, and their quadrature.

A piece holds outputs :math:`s\in[0,L]` with
:math:`c(s)=e^{\gamma-\frac\alpha2s^2-\beta s}`, :math:`a/c=e^{\lambda_0s}` and
:math:`b/c=e^{\lambda_1s}`, of which one does not depend on s. At every epsilon
:math:`G(s)=e^{\lambda_0s}-e^{\varepsilon+\lambda_1s}` and c are entire functions, so the nodes of
:mod:`shuffledp.decomposition.panels` reproduce :math:`E e^{zG}` up to a proved error. On a
rectangle of real parts x and imaginary parts :math:`|y|\le\eta` around a panel, with
:math:`G=A+Be^{\lambda s}` and :math:`\lambda\eta\le\pi/2`,

.. math:: \mathrm{Re}\,zG\le\theta(A+\max B e^{\lambda x}\cos\lambda y)
          +|t|\,|B|\max e^{\lambda x}\sin\lambda\eta,\qquad z=\theta+it,

.. math:: \log|c|\le\gamma+\tfrac\alpha2\eta^2+\max_x(-\tfrac\alpha2x^2-\beta x) .
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.decomposition.decomposition import Decomposition
from shuffledp.decomposition.panels import POINTS, Panels
from shuffledp.decomposition.smooth_rows import SmoothRows
from shuffledp.decomposition.transform import SmoothLaw, TransformBound

#: Relative error of normal probabilities, and of residuals in units round-off.
TAIL_ERROR, _RESIDUAL_UNITS = 1e-9, 24

_ROUND_UP = 1e-6
_STEEP = 1 / 0.45  # logarithms of ratios within a standard deviation
_STRETCHES = 4  # of a panel, on which the density of G is bounded


@dataclass(frozen=True)
class Piece:
    """Outputs s from 0 on, with c and the logarithms of a/c and b/c.

    Attributes:
        log_scale: gamma.
        curvature: alpha; if it is 0, nothing lies beyond the length of the law.
        slope: beta.
        rate0: the logarithm of a/c at s = 1.
        rate1: the same of b/c; one of the two rates is 0.
    """

    log_scale: float
    curvature: float
    slope: float
    rate0: float
    rate1: float

    def log_density(self, s: FloatArray) -> FloatArray:
        """Return log c(s)."""
        density: FloatArray = self.log_scale - s * (0.5 * self.curvature * s + self.slope)
        return density

    def largest_log_density(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the largest log c(s) between two real s, up to rounding."""
        if self.curvature > 0:
            return self.log_density(np.clip(-self.slope / self.curvature, left, right))
        return self.log_density(left if self.slope >= 0 else right)

    def tail(self, end: float) -> tuple[float, float, float]:
        """Return the masses (a, b, c) beyond ``end``, to 1e-9 of themselves."""
        if self.curvature == 0:
            return 0.0, 0.0, 0.0
        from scipy.special import ndtr

        root = math.sqrt(self.curvature)

        def beyond(rate: float) -> float:
            centre = (self.slope - rate) / root
            scale = math.exp(self.log_scale + centre**2 / 2) * math.sqrt(2 * math.pi) / root
            return scale * float(ndtr(-end * root - centre))

        return beyond(self.rate0), beyond(self.rate1), beyond(0.0)


@dataclass(frozen=True)
class Atom:
    """An output of its own, with exact logarithms and c to 8 units round-off."""

    log_ratio0: float
    log_ratio1: float
    weight: float


@dataclass(frozen=True)
class Smooth:
    """Pieces of one length, atoms and a residual: a continuous law without cells.

    Attributes:
        pieces: all continuous parts.
        length: where they end.
        atoms: outputs with a probability.
        residual: mass of the left-over laws, to 24 units round-off.
        panel: the widest panel worth trying.
    """

    pieces: tuple[Piece, ...]
    length: float
    atoms: tuple[Atom, ...]
    residual: float
    panel: float

    @property
    def is_bounded(self) -> bool:
        """Whether nothing lies beyond the length."""
        return all(piece.curvature == 0 for piece in self.pieces)

    @property
    def is_steep(self) -> bool:
        """Whether ratios grow so quickly that cells do better than nodes, mostly."""
        return not self.is_bounded and any(abs(p.rate0 + p.rate1) > _STEEP for p in self.pieces)

    @property
    def max_epsilon(self) -> float:
        """An epsilon at which the bound is 0, the smallest up to rounding; it may be infinite."""
        if not self.is_bounded:
            return math.inf
        ends = [(p.rate0 * self.length, p.rate1 * self.length) for p in self.pieces]
        ends += [(atom.log_ratio0, atom.log_ratio1) for atom in self.atoms]
        # One of the two is 0; a product with a rate of 1 is exact.
        exact = all(abs(p.rate0 + p.rate1) == 1 for p in self.pieces)
        largest = max(0.0, *(first - second for first, second in ends))
        return largest if exact else math.nextafter(largest, math.inf)

    @property
    def kind(self) -> tuple[tuple[bool, ...], ...]:
        """What laws with other parameters share: which ratios grow and which fall in a piece."""
        return tuple((p.rate0 > 0, p.rate0 < 0, p.rate1 > 0, p.rate1 < 0) for p in self.pieces)

    def exposed(self, end: float) -> float:
        """Return the masses a plus b beyond ``end``, rounded up."""
        tails = [piece.tail(end) for piece in self.pieces]
        return sum(a + b for a, b, _ in tails) * (1 + 2 * TAIL_ERROR)

    def swap(self) -> Smooth:
        """Return the law of the reversed pair."""
        pieces = tuple(
            Piece(p.log_scale, p.curvature, p.slope, p.rate1, p.rate0) for p in self.pieces
        )
        atoms = tuple(Atom(x.log_ratio1, x.log_ratio0, x.weight) for x in self.atoms)
        return Smooth(pieces, self.length, atoms, self.residual, self.panel)

    def quadrature(self, end: float, width: float) -> Quadrature:
        """Return the rule on panels up to ``end``, at most so wide."""
        return self.rule(Panels.up_to(end, width).edges.tolist())

    def rule(self, edges: Sequence[float]) -> Quadrature:
        """Return the rule on panels between neighbouring edges, from 0 on."""
        return _rule(self, tuple(edges))

    @cached_property
    def sketch(self) -> Decomposition:
        """The nodes of all that is not beyond doubles: for estimates."""
        return self.quadrature(self.length, self.panel).nodes


@lru_cache(maxsize=32)
def _rule(smooth: Smooth, edges: tuple[float, ...]) -> Quadrature:
    return Quadrature(smooth, Panels(np.array(edges)))


class Quadrature:
    """Nodes that stand for a continuous law up to some end, what lies beyond put to G = 0.

    Attributes:
        nodes: the decomposition into nodes; tails are exposed.
        exposed: masses a plus b of the tails, rounded up: G that is put to 0 has positive parts of
            mean at most a, and negative ones of mean at most b times e^epsilon.
    """

    def __init__(self, smooth: Smooth, panels: Panels) -> None:
        self.pieces, self.panels = smooth.pieces, panels
        end = float(panels.edges[-1])
        self.exposed = smooth.exposed(end)
        self.nodes = _nodes(smooth, panels, [piece.tail(end) for piece in smooth.pieces])
        sizes = [self._bound_density(piece) for piece in self.pieces]
        self._log_size = np.concatenate(sizes, axis=-1)
        self._turns = [self._bound_exponential(piece) for piece in self.pieces]
        self._densities = [self._bound_variation(piece) for piece in self.pieces]

    def _bound_density(self, piece: Piece) -> FloatArray:
        """Return the logarithm of the largest |c| times the factor of the rule in all strips."""
        strips = self.panels.strips
        size = piece.largest_log_density(strips.left, strips.right)
        size += 0.5 * piece.curvature * strips.height**2
        # Exponents of at most a few thousand: 1e-6 covers their rounding. The factor 2 is for
        # |e^w - 1|, which is at most 2 e^max(Re w, 0).
        bound: FloatArray = size + strips.log_factor[..., None] + math.log(2) + _ROUND_UP
        rate = abs(piece.rate0 + piece.rate1)
        return _by_strip(np.where(rate * strips.height <= math.pi / 2, bound, np.inf))

    def _bound_exponential(self, piece: Piece) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the least and largest real part of e^(rate s), and the largest imaginary one."""
        strips = self.panels.strips
        rate = piece.rate0 + piece.rate1
        ends = np.exp(rate * strips.left), np.exp(rate * strips.right)
        angle = np.minimum(abs(rate) * strips.height, math.pi / 2)
        largest = np.maximum(*ends)
        least = np.minimum(*ends) * np.cos(angle)
        return _by_strip(least), _by_strip(largest), _by_strip(largest * np.sin(angle))

    def _bound_variation(self, piece: Piece) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return, on stretches, the largest log density of e^(rate s), and its least and largest.

        The density is that of s over the derivative, which is the rate times e^(rate s).
        """
        left, right = self.panels.stretches(_STRETCHES)
        rate = piece.rate0 + piece.rate1
        steep = replace(piece, slope=piece.slope + rate)
        density = steep.largest_log_density(left, right) - math.log(abs(rate)) + _ROUND_UP
        ends = np.exp(rate * left), np.exp(rate * right)
        return density, np.minimum(*ends), np.maximum(*ends)

    def panel_numbers(self, piece: int) -> IntArray:
        """Return the number of every panel of one piece, -1 for those of others."""
        numbers = np.full(self.panels.count * len(self.pieces), -1)
        start = piece * self.panels.count
        numbers[start : start + self.panels.count] = np.arange(self.panels.count)
        return numbers

    def law(self, epsilon: float) -> SmoothLaw:
        """Return the law of G at the nodes with the error of its transform."""
        law, bound = self.nodes.at(epsilon).lower, self._bound(np.exp(epsilon))
        values, error = _away_from_0(law.values, law.value_error, bound.nodes)
        return SmoothLaw(values, law.weights, error, law.weight_error, bound)

    def rows(self, epsilons: FloatArray) -> SmoothRows:
        """Return the laws at several epsilons, one row for each, as :meth:`law` does one by one."""
        laws, bound = self.nodes.rows_at(epsilons), self._bound(np.exp(epsilons))
        values, error = _away_from_0(laws.values, laws.value_error, bound.nodes)
        return SmoothRows(values, laws.weights, error, laws.weight_error, bound)

    def _bound(self, growth: FloatArray) -> TransformBound:
        """Return the bounds on errors of the transform, given one or several e^epsilon."""
        tops, turns, densities, largests = [], [], [], []
        # One axis for panels behind that of growth, and one for stretches.
        wide, flat = growth[..., None], growth[..., None, None]
        of_laws = (slice(None), slice(None), *([None] * growth.ndim))
        for piece, exponentials, (density, lowest, highest) in zip(
            self.pieces, self._turns, self._densities, strict=True
        ):
            least, largest, turn = (field[of_laws] for field in exponentials)
            # G = e^(rate s) - e^epsilon or 1 - e^(epsilon + rate s).
            gains = piece.rate1 == 0
            top = largest - wide if gains else 1 - wide * least
            # Cancellation of the two is covered by 1e-12 of both.
            tops.append(top + 1e-12 * (wide + 1) * (largest + 1))
            turns.append((np.ones_like(wide) if gains else wide) * turn * (1 + 1e-12))
            densities.append(density - np.log(np.ones_like(flat) if gains else flat))
            top = highest - flat if gains else 1 - flat * lowest
            largests.append(top + 1e-12 * (flat + 1) * (highest + 1))
        top = np.concatenate(tops, axis=-1)
        return TransformBound(
            log_size=np.broadcast_to(self._log_size[of_laws], top.shape),
            top=top,
            turn=np.concatenate(turns, axis=-1),
            points=POINTS,
            log_density=np.concatenate(densities, axis=-2),
            largest=np.concatenate(largests, axis=-2),
            piece=np.repeat(np.arange(len(self.pieces)), self.panels.count),
        )


def _by_strip(field: FloatArray) -> FloatArray:
    """Return one row per strip, then ellipse, then panel, the axis along which to be quick."""
    return np.ascontiguousarray(field.T)


def _away_from_0(
    values: FloatArray, error: FloatArray, nodes: int
) -> tuple[FloatArray, FloatArray]:
    """Move nodes whose value came out as 0 by their errors: the mass at 0 is that of atoms."""
    zero = values == 0
    zero[..., nodes:] = False
    if not zero.any():
        return values, error
    return np.where(zero, error, values), np.where(zero, 2 * error, error)


def _nodes(
    smooth: Smooth, panels: Panels, tails: Sequence[tuple[float, float, float]]
) -> Decomposition:
    """Return the decomposition whose components are the nodes, then the atoms."""
    s, end = panels.nodes, panels.ends
    log0, log1, weight, log_error, weight_error = [], [], [], [], []
    for piece in smooth.pieces:
        log0.append(piece.rate0 * s)
        log1.append(piece.rate1 * s)
        weight.append(panels.weights * np.exp(piece.log_density(s)))
        # A node is off by 4 units of the end of its panel, the rates by one, the product by one.
        log_error.append(8 * UNIT * (abs(piece.rate0) + abs(piece.rate1)) * end)
        exponent = abs(piece.log_scale) + end * (piece.curvature * end + abs(piece.slope))
        # The exponential and the weight of the rule have 8 units, the exponent some of its parts.
        weight_error.append(UNIT * (16 + 16 * exponent))
    atoms = smooth.atoms
    a, b, c = np.array([] if smooth.is_bounded else tails).reshape(-1, 3).T
    given = float(c.sum())
    residual_error = _RESIDUAL_UNITS * UNIT
    if given > 0:
        residual_error = (smooth.residual * residual_error + given * TAIL_ERROR) / (
            smooth.residual + given
        )
    return Decomposition(
        log_ratio0=np.concatenate([*log0, [atom.log_ratio0 for atom in atoms]]),
        log_ratio1=np.concatenate([*log1, [atom.log_ratio1 for atom in atoms]]),
        weight=np.concatenate([*weight, [atom.weight for atom in atoms]]),
        residual=smooth.residual + given,
        log_ratio_error=np.concatenate([*log_error, np.zeros(len(atoms))]),
        weight_error=np.concatenate([*weight_error, np.full(len(atoms), 8 * UNIT)]),
        residual_error=residual_error + 4 * UNIT,
        singular0=np.concatenate([a, np.zeros_like(a)]),
        singular1=np.concatenate([np.zeros_like(b), b]),
        singular_error=TAIL_ERROR,
    )
