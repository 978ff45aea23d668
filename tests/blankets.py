"""Questions about the blanket bound, which is enclosed; the default bound encloses the truth."""

from __future__ import annotations

from functools import partial

from shuffledp import Interval, ShuffleAccountant, calibrate_epsilon0, required_users
from shuffledp.bounds.decomposed import Decomposed
from shuffledp.bounds.root import epsilon_above, epsilon_below
from shuffledp.decomposition import Decomposition

blanket_accountant = partial(ShuffleAccountant, bound="blanket")
blanket_level = partial(calibrate_epsilon0, bound="blanket")
blanket_users = partial(required_users, bound="blanket")


def enclose_epsilon(law: Decomposition, n: int, delta: float, rtol: float = 1e-4) -> Interval:
    """Enclose the epsilon of n users whose bound is that of one decomposition."""
    curve = Decomposed(law, n, rtol)
    return Interval(
        epsilon_below(curve, delta, rtol).epsilon, epsilon_above(curve, delta, rtol).epsilon
    )


def enclose_log_delta(law: Decomposition, n: int, epsilon: float, rtol: float = 1e-4) -> Interval:
    """Enclose log delta of n users whose bound is that of one decomposition."""
    curve = Decomposed(law, n, rtol)
    return Interval(curve.below(epsilon).log, curve.above(epsilon).log)


def width_asked(accountant: ShuffleAccountant, epsilon: float) -> float:
    """The width of log delta at which epsilon is as narrow as asked for."""
    if epsilon == 0:
        return accountant.rtol
    here, beyond = (accountant.log_delta_interval(x).upper for x in (epsilon, epsilon * 1.001))
    return accountant.rtol * max(1.0, 1e3 * (here - beyond))
