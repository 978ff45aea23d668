r"""The delta of a sum of values with normal noise, in balls.

The noise of n users is normal with deviation :math:`s=\sigma\sqrt n`, and a user moves the sum by 1
at most, so :math:`\delta=\bar\Phi(\varepsilon s-\tfrac1{2s})-e^\varepsilon\bar\Phi(\varepsilon s
+\tfrac1{2s})`, whatever the others hold.
"""

from __future__ import annotations

from flint import arb

from shuffledp.certification.enclosure import Enclosure, PrecisionError

_METHOD = {"name": "normal sum"}


def enclose_normal_sum(sigma: arb, n: int, epsilon: arb, rtol: float) -> Enclosure:
    """Enclose delta.

    Raises:
        PrecisionError: if more bits are needed.
    """
    deviation = sigma * arb(n).sqrt()
    centre, half, root = epsilon * deviation, 1 / (2 * deviation), arb(2).sqrt()
    near, far = (((centre + side * half) / root).erfc() for side in (-1, 1))
    delta = (near - epsilon.exp() * far) / 2
    enclosure = Enclosure.between(delta, delta, _METHOD)
    if not enclosure.is_narrow(rtol):
        raise PrecisionError
    return enclosure
