"""Any finite randomizer, given by its matrix of output probabilities."""

from __future__ import annotations

import errno
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shuffledp.basics.arrays import UNIT, FloatArray, IntArray
from shuffledp.basics.balls import ball, lower_double, precision, upper_double
from shuffledp.basics.errors import check_real
from shuffledp.basics.interval import Interval
from shuffledp.basics.rounding import written
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms.aggregate import Aggregate, SameAsMultiset
from shuffledp.mechanisms.base import LocalRandomizer, Values
from shuffledp.mechanisms.domain import Domain, Integers
from shuffledp.mechanisms.finite.extremes import Extreme, exact_sum, extreme
from shuffledp.mechanisms.input_types import InputTypes, NamedTypes
from shuffledp.mechanisms.pair import Input, Pair
from shuffledp.mechanisms.sampling import Bits, Categorical
from shuffledp.mechanisms.sampling.checks import check_integers
from shuffledp.mechanisms.sampling.layout import unsigned

#: Smaller probabilities would make ratios that leave the range of doubles.
_SMALLEST_ENTRY = 1e-250


@dataclass(frozen=True, eq=False, repr=False, init=False)
class MatrixRandomizer(LocalRandomizer):
    r"""A randomizer given by a matrix: row x holds the output probabilities of input x.

    Rows must sum to 1 up to rounding. The probability of output y is the entry divided by the sum
    of its row, both exact: :math:`R(x)(y)=m_{xy}/\sum_zm_{xz}`. That is what is accounted for, what
    is certified and what :meth:`randomize` draws from.

    Args:
        matrix: one row per input, one column per output.
        path: where the matrix was read from; only used in the text form.

    >>> r = MatrixRandomizer([[0.75, 0.25], [0.25, 0.75]])
    >>> str(r), round(r.epsilon0, 12) == round(math.log(3), 12)
    ('matrix([[0.75, 0.25], [0.25, 0.75]])', True)
    """

    name: ClassVar[str] = "matrix"
    estimates: ClassVar[Literal["frequencies", "mean"] | None] = "frequencies"
    example: ClassVar[str | None] = "matrix([[0.75, 0.25], [0.25, 0.75]])"

    matrix: FloatArray
    path: str | None = None

    def __init__(self, matrix: ArrayLike, path: str | None = None) -> None:
        object.__setattr__(self, "matrix", _as_matrix(matrix))
        object.__setattr__(self, "path", path)

    @classmethod
    def from_file(cls, path: str | Path) -> MatrixRandomizer:
        """Read a matrix from a .npy file or a text file of comma- or space-separated rows."""
        file = Path(path)
        try:
            if file.is_char_device():
                raise OSError(errno.EINVAL, "it is a device, not a file")
            if file.suffix == ".npy":
                matrix = np.load(file, allow_pickle=False)
            else:
                matrix = _read_rows(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise ValueError(f"path {str(path)!r} cannot be read: {error.strerror}") from None
        except Exception as error:  # a damaged file can break its reader in many ways
            raise ValueError(f"path {str(path)!r} does not hold a matrix: {error}") from None
        return cls(matrix, str(path))

    @classmethod
    def from_function(
        cls,
        function: Callable[[Any, Any], float],
        inputs: Iterable[Any],
        outputs: Iterable[Any],
    ) -> MatrixRandomizer:
        """Tabulate a function: ``function(x, y)`` is the probability of report y for input x.

        From here on inputs and reports are their numbers in the order given. A density has no
        table: let users send the number of the cell that their report falls into, and return the
        probability of a cell.

        >>> from fractions import Fraction
        >>> def honest_by_three_quarters(x, y):
        ...     return Fraction(3, 4) if x == y else Fraction(1, 4)
        >>> MatrixRandomizer.from_function(honest_by_three_quarters, ["no", "yes"], ["no", "yes"])
        MatrixRandomizer([[0.75, 0.25], [0.25, 0.75]])

        Raises:
            TypeError: if it is no function, or something it returns is no real number.
            ValueError: if something it returns is no probability, or those of an input do not sum
                to 1.
        """
        if not callable(function):
            raise TypeError(
                f"function must be a function of an input and an output, got {function!r}"
            )
        columns, rows, given = list(outputs), [], list(inputs)
        if not given or not columns:
            raise ValueError("inputs and outputs must hold at least one value each")
        for x in given:
            row = [check_real(f"function({x!r}, {y!r})", function(x, y)) for y in columns]
            for y, p in zip(columns, row, strict=True):
                if not 0 <= p <= 1:
                    raise ValueError(f"function({x!r}, {y!r}) must be a probability, got {p!r}")
            if abs(math.fsum(row) - 1) > _sum_tolerance(len(columns)):
                raise ValueError(
                    f"function({x!r}, y) must sum to 1 over all {len(columns)} outputs y, got "
                    f"{math.fsum(row)!r}"
                )
            rows.append(row)
        return cls(np.array(rows))

    @property
    def epsilon0(self) -> float:
        """The largest log ratio in a column, rounded up; infinite if only one entry is 0."""
        return self.epsilon0_interval.upper

    @cached_property
    def epsilon0_interval(self) -> Interval:
        """An enclosure of the LDP level."""
        ratios = []
        for low, high in zip(self.infimum.law, self.largest_law(), strict=True):
            if high > low == 0:
                return Interval(math.inf, math.inf)
            if high > 0:
                ratios.append(high / low)
        with precision():
            levels = [ball(ratio).log() for ratio in ratios]
            return Interval(max(map(lower_double, levels)), max(map(upper_double, levels)))

    @cached_property
    def row_sums(self) -> tuple[Fraction, ...]:
        """The exact sum of every row."""
        return tuple(exact_sum(row) for row in self.matrix.tolist())

    @cached_property
    def infimum(self) -> Extreme:
        """The exact smallest probability of every output over all inputs."""
        return extreme(self.matrix, self.row_sums, largest=False)

    def smallest_law(self) -> list[Fraction]:
        """Return the exact smallest probability of every output over all inputs."""
        return self.infimum.law

    def largest_law(self) -> list[Fraction]:
        """Return the exact largest probability of every output over all inputs."""
        return extreme(self.matrix, self.row_sums, largest=True).law

    def law(self, x: Input) -> list[Fraction]:
        """Return the exact output probabilities of input x.

        >>> MatrixRandomizer([[0.1] * 10]).law(0)[0]
        Fraction(1, 10)
        """
        total = self.row_sums[self.row_number(x)]
        return [Fraction(p) / total for p in self.row(x).tolist()]

    @property
    def input_domain(self) -> Domain:
        """The numbers of the rows."""
        return Integers(self.matrix.shape[0])

    def neighbours(self) -> Sequence[Pair]:
        """Return all ordered pairs of inputs."""
        return tuple(self.input_domain.neighbours())

    def unchanged(self) -> Sequence[Pair]:
        """Return every input."""
        return tuple(Pair(x, x) for x in range(self.matrix.shape[0]))

    def common_inputs(self, pair: Pair) -> Sequence[Input]:
        """Return all inputs."""
        return range(self.matrix.shape[0])

    def input_types(self, pair: Pair) -> InputTypes | None:
        """Keep different rows apart."""
        # Exactly this class: one derived from it may state another law.
        return self._types_of_rows if type(self) is MatrixRandomizer else None

    @cached_property
    def _types_of_rows(self) -> InputTypes:
        """The first row that is equal, for every row."""
        return NamedTypes(dict(enumerate(self._first_equal)))

    @cached_property
    def _first_equal(self) -> list[int]:
        """For every row the number of the first one that is equal."""
        _, first, which = np.unique(self.matrix, axis=0, return_index=True, return_inverse=True)
        rows: list[int] = first[which.ravel()].tolist()
        return rows

    def accepts(self, other: Input) -> bool:
        """Whether ``other`` is the number of a row."""
        return isinstance(other, int) and 0 <= other < self.matrix.shape[0]

    def decomposition(self, pair: Pair, other: Input | None = None) -> Decomposition:
        """Return that of the exact rows, or the smallest probabilities."""
        common = self.infimum.law if other is None else self._exact_row(self.row_number(other))
        first, second = (self._exact_row(self.row_number(x)) for x in (pair.first, pair.second))
        return Decomposition.from_coefficients(first, second, common)

    @cached_property
    def _exact_rows(self) -> dict[int, list[Fraction]]:
        return {}

    def _exact_row(self, x: int) -> list[Fraction]:
        if x not in self._exact_rows:
            self._exact_rows[x] = self.law(x)
        return self._exact_rows[x]

    def row(self, x: Input) -> FloatArray:
        """Return row x as it was given; it is proportional to the output probabilities."""
        entries: FloatArray = self.matrix[self.row_number(x)]
        return entries

    def row_number(self, x: Input) -> int:
        """Return an input as the number of its row."""
        if not isinstance(x, int) or not self.accepts(x):
            raise ValueError(
                f"inputs of matrix are row numbers from 0 to {self.matrix.shape[0] - 1}, got {x!r}"
            )
        return x

    @property
    def aggregate(self) -> Aggregate:
        """The counts of all outputs are the multiset."""
        return SameAsMultiset("the sum of one-hot reports is the histogram of the reports")

    @property
    def report_dtype(self) -> np.dtype[Any]:
        """The smallest unsigned integer that holds the number of a column."""
        return unsigned(self.matrix.shape[1])

    def check_values(self, values: object) -> IntArray:
        """Return numbers of rows."""
        return check_integers("values", values, self.matrix.shape[0] - 1)

    def draw(self, values: Values, bits: Bits) -> NDArray[Any]:
        """Draw from the rows divided by their sums, without any rounding."""
        inputs = np.asarray(values)
        reports = np.empty(inputs.size, dtype=self.report_dtype)
        order = np.argsort(inputs, kind="stable")
        rows, sizes = np.unique(inputs, return_counts=True)
        ends = np.cumsum(sizes)
        for x, size, end in zip(rows.tolist(), sizes.tolist(), ends.tolist(), strict=True):
            users = order[end - size : end]
            reports[users] = Categorical(self.matrix[x].tolist()).draw(bits, size)
        return reports

    def log_likelihood(self, reports: NDArray[Any], value: Input) -> FloatArray:
        """Return the logarithms of the output probabilities."""
        with np.errstate(divide="ignore"):
            logs: FloatArray = np.log(
                self.row(value) / float(self.row_sums[self.row_number(value)])
            )[reports]
        return logs

    def __str__(self) -> str:
        """Return ``matrix('path')`` if read from a file, else the rows."""
        return f"matrix({self.matrix.tolist() if self.path is None else self.path!r})"

    def __repr__(self) -> str:
        """Return the constructor call, or that of ``from_file``."""
        if self.path is not None:
            return f"MatrixRandomizer.from_file({self.path!r})"
        return f"MatrixRandomizer({self.matrix.tolist()!r})"

    def __eq__(self, other: object) -> bool:
        """Compare the matrices, entry by entry, of exactly one class.

        A derived class may state another law, so it must not be taken for this one.
        """
        if not isinstance(other, MatrixRandomizer):
            return NotImplemented
        return type(self) is type(other) and np.array_equal(self.matrix, other.matrix)

    def __hash__(self) -> int:
        """Hash the matrix."""
        return hash((self.matrix.shape, self.matrix.tobytes()))


def _read_rows(text: str) -> list[list[float]]:
    """Read one row of numbers per line, separated by commas or else by white space."""
    lines = [line for raw in text.splitlines() if (line := raw.split("#")[0].strip())]
    rows = [[float(written(x)) for x in line.split("," if "," in line else None)] for line in lines]
    if len({len(row) for row in rows}) > 1:
        raise ValueError("its rows have different lengths")
    return rows


def _as_matrix(values: ArrayLike) -> FloatArray:
    try:
        raw = np.asarray(values)
    except ValueError:
        raise TypeError("matrix must be rows of real numbers of equal length") from None
    if raw.dtype.kind not in "fiu":
        raise TypeError(f"matrix must be rows of real numbers, got entries of type {raw.dtype}")
    # Adding 0 turns -0 into 0, so that equal matrices have equal bytes.
    matrix = raw.astype(np.float64) + 0.0
    if not np.array_equal(matrix, raw, equal_nan=True):
        raise ValueError(f"matrix must hold doubles, got others of type {raw.dtype}")
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"matrix must be two-dimensional and not empty, got shape {matrix.shape}")
    bad = np.argwhere(~((matrix >= 0) & (matrix <= 1)))
    if bad.size:
        row, column = (int(i) for i in bad[0])
        raise ValueError(
            f"matrix must hold probabilities, got {float(matrix[row, column])!r} in row {row}, "
            f"column {column}"
        )
    # Rows are divided by their exact sums, so nothing of what is tolerated is lost.
    totals = matrix.sum(axis=1)
    worst = int(np.argmax(np.abs(totals - 1)))
    if abs(totals[worst] - 1) > _sum_tolerance(matrix.shape[1]):
        raise ValueError(
            f"every row of matrix must sum to 1, got {float(totals[worst])!r} in row {worst}; "
            "divide each row by its sum if that is what you mean"
        )
    lowest = np.where(matrix > 0, matrix, 1.0).min()
    if lowest < _SMALLEST_ENTRY:
        raise ValueError(
            f"entries of matrix must be 0 or at least {_SMALLEST_ENTRY:g}, got {lowest!r}"
        )
    matrix.setflags(write=False)
    return matrix


def _sum_tolerance(outputs: int) -> float:
    """Return how far from 1 the sum of so many rounded probabilities may be."""
    return max(1e-12, 8 * outputs * UNIT)
