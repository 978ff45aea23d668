"""Randomizing and estimating beside other libraries: ``python benchmarks/libraries.py``.

The same mechanism, the same users, one run; times are ratios of processor time to shuffledp's. A
library that is not installed is left out and said so. Both need more than they say: ``pip install
pure-ldp multi-freq-ldpy scikit-learn statsmodels "xxhash<3"``. multi-freq-ldpy cuts off negative
shares, which is biased and has smaller errors; the others are unbiased.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from timing import seconds

from shuffledp import KRR, OUE, Aggregator, LocalHash, SubsetSelection
from shuffledp.basics.arrays import IntArray
from shuffledp.mechanisms import LocalRandomizer

DOMAIN = 64
EPSILON0 = 1.0

Randomize = Callable[[IntArray], Any]
Estimate = Callable[[Any], Sequence[float]]


@dataclass(frozen=True)
class Other:
    """A mechanism of another library: what it randomizes, and what it makes of all reports."""

    library: str
    randomize: Randomize
    estimate: Estimate


def ours(randomizer: LocalRandomizer) -> Other:
    def estimate(reports: Any) -> Sequence[float]:
        aggregator = Aggregator(randomizer)
        aggregator.add(reports)
        shares: Sequence[float] = aggregator.estimate().values
        return shares

    return Other("shuffledp", randomizer.randomize, estimate)


def pure_ldp(client: Any, server: Callable[[], Any]) -> Other:
    def estimate(reports: Any) -> Sequence[float]:
        fresh = server()
        for report in reports:
            fresh.aggregate(report)
        shares = [fresh.estimate(x, suppress_warnings=True) / len(reports) for x in range(DOMAIN)]
        return [float(share) for share in shares]

    return Other(
        "pure-ldp", lambda values: [client.privatise(v) for v in values.tolist()], estimate
    )


def multi_freq(client: Callable[..., Any], aggregator: Callable[..., Any], sized: bool) -> Other:
    last = (DOMAIN, EPSILON0) if sized else (EPSILON0,)
    return Other(
        "multi-freq-ldpy",
        lambda values: [client(v, DOMAIN, EPSILON0) for v in values.tolist()],
        lambda reports: [float(share) for share in aggregator(reports, *last)],
    )


def others_of_pure_ldp() -> Iterator[tuple[str, Other]]:
    from pure_ldp.frequency_oracles import direct_encoding, local_hashing, unary_encoding

    own = {"epsilon": EPSILON0, "d": DOMAIN, "index_mapper": lambda x: x}
    yield (
        "krr",
        pure_ldp(direct_encoding.DEClient(**own), lambda: direct_encoding.DEServer(**own)),
    )
    own_oue = {**own, "use_oue": True}
    yield (
        "oue",
        pure_ldp(unary_encoding.UEClient(**own_oue), lambda: unary_encoding.UEServer(**own_oue)),
    )
    own_olh = {**own, "use_olh": True}
    yield (
        "olh",
        pure_ldp(local_hashing.LHClient(**own_olh), lambda: local_hashing.LHServer(**own_olh)),
    )


def others_of_multi_freq() -> Iterator[tuple[str, Other]]:
    from multi_freq_ldpy.pure_frequency_oracles import GRR, LH, SS, UE

    yield "krr", multi_freq(GRR.GRR_Client, GRR.GRR_Aggregator_MI, sized=True)
    yield "oue", multi_freq(UE.UE_Client, UE.UE_Aggregator_MI, sized=False)
    yield "olh", multi_freq(LH.LH_Client, LH.LH_Aggregator_MI, sized=True)
    yield "subset", multi_freq(SS.SS_Client, SS.SS_Aggregator_MI, sized=True)


OURS: dict[str, LocalRandomizer] = {
    "krr": KRR(k=DOMAIN, epsilon0=EPSILON0),
    "oue": OUE(epsilon0=EPSILON0, domain_size=DOMAIN),
    "olh": LocalHash(epsilon0=EPSILON0, domain_size=DOMAIN),
    "subset": SubsetSelection(epsilon0=EPSILON0, domain_size=DOMAIN),
}


def installed() -> Iterator[tuple[str, Other]]:
    for name, found in (
        ("pure-ldp", others_of_pure_ldp),
        ("multi-freq-ldpy", others_of_multi_freq),
    ):
        try:
            yield from found()
        except ImportError as error:
            print(f"{name} cannot be imported: {error}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=20_000, help="number of users")
    n = parser.parse_args().users
    values = np.random.default_rng(1).integers(0, DOMAIN, n)
    truth = np.bincount(values, minlength=DOMAIN) / n
    print(f"{n} users, {DOMAIN} values, epsilon0 = {EPSILON0}; times as ratios to shuffledp's")
    print(f"{'mechanism':<10} {'library':<16} randomize  estimate   root mean square error")

    def measured(name: str, one: Other) -> tuple[float, float]:
        reports = one.randomize(values)
        error = float(np.sqrt(np.mean((np.asarray(one.estimate(reports)) - truth) ** 2)))
        randomize = seconds(lambda: one.randomize(values), 3, time.process_time)
        estimate = seconds(lambda: one.estimate(reports), 3, time.process_time)
        own = base.setdefault(name, (randomize, estimate))
        ratios = f"{randomize / own[0]:>9.1f} {estimate / own[1]:>9.1f}"
        print(f"{name:<10} {one.library:<16} {ratios}   {error:.4f}", flush=True)
        return own

    base: dict[str, tuple[float, float]] = {}
    for name, randomizer in OURS.items():
        measured(name, ours(randomizer))
    for name, other in installed():
        try:
            measured(name, other)
        except TypeError as error:  # as with a release of xxhash that is too new for a library
            print(f"{name:<10} {other.library:<16} fails: {error}")


if __name__ == "__main__":
    main()
