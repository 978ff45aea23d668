r"""A law of finitely many atoms that stands for a continuous one, up to an error of its transform.

The transform of a law P is :math:`M(z)=E e^{zG}`, :math:`z=\theta+it`. If the atoms are the nodes
of a quadrature, it differs from that of the continuous law by at most a bound that grows with t
and, at t = 0, with theta. Nothing else is known of the two laws: means of single summands may not
be taken from the one for the other. What may be is said in :mod:`shuffledp.divergence.transform`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.decomposition.gparv import Law
from shuffledp.decomposition.law_rows import LawRows

_ROUND_UP = 1 + 1e-6
_MAX_LOG = 700.0
_FAR = 1e90
_CACHED = 1 << 16  # so many exponents are treated at a time, for the processor's cache
_CLEAR = 1e-7  # of the errors of exponents, which are covered by rounding up


@dataclass(frozen=True, eq=False)
class TransformBound:
    r"""Bounds on the error of the transform, for every panel of a quadrature.

    Those of one law, or of several: then all arrays but ``piece`` have one more axis, before that
    of panels, with a row for each law, and so have tilts and times.

    In strip k of ellipse r around panel p the integrand is at most
    :math:`e^{\text{log\_size}+\max(\theta\,\text{top}+|t|\,\text{turn},\,0)}`, the factor of the
    rule and a factor 2 included, so that this bounds the errors of the integrals of
    :math:`e^{zG}c` and of :math:`(e^{zG}-1)c`. What all of a panel can add is a bound as well:
    twice its sum of :math:`w(1+e^{\theta g})` and its error at t = 0.

    Where t is large, the continuous parts of the true law add at most V/t to :math:`|M(z)|`: a
    density h of G, tilted, has at most two extremes on a piece, so that h at the ends and its
    variation add up to at most :math:`4\max h`, and an integration by parts shows the rest. On
    stretches of the panels the tilted density is at most
    :math:`e^{\text{log\_density}+\theta\,\text{largest}}`. Only panels without gaps between them
    may be left of a piece.

    Attributes:
        log_size: one row per strip, then ellipse, then panel.
        top: of the same shape.
        turn: of the same shape.
        points: how many of the first atoms of the law belong to each panel.
        log_density: one row per panel, then stretch.
        largest: of the same shape.
        piece: the number of each panel's piece.
    """

    log_size: FloatArray
    top: FloatArray
    turn: FloatArray
    points: int
    log_density: FloatArray
    largest: FloatArray
    piece: IntArray

    @property
    def nodes(self) -> int:
        """How many of the first atoms are nodes."""
        return self.points * self.piece.size

    def in_units(self, factor: float | FloatArray) -> TransformBound:
        """Return the bounds for ``factor`` times G."""
        wide, flat = _deep(factor, 1), _deep(factor, 2)
        return TransformBound(
            self.log_size,
            wide * self.top,
            wide * self.turn,
            self.points,
            self.log_density - np.log(flat),
            flat * self.largest,
            self.piece,
        )

    def chosen(self, rows: IntArray) -> TransformBound:
        """Return the bounds of some of the laws, by the numbers of their rows."""
        return TransformBound(
            self.log_size[:, :, rows],
            self.top[:, :, rows],
            self.turn[:, :, rows],
            self.points,
            self.log_density[rows],
            self.largest[rows],
            self.piece,
        )

    def of(self, panels: NDArray[np.bool_], log_mass: float) -> TransformBound:
        """Return the bounds for some of the panels, for c divided by their mass."""
        return TransformBound(
            self.log_size[..., panels] - log_mass,
            self.top[..., panels],
            self.turn[..., panels],
            self.points,
            self.log_density[..., panels, :] - log_mass,
            self.largest[..., panels, :],
            self.piece[panels],
        )

    def variation(self, theta: float | FloatArray) -> FloatArray:
        """Return V: the continuous parts add at most V/t to |M(theta + it)|."""
        logs = (self.log_density + _deep(theta, 2) * self.largest).max(axis=-1)
        most = [logs[..., self.piece == number].max(axis=-1) for number in np.unique(self.piece)]
        with np.errstate(over="ignore"):
            total: FloatArray = 4 * np.exp(most).sum(axis=0) * _ROUND_UP
        return total

    @cached_property
    def _least(self) -> FloatArray:
        """What the largest exponent of each ellipse is at least, whatever the tilt."""
        largest: FloatArray = self.log_size.max(axis=0)
        return largest

    def panel_errors(self, theta: float | FloatArray, t: float | FloatArray) -> FloatArray:
        """Bound the error of every panel at theta + it; it grows with t, at t = 0 with theta."""
        return self.panel_errors_beside(self.tilted(theta), t)

    def tilted(self, theta: float | FloatArray) -> FloatArray:
        """Return log_size + theta top, which all t have in common."""
        top, log_size = self.top, self.log_size
        if np.ndim(theta) + 3 > top.ndim:  # several tilts of each law
            top, log_size = top[:, :, None], log_size[:, :, None]
        exponents: FloatArray = _deep(theta, 1) * top
        exponents += log_size
        return exponents

    def panel_errors_beside(self, tilted: FloatArray, t: float | FloatArray) -> FloatArray:
        """Do as ``panel_errors``, given what ``tilted`` returns."""
        if np.ndim(t) + 3 > tilted.ndim:
            tilted = tilted[:, :, None]
        turn, least = self.turn, self._least
        if turn.ndim < tilted.ndim:
            turn, least = turn[:, :, None], least[:, None]
        # Roundings of large parts that cancel are covered by what was added to top and turn.
        turned = tilted + _deep(t, 1) * turn if np.any(t) else tilted
        # Axes this short are reduced faster one by one.
        exponent = np.asarray(reduce(np.minimum, np.maximum(reduce(np.maximum, turned), least)))
        bounds: FloatArray = np.exp(np.minimum(exponent, _MAX_LOG)) * _ROUND_UP
        bounds[exponent >= _MAX_LOG] = np.inf
        return bounds

    def errors_at_0(self, theta: float | FloatArray) -> FloatArray:
        """Bound the error of M(theta), as ``transform_errors_of`` does at t = 0."""
        errors: FloatArray = self.panel_errors(theta, 0.0).sum(axis=-1) * _ROUND_UP
        return errors


def _deep(numbers: float | FloatArray, axes: int) -> FloatArray:
    """Return numbers with more axes behind theirs."""
    found = np.asarray(numbers, dtype=np.float64)
    return found.reshape(found.shape + (1,) * axes)


def transform_errors_of(
    law: Law | LawRows, bound: TransformBound, theta: float | FloatArray, t: FloatArray
) -> FloatArray:
    """Bound the error of M(theta + it) for every t, infinity among them.

    That of exact nodes: the errors of values and weights come on top. For several laws the tilts
    are a vector, and each t is one, a row of a table; so is the answer.
    """
    tilts, nodes = _deep(theta, 1), slice(0, bound.nodes)
    beside = bound.tilted(theta)
    at_0 = bound.panel_errors_beside(beside, 0.0)
    vague = tilts * law.value_error[..., nodes] + law.weight_error[..., nodes]
    with np.errstate(over="ignore"):
        sizes = law.weights[..., nodes] * (1 + np.exp(tilts * law.values[..., nodes]))
    most = 2 * sizes.reshape(*at_0.shape, bound.points).sum(axis=-1) * _ROUND_UP + at_0
    most = np.where(vague.max(axis=-1, keepdims=True) > _CLEAR, np.inf, most)
    step = max(_CACHED // max(bound.log_size.size, 1), 1)
    totals = []
    for some in np.split(t, range(step, len(t), step)):
        with np.errstate(invalid="ignore"):
            panels = np.minimum(bound.panel_errors_beside(beside, some), most)
        totals.append(np.where(_deep(some, 1) == np.inf, most, panels).sum(axis=-1))
    errors: FloatArray = np.concatenate(totals) * _ROUND_UP
    return errors


def part_of(
    bound: TransformBound,
    size: int,
    panels: NDArray[np.bool_],
    log_mass: float,
    error: float,
    atoms: bool,
) -> tuple[NDArray[np.bool_], float, float]:
    """Return which atoms are left of some panels, the factor of their weights, and its error."""
    others = np.full(size - bound.nodes, atoms)
    kept = np.concatenate([np.repeat(panels, bound.points), others])
    return kept, math.exp(-log_mass), error + UNIT * (8 + abs(log_mass))


@dataclass(frozen=True, eq=False)
class SmoothLaw(Law):
    """The nodes of a quadrature, and bounds on the error of their transform.

    Values and weights have errors besides, as those of every law.
    """

    bound: TransformBound

    def scaled(self, factor: float) -> SmoothLaw:
        """Return the law of ``factor`` times the value, factor > 0."""
        law = super().scaled(factor)
        return SmoothLaw(
            law.values, law.weights, law.value_error, law.weight_error, self.bound.in_units(factor)
        )

    @property
    def is_moderate(self) -> bool:
        """Whether no value is so large that the engine would move it."""
        return bool(np.abs(self.values).max() < _FAR)

    @property
    def nodes(self) -> int:
        """How many of the first atoms are nodes; the others are atoms of the true law."""
        return self.bound.nodes

    def given(
        self, panels: NDArray[np.bool_], log_mass: float, error: float, *, atoms: bool
    ) -> SmoothLaw:
        """Return the law given that an output lies in some panels.

        Args:
            panels: which ones; without gaps in a piece.
            log_mass: the logarithm of their probability.
            error: bound on its error.
            atoms: whether all that is not in panels is kept as well.
        """
        kept, scale, vague = part_of(self.bound, self.size, panels, log_mass, error, atoms)
        return SmoothLaw(
            self.values[kept],
            self.weights[kept] * scale,
            self.value_error[kept],
            self.weight_error[kept] + vague,
            self.bound.of(panels, log_mass - error - 1e-9),
        )

    def transform_errors(self, theta: float, t: FloatArray) -> FloatArray:
        """Bound the error of M(theta + it) for every t, infinity among them.

        That of exact nodes: the errors of values and weights come on top.
        """
        return transform_errors_of(self, self.bound, theta, t)
