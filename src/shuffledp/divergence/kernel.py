r"""What is averaged over a sum: :math:`x_+`, or the hockey stick of a privacy loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shuffledp.arrays import FloatArray

_STRAIGHT = 2.0**-60  # f_c(x) is x to half of that, for smaller c x


@dataclass(frozen=True)
class Kernel:
    r"""The function :math:`f_c(x)=(1-e^{-cx})_+/c` with curvature :math:`c\ge0`.

    For c = 0 it is :math:`x_+`, one round of shuffled reports. For c = 1 it is the hockey stick:
    :math:`E f_1(L-\varepsilon)` is the divergence of two laws with privacy loss L. Its Laplace
    transform is :math:`1/(z(z+c))`; it grows, by at most 1 per unit, and
    :math:`f_c''+cf_c'` is the unit mass at 0.

    >>> HINGE.at(np.array([-1.0, 2.0])).tolist(), HOCKEY_STICK.at(np.array([0.0])).tolist()
    ([0.0, 2.0], [0.0])
    """

    curvature: float

    def __post_init__(self) -> None:
        if not 0 <= self.curvature < math.inf:
            raise ValueError(f"curvature must be at least 0 and finite, got {self.curvature!r}")

    def at(self, x: FloatArray) -> FloatArray:
        """Return f_c(x), good to 8 units of itself."""
        x = np.maximum(x, 0.0)
        if self.curvature == 0:
            return x
        bend = self.curvature * x
        return np.where(bend < _STRAIGHT, x, -np.expm1(-bend) / self.curvature)

    def in_units(self, factor: float) -> Kernel:
        r"""Return the kernel for ``factor`` times the sum: :math:`f_c(x/a)=f_{c/a}(x)/a`.

        Its curvature is rounded, which changes :math:`f_c` by at most one unit of itself.
        """
        return Kernel(self.curvature / factor)

    def log_peak(self, s: float) -> tuple[float, float, float]:
        r"""Return what adds up to the logarithm of the largest :math:`f_c(x)e^{-sx}`, s > 0.

        It is :math:`(1+c/s)^{-s/c}/(s+c)`, for c = 0 :math:`1/(es)`. Each part is good to 8 units.
        """
        ratio = self.curvature / s
        log_ratio = math.log1p(ratio)
        return -(log_ratio / ratio if ratio > 0 else 1.0), -log_ratio, -math.log(s)


#: One round: the positive part.
HINGE = Kernel(0.0)

#: Several rounds: the hockey stick of a privacy loss.
HOCKEY_STICK = Kernel(1.0)
