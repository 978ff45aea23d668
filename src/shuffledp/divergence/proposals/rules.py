"""Which rules suit neighbouring questions about continuous laws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from shuffledp.decomposition import Smooth
from shuffledp.divergence.proposals.panels import Fineness, choose_fineness

_SPACING = 8  # of the questions whose rules are chosen one by one


@dataclass(frozen=True)
class RuleQuestion:
    """What a rule is for."""

    smooth: Smooth
    n: int
    epsilon: float
    rtol: float

    def choose(self) -> Fineness | None:
        """Choose how fine the rule must be; None if there is none."""
        return choose_fineness(self.smooth, self.n, self.epsilon, self.rtol)


def choose_finenesses(questions: Sequence[RuleQuestion]) -> list[Fineness | None]:
    """Choose rules for questions along a curve: some get their own, others the finer of two.

    Between two questions without a rule there is none; next to one, questions get their own.
    """
    last = len(questions) - 1
    asked = sorted({*range(0, len(questions), _SPACING), last}) if questions else []
    found = [questions[i].choose() if i in set(asked) else None for i in range(len(questions))]
    for left, right in pairwise(asked):
        first, second = found[left], found[right]
        for i in range(left + 1, right):
            if first is not None and second is not None:
                found[i] = Fineness(
                    max(first.end, second.end), max(first.halvings, second.halvings)
                )
            elif first is not None or second is not None:
                found[i] = questions[i].choose()
    return found
