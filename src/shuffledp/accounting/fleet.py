r"""Batches drawn from a fleet: how many corrupted devices one of them holds, at most."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from shuffledp.accounting.crowd import count_of
from shuffledp.basics.balls import ball, precision
from shuffledp.basics.errors import MAX_USERS, check_integer, check_probability, check_users

#: Logarithms of factorials up to 2**53 keep 100 digits of what is left of them.
_BITS = 512


def corrupted_in_batch(*, fleet: int, corrupted: float | Fraction, batch: int, risk: float) -> int:
    r"""Return how many corrupted devices a random batch holds, but for a small risk.

    A batch of b devices, drawn at random from a fleet of N of which f are corrupted, holds H of
    them with :math:`P(H=i)=\binom fi\binom{N-f}{b-i}/\binom Nb`. That is log-concave in i, so
    :math:`P(H\ge k)\le p(k)/(1-p(k+1)/p(k))` where p falls. The smallest h is returned for which
    this bound on :math:`P(H>h)`, in balls, is at most the risk.

    What is :math:`(\varepsilon,\delta)`-differentially private with h corrupted users is
    :math:`(\varepsilon,\delta+\text{risk})`-differentially private for the batch: ask about
    ``corrupted=h`` at what the risk leaves of delta. The draw must not depend on the devices: where
    they choose themselves whether to report, nothing of the kind is known.

    Args:
        fleet: how many devices there are.
        corrupted: how many of them the analyst controls, a number or a share.
        batch: how many devices report.
        risk: what the probability of more corrupted ones in the batch may be; a part of delta.

    >>> corrupted_in_batch(fleet=250_000, corrupted=0.02, batch=10_000, risk=1e-9)
    287
    """
    check_users(fleet, "fleet")
    check_integer("batch", batch, 1, min(fleet, MAX_USERS))
    allowed = check_probability("risk", risk)
    bad = count_of("corrupted", corrupted, fleet)
    low, high = bad * batch // fleet, min(bad, batch)  # p falls beyond the mean
    while low < high:
        middle = (low + high) // 2
        if _is_rare(fleet, bad, batch, middle + 1, allowed):
            high = middle
        else:
            low = middle + 1
    return high


def _is_rare(fleet: int, bad: int, batch: int, least: int, risk: float) -> bool:
    """Whether it is proved that so many corrupted ones, or more, have at most this probability."""
    if least > min(bad, batch):
        return True
    falls = (
        Fraction((bad - least) * (batch - least), (least + 1) * (fleet - bad - batch + least + 1))
        if fleet - bad - batch + least + 1 > 0
        else Fraction(1)
    )
    if falls >= 1:
        return False
    with precision(_BITS):
        log = _log_choose(bad, least) + _log_choose(fleet - bad, batch - least)
        tail = (log - _log_choose(fleet, batch)).exp() / ball(1 - falls)
        return bool(tail <= ball(risk))


def _log_choose(n: int, k: int) -> arb:
    return arb(n + 1).lgamma() - arb(k + 1).lgamma() - arb(n - k + 1).lgamma()
