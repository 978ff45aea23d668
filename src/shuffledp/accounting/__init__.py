"""Answers: epsilon, delta, the largest epsilon0, the smallest n."""

from shuffledp.accounting.accountant import Profile, Report, ShuffleAccountant
from shuffledp.accounting.calibration import calibrate_epsilon0, required_users

__all__ = ["Profile", "Report", "ShuffleAccountant", "calibrate_epsilon0", "required_users"]
