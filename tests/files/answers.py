"""Tables of answers, and mechanisms of every kind to run on them."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shuffledp import parse
from shuffledp.deployment.files import Column, Randomization, Sidecar

N = 300

#: A mechanism of every family, and the sizes of the domains it reads; 0 for numbers from 0 to 1.
MECHANISMS: Mapping[str, tuple[int, ...]] = {
    "krr(k=4, epsilon0=2.0)": (4,),
    "krr(k=300, epsilon0=6.0)": (300,),
    "blh(epsilon0=2.0, domain_size=5)": (5,),
    "olh(epsilon0=2.0, domain_size=5)": (5,),
    "rappor(epsilon0=2.0, domain_size=5)": (5,),
    "oue(epsilon0=2.0, domain_size=11)": (11,),
    "unary(p=0.7, q=0.2, domain_size=5)": (5,),
    "hadamard(epsilon0=2.0, domain_size=5)": (5,),
    "subset(epsilon0=1.0, domain_size=6)": (6,),
    "laplace(epsilon0=2.0)": (2,),
    "laplace(epsilon0=2.0, domain='interval')": (0,),
    "gaussian(sigma=5.0)": (0,),
    "discrete_laplace(epsilon0=2.0, bound=9)": (10,),
    "matrix([[0.7, 0.3], [0.2, 0.8]])": (2,),
    "joint(krr(k=3, epsilon0=1.0), oue(epsilon0=1.0, domain_size=4))": (3, 4),
    "joint(joint(krr(k=3, epsilon0=1.0), krr(k=4, epsilon0=1.0)), krr(2, 1.0))": (3, 4, 2),
    "parallel(0.5*krr(k=3, epsilon0=1.0), 0.5*oue(epsilon0=1.0, domain_size=3))": (3,),
    "parallel(0.5*krr(k=2, epsilon0=1.0), 0.5*laplace(epsilon0=1.0))": (2,),
    "subsample(krr(k=3, epsilon0=1.0), rate=0.5)": (3,),
}


def answers(sizes: Sequence[int], n: int = N) -> dict[str, list[float]]:
    """Return a table with one column per domain, and one that must not be read."""
    rng = np.random.default_rng(5)
    columns = [
        rng.integers(0, size, n).tolist() if size else rng.random(n).tolist() for size in sizes
    ]
    return {"name": list(range(n)), **{f"answer{i}": own for i, own in enumerate(columns)}}


def write_table(path: Path, columns: Mapping[str, Sequence[object]]) -> Path:
    """Write a table as CSV or Parquet."""
    if path.suffix == ".parquet":
        pq.write_table(pa.table(dict(columns)), path)
        return path
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def make_reports(
    out: Path,
    text: str,
    columns: Mapping[str, Sequence[object]],
    labels: Sequence[Sequence[str] | None] | None = None,
    *,
    seed: int | None = 1,
) -> Sidecar:
    """Randomize all columns but ``name`` of a table that lies beside the reports."""
    source = write_table(out.with_name(f"answers{out.suffix}"), columns)
    names = [name for name in columns if name != "name"]
    given = [own and tuple(own) for own in labels or [None] * len(names)]
    randomization = Randomization(
        parse(text), [Column(*pair) for pair in zip(names, given, strict=True)], seed=seed
    )
    return randomization.run(source, out, target_delta=1e-6, assumptions=["a fact"])
