"""The exact law of a matrix: rational probabilities, each row divided by its sum."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx

from shuffledp.certification.decomposition import BallDecomposition, Component
from shuffledp.engine.balls import ball
from shuffledp.randomizers import Input, MatrixRandomizer, Pair


def channel_decomposition(
    randomizer: MatrixRandomizer, pair: Pair, other: Input | None
) -> BallDecomposition:
    """Return the decomposition with c = R(other), or c the smallest entry of each column."""
    channel = _channel(randomizer)
    first, second = _row(pair.first), _row(pair.second)
    common = channel.infimum if other is None else channel.rows[_row(other)]
    log0, log1 = channel.logs(first, other, ctx.prec), channel.logs(second, other, ctx.prec)
    components, singular = [], []
    for y, c in enumerate(common):
        if c:
            components.append(Component(log0[y], log1[y], ball(c)))
        else:
            singular.append((ball(channel.rows[first][y]), ball(channel.rows[second][y])))
    residual = ball(1 - sum(common))
    return BallDecomposition(tuple(components), residual, tuple(singular)).merged()


class _Channel:
    """The rows of a matrix as fractions, and the logs of their ratios to a common law."""

    def __init__(self, randomizer: MatrixRandomizer) -> None:
        self.rows = [_law(row) for row in randomizer.matrix.tolist()]
        self.infimum = [min(column) for column in zip(*self.rows, strict=True)]
        first: dict[tuple[Fraction, ...], int] = {}
        self.first_equal = [first.setdefault(tuple(row), x) for x, row in enumerate(self.rows)]
        self._logs: dict[tuple[int, Input | None, int], list[arb | None]] = {}

    def logs(self, x: int, other: Input | None, precision: int) -> list[arb | None]:
        """Return the log of R(x)(y) over the common law for every y, None where R(x)(y) = 0."""
        key = (x, other, precision)
        if key not in self._logs:
            common = self.infimum if other is None else self.rows[_row(other)]
            self._logs[key] = [
                ball(p / c).log() if p and c else None
                for p, c in zip(self.rows[x], common, strict=True)
            ]
        return self._logs[key]


def _law(row: Sequence[float]) -> list[Fraction]:
    """Return the entries divided by their exact sum."""
    exact = [Fraction(p) for p in row]
    total = sum(exact)
    return [p / total for p in exact]


def equal_rows(randomizer: MatrixRandomizer) -> Sequence[int]:
    """Return for every row the number of the first one with the same law."""
    return _channel(randomizer).first_equal


def gives_inputs_away(randomizer: MatrixRandomizer) -> bool:
    """Whether some output is possible for one input and impossible for another."""
    columns = zip(*_channel(randomizer).rows, strict=True)
    return any(any(column) and not all(column) for column in columns)


@lru_cache(maxsize=4)
def _channel(randomizer: MatrixRandomizer) -> _Channel:
    return _Channel(randomizer)


def _row(x: Input) -> int:
    if not isinstance(x, int):
        raise TypeError(f"inputs of a matrix are row numbers, got {x!r}")
    return x
