"""Several laws with equally many atoms, one in each row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.decomposition.gparv import Law


@dataclass(frozen=True, eq=False)
class LawRows:
    """The fields of :class:`Law`, with one row per law.

    >>> law = Law(np.array([1.0, -1.0]), np.array([0.5, 0.5]), np.zeros(2), np.zeros(2))
    >>> LawRows.joined([LawRows.of(law), LawRows.of(law)]).values.tolist()
    [[1.0, -1.0], [1.0, -1.0]]
    """

    values: FloatArray
    weights: FloatArray
    value_error: FloatArray
    weight_error: FloatArray

    @classmethod
    def of(cls, law: Law) -> LawRows:
        """Return a single row."""
        fields = (law.values, law.weights, law.value_error, law.weight_error)
        return cls(*(field[None, :] for field in fields))

    @classmethod
    def joined(cls, parts: list[LawRows]) -> LawRows:
        """Return all rows of several parts, one after the other."""
        return cls(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("values", "weights", "value_error", "weight_error")
            )
        )

    @property
    def size(self) -> int:
        """Number of atoms of each law."""
        return int(self.values.shape[1])

    def chosen(self, rows: IntArray) -> LawRows:
        """Return some of the rows, by their numbers."""
        return LawRows(
            self.values[rows], self.weights[rows], self.value_error[rows], self.weight_error[rows]
        )

    def padded(self, size: int) -> LawRows:
        """Return the same laws with more atoms, of the value 0 and of no weight.

        >>> law = Law(np.array([1.0, -1.0]), np.array([0.5, 0.5]), np.zeros(2), np.zeros(2))
        >>> LawRows.of(law).padded(3).weights.tolist()
        [[0.5, 0.5, 0.0]]
        """
        more = ((0, 0), (0, size - self.size))
        return LawRows(
            np.pad(self.values, more),
            np.pad(self.weights, more),
            np.pad(self.value_error, more),
            np.pad(self.weight_error, more),
        )

    def scaled(self, factors: FloatArray) -> LawRows:
        """Return the laws of the factor of each row times its value, factors > 0.

        Errors are those of ``Law.scaled``, unless products underflow.
        """
        values = factors[:, None] * self.values
        error = factors[:, None] * self.value_error + UNIT * np.abs(values)
        return LawRows(values, self.weights, error * (1 + 4 * UNIT), self.weight_error)
