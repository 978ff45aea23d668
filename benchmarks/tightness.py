"""How near the best bound is to the attack, and what it costs: ``python benchmarks/tightness.py``.

Epsilon at delta = 1e-6. The first ratio is guarantee / lower bound, beside that of the
blanket; the second one is the time of the best bound / that of the blanket, both of this machine.
Settings that miss a limit are listed again at the end.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass

from timing import warm_seconds

from shuffledp import ShuffleAccountant
from shuffledp.accounting.setting import Bound
from shuffledp.basics.errors import AccuracyWarning

DELTA = 1e-6
LIMIT = 1.01

#: Users and levels at which the limit is asked for.
ASKED = [(1000, 1), (1000, 2), (10**4, 1), (10**4, 2), (10**4, 4)]

#: Beyond what is asked: few blanket users.
HARD = [(100, 1), (1000, 4)]

SUPPORT = [
    "krr(k=2, epsilon0={})",
    "krr(k=3, epsilon0={})",
    "krr(k=10, epsilon0={})",
    "blh(epsilon0={})",
    "olh(epsilon0={}, buckets=4)",
    "rappor(epsilon0={})",
    "oue(epsilon0={})",
    "subset(epsilon0={}, domain_size=10)",
    "hadamard(epsilon0={}, domain_size=100)",
]
NOISE = [
    "laplace(epsilon0={})",
    "laplace(epsilon0={}, domain='interval')",
    "discrete_laplace(epsilon0={}, bound=4)",
    "discrete_laplace(epsilon0={}, bound=10)",
]
GENERIC = ["any_pure_ldp(epsilon0={})"]

#: The most that the best bound may cost, in blanket bounds.
MOST = {"support": 30.0, "noise": 60.0, "generic": 10.0}
FAMILIES = {"support": SUPPORT, "noise": NOISE, "generic": GENERIC}


@dataclass(frozen=True)
class Setting:
    """A mechanism, a number of users, and what was measured there."""

    name: str
    n: int
    tight: float
    blanket: float
    cost: float
    most: float
    is_asked: bool

    @property
    def met(self) -> bool:
        return self.tight <= LIMIT and self.cost <= self.most

    def __str__(self) -> str:
        mark = "ok" if self.met else "MISSED" if self.is_asked else "not asked"
        return (
            f"{self.name:<42} n = {self.n:<6}{self.tight:>9.4f}{self.blanket:>9.4f}"
            f"{self.cost:>8.1f}   {mark}"
        )


def measure(family: str, mechanism: str, n: int, epsilon0: int) -> Setting:
    """Measure both ratios."""
    text = mechanism.format(epsilon0)

    def epsilon(bound: Bound) -> float:
        return ShuffleAccountant(text, n, bound=bound).get_epsilon(DELTA)

    lower = ShuffleAccountant(text, n).epsilon_lower_bound(DELTA)
    cost = warm_seconds(lambda: epsilon("best"), 3) / warm_seconds(lambda: epsilon("blanket"), 3)
    return Setting(
        name=text,
        n=n,
        tight=epsilon("best") / lower,
        blanket=epsilon("blanket") / lower,
        cost=cost,
        most=MOST[family],
        is_asked=(n, epsilon0) in ASKED,
    )


def independence_of_n(text: str) -> float:
    """Return the time for 1e12 users divided by that for 1e4."""
    many, few = (
        warm_seconds(lambda n=n: ShuffleAccountant(text, n, bound="best").get_epsilon(1e-10))
        for n in (10**12, 10**4)
    )
    return many / few


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("families", nargs="*", choices=[[], *FAMILIES], help="default: all")
    chosen = parser.parse_args().families or list(FAMILIES)
    warnings.simplefilter("ignore", AccuracyWarning)
    sys.stdout.write(f"{'':<53}{'best':>9}{'blanket':>9}{'cost':>8}\n")
    settings = []
    for family in chosen:
        for mechanism in FAMILIES[family]:
            for n, epsilon0 in ASKED + HARD:
                settings.append(measure(family, mechanism, n, epsilon0))
                sys.stdout.write(f"{settings[-1]}\n")
                sys.stdout.flush()
    slowest = max(independence_of_n(text.format(1)) for text in SUPPORT)
    sys.stdout.write(f"n = 1e12 / n = 1e4, slowest of all: {slowest:.2f}   <= 2\n")
    above = [setting for setting in settings if not setting.met]
    missed = sum(setting.is_asked for setting in above)
    asked = sum(setting.is_asked for setting in settings)
    sys.stdout.write(f"{asked - missed} met, {missed} missed where it is asked\n")
    for setting in above:
        sys.stdout.write(f"above {LIMIT} or too slow: {setting}\n")
    return 1 if missed or slowest > 2 else 0


if __name__ == "__main__":
    sys.exit(main())
