r"""How unlikely few successes are: :math:`P(\mathrm{Bin}(m,\gamma)<k)`, bounded in balls."""

from __future__ import annotations

from flint import arb

from shuffledp.basics.balls import precision


def few_successes(m: int, mass: arb, k: int) -> arb:
    r"""Bound P(Bin(m, mass) < k) from above.

    With :math:`g=k-1\le m\gamma` Chernoff's bound is

    .. math:: \Big(\frac{m\gamma}g\Big)^g\Big(\frac{m(1-\gamma)}{m-g}\Big)^{m-g} .

    It falls as the mass grows, so the lower end of the ball counts.

    >>> few_successes(10, arb(0.5), 1).str(5, radius=False), few_successes(10, arb(0.5), 6) == 1
    ('0.00097656', True)
    """
    gamma, rest = mass.lower(), k - 1
    if k == 0 or (gamma >= 1 and k <= m):
        return arb(0)
    if not 0 < gamma < 1 or not rest < m * gamma:
        return arb(1)
    log = (m - rest) * (m * (1 - gamma) / (m - rest)).log()
    if rest > 0:
        log += rest * (m * gamma / rest).log()
    return log.exp().upper()


def users_aside(f: int, pool: float, risk: float, n: int) -> int | None:
    """Return m below n - 1 with P(Bin(m, pool) < f) at most ``risk``, None if there is none.

    The smallest one by the bound above.

    >>> users_aside(1, 0.5, 1e-3, 100), users_aside(3, 1.0, 1e-3, 100), users_aside(3, 0.1, 1e-3, 9)
    (10, 3, None)
    """
    with precision():
        mass = arb(pool)

        def is_rare(m: int) -> bool:
            return bool(few_successes(m, mass, f) <= risk)

        low, high = f - 1, n - 2
        if high < f or not is_rare(high):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if is_rare(middle) else (middle, high)
        return high
