"""Several rounds: from certified deltas of one round to certified deltas of all together."""

from shuffledp.bounds.rounds.composed_bound import ComposedBound
from shuffledp.bounds.rounds.curve import ComposedCurve
from shuffledp.bounds.rounds.profile import RoundProfile, largest_profile

__all__ = ["ComposedBound", "ComposedCurve", "RoundProfile", "largest_profile"]
