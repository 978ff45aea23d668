"""From the law of one GPARV to a certified delta.

What is certified stands in the modules of this package, what is only tried in ``proposals``.
"""

from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.engine import log_delta, log_delta_bound
from shuffledp.divergence.proposals.estimate import estimate_log_delta

__all__ = ["LogEnclosure", "estimate_log_delta", "log_delta", "log_delta_bound"]
