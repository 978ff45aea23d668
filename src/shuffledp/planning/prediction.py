"""How far estimates will be from the truth, as a formula says."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Prediction:
    """The error of unbiased estimates from the reports of n users.

    The truth is what these n users hold, not what a population holds from which they are drawn.

    Attributes:
        squared_error: expected squared l2 error, the sum of the variances of all estimates.
        rms_error: root mean square over the estimates: the typical error of one of them.
        max_error: standard deviation of the estimate that is known worst.
    """

    squared_error: float
    rms_error: float
    max_error: float

    @classmethod
    def of_variances(cls, total: float, largest: float, count: int) -> Prediction:
        """Return the prediction for ``count`` estimates from their total and largest variance.

        >>> Prediction.of_variances(0.04, 0.01, count=4)
        Prediction(squared_error=0.04, rms_error=0.1, max_error=0.1)
        """
        return cls(total, math.sqrt(total / count), math.sqrt(largest))
