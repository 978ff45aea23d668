"""What the sums of reports reveal, from the vectors that users submit, over all datasets."""

from __future__ import annotations

import ast
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement, product

import numpy as np

from oracle.channel import Related, Value, differ
from oracle.mechanisms import all_preimages
from oracle.nested import entrywise

Vector = tuple[int, ...]

#: For every input the probabilities of the vectors of its report, in doubles.
Vectors = Mapping[Value, Mapping[Vector, float]]


class Sums:
    """The sum of the vectors of n users.

    A report of randomized response or of a matrix is submitted as its indicator, an encoding as its
    bits, a hashed one as the set of inputs that it supports, a joint one as one vector after the
    other.
    """

    def __init__(self, text: str, n: int) -> None:
        self.vectors, self.related = _vectors(ast.parse(text, mode="eval").body)
        self.n = n
        inputs = list(self.vectors)
        self.pairs = [(x, y) for x, y in product(inputs, repeat=2) if self.related(x, y)]
        self._laws = {held: self._law(held) for held in combinations_with_replacement(inputs, n)}

    @staticmethod
    def work(text: str, n: int) -> int:
        """About how many products the enumeration takes."""
        vectors, _ = _vectors(ast.parse(text, mode="eval").body)
        longest = max(map(len, vectors.values()))
        return math.comb(len(vectors) + n - 1, n) * n * longest * math.comb(longest + n - 1, n)

    def delta(self, epsilon: float) -> float:
        """The largest delta of all neighbouring datasets, to some 1e-12 of itself."""
        growth, best = math.exp(epsilon), 0.0
        for others in combinations_with_replacement(list(self.vectors), self.n - 1):
            for x, y in self.pairs:
                first, second = (self._laws[self._sorted((*others, z))] for z in (x, y))
                gains = (p - growth * second.get(total, 0.0) for total, p in first.items())
                best = max(best, math.fsum(g for g in gains if g > 0))
        return best

    def _sorted(self, held: Sequence[Value]) -> tuple[Value, ...]:
        return tuple(sorted(held))  # type: ignore[type-var]

    def _law(self, held: Sequence[Value]) -> Mapping[Vector, float]:
        law: Mapping[Vector, float] = {}
        for value in held:
            if not law:
                law = self.vectors[value]
                continue
            grown: defaultdict[Vector, float] = defaultdict(float)
            for total, p in law.items():
                for vector, q in self.vectors[value].items():
                    grown[tuple(map(sum, zip(total, vector, strict=True)))] += p * q
            law = grown
        return law


def _vectors(node: ast.expr) -> tuple[Vectors, Related]:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"not a mechanism: {ast.unparse(node)}")
    name = node.func.id
    given = {str(k.arg): ast.literal_eval(k.value) for k in node.keywords}
    if name == "joint":
        return _joint([_vectors(part) for part in node.args], **given)
    if name == "matrix":
        rows = ast.literal_eval(node.args[0])
        return _one_hot([[p / math.fsum(row) for p in row] for row in rows]), differ
    E = math.exp(given.get("epsilon0", 0.0))
    if name == "krr":
        k = given["k"]
        weights = [[E if x == y else 1.0 for y in range(k)] for x in range(k)]
        return _one_hot([[p / sum(row) for p in row] for row in weights]), differ
    size = given["domain_size"]
    if name in ("blh", "olh"):
        hits = all_preimages(given.get("buckets", 2), size)
        weights = [
            [count * (E if x in hit else 1) for hit, count in hits.items()] for x in range(size)
        ]
        sets = [tuple(int(x in hit) for x in range(size)) for hit in hits]
        return {
            x: {v: p / sum(row) for v, p in zip(sets, row, strict=True)}
            for x, row in enumerate(weights)
        }, differ
    p, q = {
        "rappor": (1 / (1 + E**-0.5), 1 / (1 + E**0.5)),
        "oue": (0.5, 1 / (1 + E)),
        "unary": (given.get("p", 0.0), given.get("q", 0.0)),
    }[name]
    return {
        x: {
            bits: math.prod(
                (own if bit else 1 - own)
                for y, bit in enumerate(bits)
                for own in (p if y == x else q,)
            )
            for bits in product((0, 1), repeat=size)
        }
        for x in range(size)
    }, differ


def _one_hot(rows: Sequence[Sequence[float]]) -> Vectors:
    unit = np.eye(len(rows[0]), dtype=int).tolist()
    return {x: {tuple(v): p for v, p in zip(unit, row, strict=True)} for x, row in enumerate(rows)}


def _joint(
    parts: Sequence[tuple[Vectors, Related]], at_most: int | None = None, exactly: int | None = None
) -> tuple[Vectors, Related]:
    laws = {
        inputs: {
            tuple(bit for vector, _ in chosen for bit in vector): math.prod(p for _, p in chosen)
            for chosen in product(
                *(part[x].items() for (part, _), x in zip(parts, inputs, strict=True))
            )
        }
        for inputs in product(*(part for part, _ in parts))
    }
    most = exactly or at_most or len(parts)
    return laws, entrywise([related for _, related in parts], exactly or 1, most)
