"""Random realistic questions, for the slowest: ``python benchmarks/corners.py --count 200``.

Any single built-in mechanism and joint reports of up to six parts, epsilon0 of each up to 12, 1 to
1e9 users, delta from 1e-12 to 1e-2, both bounds. Times are those of one thread of the processor,
not of the clock, so that a busy machine counts less. Prints the slowest questions, and how many
took more than a second; of these, reports whose level as a whole is above 12 are counted apart.

``--realistic`` asks what people ask instead: the default bound of every single built-in mechanism,
epsilon0 from 0.1 to 6, 100 to 1e12 users, which epsilon at a delta from 1e-12 to 1e-4, and which
delta at such an epsilon.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

from shuffledp import NoAnswerError, ShuffleAccountant, parse
from shuffledp.basics.errors import AccuracyWarning

FAMILIES = (
    "krr(k={k}, epsilon0={level})",
    "rappor(epsilon0={level}, domain_size={k})",
    "oue(epsilon0={level}, domain_size={k})",
    "blh(epsilon0={level}, domain_size={k})",
    "olh(epsilon0={level}, domain_size={k})",
    "hadamard(epsilon0={level}, domain_size={k})",
    "subset(epsilon0={level}, domain_size={k})",
    "discrete_laplace(epsilon0={level}, bound={k})",
)
INTERVAL = "laplace(epsilon0={level}, domain='interval')"
GENERIC = "any_pure_ldp(epsilon0={level})"
NOISE = ("laplace(epsilon0={level})", "gaussian(sigma={sigma})")
BOUNDS = ("blanket", "best")


def part(draw: random.Random, families: tuple[str, ...], low: float, high: float) -> str:
    """Return the text of a random mechanism."""
    return draw.choice(families).format(
        k=draw.choice((2, 3, 5, 10, 100)),
        level=round(math.exp(draw.uniform(math.log(low), math.log(high))), 4),
        sigma=round(math.exp(draw.uniform(math.log(0.3), math.log(10))), 4),
    )


def question(draw: random.Random) -> tuple[str, int, float]:
    """Return a mechanism, a number of users and a delta."""
    mechanism = part(draw, FAMILIES + NOISE, 0.05, 12)
    if draw.random() < 0.3:
        parts = [part(draw, FAMILIES, 0.05, 12) for _ in range(draw.randint(2, 6))]
        mechanism = f"joint({', '.join(parts)})"
    return mechanism, round(10 ** draw.uniform(0, 9)), 10 ** draw.uniform(-12, -2)


def realistic(draw: random.Random) -> tuple[str, int, float]:
    """Return a mechanism, a number of users and a delta that people may ask about."""
    families = (*FAMILIES, *NOISE, INTERVAL, GENERIC)
    mechanism = part(draw, families, 0.1, 6)
    return mechanism, round(10 ** draw.uniform(2, 12)), 10 ** draw.uniform(-12, -4)


def ask(mechanism: str, n: int, delta: float, bound: str) -> float:
    """Return the epsilon."""
    return ShuffleAccountant(mechanism, n, bound=bound).get_epsilon(delta)


def timed(call: Callable[[], float]) -> tuple[float, float]:
    """Return what a call returns, infinity if there is no answer, and its seconds."""
    start = time.thread_time()
    try:
        found = call()
    except NoAnswerError as error:
        sys.stdout.write(f"no answer: {error}\n")
        found = math.inf
    return found, time.thread_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--realistic", action="store_true", help="what people ask")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=5.0, help="stop after so many")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", AccuracyWarning)
    draw, end, times = random.Random(asked.seed), time.monotonic() + 60 * asked.minutes, []
    beyond = 0
    for bound in BOUNDS:
        ShuffleAccountant("krr(k=10, epsilon0=1)", 1000, bound=bound).get_epsilon(1e-6)
    for _ in range(asked.count):
        if time.monotonic() > end:
            break
        mechanism, n, delta = (realistic if asked.realistic else question)(draw)
        for bound in BOUNDS[-1:] if asked.realistic else BOUNDS:
            epsilon, seconds = timed(partial(ask, mechanism, n, delta, bound))
            times.append((seconds, f"{bound} {mechanism} n={n} {delta:.4g}"))
            beyond += seconds > 1 and 12 < parse(mechanism).epsilon0 < math.inf
            if asked.realistic and epsilon < math.inf:
                accountant = ShuffleAccountant(mechanism, n)
                _, seconds = timed(partial(accountant.get_delta, 0.9 * epsilon))
                times.append((seconds, f"delta of {mechanism} n={n} at {0.9 * epsilon!r}"))
    times.sort(reverse=True)
    for seconds, text in times[:10]:
        sys.stdout.write(f"{seconds:8.3f} s  {text}\n")
    slow = sum(seconds > 1 for seconds, _ in times)
    median, most = (times[int(x * len(times))][0] if times else math.nan for x in (0.5, 0.05))
    sys.stdout.write(
        f"{len(times)} questions, median {median:.4f} s, 95% below {most:.4f} s, {slow} above "
        f"a second, {beyond} of them with a level above 12\n"
    )


if __name__ == "__main__":
    main()
