"""Studies: several attributes of people, from a table to finished estimates."""

from shuffledp.deployment.study.answers import Answers, Place, Quantile
from shuffledp.deployment.study.attribute import Attribute
from shuffledp.deployment.study.planner import LeftOutStrategy, StudyPlan, plan_study
from shuffledp.deployment.study.scoring import Predictions
from shuffledp.deployment.study.shuffle import Shuffle
from shuffledp.deployment.study.study import Study
from shuffledp.deployment.study.study_design import StudyDesign
from shuffledp.deployment.study.study_estimation import (
    StudyEstimate,
    StudyEstimation,
    estimate_reports,
    estimate_study_files,
)
from shuffledp.deployment.study.study_option import StudyOption
from shuffledp.deployment.study.study_randomization import (
    StudyReports,
    randomize_file,
    randomize_frame,
)

__all__ = [
    "Answers",
    "Attribute",
    "LeftOutStrategy",
    "Place",
    "Predictions",
    "Quantile",
    "Shuffle",
    "Study",
    "StudyDesign",
    "StudyEstimate",
    "StudyEstimation",
    "StudyOption",
    "StudyPlan",
    "StudyReports",
    "estimate_reports",
    "estimate_study_files",
    "plan_study",
    "randomize_file",
    "randomize_frame",
]
