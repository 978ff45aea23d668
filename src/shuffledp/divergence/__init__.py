"""From the law of one GPARV to a certified delta."""

from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.engine import log_delta, log_delta_bound

__all__ = ["LogEnclosure", "log_delta", "log_delta_bound"]
