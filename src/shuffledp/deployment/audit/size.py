"""How many runs an audit needs to show anything at all."""

from __future__ import annotations

import math

#: More runs are not made.
MAX_TRIALS = 10**9


def enough_trials(gap: float, epsilon: float, risk: float) -> int | None:
    r"""Return so many runs that an event with :math:`P-e^\varepsilon Q\ge` ``gap`` shows.

    Half of the runs, m, are counted. With :math:`r=\sqrt{\log(1/\text{risk})/(2m)}` Hoeffding's
    inequality says that the shares seen are within r of P and Q, each except with probability
    ``risk``, and that the limits of Clopper and Pearson are within r of the shares. So the lower
    limit of P exceeds :math:`e^\varepsilon` times the upper limit of Q where
    :math:`2r(1+e^\varepsilon)` is below the gap.

    Args:
        gap: what the event reveals.
        epsilon: at most 300.
        risk: of each of the two limits.

    Returns:
        the number of runs on each dataset, None if there is no gap or they are too many to make.

    >>> enough_trials(0.1, 0.0, 0.0005), enough_trials(1e-6, 0.0, 0.0005)
    (12162, None)
    """
    if gap <= 0:
        return None
    counted = 2 * math.log(1 / risk) * ((1 + math.exp(epsilon)) / gap) * (1 + math.exp(epsilon))
    trials = 2 * counted / gap
    return 2 * math.floor(trials / 2) + 2 if trials < MAX_TRIALS else None
