"""From laws of GPARVs to a certified E[S_+] of their sum, and to a certified delta.

What is certified stands in the modules of this package, what is only tried in ``proposals``.
"""

from shuffledp.divergence.blocks import Block, BlockSum
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.engine import log_delta, log_delta_bound
from shuffledp.divergence.kernel import HINGE, HOCKEY_STICK, Kernel
from shuffledp.divergence.mean import log_mean, log_mean_bound, log_mean_positive
from shuffledp.divergence.point import Point
from shuffledp.divergence.proposals.estimate import estimate_log_delta
from shuffledp.divergence.proposals.size import largest_log_mean
from shuffledp.divergence.several import log_delta_bounds_at, log_deltas_at
from shuffledp.divergence.smooth import accepted_width, log_delta_at, log_delta_bound_at

__all__ = [
    "HINGE",
    "HOCKEY_STICK",
    "Block",
    "BlockSum",
    "Kernel",
    "LogEnclosure",
    "Point",
    "accepted_width",
    "estimate_log_delta",
    "largest_log_mean",
    "log_delta",
    "log_delta_at",
    "log_delta_bound",
    "log_delta_bound_at",
    "log_delta_bounds_at",
    "log_deltas_at",
    "log_mean",
    "log_mean_bound",
    "log_mean_positive",
]
