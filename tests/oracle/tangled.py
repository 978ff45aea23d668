"""Random compositions whose parts see the inputs in different ways.

Rows of matrices are drawn from few, so that they repeat, and in another order in every part; parts
of one value come from different families; attributes are alike in one part and not in another.
Whatever is said of the inputs of a part, by dropping some of them, is wrong of another one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from oracle.random_mechanisms import FAMILIES, Generator, Instance
from oracle.reader import read

#: The shape of an input: how many numbers there are, or one shape per attribute and a limit.


@dataclass(frozen=True)
class Attributes:
    """One shape per attribute, and how many of them may change, in words."""

    shapes: tuple[Shape, ...]
    limit: str = ""


Shape = int | Attributes

_USERS = (2, 3, 4, 5, 6, 8, 10)
_MAX_INPUTS, _MAX_OUTPUTS = 12, 24


class Tangled(Generator):
    """Draws compositions only.

    Args:
        seed: the same seed gives the same mechanisms.
        effort: the products an enumeration may take per epsilon.
        zeros: whether matrices may have zeros.
        limits: whether neighbours may differ in some attributes only.
        matrices: how many of the parts that are no compositions are matrices.
    """

    def __init__(
        self,
        seed: int,
        effort: int = 20_000,
        *,
        zeros: bool = False,
        limits: bool = True,
        matrices: float = 0.6,
    ) -> None:
        super().__init__(seed, effort=effort)
        self.zeros, self.limits, self.matrices = zeros, limits, matrices
        self._drawn: list[list[list[float]]] = []

    def instances(self, count: int) -> Iterator[Instance]:
        """Yield so many instances, with the most users that can be enumerated, or fewer."""
        found = 0
        while found < count:
            text = self.text()
            channel = read(text)
            sizes = [n for n in _USERS if self._is_feasible(channel, n)]
            if sizes:
                found += 1
                yield Instance(text, channel, self.random.choice(sizes[-3:]))

    def texts(self, count: int) -> Iterator[str]:
        """Yield so many mechanisms, for which nothing needs to be enumerated."""
        return (self.text() for _ in range(count))

    def text(self) -> str:
        """A composition with a channel that is not too large."""
        while True:
            self._drawn = []
            text = self._composition(self._shape(), self.random.choice((1, 1, 2)))
            channel = read(text)
            if len(channel.inputs) <= _MAX_INPUTS and channel.outputs <= _MAX_OUTPUTS:
                return text

    def _shape(self) -> Shape:
        if self.random.random() < 0.5:
            return self.random.choice((2, 3, 3, 4, 5))
        shapes: tuple[Shape, ...] = self.random.choice(
            ((2, 2), (2, 2), (2, 3), (3, 3), (3, 2), (2, 2, 2), (2, Attributes((2, 2))), (4, 2))
        )
        limit = ""
        if self.limits and self.random.random() < 0.4:
            kind = self.random.choice(("at_most", "exactly"))
            limit = f", {kind}={self.random.randint(1, len(shapes))}"
        return Attributes(shapes, limit)

    def _composition(self, shape: Shape, depth: int) -> str:
        """A composition of so many layers, at least, that reads inputs of a shape."""
        kind = self.random.random()
        if kind < 0.15:
            return f"subsample({self._part(shape, depth - 1)}, rate={self.rate()!r})"
        if isinstance(shape, int) and shape > 3 and kind < 0.6:
            return self._rearranged(shape)
        if kind < 0.6 or isinstance(shape, int):
            return self._choice("parallel", [shape] * self.random.choice((2, 2, 3)), depth)
        return self._of_attributes(shape, depth)

    def _rearranged(self, count: int) -> str:
        """Two matrices whose first rows are the same, in another order, and whose others repeat.

        Each part alone could do without the others, but they combine rows as none before them does.
        """
        columns = self.random.randint(2, 3)
        few = [self._row(columns, "plain") for _ in range(count - 1)]
        parts = []
        for _ in range(2):
            first = few[:2] + self.random.sample(few[2:], len(few) - 2)
            rest = [self.random.choice(few) for _ in range(count - len(few))]
            parts.append(f"matrix({first + rest})")
        one, other = self._weights(2)
        return f"parallel({one!r}*{parts[0]}, {other!r}*{parts[1]})"

    def _of_attributes(self, shape: Attributes, depth: int) -> str:
        if not shape.limit and self.random.random() < 0.3:
            return self._choice("one_of", shape.shapes, depth)
        parts = self._parts(shape.shapes, depth)
        return f"joint({', '.join(parts)}{shape.limit})"

    def _choice(self, form: str, shapes: tuple[Shape, ...] | list[Shape], depth: int) -> str:
        parts = self._parts(shapes, depth)
        terms = zip(self._weights(len(parts)), parts, strict=True)
        return f"{form}({', '.join(f'{weight!r}*{part}' for weight, part in terms)})"

    def _parts(self, shapes: tuple[Shape, ...] | list[Shape], depth: int) -> list[str]:
        """Parts of the shapes; some of them the same one."""
        parts: list[str] = []
        for i, shape in enumerate(shapes):
            same = [parts[j] for j in range(i) if shapes[j] == shape]
            if same and self.random.random() < 0.3:
                parts.append(self.random.choice(same))
            else:
                parts.append(self._part(shape, depth - 1))
        return parts

    def _part(self, shape: Shape, depth: int) -> str:
        if depth > 0:
            return self._composition(shape, depth)
        if isinstance(shape, Attributes):
            return self._of_attributes(shape, 1)
        if self.random.random() < self.matrices:
            return f"matrix({self._rows(shape)})"
        if self.random.random() < 0.25:
            return f"subsample({self._part(shape, 0)}, rate={self.rate()!r})"
        return self.single(self.random.choice(FAMILIES), shape)

    def _rows(self, count: int) -> list[list[float]]:
        """Rows with repetitions; or those of another matrix in another order."""
        alike = [rows for rows in self._drawn if len(rows) == count]
        if alike and self.random.random() < 0.5:
            rows = list(self.random.choice(alike))
            self.random.shuffle(rows)
        else:
            columns = self.random.randint(2, 3)
            kind = self.random.choice(("plain", "coarse", *(["zeros"] if self.zeros else [])))
            few = [self._row(columns, kind) for _ in range(self.random.randint(1, 4))]
            rows = [list(self.random.choice(few)) for _ in range(count)]
        self._drawn.append(rows)
        return rows

    def level(self) -> float:
        """An ordinary epsilon0."""
        return self.random.choice((0.5, 1.0, 1.5, 2.0, self.random.uniform(0.1, 3.0)))

    def probability(self) -> float:
        """A probability that is not too close to 0 or 1."""
        return self.random.uniform(0.05, 0.95)

    def rate(self) -> float:
        """A rate of subsampling."""
        return self.random.choice((0.5, 0.25, 0.9, self.random.uniform(0.1, 1.0)))

    def _weights(self, count: int) -> list[float]:
        if self.random.random() < 0.5:
            return [[0.5, 0.5], [0.5, 0.25, 0.25]][count - 2]
        raw = [self.random.uniform(0.1, 1.0) for _ in range(count)]
        return [w / sum(raw) for w in raw]
