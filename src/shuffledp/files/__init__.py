"""Files: from a table of answers to shuffled reports, and from reports to estimates."""

from shuffledp.files.columns import Column
from shuffledp.files.estimation import Estimation, Section, estimate_files, estimate_published
from shuffledp.files.ledger import BudgetExceededError, Ledger
from shuffledp.files.ledger_entries import Budget, RecordedRounds
from shuffledp.files.problems import DataError
from shuffledp.files.randomization import Randomization
from shuffledp.files.sidecar import Guarantee, Sidecar, sidecar_path

__all__ = [
    "Budget",
    "BudgetExceededError",
    "Column",
    "DataError",
    "Estimation",
    "Guarantee",
    "Ledger",
    "Randomization",
    "RecordedRounds",
    "Section",
    "Sidecar",
    "estimate_files",
    "estimate_published",
    "sidecar_path",
]
