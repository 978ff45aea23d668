"""Answers: epsilon, delta, the largest epsilon0, the smallest n."""

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.calibration import (
    Calibration,
    RequiredUsers,
    calibrate_epsilon0,
    required_users,
)
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.general_clone import GeneralClone
from shuffledp.accounting.honest import as_accountant
from shuffledp.accounting.mixed import Group, MixedAccountant, Tier
from shuffledp.accounting.profile import Profile
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
