"""Random realistic questions, for the slowest: ``python benchmarks/corners.py --count 200``.

Any single built-in mechanism and joint reports of up to six parts, epsilon0 of each up to 12, 1 to
1e9 users, delta from 1e-12 to 1e-2, both bounds. Times are those of one thread of the processor,
not of the clock, so that a busy machine counts less. Prints the slowest questions, and how many
took more than a second; of these, reports whose level as a whole is above 12 are counted apart.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import time
import warnings

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
NOISE = ("laplace(epsilon0={level})", "gaussian(sigma={sigma})")
BOUNDS = ("blanket", "best")


def part(draw: random.Random, families: tuple[str, ...]) -> str:
    """Return the text of a random mechanism."""
    return draw.choice(families).format(
        k=draw.choice((2, 3, 5, 10, 100)),
        level=round(math.exp(draw.uniform(math.log(0.05), math.log(12))), 4),
        sigma=round(math.exp(draw.uniform(math.log(0.3), math.log(10))), 4),
    )


def question(draw: random.Random) -> tuple[str, int, float]:
    """Return a mechanism, a number of users and a delta."""
    mechanism = part(draw, FAMILIES + NOISE)
    if draw.random() < 0.3:
        parts = [part(draw, FAMILIES) for _ in range(draw.randint(2, 6))]
        mechanism = f"joint({', '.join(parts)})"
    return mechanism, round(10 ** draw.uniform(0, 9)), 10 ** draw.uniform(-12, -2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
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
        mechanism, n, delta = question(draw)
        for bound in BOUNDS:
            start = time.thread_time()
            try:
                ShuffleAccountant(mechanism, n, bound=bound).get_epsilon(delta)
            except NoAnswerError as error:
                sys.stdout.write(f"no answer: {mechanism}, n = {n}, delta = {delta:.3g}: {error}\n")
            seconds = time.thread_time() - start
            times.append((seconds, f"{bound} {mechanism} n={n} {delta:.4g}"))
            beyond += seconds > 1 and 12 < parse(mechanism).epsilon0 < math.inf
    times.sort(reverse=True)
    for seconds, text in times[:10]:
        sys.stdout.write(f"{seconds:8.3f} s  {text}\n")
    slow = sum(seconds > 1 for seconds, _ in times)
    median = times[len(times) // 2][0] if times else math.nan
    sys.stdout.write(
        f"{len(times)} questions, median {median:.4f} s, {slow} above a second, {beyond} of them "
        "with a level above 12\n"
    )


if __name__ == "__main__":
    main()
