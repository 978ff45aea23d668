r"""The law of many users, for quick estimates: what is told apart tends to two normal laws.

Let V be the largest :math:`\sum_y(R(x_1)-R(x_1'))^2/R(v)` over neighbouring inputs and all v. As n
grows, the most that any datasets reveal tends to what tells N(0, 1) from N(mu, 1),
:math:`\mu=\sqrt{V/n}`, at every fixed :math:`\varepsilon/\mu` (docs/beyond.md).
"""

from __future__ import annotations

import math

from shuffledp.basics.arrays import usual_errors
from shuffledp.basics.errors import check_delta, check_users
from shuffledp.decomposition import Decomposition
from shuffledp.mechanisms import LocalRandomizer, as_randomizer

_HALVINGS = 60  # beyond the precision of doubles


def limiting_mu(randomizer: LocalRandomizer | str, n: int) -> float:
    r"""Return :math:`\sqrt{V/n}` in plain doubles: an estimate, which certifies nothing.

    In the limit of many users the shuffled reports are mu-GDP (Gaussian differential privacy).
    Infinite if some input has outputs that another one cannot produce.

    >>> round(limiting_mu("krr(k=2, epsilon0=1)", n=10_000), 5)  # V = (E - 1)^2 / E
    0.01042
    """
    mechanism, users = as_randomizer(randomizer), check_users(n)
    variances = (
        _variance(mechanism.decomposition(pair, v))
        for pair in mechanism.pairs_to_attack()
        for v in mechanism.common_inputs(pair)
    )
    return math.sqrt(max(variances, default=0.0) / users)


def limiting_epsilon(randomizer: LocalRandomizer | str, n: int, target_delta: float) -> float:
    r"""Return the epsilon of many users in the limit: an estimate, which certifies nothing.

    It solves :math:`\delta=\Phi(\mu/2-\varepsilon/\mu)-e^\varepsilon\Phi(-\mu/2-\varepsilon/\mu)`
    at :math:`\mu` = :func:`limiting_mu`. What is proved may be above it and usually is; use it to
    see orders of magnitude, and an accountant for whatever is promised to anybody.

    >>> from shuffledp import ShuffleAccountant
    >>> estimate = limiting_epsilon("krr(k=2, epsilon0=1)", 10_000, 1e-6)
    >>> proved = ShuffleAccountant("krr(k=2, epsilon0=1)", 10_000).get_epsilon(1e-6)
    >>> print(f"about {estimate:.4f}, proved {proved:.4f}")
    about 0.0352, proved 0.0357
    """
    mu, delta = limiting_mu(randomizer, n), check_delta(target_delta)
    if mu == 0 or delta == 1:
        return 0.0
    if delta == 0 or mu == math.inf:
        return math.inf
    low, high = 0.0, mu * (mu / 2 + 40.0)  # where delta is below the least double
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _delta(middle, mu) > delta else (low, middle)
    return high


@usual_errors
def _variance(decomposition: Decomposition) -> float:
    """Return the mean of (a/c - b/c)^2 under c, about; infinite if c leaves anything out."""
    if decomposition.singular:
        return math.inf
    difference = decomposition.ratio0 - decomposition.ratio1
    return float(decomposition.weight @ difference**2)


def _delta(epsilon: float, mu: float) -> float:
    first, second = _tail(epsilon / mu - mu / 2), _tail(epsilon / mu + mu / 2)
    return first - math.exp(epsilon) * second if second > 0 else first


def _tail(x: float) -> float:
    """Return P(N > x) of a standard normal variable."""
    return math.erfc(x / math.sqrt(2)) / 2
