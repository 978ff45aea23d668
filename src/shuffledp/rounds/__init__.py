"""Several rounds: from certified deltas of one round to certified deltas of all together."""

from shuffledp.rounds.bound import ComposedBound
from shuffledp.rounds.curve import ComposedCurve
from shuffledp.rounds.profile import RoundProfile, largest_profile

__all__ = ["ComposedBound", "ComposedCurve", "RoundProfile", "largest_profile"]
