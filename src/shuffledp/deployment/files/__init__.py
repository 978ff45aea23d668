"""Files: from a table of answers to shuffled reports, and from reports to estimates."""

from shuffledp.deployment.files.columns import Column
from shuffledp.deployment.files.estimation import (
    Estimation,
    Section,
    estimate_files,
    estimate_published,
)
from shuffledp.deployment.files.frame_estimation import estimate_frame
from shuffledp.deployment.files.problems import DataError
from shuffledp.deployment.files.randomization import Randomization
from shuffledp.deployment.files.sidecar import Guarantee, Sidecar, sidecar_path
from shuffledp.deployment.files.tier_estimation import (
    PooledEstimation,
    estimate_pooled_counts,
    estimate_tier_files,
)
from shuffledp.deployment.ledger.ledger import BudgetExceededError, Ledger
from shuffledp.deployment.ledger.ledger_entries import Budget, RecordedRounds

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
