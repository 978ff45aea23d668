"""Answers: epsilon, delta, the largest epsilon0, the smallest n."""

from shuffledp.accounting.accountant import ShuffleAccountant
from shuffledp.accounting.calibration.calibration import (
    Calibration,
    RequiredUsers,
    calibrate_epsilon0,
    required_users,
)
from shuffledp.accounting.calibration.max_rounds import AllowedRounds, max_rounds
from shuffledp.accounting.calibration.tier_calibration import (
    OpenGroup,
    TierCalibration,
    calibrate_tiers,
)
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.fleet import corrupted_in_batch
from shuffledp.accounting.general_clone import GeneralClone
from shuffledp.accounting.given import as_accountant
from shuffledp.accounting.mixed import MixedAccountant, Tier
from shuffledp.accounting.privacy_profile import Profile
from shuffledp.accounting.report import Report
from shuffledp.accounting.rounds.rounds import Rounds
from shuffledp.accounting.rounds.rounds_report import RoundsReport
from shuffledp.accounting.setting import Group, Setting

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
    "Setting",
    "ShuffleAccountant",
    "Tier",
    "TierCalibration",
    "as_accountant",
    "calibrate_epsilon0",
    "calibrate_tiers",
    "corrupted_in_batch",
    "max_rounds",
    "required_users",
]
