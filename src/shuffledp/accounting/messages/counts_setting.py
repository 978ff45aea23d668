"""What settings with one curve answer."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from shuffledp.basics.errors import check_delta, check_epsilon
from shuffledp.basics.interval import Interval
from shuffledp.basics.rounding import given_or_up, plain, round_down, round_up
from shuffledp.bounds.curve import Curve
from shuffledp.bounds.root import delta_above, delta_below, epsilon_above, epsilon_below

#: How neighbouring datasets differ.
Change = Literal["replace", "add or remove"]
CHANGES: tuple[Change, ...] = ("replace", "add or remove")


def check_change(relation: Change) -> Change:
    """Return a relation; refuse others."""
    if relation not in CHANGES:
        raise ValueError(f"relation must be one of {', '.join(CHANGES)}, got {relation!r}")
    return relation


@dataclass(frozen=True)
class MessagesReport:
    """An answer with its meaning.

    Attributes:
        setting: what was asked about.
        quantity: "epsilon" or "delta", which was asked for.
        target: the other one.
        guarantee: the proved answer, rounded up by printing.
        lower_bound: what no analysis can prove less than; 0 if nothing is known.
    """

    setting: CountsSetting
    quantity: Literal["epsilon", "delta"]
    target: float
    guarantee: float
    lower_bound: float

    @property
    def sentence(self) -> str:
        """One sentence that says all."""
        shown = (given_or_up(self.guarantee), plain(self.target))
        epsilon, delta = shown if self.quantity == "epsilon" else shown[::-1]
        claim = (
            f"{self.setting.situation}, {self.setting.seen} ({epsilon}, {delta})-differentially "
            f"private for neighbouring datasets that {self.setting.change_in_words}"
        )
        if self.lower_bound > 0:
            claim += (
                f"; no analysis can prove less than {self.quantity} = "
                f"{round_down(self.lower_bound)}"
            )
        return f"{claim}. {self.setting.warning}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of JSON answers."""
        guarantee, lower_bound = (
            x if math.isfinite(x) else None for x in (self.guarantee, self.lower_bound)
        )
        return {
            **self.setting.to_dict(),
            f"target_{'delta' if self.quantity == 'epsilon' else 'epsilon'}": self.target,
            self.quantity: guarantee,
            "lower_bound": lower_bound,
            "sentence": self.sentence,
        }

    def __str__(self) -> str:
        """Return the guarantee in one line."""
        other = "delta" if self.quantity == "epsilon" else "epsilon"
        shown = round_up(self.guarantee)
        return f"{self.quantity} <= {shown} at {other} = {plain(self.target)} for {self.setting}"


class CountsSetting(ABC):
    """A setting whose privacy is one curve, from above and from below.

    Where everything is known exactly, guarantee and lower bound enclose the same number.
    """

    rtol: float = 1e-4

    @abstractmethod
    def _curve(self) -> Curve:
        """Return the curve of the setting."""

    @property
    @abstractmethod
    def situation(self) -> str:
        """Who does what: the beginning of a sentence."""

    @property
    @abstractmethod
    def seen(self) -> str:
        """What the analyst sees, with its verb."""

    @property
    @abstractmethod
    def change_in_words(self) -> str:
        """What neighbouring datasets do."""

    @property
    @abstractmethod
    def warning(self) -> str:
        """What the guarantee does not cover."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the setting's fields of JSON answers."""

    @cached_property
    def curve(self) -> Curve:
        """The curve of delta against epsilon."""
        return self._curve()

    def get_epsilon(self, target_delta: float) -> float:
        """Return the certified epsilon; it keeps its word, asked back by :meth:`get_delta`."""
        delta = check_delta(target_delta)
        return epsilon_above(self.curve, delta, self.rtol).epsilon

    def get_delta(self, target_epsilon: float) -> float:
        """Return the certified delta."""
        return delta_above(self.curve.above(check_epsilon(target_epsilon)).log)

    def epsilon_lower_bound(self, target_delta: float) -> float:
        """Return an epsilon below which the two datasets exceed delta; 0 if nothing is known."""
        return epsilon_below(self.curve, check_delta(target_delta), self.rtol).epsilon

    def delta_lower_bound(self, target_epsilon: float) -> float:
        """Return a delta that two datasets attain; 0 if nothing is known."""
        return delta_below(self.curve.below(check_epsilon(target_epsilon)).log)

    def epsilon_interval(self, target_delta: float) -> Interval:
        """Enclose the epsilon at ``target_delta``."""
        return Interval(self.epsilon_lower_bound(target_delta), self.get_epsilon(target_delta))

    def delta_interval(self, target_epsilon: float) -> Interval:
        """Enclose the delta at ``target_epsilon``."""
        return Interval(self.delta_lower_bound(target_epsilon), self.get_delta(target_epsilon))

    def meets(self, target_epsilon: float, target_delta: float) -> bool:
        """Whether it is proved that delta at ``target_epsilon`` is at most ``target_delta``."""
        return self.get_delta(target_epsilon) <= check_delta(target_delta)

    def epsilon_report(self, target_delta: float) -> MessagesReport:
        """Answer "which epsilon?"."""
        found = self.epsilon_interval(target_delta)
        return MessagesReport(self, "epsilon", target_delta, found.upper, found.lower)

    def delta_report(self, target_epsilon: float) -> MessagesReport:
        """Answer "which delta?"."""
        found = self.delta_interval(target_epsilon)
        return MessagesReport(self, "delta", target_epsilon, found.upper, found.lower)
