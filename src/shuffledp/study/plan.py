"""A plan for a study: strategies that meet its target, the best one first."""

from __future__ import annotations

from dataclasses import dataclass

from shuffledp.study.option import StudyOption
from shuffledp.study.study import Study


@dataclass(frozen=True)
class LeftOutStrategy:
    """A strategy that a plan does not offer, and why."""

    strategy: str
    reason: str


@dataclass(frozen=True)
class StudyPlan:
    """The strategies that meet the target of a study.

    Attributes:
        study: the study.
        options: sorted by score, the best first.
        left_out: strategies that do not meet the target, or cannot give what is wanted.
    """

    study: Study
    options: tuple[StudyOption, ...]
    left_out: tuple[LeftOutStrategy, ...]

    @property
    def best(self) -> StudyOption:
        """The option of least score."""
        return self.options[0]
