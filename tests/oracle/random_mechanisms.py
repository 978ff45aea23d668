"""Random mechanisms in text form, small enough to be enumerated."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from oracle.channel import Channel
from oracle.reader import read
from oracle.truth import histograms, work

#: The compositions a generator may use.
COMPOSITIONS = ("joint", "subsample", "parallel", "one_of")

_MAX_INPUTS, _MAX_OUTPUTS = 12, 30

#: Numbers of users; the large ones are feasible for two outputs or three.
_USERS = (1, 2, 3, 4, 5, 6, 9, 14, 25, 60)

#: The finest step at which entries near 1 are doubles.
_STEP = 2.0**-53


@dataclass(frozen=True)
class Instance:
    """A mechanism, its channel and a number of users whose datasets can be enumerated."""

    text: str
    channel: Channel
    n: int


class Generator:
    """Draws mechanisms of all families, one after the other, and compositions of them.

    Args:
        seed: the same seed gives the same mechanisms.
        compositions: the forms of composition to draw from.
        effort: the products an enumeration may take per epsilon.
    """

    def __init__(
        self, seed: int, compositions: Collection[str] = COMPOSITIONS, effort: int = 20_000
    ) -> None:
        self.random = Random(seed)
        self.compositions = tuple(compositions)
        self.effort = effort

    def instances(self, count: int) -> Iterator[Instance]:
        """Yield so many instances; every family of single mechanisms has its turn."""
        found = 0
        while found < count:
            if self.compositions and self.random.random() < 0.6:
                text = self.composition(self.random.choice((1, 1, 2)))
            else:
                family = FAMILIES[found % len(FAMILIES)]
                text = self.single(family, self.random.choice((2, 2, 3, 4)))
                if self.random.random() < 0.1:
                    text = re.sub(r", domain_size=\d+", "", text) if family in _OPEN else text
            channel = read(text)
            if len(channel.inputs) > _MAX_INPUTS or channel.outputs > _MAX_OUTPUTS:
                continue
            sizes = [n for n in _USERS if self._is_feasible(channel, n)]
            if sizes:
                found += 1
                # One user alone is the easy case.
                yield Instance(text, channel, self.random.choice(sizes[1:] or sizes))

    def _is_feasible(self, channel: Channel, n: int) -> bool:
        few = histograms(channel.outputs, n) * len(channel.inputs) < 4_000
        return few and work(channel, n) <= self.effort

    def level(self) -> float:
        """An epsilon0: mostly ordinary, sometimes tiny or large."""
        kind = self.random.random()
        if kind < 0.4:
            return self.random.choice((0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0))
        if kind < 0.85:
            return self.random.uniform(0.01, 5.0)
        return 10 ** self.random.uniform(-12, 2.47)  # the largest level is 300

    def single(self, family: str, domain: int) -> str:
        """A single mechanism whose inputs are 0, ..., domain - 1."""
        parameters: dict[str, object] = {"epsilon0": self.level(), "domain_size": domain}
        if family == "matrix":
            return f"matrix({self.matrix(domain)})"
        if family == "krr":
            parameters["k"] = parameters.pop("domain_size")
        elif family == "discrete_laplace":
            del parameters["domain_size"]
            parameters["bound"] = domain - 1
        elif family == "unary":
            p, q = self.probability(), self.probability()
            parameters = {"p": p, "q": q if q != p else p / 2, "domain_size": domain}
        elif family == "olh":
            parameters["buckets"] = self.random.randint(2, 4)
        elif family == "subset":
            parameters["size"] = self.random.randint(1, domain - 1)
        return f"{family}({', '.join(f'{key}={value!r}' for key, value in parameters.items())})"

    def probability(self) -> float:
        """A probability, sometimes close to 0 or 1."""
        kind = self.random.random()
        if kind < 0.6:
            return self.random.uniform(0.05, 0.95)
        small = 10 ** self.random.uniform(-12, -1)
        return small if kind < 0.85 else 1 - small

    def matrix(self, rows: int) -> list[list[float]]:
        """Rows of doubles; most of them sum to exactly 1."""
        columns = self.random.randint(1, 4) if self.random.random() < 0.9 else 5
        kind = self.random.choice(("plain", "zeros", "near", "tiny", "divided", "coarse"))
        result = [self._row(columns, kind) for _ in range(rows)]
        if kind == "near":
            result = [self._moved(result[0]) for _ in result]
        if kind in ("plain", "tiny") and rows > 1 and self.random.random() < 0.2:
            result[-1] = list(result[0])
        return result

    def _row(self, columns: int, kind: str) -> list[float]:
        if kind == "divided":
            weights = [self.random.random() ** 3 for _ in range(columns)]
            return [w / sum(weights) for w in weights]
        steps = 1 << (4 if kind == "coarse" else 53)
        weights = []
        for _ in range(columns):
            weight = self.random.random()
            if kind == "zeros" and self.random.random() < 0.4:
                weight = 0.0
            elif kind == "tiny" and self.random.random() < 0.6:
                weight = 10 ** self.random.uniform(-14, -6)
            weights.append(weight + (1e-3 if kind == "coarse" else 0.0))
        largest = weights.index(max(weights))
        total = sum(weights) or 1.0
        counts = [max(round(w / total * steps), int(w > 0)) for w in weights]
        counts[largest] = 0
        counts[largest] = steps - sum(counts)
        if counts[largest] < 0:
            return self._row(columns, kind)
        return [float(Fraction(count, steps)) for count in counts]

    def _moved(self, row: list[float]) -> list[float]:
        """A row that differs by very little and has the same sum."""
        moved = list(row)
        for _ in range(self.random.randint(0, 2)):
            i, j = self.random.randrange(len(row)), self.random.randrange(len(row))
            shift = round(10 ** self.random.uniform(0, 9)) * _STEP
            if i != j and moved[i] > shift and moved[j] + shift < 1:
                up, down = moved[j] + shift, moved[i] - shift
                if Fraction(up) + Fraction(down) == Fraction(moved[i]) + Fraction(moved[j]):
                    moved[i], moved[j] = down, up
        return moved

    def composition(self, depth: int) -> str:
        """A composition of so many layers."""
        form = self.random.choice(self.compositions)
        if form == "subsample":
            return f"subsample({self.part(depth - 1)}, rate={self.rate()!r})"
        if form == "joint":
            parts = [self.part(depth - 1) for _ in range(self.random.choice((1, 2, 2, 2, 3)))]
            if self.random.random() < 0.3:
                parts[-1] = parts[0]
            limit = ""
            if self.random.random() < 0.6:
                kind = self.random.choice(("at_most", "exactly"))
                limit = f", {kind}={self.random.randint(1, len(parts))}"
            return f"joint({', '.join(parts)}{limit})"
        count = self.random.choice((2, 2, 3))
        if form == "one_of":
            parts = [self.part(depth - 1) for _ in range(count)]
        else:
            parts = self._parts_of_one_domain(depth - 1, count)
        terms = zip(self.weights(count), parts, strict=True)
        return f"{form}({', '.join(f'{weight!r}*{part}' for weight, part in terms)})"

    def part(self, depth: int) -> str:
        """A part of a composition: mostly of two inputs, so that all together stay few."""
        if depth > 0 and self.random.random() < 0.7:
            return self.composition(depth)
        family = self.random.choice((*FAMILIES, "matrix", "matrix", "krr"))
        domain = self.random.choice((2, 2, 2, 3))
        if family == "matrix" and self.random.random() < 0.1:
            domain = 1
        return self.single(family, domain)

    def _parts_of_one_domain(self, depth: int, count: int) -> list[str]:
        """Parts that all take the same value: single mechanisms, or joints of equal limits."""
        if depth > 0 and self.random.random() < 0.4:
            domains = [self.random.choice((2, 2, 3)) for _ in range(2)]
            limit = self.random.choice(("", ", at_most=1", ", exactly=1", ", at_most=2"))
            return [
                f"joint({', '.join(self._any_family(d) for d in domains)}{limit})"
                for _ in range(count)
            ]
        domain = self.random.choice((2, 2, 3))
        parts = [self._any_family(domain) for _ in range(count)]
        return [
            f"subsample({part}, rate={self.rate()!r})" if self.random.random() < 0.2 else part
            for part in parts
        ]

    def _any_family(self, domain: int) -> str:
        return self.single(self.random.choice((*FAMILIES, "matrix", "matrix")), domain)

    def rate(self) -> float:
        """A rate of subsampling."""
        if self.random.random() < 0.7:
            return self.random.choice((0.5, 0.1, 0.9, 1.0, self.random.random() or 0.5))
        return 10 ** self.random.uniform(-15, -1)

    def weights(self, count: int) -> list[float]:
        """Weights that sum to 1, exactly or up to rounding."""
        if self.random.random() < 0.4:
            return [[0.5, 0.5], [0.5, 0.25, 0.25]][count - 2]
        raw = [self.random.random() + 0.01 for _ in range(count)]
        if self.random.random() < 0.2:
            raw[0] = 10 ** self.random.uniform(-15, -2)
        return [w / sum(raw) for w in raw]

    def epsilons(self, channel: Channel, count: int) -> list[float]:
        """Questions: 0, around the level, and in between."""
        level = channel.level()
        top = 4.0 if level is None else min(float(level), 30.0)
        points = [
            0.0,
            self.random.uniform(0, top),
            top * self.random.random() ** 3,
            top * (1 - 10 ** self.random.uniform(-9, -1)),
            top * (1 + 10 ** self.random.uniform(-9, 0)),
            10 ** self.random.uniform(-12, 1),
            top,
        ]
        return points[:2] + self.random.sample(points[2:], count - 2)

    def deltas(self, count: int) -> list[float]:
        """Questions: 0, and from tiny to large."""
        ordinary = [10 ** self.random.uniform(-9, -0.3) for _ in range(count - 1)]
        last = self.random.choice((0.0, 10 ** self.random.uniform(-40, -9), 10**-0.1))
        return [*ordinary, last]


#: Mechanisms with a finite channel.
FAMILIES = (
    "krr",
    "blh",
    "olh",
    "rappor",
    "oue",
    "unary",
    "subset",
    "hadamard",
    "discrete_laplace",
    "matrix",
)

#: Mechanisms that may leave out the size of their domain.
_OPEN = ("blh", "olh", "rappor", "oue", "unary", "hadamard")
