"""The tilted laws of many sums, one in each row, and those of the rows that many t belong to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.divergence.row_transform import RowTransform

_LONG = 1 << 12  # angles of one row that are worth a product of their own


@dataclass(frozen=True, eq=False)
class RowAtoms:
    """Tilted laws, one in each row: see ``Atoms`` of the characteristic function."""

    probability: FloatArray
    probability_error: FloatArray
    centred: FloatArray
    mean_deviation: FloatArray
    variance: FloatArray
    transform: RowTransform | None = None

    @property
    def size(self) -> int:
        """Number of atoms of each law."""
        return int(self.centred.shape[1])

    def chosen(self, rows: IntArray) -> RowAtoms:
        """Return the laws of some of the rows, by their numbers."""
        return RowAtoms(
            probability=self.probability[rows],
            probability_error=self.probability_error[rows],
            centred=self.centred[rows],
            mean_deviation=self.mean_deviation[rows],
            variance=self.variance[rows],
            transform=None if self.transform is None else self.transform.chosen(rows),
        )


class PlacedAtoms:
    """The laws of the given rows, with repetitions: one for every t.

    None of them is copied before it is used, and those of long runs of one row never are.
    """

    def __init__(self, laws: RowAtoms, rows: IntArray) -> None:
        self.laws, self.rows, self.size = laws, rows, laws.size
        self.probability_error = laws.probability_error[rows]
        self.mean_deviation, self.variance = laws.mean_deviation[rows], laws.variance[rows]
        self.transform = None if laws.transform is None else laws.transform.chosen(rows)

    def parts(self, count: int, most: int) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        """Yield parts of all t, with the probabilities and centred values that belong to them."""
        ends = np.append(np.flatnonzero(np.diff(self.rows)) + 1, count)
        begins = np.append(0, ends[:-1])[: ends.size]
        long = (ends - begins) * self.size >= _LONG
        step, done = max(most // self.size, 1), 0
        for begin, end in zip(begins[long].tolist(), ends[long].tolist(), strict=True):
            yield from self._gathered(done, begin, step)
            row = self.rows[begin]
            law = self.laws.probability[row], self.laws.centred[row]
            yield from ((slice(k, min(k + step, end)), *law) for k in range(begin, end, step))
            done = end
        yield from self._gathered(done, count, step)

    def _gathered(
        self, begin: int, end: int, step: int
    ) -> Iterator[tuple[slice, FloatArray, FloatArray]]:
        for k in range(begin, end, step):
            part = slice(k, min(k + step, end))
            rows = self.rows[part]
            yield part, self.laws.probability[rows], self.laws.centred[rows]
