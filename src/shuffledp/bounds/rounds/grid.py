r"""Where to evaluate the profile of one round.

Nothing in this module is trusted: laws made of any nodes are valid. Cells of width h in epsilon
spread the loss by a variance of :math:`h^2/6` (upper law) or narrow it by :math:`2h^2/3` (lower
law), so h is chosen in proportion to the standard deviation of the loss: that moves the epsilon of
any number of rounds by a relative :math:`h^2/s^2`, for any n and delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

_WIDTH = 1.0  # of a cell, in s sqrt(rtol)
_ALMOST_1 = 1 - 1e-9  # of delta: the loss of delta 1 has no scale
_EVEN = 3.0  # cells grow in proportion to epsilon beyond so many s


def scale_of(delta: float) -> float:
    """Return the standard deviation of the Gaussian loss with this delta at epsilon = 0.

    >>> round(scale_of(0.0398776), 4)
    0.1
    """
    from scipy.special import erfinv

    return math.sqrt(8) * float(erfinv(min(delta, _ALMOST_1)))


def epsilons(scale: float, rtol: float, fineness: int, end: float) -> Iterator[float]:
    """Yield increasing epsilons from 0 to ``end``, denser by two for each unit of fineness.

    >>> found = list(epsilons(0.1, 1e-2, 0, 0.5))
    >>> found[0], round(found[1], 4), found[-1], len(found)
    (0.0, 0.01, 0.5, 47)
    """
    step = _WIDTH * scale * math.sqrt(rtol) / 2**fineness
    epsilon = 0.0
    while epsilon < end:
        yield epsilon
        width = step * max(1.0, epsilon / (_EVEN * scale))
        following = epsilon + width
        epsilon = end if following > end - width / 2 else following
    yield end
