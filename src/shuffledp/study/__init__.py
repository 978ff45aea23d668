"""Studies: several attributes of people, from a table to finished estimates."""

from shuffledp.study.answers import Answers, Place, Quantile
from shuffledp.study.attribute import Attribute
from shuffledp.study.estimation import (
    StudyEstimate,
    StudyEstimation,
    estimate_reports,
    estimate_study_files,
)
from shuffledp.study.option import StudyOption
from shuffledp.study.planner import LeftOutStrategy, StudyPlan, plan_study
from shuffledp.study.randomization import StudyReports, randomize_file, randomize_frame
from shuffledp.study.scoring import Predictions
from shuffledp.study.shuffle import Shuffle
from shuffledp.study.study import Study
from shuffledp.study.study_design import StudyDesign

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
