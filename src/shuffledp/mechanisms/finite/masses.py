"""How many digits the masses of outputs have."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager

from shuffledp.basics.balls import precision

#: Significant digits of masses; the least difference of levels, 1e-12, leaves 48 of them.
DIGITS = 60


def working_digits(digits: int = DIGITS) -> AbstractContextManager[None]:
    """Return a context in which balls have so many digits."""
    return precision(math.ceil(digits * math.log2(10)))
