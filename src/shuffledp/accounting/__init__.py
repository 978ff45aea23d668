"""Answers: epsilon, delta, the largest epsilon0, the smallest n."""

from shuffledp.accounting.accountant import Profile, Report, ShuffleAccountant
from shuffledp.accounting.calibration import calibrate_epsilon0, required_users
from shuffledp.accounting.general_clone import GeneralClone

__all__ = [
    "GeneralClone",
    "Profile",
    "Report",
    "ShuffleAccountant",
    "calibrate_epsilon0",
    "required_users",
]
