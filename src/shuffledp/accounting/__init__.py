"""Answers: epsilon, delta, the largest epsilon0, the smallest n."""

from shuffledp.accounting.accountant import Profile, ShuffleAccountant, as_accountant
from shuffledp.accounting.calibration import (
    Calibration,
    RequiredUsers,
    calibrate_epsilon0,
    required_users,
)
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.general_clone import GeneralClone
from shuffledp.accounting.mixed import Group, MixedAccountant, Tier
from shuffledp.accounting.report import Report

__all__ = [
    "Calibration",
    "Datasets",
    "GeneralClone",
    "Group",
    "MixedAccountant",
    "Profile",
    "Report",
    "RequiredUsers",
    "ShuffleAccountant",
    "Tier",
    "as_accountant",
    "calibrate_epsilon0",
    "required_users",
]
