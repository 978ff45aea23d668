"""How much quicker than another checkout: ``python benchmarks/before.py OTHER/src``.

Questions that once took long, and random ones of ``corners.py``, are asked in both trees, each in a
process of its own, several times and in turns; the least time of a processor's thread counts.
Prints one line per question, and the median and the extremes of the ratios.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent

#: Mechanism, number of users, delta and bound.
QUESTIONS = [
    (
        "joint(rappor(epsilon0=0.5598, domain_size=5), krr(k=2, epsilon0=0.05136), "
        "discrete_laplace(epsilon0=30.6992, bound=3))",
        792,
        9e-11,
        "best",
    ),
    ("discrete_laplace(epsilon0=13.368279105100028, bound=5)", 184, 0.99786, "best"),
    ("unary(p=0.9498, q=6.75e-11, domain_size=17)", 645, 1e-6, "best"),
    ("blh(epsilon0=22.08117529125946, domain_size=5)", 116, 0.0026, "best"),
    ("discrete_laplace(epsilon0=11.7978, bound=10)", 11, 2.85e-4, "best"),
    ("discrete_laplace(epsilon0=1.0, bound=100)", 10_000, 1e-6, "blanket"),
    ("laplace(epsilon0=1.0)", 10_000, 1e-6, "blanket"),
    ("laplace(epsilon0=4.0)", 100, 1e-6, "blanket"),
    ("gaussian(sigma=1.0)", 10_000, 1e-6, "blanket"),
    ("gaussian(sigma=0.5)", 100, 1e-6, "blanket"),
    ("gaussian(sigma=2.0)", 10, 1e-30, "blanket"),
]
#: Arguments of ``calibrate``.
CALIBRATIONS = [
    ("any_pure_ldp()", 10**9, 5.0, 1e-6),
    ("krr(k=3)", 10_000, 0.0, 1e-6),
    ("laplace()", 10_000, 0.5, 1e-6),
]


def measure(count: int) -> dict[str, float]:
    """Return the time of every question in the tree that is imported."""
    from corners import BOUNDS, question

    from shuffledp import NoAnswerError, ShuffleAccountant, calibrate_epsilon0
    from shuffledp.basics.errors import AccuracyWarning

    warnings.simplefilter("ignore", AccuracyWarning)
    draw = random.Random(0)
    asked = list(QUESTIONS)
    for _ in range(count):
        drawn = question(draw)
        asked += [(*drawn, bound) for bound in BOUNDS]

    calls = {
        f"`{mechanism}`, n = {n}, delta = {delta:.3g}, {bound}": partial(
            ShuffleAccountant(mechanism, n, bound=bound).get_epsilon, delta
        )
        for mechanism, n, delta, bound in asked
    } | {
        f"`calibrate` of `{family}`, n = {n}, epsilon = {epsilon:g}": partial(
            calibrate_epsilon0, family, n=n, target_epsilon=epsilon, target_delta=delta
        )
        for family, n, epsilon, delta in CALIBRATIONS
    }
    ShuffleAccountant("gaussian(sigma=1.0)", 1000).get_epsilon(1e-6)  # imports
    found = {}
    for name, call in calls.items():
        start = time.thread_time()
        with suppress(NoAnswerError):
            call()
        found[name] = time.thread_time() - start
    return found


def in_tree(source: Path, count: int) -> dict[str, float]:
    """Ask everything in a process that imports from a tree."""
    paths = {"PYTHONPATH": f"{source.resolve()}", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(HERE / "before.py"), "--measure", "--count", str(count)]
    done = subprocess.run(command, env=os.environ | paths, check=True, capture_output=True)
    times: dict[str, float] = json.loads(done.stdout)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, nargs="?", help="the folder src of another checkout")
    parser.add_argument("--count", type=int, default=0, help="random questions besides")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        sys.stdout.write(json.dumps(measure(asked.count)))
        return
    if asked.other is None or not (asked.other / "shuffledp").is_dir():
        parser.error(f"other must be the folder src of a checkout, got {str(asked.other)!r}")
    runs: list[tuple[dict[str, float], dict[str, float]]] = []
    for _ in range(asked.repeat):
        runs.append((in_tree(asked.other, asked.count), in_tree(HERE.parent / "src", asked.count)))
    ratios = {}
    for name in runs[0][0]:
        before, now = (min(run[side][name] for run in runs) for side in (0, 1))
        ratios[name] = before / now
        sys.stdout.write(f"| {name} | {ratios[name]:.2g} |\n")
    values = sorted(ratios.values())
    sys.stdout.write(
        f"before / now: median {statistics.median(values):.2f}, from {values[0]:.2f} to "
        f"{values[-1]:.2f}\n"
    )


if __name__ == "__main__":
    main()
