"""Files: from a table of answers to shuffled reports, and from reports to estimates."""

from shuffledp.files.columns import Column
from shuffledp.files.estimation import Estimation, Section, estimate_files, estimate_published
from shuffledp.files.frame_estimation import estimate_frame
from shuffledp.files.ledger import BudgetExceededError, Ledger
from shuffledp.files.ledger_entries import Budget, RecordedRounds
from shuffledp.files.problems import DataError
from shuffledp.files.randomization import Randomization
from shuffledp.files.sidecar import Guarantee, Sidecar, sidecar_path
from shuffledp.files.tier_estimation import (
    PooledEstimation,
    estimate_pooled_counts,
    estimate_tier_files,
)

__all__ = [
    "Budget",
    "BudgetExceededError",
    "Column",
    "DataError",
    "Estimation",
    "Guarantee",
    "Ledger",
    "PooledEstimation",
    "Randomization",
    "RecordedRounds",
    "Section",
    "Sidecar",
    "estimate_files",
    "estimate_frame",
    "estimate_pooled_counts",
    "estimate_published",
    "estimate_tier_files",
    "sidecar_path",
]
