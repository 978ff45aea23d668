"""Which rules suit neighbouring questions about continuous laws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from shuffledp.decomposition import Smooth
from shuffledp.divergence.proposals.panels import Fineness, choose_fineness, choose_jump_rule
from shuffledp.divergence.smooth_jumps import JumpRule
from shuffledp.errors import MAX_EPSILON0

_SPACING = 8  # about, of the questions whose rules are chosen one by one
_STEPS = 16  # of epsilon within a factor of two
_MOST_ALIKE, _FACTOR = 40, 5.0  # questions that share jumps, and between their numbers of users
_MOST_OF_ONE = 12  # questions about the same number of users, whose deltas differ


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

    def choose_jumps(self, end: float = 0.0) -> JumpRule | None:
        """Choose which panels are jumps, at least up to an end; None if there are none."""
        return choose_jump_rule(
            self.smooth, self.n, self._rounded, self.rtol, for_many=True, least_end=end
        )

    @property
    def _rounded(self) -> float:
        """A slightly larger epsilon, the same one for those of a search that closes in."""
        if self.epsilon <= 0:
            return self.epsilon
        steps = math.ceil(_STEPS * math.log2(self.epsilon))
        return float(min(2.0 ** (steps / _STEPS), MAX_EPSILON0))


def choose_finenesses(questions: Sequence[RuleQuestion]) -> list[Fineness | None]:
    """Choose rules for questions along a curve: from one that is asked to the next, the finer one.

    Between two questions without a rule there is none; next to one, questions get their own.
    """
    last = len(questions) - 1
    parts = max(round(len(questions) / _SPACING), 1)
    asked = sorted({last * part // parts for part in range(parts + 1)}) if questions else []
    own = {i: questions[i].choose() for i in asked}
    found = [own.get(i) for i in range(len(questions))]
    for left, right in pairwise(asked):
        first, second = own[left], own[right]
        if first is not None and second is not None:
            finer = Fineness(max(first.end, second.end), max(first.halvings, second.halvings))
            stop = right + 1 if right == last else right
            found[left:stop] = [finer] * (stop - left)
        elif first is not None or second is not None:
            found[left + 1 : right] = [each.choose() for each in questions[left + 1 : right]]
    return found


def alike(questions: Mapping[int, RuleQuestion]) -> Iterator[list[int]]:
    """Yield runs of questions, by their numbers, for which the same jumps may do."""
    run: list[int] = []
    for i, question in questions.items():
        if run:
            first = questions[run[0]]
            near = max(first.n, question.n) <= _FACTOR * min(first.n, question.n)
            most = _MOST_OF_ONE if first.n == question.n else _MOST_ALIKE
            if not (near and first.smooth is question.smooth and len(run) < most):
                yield run
                run = []
        run.append(i)
    if run:
        yield run


def choose_common_jump_rule(questions: Sequence[RuleQuestion]) -> JumpRule | None:
    """Choose which panels are jumps for questions along a curve, from the plans of both ends.

    The one that follows more jumps, or takes smaller values for jumps, as far out as the other.
    """
    known = [
        (plan, own)
        for own in (questions[0], questions[-1])
        if (plan := own.choose_jumps()) is not None
    ]
    if not known:
        return None
    plan, own = min(known, key=lambda pair: (-pair[0].orders, pair[0].level))
    end = max(other.end for other, _ in known)
    return plan if plan.end == end else own.choose_jumps(end)
