r"""Heavy tails: large values of G that are too rare to matter.

If large values are replaced by 0, the sum can only fall, and by no more than the large values
themselves: with :math:`G'=G\,1[G\le t]`, :math:`t\ge0`,

.. math:: E[S'_+] \le E[S_+] \le E[S'_+] + n\,E[G;\,G>t] .

A law whose exponential moments are dominated by such values (the Gaussian mechanism's, whose ratios
are unbounded) is cut where the last term is negligible.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.decomposition.gparv import Law


@dataclass(frozen=True, eq=False)
class CutLaw:
    """A law without its largest values.

    Attributes:
        law: the law with the large values set to 0.
        mass: upper bound on E[G; cut].
    """

    law: Law
    mass: float = 0.0


def cut_above(law: Law, level: float) -> CutLaw:
    """Set the values above ``level`` to 0, as far as they are not negative for sure."""
    if level == math.inf:
        return CutLaw(law)
    removed = np.flatnonzero((law.values > max(level, 0.0)) & (law.values >= law.value_error))
    if removed.size == 0:
        return CutLaw(law)
    values, error = law.values.copy(), law.value_error.copy()
    mass = float(law.weights[removed] @ (values[removed] + error[removed]))
    values[removed] = error[removed] = 0.0
    # Every product and the sum of value and error are rounded, and so is a sum of `size` terms.
    mass *= 1 + float(law.weight_error[removed].max()) + (removed.size + 4) * UNIT
    return CutLaw(replace(law, values=values, value_error=error), mass)
