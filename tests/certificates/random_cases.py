"""Random mechanisms, numbers of users and deltas, the same on every machine."""

from __future__ import annotations

import random
from dataclasses import dataclass

from shuffledp.mechanisms import LocalRandomizer, parse


@dataclass(frozen=True)
class Case:
    text: str
    n: int
    delta: float

    @property
    def randomizer(self) -> LocalRandomizer:
        return parse(self.text)

    def __str__(self) -> str:
        return f"{self.text}, n={self.n}, delta={self.delta:.3g}"


def random_case(number: int) -> Case:
    rng = random.Random(f"case {number}")
    kind = rng.choices(list(_KINDS), weights=[weight for _, weight in _KINDS.values()])[0]
    text = _KINDS[kind][0](rng)
    n = round(10 ** rng.uniform(0, 9)) if rng.random() < 0.85 else rng.randint(1, 12)
    return Case(text, n, 10 ** rng.uniform(-100, -2) if rng.random() < 0.4 else _common(rng))


def _common(rng: random.Random) -> float:
    return 10 ** rng.uniform(-12, -2)


def _level(rng: random.Random, largest: float = 8.0) -> float:
    return round(10 ** rng.uniform(-2, 0) * largest, 4)


def _domain(rng: random.Random) -> str:
    return "" if rng.random() < 0.5 else f", domain_size={rng.randint(3, 40)}"


def _krr(rng: random.Random) -> str:
    return f"krr(k={round(10 ** rng.uniform(0.31, 4))}, epsilon0={_level(rng)})"


def _hash(rng: random.Random) -> str:
    if rng.random() < 0.5:
        return f"blh(epsilon0={_level(rng)}{_domain(rng)})"
    return f"olh(epsilon0={_level(rng)}, buckets={rng.randint(2, 30)}{_domain(rng)})"


def _unary(rng: random.Random) -> str:
    name = rng.choice(["rappor", "oue", "unary"])
    if name == "unary":
        p, q = rng.sample([i / 20 for i in range(1, 20)], 2)
        return f"unary(p={p}, q={q}{_domain(rng)})"
    return f"{name}(epsilon0={_level(rng)}{_domain(rng)})"


def _hadamard(rng: random.Random) -> str:
    return f"hadamard(epsilon0={_level(rng)}{_domain(rng)})"


def _subset(rng: random.Random) -> str:
    return f"subset(epsilon0={_level(rng)}, domain_size={rng.randint(2, 50)})"


def _any(rng: random.Random) -> str:
    return f"any_pure_ldp(epsilon0={_level(rng)})"


def _matrix(rng: random.Random, inputs: int | None = None) -> str:
    rows, columns = inputs or rng.randint(2, 4), rng.randint(2, 5)
    table = []
    for _ in range(rows):
        parts = [rng.randint(1, 40) for _ in range(columns)]
        table.append([part / sum(parts) for part in parts])
    return f"matrix({table})"


def _laplace(rng: random.Random) -> str:
    return f"laplace(epsilon0={_level(rng, 4.0)})"


def _discrete_laplace(rng: random.Random) -> str:
    return f"discrete_laplace(epsilon0={_level(rng, 4.0)}, bound={rng.choice([1, 2, 5, 30])})"


def _gaussian(rng: random.Random) -> str:
    return f"gaussian(sigma={round(rng.uniform(2, 8), 2)})"


def _small(rng: random.Random) -> str:
    return rng.choice([_krr, _hash, _unary, _hadamard, _subset])(rng)


def _joint(rng: random.Random) -> str:
    parts = [_small(rng) for _ in range(rng.randint(2, 3))]
    if rng.random() < 0.3:
        parts = [parts[0]] * rng.randint(2, 4)
    if rng.random() < 0.2:
        parts[0] = _matrix(rng)
    limit = ", at_most=1" if rng.random() < 0.2 else ""
    return f"joint({', '.join(parts)}{limit})"


def _mixture(rng: random.Random) -> str:
    """Of one value where the domains agree, else of two attributes."""
    share, first, second = rng.randint(1, 15) / 16, _small(rng), _small(rng)
    shared = parse(first).input_domain.meet(parse(second).input_domain) is not None
    return f"{'parallel' if shared else 'one_of'}({share}*{first}, {1 - share}*{second})"


def _subsample(rng: random.Random) -> str:
    part = rng.choice([_small, _joint, _mixture, _matrix])(rng)
    return f"subsample({part}, rate={rng.choice([0.03, 0.1, 0.5, 1.0])})"


_KINDS = {
    "krr": (_krr, 20),
    "hash": (_hash, 14),
    "unary": (_unary, 14),
    "hadamard": (_hadamard, 6),
    "subset": (_subset, 6),
    "any": (_any, 5),
    "matrix": (_matrix, 8),
    "laplace": (_laplace, 4),
    "discrete_laplace": (_discrete_laplace, 6),
    "gaussian": (_gaussian, 1),
    "joint": (_joint, 8),
    "mixture": (_mixture, 4),
    "subsample": (_subsample, 4),
}
