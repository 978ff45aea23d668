"""Ratios of running times, measured in one run: ``make bench`` or ``python benchmarks/run.py``.

Every line compares two times of this machine; no absolute time is stated. Medians of several
calls, except for the paper's own algorithm, which is run once because it takes minutes. A run of
all groups writes its table into ``docs/performance.md``.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from paper_grid import grid_epsilon, paper_interval_length
from timing import seconds, warm_seconds

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    DiscreteLaplace,
    Gaussian,
    GeneralClone,
    Group,
    HadamardResponse,
    Laplace,
    LocalHash,
    MatrixRandomizer,
    MixedAccountant,
    ShuffleAccountant,
    SubsetSelection,
    curve,
    joint,
)
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.rounds.one_round import bound_profile
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.basics.interval import Interval
from shuffledp.bounds.rounds.profile import Fineness
from shuffledp.comparison.bounds import OURS
from shuffledp.mechanisms import LocalRandomizer, Pair

PAGE = Path(__file__).resolve().parent.parent / "docs" / "performance.md"
USERS = [10**i for i in range(13)]
DELTAS = [1e-3, 1e-6, 1e-10, 1e-30]
SUPPORT = [
    KRR(k=2, epsilon0=1.0),
    KRR(k=10, epsilon0=1.0),
    KRR(k=1000, epsilon0=4.0),
    BinaryLocalHash(epsilon0=1.0),
    LocalHash(epsilon0=2.0),
    RAPPOR(epsilon0=4.0),
    OUE(epsilon0=2.0),
    HadamardResponse(epsilon0=1.0, domain_size=100),
    SubsetSelection(epsilon0=1.0, domain_size=10),
]
NOISE = [
    Laplace(epsilon0=1.0),
    Laplace(epsilon0=4.0),
    DiscreteLaplace(epsilon0=1.0, bound=100),
    Gaussian(sigma=2.0),
]
#: What some ratios were before noise was integrated by quadrature and questions were evaluated
#: together: measured once, in a checkout of that time, on the same machine as the page's table,
#: those of noise without n = 1e5 and 1e7, and widths of normal noise for sigma = 0.5, 1, 2, 5 only.
BEFORE = {
    "100-point curve of krr(k=10, epsilon0=2), blanket / 100 single answers, blanket": 0.965,
    "100-point curve of krr(k=10, epsilon0=2), guarantee / 100 single answers, best": 0.975,
    "100-point curve of krr(k=10, epsilon0=2), all our bounds / 100 single answers, best": 1.92,
    "100-point curve of oue(epsilon0=2), blanket / 100 single answers, blanket": 0.957,
    "100-point curve of oue(epsilon0=2), guarantee / 100 single answers, best": 0.982,
    "100-point curve of oue(epsilon0=2), all our bounds / 100 single answers, best": 1.59,
    "100-point curve of laplace(epsilon0=1.0), blanket / 100 single answers, blanket": 0.995,
    "100-point curve of laplace(epsilon0=4.0), blanket / 100 single answers, blanket": 1.0,
    "100-point curve of discrete_laplace(epsilon0=1.0, bound=100), blanket / "
    "100 single answers, blanket": 0.999,
    "100-point curve of gaussian(sigma=2.0), blanket / 100 single answers, blanket": 1.0,
    "the curve of all our bounds / that of Bennett's": 0.964,
    "profile of 100 points of krr(k=10, epsilon0=2) / 100 single answers, blanket": 0.835,
    "profile of 100 points of krr(k=10, epsilon0=2) / 100 single answers, best": 0.412,
    "profile of 100 points of laplace(epsilon0=1.0) / 100 single answers, blanket": 0.996,
    "profile of 100 points of laplace(epsilon0=4.0) / 100 single answers, blanket": 0.996,
    "profile of 100 points of discrete_laplace(epsilon0=1.0, bound=100) / "
    "100 single answers, blanket": 0.987,
    "profile of 100 points of gaussian(sigma=2.0) / 100 single answers, blanket": 0.996,
    "median of Laplace / of 10-RR, n = 1e2..1e9": 6.98,
    "median of Gaussian / of 10-RR, sigma = 0.5, 1, 2, 5": 19.6,
    "widest relative enclosure, Laplace": 6.91e-5,
    "widest relative enclosure, Gaussian, sigma >= 0.5": 3.14e-4,
}


@dataclass(frozen=True)
class Row:
    """One measured ratio and what is asked of it."""

    name: str
    ratio: float
    limit: float
    at_least: bool

    @property
    def met(self) -> bool:
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        mark = "ok" if self.met else "MISSED"
        return f"{self.name:<66} {self.ratio:>12.3g}   {sign} {self.limit:<8g} {mark}"

    @property
    def cells(self) -> str:
        """A row of the page's table."""
        sign = "at least" if self.at_least else "at most"
        before = f"{BEFORE[self.name]:.3g}" if self.name in BEFORE else ""
        return f"| {self.name} | {before} | {self.ratio:.3g} | {sign} {self.limit:g} |"


def get_epsilon(randomizer: LocalRandomizer, n: int, delta: float) -> Callable[[], float]:
    """Return a call that builds the accountant and answers, as a user would."""
    return lambda: ShuffleAccountant(randomizer, n).get_epsilon(delta)


def paper(randomizer: KRR, n: int, delta: float) -> Callable[[], float]:
    """Return a call of the paper's algorithm with its own step."""
    decomposition = randomizer.decomposition(randomizer.neighbours()[0])
    length = paper_interval_length(randomizer.epsilon0)
    return lambda: grid_epsilon(
        decomposition, n, target_delta=delta, interval_length=length, rounding="up"
    )


def against_paper() -> list[Row]:
    ours = KRR(k=10, epsilon0=0.1)
    one_point = seconds(paper(ours, 1000, 1e-6))
    users = [int(n) for n in np.geomspace(1e3, 1e5, 100)]
    ask = partial(curve, ours, "users", users, target_delta=1e-6, bounds="blanket")
    whole_curve = warm_seconds(ask, repeat=3)
    large = seconds(paper(ours, 10**4, 1e-6)) / warm_seconds(get_epsilon(ours, 10**4, 1e-6))
    small = one_point / whole_curve
    return [
        Row("paper's algorithm / ours: 10-RR, epsilon0 = 0.1, n = 1e4", large, 1000, True),
        Row("one paper point (n = 1000) / our curve of 100 points, blanket", small, 10, True),
    ]


def independence_of_n() -> list[Row]:
    ours = KRR(k=10, epsilon0=0.1)
    many, few = (warm_seconds(get_epsilon(ours, n, 1e-10), 15) for n in (10**12, 10**3))
    return [Row("n = 1e12 / n = 1e3: 10-RR, epsilon0 = 0.1", many / few, 2, False)]


def spread(name: str, randomizers: list[LocalRandomizer]) -> tuple[Row, float]:
    """Return slowest/median over the whole grid, and the median time."""
    times = {
        (str(r), n, delta): warm_seconds(get_epsilon(r, n, delta), 3)
        for r in randomizers
        for n in USERS
        for delta in DELTAS
    }
    median = statistics.median(times.values())
    slowest = max(times, key=lambda key: times[key])
    case = f"{slowest[0]}, n={slowest[1]:g}, {slowest[2]:g}"
    label = f"slowest / median of {len(times)} {name} ({case})"
    return Row(label, times[slowest] / median, 30, False), median


def mechanisms() -> list[Row]:
    support, support_median = spread("support cases", SUPPORT)
    noise, _ = spread("noise cases", NOISE)
    laplace = warm_seconds(get_epsilon(Laplace(epsilon0=1.0), 1000, 1e-6))
    krr = warm_seconds(get_epsilon(KRR(k=10, epsilon0=1.0), 1000, 1e-6))
    rng = np.random.default_rng(0)
    weights = rng.uniform(1.0, 3.0, (8, 60))
    matrix = MatrixRandomizer(weights / weights.sum(axis=1, keepdims=True))
    pairs = len(matrix.neighbours())
    per_pair = seconds(get_epsilon(matrix, 50, 1e-6)) / pairs / support_median
    return [
        Row("Laplace / 10-RR, n = 1000", laplace / krr, 20, False),
        support,
        noise,
        Row("random 8 x 60 matrix, n = 50, per pair / median", per_pair, 100, False),
    ]


def curves() -> list[Row]:
    """Compare curves of 100 points with as many single answers, each of its own accountant."""
    users = [int(n) for n in np.geomspace(1e3, 1e7, 100)]
    rows, texts = [], ("krr(k=10, epsilon0=2)", "oue(epsilon0=2)")
    for text in texts:
        single = {
            bound: warm_seconds(
                lambda text=text, bound=bound: [
                    ShuffleAccountant(text, n, bound=bound).get_epsilon(1e-6) for n in users
                ],
                3,
            )
            for bound in ("blanket", "best")
        }
        for bounds, bound in (("blanket", "blanket"), ("guarantee", "best"), (OURS, "best")):
            ask = partial(curve, text, "users", users, target_delta=1e-6, bounds=bounds)
            what = bounds if isinstance(bounds, str) else "all our bounds"
            label = f"100-point curve of {text}, {what} / 100 single answers, {bound}"
            rows.append(Row(label, warm_seconds(ask, 3) / single[bound], 0.35, False))
    for text in NOISE:
        alone = warm_seconds(
            lambda text=text: [
                ShuffleAccountant(text, n, bound="blanket").get_epsilon(1e-6) for n in users
            ],
            3,
        )
        ask = partial(curve, text, "users", users, target_delta=1e-6, bounds="blanket")
        label = f"100-point curve of {text}, blanket / 100 single answers, blanket"
        rows.append(Row(label, warm_seconds(ask, 3) / alone, 0.35, False))
    ours, bennett = (
        warm_seconds(partial(curve, texts[0], "users", users, target_delta=1e-6, bounds=bounds), 3)
        for bounds in (OURS, "generic_bennett")
    )
    rows.append(Row("the curve of all our bounds / that of Bennett's", ours / bennett, 1, False))
    return rows + profiles()


def profiles() -> list[Row]:
    """Compare profiles of 100 points with as many single answers."""
    rows = []
    asked = [("krr(k=10, epsilon0=2)", bound) for bound in ("blanket", "best")]
    for text, bound in asked + [(text, "blanket") for text in NOISE]:
        accountant = ShuffleAccountant(text, 10_000, bound=bound)
        epsilons = np.linspace(0.0, accountant.get_epsilon(1e-12), 100)
        together = warm_seconds(partial(accountant.profile, epsilons), 3)
        alone = warm_seconds(
            lambda text=text, bound=bound, epsilons=epsilons: [
                ShuffleAccountant(text, 10_000, bound=bound).get_delta(epsilon)
                for epsilon in epsilons
            ],
            3,
        )
        label = f"profile of 100 points of {text} / 100 single answers, {bound}"
        rows.append(Row(label, together / alone, 0.35, False))
    return rows


def noise_times(randomizers: list[LocalRandomizer]) -> tuple[float, float]:
    """Return the median time of blanket answers to many questions, and the widest of them."""
    times, widest = [], 0.0
    for randomizer in randomizers:
        for n in (10**2, 10**3, 10**4, 10**5, 10**6, 10**7, 10**9):
            for delta in (1e-3, 1e-6, 1e-9, 1e-12):
                accountant = ShuffleAccountant(randomizer, n, bound="blanket")
                found: list[Interval] = []
                ask = partial(accountant.epsilon_interval, delta)
                times.append(seconds(lambda ask=ask, found=found: found.append(ask())))
                widest = max(widest, found[0].width / max(found[0].upper, 1e-300))
    return statistics.median(times), widest


def continuous() -> list[Row]:
    """Compare noise with 10-RR, every question asked once."""
    rr, _ = noise_times([KRR(k=10, epsilon0=level) for level in (0.5, 1.0, 2.0, 4.0)])
    laplace, laplace_width = noise_times([Laplace(level) for level in (0.5, 1.0, 2.0, 4.0)])
    normal, normal_width = noise_times([Gaussian(sigma) for sigma in (0.5, 1.0, 2.0, 5.0)])
    _, next_width = noise_times([Gaussian(sigma) for sigma in (0.55, 0.6, 0.7)])
    normal_width = max(normal_width, next_width)
    return [
        Row("median of Laplace / of 10-RR, n = 1e2..1e9", laplace / rr, 3, False),
        Row("median of Gaussian / of 10-RR, sigma = 0.5, 1, 2, 5", normal / rr, 10, False),
        Row("widest relative enclosure, Laplace", laplace_width, 1e-4, False),
        Row("widest relative enclosure, Gaussian, sigma >= 0.5", normal_width, 1e-4, False),
    ]


def compositions() -> list[Row]:
    single = warm_seconds(get_epsilon(KRR(k=10, epsilon0=1.0), 1000, 1e-6))
    sixteen = joint(*[KRR(k=10, epsilon0=0.25)] * 16)
    four = joint(
        KRR(k=10, epsilon0=1.0),
        OUE(epsilon0=1.0),
        BinaryLocalHash(epsilon0=1.0),
        Laplace(epsilon0=1.0),
    )
    weights = np.exp(np.random.default_rng(1).uniform(0.0, 0.5, (100, 100)))
    matrix = MatrixRandomizer(weights / weights.sum(axis=1, keepdims=True))
    report = ShuffleAccountant(matrix, 1000).epsilon_report(1e-6)
    assert report.worst_pair is not None
    one_pair = MatrixPair(matrix, report.worst_pair)
    return [
        Row(
            "16-fold joint of 10-RR / one",
            warm_seconds(get_epsilon(sixteen, 1000, 1e-6)) / single,
            20,
            False,
        ),
        Row(
            "joint of four mechanisms / one",
            warm_seconds(get_epsilon(four, 1000, 1e-6), 3) / single,
            200,
            False,
        ),
        Row(
            "random 100 x 100 matrix (9900 pairs) / its worst pair alone",
            warm_seconds(get_epsilon(matrix, 1000, 1e-6), 3) / warm_seconds(one_pair.epsilon),
            500,
            False,
        ),
    ]


@dataclass(frozen=True)
class MatrixPair:
    """One pair of a matrix, answered without looking at the others."""

    matrix: MatrixRandomizer
    pair: Pair

    def epsilon(self) -> float:
        return GeneralClone.simplified(self.matrix, self.pair).epsilon_interval(1000, 1e-6).upper


def one_law(n: int) -> Callable[[], object]:
    """Return a call that makes both laws of a round from nothing: no cache of profiles is used."""

    def make() -> object:
        randomizer = KRR(k=10, epsilon0=2.0)
        profile = bound_profile.__wrapped__(randomizer, Crowd(n), "blanket", "multiset", 1e-3)
        return [profile.law(side, Fineness(0, 0)) for side in ("upper", "lower")]

    return make


def rounds_answer(n: int, times: int) -> Callable[[], object]:
    """Return a call that answers with laws that are there; its first run makes them."""
    accountant = ShuffleAccountant(KRR(k=10, epsilon0=2.0), n)
    return lambda: accountant.rounds(times).epsilon_interval(1e-6)


def rounds() -> list[Row]:
    one = warm_seconds(get_epsilon(KRR(k=10, epsilon0=2.0), 10_000, 1e-6), 15)
    laws = {n: warm_seconds(one_law(n), 5) for n in (10**3, 10**4, 10**12)}
    few, many = (warm_seconds(rounds_answer(10_000, times), 9) for times in (52, 10**6))
    small, large = (warm_seconds(rounds_answer(n, 52), 9) for n in (10**3, 10**12))
    widest = max(
        interval.width / interval.upper
        for times in (4, 52, 1000, 10**6)
        for delta in (1e-3, 1e-6, 1e-10, 1e-20)
        for interval in [
            ShuffleAccountant(KRR(k=10, epsilon0=2.0), 10_000).rounds(times).epsilon_interval(delta)
        ]
    )
    return [
        Row("both laws of a round of 10-RR / one epsilon", laws[10**4] / one, 100, False),
        Row("laws, n = 1e12 / n = 1e3", laws[10**12] / laws[10**3], 2, False),
        Row("answer for 1e6 rounds / for 52", many / few, 3, False),
        Row("answer for 52 rounds, n = 1e12 / n = 1e3", large / small, 2, False),
        Row("widest relative enclosure, 4 to 1e6 rounds, delta to 1e-20", widest, 1e-3, False),
    ]


def get_sum_epsilon(
    randomizer: LocalRandomizer, n: int, delta: float = 1e-6
) -> Callable[[], float]:
    """Return a call that answers for the sum alone."""
    return lambda: ShuffleAccountant(randomizer, n, view="sum").get_epsilon(delta)


def tiny_delta_seconds() -> float:
    """Return the time of the slowest sum of bits at deltas down to 1e-40."""
    return max(
        seconds(get_sum_epsilon(randomizer, n, delta))
        for randomizer in (OUE(1.0), OUE(2.0), RAPPOR(1.0), RAPPOR(2.0))
        for n, delta in ((10**6, 1e-12), (10**9, 1e-20), (10**12, 1e-40))
    )


def slowest(randomizers: list[LocalRandomizer], users: list[int]) -> tuple[float, str]:
    """Return the time of the slowest sum, and which one it is."""
    times = {
        f"{randomizer}, n={n:g}": warm_seconds(get_sum_epsilon(randomizer, n), 3)
        for randomizer in randomizers
        for n in users
    }
    worst = max(times, key=lambda case: times[case])
    return times[worst], worst


def sums() -> list[Row]:
    one = warm_seconds(get_epsilon(KRR(k=10, epsilon0=2.0), 10_000, 1e-6), 15)
    noise, case = slowest(NOISE, [10**i for i in range(0, 13, 2)])
    bits, slow = slowest([OUE(1.0), OUE(2.0), RAPPOR(1.0), RAPPOR(2.0)], [10**3, 10**6, 10**9])
    large, small = (warm_seconds(get_sum_epsilon(OUE(2.0), n), 5) for n in (10**9, 10**6))
    return [
        Row(f"slowest sum of noise ({case}) / 10-RR", noise / one, 5, False),
        Row(f"slowest sum of bits ({slow}) / 10-RR", bits / one, 300, False),
        Row("sum of oue(2), n = 1e9 / n = 1e6", large / small, 3, False),
        Row("slowest sum of bits, delta to 1e-40 / 10-RR", tiny_delta_seconds() / one, 300, False),
    ]


def tiers() -> list[Row]:
    groups = [Group(KRR(k=10, epsilon0=level), 3333) for level in (1.0, 2.0, 4.0)]
    one = warm_seconds(get_epsilon(KRR(k=10, epsilon0=2.0), 10_000, 1e-6), 15)
    all_tiers = warm_seconds(lambda: MixedAccountant(groups).epsilons(1e-6), 5)
    return [Row("three tiers of 10-RR, per tier / one epsilon", all_tiers / 3 / one, 5, False)]


def cold_start() -> list[Row]:
    command = [sys.executable, "-m", "shuffledp", "epsilon", "krr(k=10, epsilon0=2)"]
    command += ["-n", "10000", "--delta", "1e-6"]
    imports = [sys.executable, "-c", "import numpy, scipy.special"]
    ours, theirs = (
        warm_seconds(lambda c=c: subprocess.run(c, check=True, capture_output=True), 5)
        for c in (command, imports)
    )
    return [Row("cold command line / import numpy, scipy.special", ours / theirs, 3, False)]


GROUPS = {
    "users": independence_of_n,
    "mechanisms": mechanisms,
    "curves": curves,
    "noise": continuous,
    "compositions": compositions,
    "rounds": rounds,
    "sums": sums,
    "tiers": tiers,
    "start": cold_start,
    "paper": against_paper,
}


def write_page(rows: list[Row]) -> None:
    """Replace the table of the page."""
    text = PAGE.read_text(encoding="utf-8")
    head, begin, rest = text.partition("<!-- begin: written by benchmarks/run.py -->\n")
    _, end, tail = rest.partition("<!-- end -->")
    table = ["| Ratio | Before | Now | Asked |", "|---|---|---|---|", *(row.cells for row in rows)]
    PAGE.write_text(f"{head}{begin}\n" + "\n".join(table) + f"\n\n{end}{tail}", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", nargs="*", choices=[[], *GROUPS], help="default: all")
    asked = parser.parse_args().groups
    chosen = asked or list(GROUPS)
    warnings.simplefilter("ignore", AccuracyWarning)
    rows = []
    for name in chosen:
        for row in GROUPS[name]():
            rows.append(row)
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
    if not asked:
        write_page(rows)
    missed = sum(not row.met for row in rows)
    sys.stdout.write(f"{len(rows) - missed} met, {missed} missed\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
