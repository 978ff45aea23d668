"""What a plan has to meet, and what that makes of one mechanism."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.accounting.calibration.level import SMALLEST_EPSILON0
from shuffledp.accounting.setting import Setting
from shuffledp.basics.errors import MAX_EPSILON0
from shuffledp.basics.rounding import plain, round_down
from shuffledp.planning.analysis import Analysis, BestPublished, Guarantee
from shuffledp.planning.candidate import Candidate, LeftOut, Option
from shuffledp.planning.family_search import Found, least_epsilon, least_error, runs
from shuffledp.planning.task import Family, Task

_COMMON_EPSILON0 = 1.0  # at which every mechanism runs whose reports can be written down


@dataclass(frozen=True)
class Goal(ABC):
    """A target for the mechanisms of a task.

    Attributes:
        task: what is estimated, from how many users.
        delta: the delta to be met.
        setting: the users and all else, but for the mechanism.
        target: the number to be met.
    """

    task: Task
    delta: float
    setting: Setting
    target: float

    @abstractmethod
    def search(self, families: Sequence[Family], analysis: Analysis) -> Found | None:
        """Return the best choice of parameters that meets the target, None if none does."""

    @abstractmethod
    def rank(self, ours: Candidate) -> float:
        """Return by what options are sorted, the least first."""

    @abstractmethod
    def gain(self, ours: Candidate, previous: Candidate) -> float | None:
        """Return how many times more the published bounds cost."""

    @abstractmethod
    def reason(self, families: Sequence[Family]) -> str:
        """Say why no choice meets the target."""

    def judge(self, named: tuple[str, Sequence[Family]]) -> Option | LeftOut:
        """Search one mechanism with our guarantee and with the published bounds."""
        name, families = named
        if not families:
            return LeftOut(name, "with so few values it is nothing else than krr")
        if not any(runs(family(_COMMON_EPSILON0)) for family in families):
            return LeftOut(name, "with so many values its reports are too long")
        found = self.search(families, Guarantee(self.setting, self.delta))
        if found is None:
            return LeftOut(name, self.reason(families))
        others = BestPublished(self.setting, self.delta)
        return self.option(found, self.search(families, others))

    def option(self, found: Found, published: Found | None) -> Option:
        """Compare what our guarantee and what the published bounds allow."""
        lies = self.setting.crowd.corrupted
        ours = Candidate.of(found, self.task, lies)
        previous = None if published is None else Candidate.of(published, self.task, lies)
        return Option(ours, previous, None if previous is None else self.gain(ours, previous))


@dataclass(frozen=True)
class LeastError(Goal):
    """The least error at a given epsilon."""

    def search(self, families: Sequence[Family], analysis: Analysis) -> Found | None:
        """Search the largest safe epsilon0."""
        return least_error(families, self.task, analysis, self.target)

    def rank(self, ours: Candidate) -> float:
        """Return the error."""
        return ours.error

    def gain(self, ours: Candidate, previous: Candidate) -> float | None:
        """Compare the errors."""
        return previous.error / ours.error

    def reason(self, families: Sequence[Family]) -> str:
        """Say that no epsilon0 is small enough."""
        return f"no epsilon0 of at least {plain(SMALLEST_EPSILON0)} meets the target"


@dataclass(frozen=True)
class LeastEpsilon(Goal):
    """The least epsilon at a given error."""

    def search(self, families: Sequence[Family], analysis: Analysis) -> Found | None:
        """Search the smallest epsilon0 that is accurate enough."""
        return least_epsilon(families, self.task, analysis, self.target)

    def rank(self, ours: Candidate) -> float:
        """Return epsilon."""
        return ours.epsilon

    def gain(self, ours: Candidate, previous: Candidate) -> float | None:
        """Compare the epsilons, unless ours is 0."""
        return previous.epsilon / ours.epsilon if ours.epsilon > 0 else None

    def reason(self, families: Sequence[Family]) -> str:
        """Say whether the error or the proof is in the way."""
        least = min(self.task.error(family(MAX_EPSILON0)) for family in families)
        if least > self.target:
            return f"its error is never below {round_down(least)}"
        return "with no choice of its parameters it can be run and certified"
