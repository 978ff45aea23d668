"""Several continuous laws with equally many nodes and atoms, one in each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.decomposition.law_rows import LawRows
from shuffledp.decomposition.transform import TransformBound, part_of, transform_errors_of


@dataclass(frozen=True, eq=False)
class SmoothRows(LawRows):
    """The fields of :class:`SmoothLaw`, with one row per law."""

    bound: TransformBound

    @classmethod
    def together(cls, parts: Sequence[SmoothRows]) -> SmoothRows:
        """Return all rows of several parts, one after the other.

        Raises:
            ValueError: if panels belong to other pieces in one of them than in another.
        """
        laws = LawRows.joined(list(parts))
        first = parts[0].bound
        for part in parts:
            if not np.array_equal(part.bound.piece, first.piece):
                raise ValueError("laws of one table must have the same panels")
        bounds = [part.bound for part in parts]
        bound = replace(
            first,
            log_size=np.concatenate([own.log_size for own in bounds], axis=2),
            top=np.concatenate([own.top for own in bounds], axis=2),
            turn=np.concatenate([own.turn for own in bounds], axis=2),
            log_density=np.concatenate([own.log_density for own in bounds]),
            largest=np.concatenate([own.largest for own in bounds]),
        )
        return cls(laws.values, laws.weights, laws.value_error, laws.weight_error, bound)

    @property
    def nodes(self) -> int:
        """How many of the first atoms are nodes; the others are atoms of the true laws."""
        return self.bound.nodes

    def chosen(self, rows: IntArray) -> SmoothRows:
        """Return some of the rows, by their numbers."""
        laws = super().chosen(rows)
        return SmoothRows(
            laws.values, laws.weights, laws.value_error, laws.weight_error, self.bound.chosen(rows)
        )

    def scaled(self, factors: FloatArray) -> SmoothRows:
        """Return the laws of the factor of each row times its value, factors > 0."""
        laws = super().scaled(factors)
        return SmoothRows(
            laws.values,
            laws.weights,
            laws.value_error,
            laws.weight_error,
            self.bound.in_units(factors),
        )

    def given(
        self, panels: NDArray[np.bool_], log_mass: float, error: float, *, atoms: bool
    ) -> SmoothRows:
        """Return the laws given that outputs lie in some panels; see ``SmoothLaw.given``."""
        kept, scale, vague = part_of(self.bound, self.size, panels, log_mass, error, atoms)
        return SmoothRows(
            self.values[:, kept],
            self.weights[:, kept] * scale,
            self.value_error[:, kept],
            self.weight_error[:, kept] + vague,
            self.bound.of(panels, log_mass - error - 1e-9),
        )

    def transform_errors(self, thetas: FloatArray, t: FloatArray) -> FloatArray:
        """Bound the error of M(theta + it) for every t in a row; see ``SmoothLaw``."""
        return transform_errors_of(self, self.bound, thetas, t.T).T
