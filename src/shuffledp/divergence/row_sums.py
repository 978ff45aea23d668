"""Tilted sums of several blocks, one sum in each row: what ``TiltedSum`` is for a single one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import UNIT, FloatArray, IntArray
from shuffledp.decomposition.law_rows import LawRows
from shuffledp.divergence.row_tilt import (
    TiltedRows,
    estimate_log_mgfs_of,
    log_mgfs_of,
    tilt_rows,
)
from shuffledp.divergence.tilt import LogMgfs, TiltedSum


@dataclass(frozen=True, eq=False)
class RowBlock:
    """The laws of one block of every sum, and how many copies there are of each."""

    laws: LawRows
    times: IntArray

    def chosen(self, rows: IntArray) -> RowBlock:
        """Return some of the rows, by their numbers."""
        return RowBlock(self.laws.chosen(rows), self.times[rows])


@dataclass(frozen=True, eq=False)
class RowSums:
    """The tilted blocks of every sum."""

    blocks: tuple[TiltedRows, ...]

    def _total(self, name: str) -> FloatArray:
        total: FloatArray = sum(getattr(block, name) for block in self.blocks)
        return total

    @property
    def count(self) -> int:
        """Number of sums."""
        return self.blocks[0].times.size

    @property
    def atoms(self) -> int:
        """Number of atoms of all blocks of one sum."""
        return sum(block.laws.size for block in self.blocks)

    @cached_property
    def is_sound(self) -> NDArray[np.bool_]:
        """Whether the bounds of all blocks of a sum hold."""
        sound: NDArray[np.bool_] = np.all([block.is_sound for block in self.blocks], axis=0)
        return sound

    @cached_property
    def log_mgf(self) -> FloatArray:
        """The logarithm of E e^S."""
        return self._total("log_mgf")

    @cached_property
    def log_mgf_error(self) -> FloatArray:
        """Bound on its error."""
        if len(self.blocks) == 1:
            return self.blocks[0].log_mgf_error
        sizes = sum(np.abs(block.log_mgf) for block in self.blocks)
        return self._total("log_mgf_error") + self._roundings * sizes

    @property
    def _roundings(self) -> float:
        """A sum has a rounding per term, and one more."""
        return (len(self.blocks) + 2) * UNIT if len(self.blocks) > 1 else 0.0

    @cached_property
    def mean(self) -> FloatArray:
        """Sum of all centres."""
        return self._total("mean")

    @cached_property
    def mean_size(self) -> FloatArray:
        """Sum of the absolute values of all these."""
        sizes: FloatArray = np.sum([np.abs(block.mean) for block in self.blocks], axis=0)
        return sizes

    @cached_property
    def variance(self) -> FloatArray:
        """Variance of each sum under its tilted law."""
        return self._total("variance")

    @cached_property
    def deviation(self) -> FloatArray:
        """Standard deviation of a summand, on average."""
        deviation: FloatArray = np.sqrt(self.variance / self._total("times"))
        return deviation

    def chosen(self, rows: IntArray) -> RowSums:
        """Return some of the sums, by their numbers."""
        return RowSums(tuple(block.chosen(rows) for block in self.blocks))

    def sum_of(self, row: int) -> TiltedSum:
        """Return one sum without its laws, which only nodes need."""
        log_zero = float(self._total("log_zero")[row])
        zero_error = float(self._total("zero_error")[row])
        return TiltedSum(
            theta=1.0,
            laws=(),
            times=tuple(int(block.times[row]) for block in self.blocks),
            log_mgf=float(self.log_mgf[row]),
            log_mgf_error=float(self.log_mgf_error[row]),
            mean=float(self.mean[row]),
            mean_size=float(self.mean_size[row]),
            variance=float(self.variance[row]),
            log_zero=log_zero,
            zero_error=zero_error + self._roundings * abs(log_zero),
            value_shift=float(self._total("value_shift")[row]) * (1 + self._roundings),
        )

    def log_mgfs(self, points: FloatArray) -> list[LogMgfs]:
        """Evaluate the logarithm of E e^{sS} of each row at the points of its row."""
        parts = zip(*(log_mgfs_of(block, points) for block in self.blocks), strict=True)
        return [self._added(own) for own in parts]

    def estimate_log_mgfs(self, points: FloatArray) -> FloatArray:
        """Estimate the upper ends of these, for a fraction of their cost."""
        parts = [estimate_log_mgfs_of(block, points) for block in self.blocks]
        logs: FloatArray = np.sum(parts, axis=0)
        return logs

    def _added(self, parts: Sequence[LogMgfs]) -> LogMgfs:
        if len(parts) == 1:
            return parts[0]
        sizes = sum(np.abs(part.values) for part in parts)
        return LogMgfs(
            parts[0].points,
            np.sum([part.values for part in parts], axis=0),
            np.sum([part.errors for part in parts], axis=0) + self._roundings * sizes,
        )


def tilt_blocks(blocks: Sequence[RowBlock], thetas: FloatArray) -> RowSums:
    """Tilt every row of every block by its theta > 0, and count in units of it."""
    return RowSums(tuple(tilt_rows(block.laws, block.times, thetas) for block in blocks))
