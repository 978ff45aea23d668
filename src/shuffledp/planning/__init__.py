"""Plans: which mechanism, at which epsilon0, estimates best what is wanted."""

from shuffledp.planning.candidate import Candidate, LeftOut, Option
from shuffledp.planning.error_chart import error_chart
from shuffledp.planning.plan import TASKS, Plan, plan
from shuffledp.planning.prediction import Prediction
from shuffledp.planning.task import Task

__all__ = [
    "TASKS",
    "Candidate",
    "LeftOut",
    "Option",
    "Plan",
    "Prediction",
    "Task",
    "error_chart",
    "plan",
]
