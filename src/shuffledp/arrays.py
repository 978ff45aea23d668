"""Types of arrays, and the unit in which rounding is counted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]
IntArray = NDArray[np.int64]

#: Unit round-off of IEEE double precision.
UNIT = 2.0**-53
