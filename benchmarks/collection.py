"""Running mechanisms, compared with drawing doubles: ``python benchmarks/collection.py``.

Times are ratios to ``numpy.random.Generator.random(n)`` in the same run; memory is the largest
amount allocated on the way, as a ratio to the size of the inputs and the reports together.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable

import numpy as np
from timing import seconds

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    Aggregator,
    BinaryLocalHash,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHash,
    MatrixRandomizer,
    SubsetSelection,
    joint,
    parallel,
    subsample,
)
from shuffledp.mechanisms import LocalRandomizer

DOMAIN = 1024


def mechanisms(epsilon0: float) -> list[LocalRandomizer]:
    krr = KRR(k=DOMAIN, epsilon0=epsilon0)
    hadamard = HadamardResponse(epsilon0=epsilon0, domain_size=DOMAIN)
    size = 64
    noise = np.full((size, size), 0.5 / size) + 0.5 * np.eye(size)
    return [
        krr,
        hadamard,
        BinaryLocalHash(epsilon0=epsilon0, domain_size=DOMAIN),
        LocalHash(epsilon0=epsilon0, domain_size=DOMAIN),
        LocalHash(epsilon0=epsilon0, buckets=40, domain_size=DOMAIN),
        RAPPOR(epsilon0=epsilon0, domain_size=DOMAIN),
        OUE(epsilon0=epsilon0, domain_size=DOMAIN),
        SubsetSelection(epsilon0=epsilon0, domain_size=DOMAIN),
        SubsetSelection(epsilon0=6.0, domain_size=DOMAIN),
        Laplace(epsilon0=epsilon0, domain="interval"),
        Gaussian(sigma=1.0),
        DiscreteLaplace(epsilon0=epsilon0, bound=1000),
        MatrixRandomizer(noise / noise.sum(axis=1, keepdims=True)),
        joint(krr, hadamard),
        parallel({krr: 0.5, hadamard: 0.5}),
        subsample(krr, rate=0.1),
    ]


def inputs(randomizer: LocalRandomizer, n: int, rng: np.random.Generator) -> object:
    if isinstance(randomizer, Laplace | Gaussian):
        return rng.random(n)
    if isinstance(randomizer, MatrixRandomizer):
        return rng.integers(0, randomizer.matrix.shape[0], n)
    if isinstance(randomizer, DiscreteLaplace):
        return rng.integers(0, randomizer.bound + 1, n)
    values = rng.integers(0, DOMAIN, n)
    return (values, values) if randomizer.attributes == 2 else values


def added(randomizer: LocalRandomizer, reports: np.ndarray) -> Aggregator:
    aggregator = Aggregator(randomizer)
    aggregator.add(reports)
    return aggregator


def peak_memory(call: Callable[[], object]) -> int:
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=10**6, help="number of users")
    parser.add_argument("--secure", action="store_true", help="draw from the operating system")
    options = parser.parse_args()
    n, rng = options.users, np.random.default_rng(1)
    unit = seconds(lambda: rng.random(n), 7)
    source = None if options.secure else rng
    print(f"{n} users, {DOMAIN} values; times in units of rng.random(n) = {1e3 * unit:.1f} ms")
    print(f"{'mechanism':<58}  bytes  randomize      add  estimate  memory")
    for randomizer in mechanisms(1.0):
        values = inputs(randomizer, n, rng)
        randomize = seconds(lambda r=randomizer, v=values: r.randomize(v, source))
        reports = randomizer.randomize(values, source)
        add = seconds(lambda r=randomizer, x=reports: added(r, x))
        aggregator = added(randomizer, reports)
        estimate = seconds(aggregator.estimate, 3)
        size = reports.nbytes + (
            sum(v.nbytes for v in values) if isinstance(values, tuple) else values.nbytes
        )
        peak = peak_memory(lambda r=randomizer, v=values: added(r, r.randomize(v, source)))
        name = str(randomizer)
        name = name if len(name) <= 58 else name[:55] + "..."
        print(
            f"{name:<58} {reports.itemsize:>6} {randomize / unit:>10.1f} {add / unit:>8.1f} "
            f"{estimate / unit:>9.2f} {peak / size:>7.2f}"
        )
    small = LocalHash(epsilon0=1.0, domain_size=100)
    reports = small.randomize(rng.integers(0, 100, 10**5), rng)
    took = seconds(lambda: added(small, reports).estimate(), 5)
    print(f"local hashing, 100000 reports, 100 values: {1e3 * took:.0f} ms to add and estimate")
    limitless = LocalHash(epsilon0=1.0)
    reports = limitless.randomize(rng.integers(0, 100, 10**5), rng)
    candidates = range(100)

    def estimate_candidates() -> object:
        aggregator = Aggregator(limitless, candidates=candidates)
        aggregator.add(reports)
        return aggregator.estimate()

    took = seconds(estimate_candidates, 5)
    print(f"the same without a domain size, 100 candidates: {1e3 * took:.0f} ms")


if __name__ == "__main__":
    main()
