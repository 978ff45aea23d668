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
from shuffledp.accounting.given import as_accountant
from shuffledp.accounting.max_rounds import AllowedRounds, max_rounds
from shuffledp.accounting.mixed import Group, MixedAccountant, Tier
from shuffledp.accounting.profile import Profile
from shuffledp.accounting.report import Report
from shuffledp.accounting.rounds import Rounds
from shuffledp.accounting.rounds_report import RoundsReport
from shuffledp.accounting.tier_calibration import OpenGroup, TierCalibration, calibrate_tiers

__all__ = [
    "AllowedRounds",
    "Calibration",
    "Datasets",
    "GeneralClone",
    "Group",
    "MixedAccountant",
    "OpenGroup",
    "Profile",
    "Report",
    "RequiredUsers",
    "Rounds",
    "RoundsReport",
    "ShuffleAccountant",
    "Tier",
    "TierCalibration",
    "as_accountant",
    "calibrate_epsilon0",
    "calibrate_tiers",
    "max_rounds",
    "required_users",
]
