"""Several questions about continuous laws of one kind, answered together by quadrature."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from shuffledp.arrays import IntArray
from shuffledp.decomposition import Smooth, SmoothRows
from shuffledp.decomposition.smooth import Quadrature
from shuffledp.divergence.enclosure import LogEnclosure
from shuffledp.divergence.point import Point
from shuffledp.divergence.proposals.panels import Fineness
from shuffledp.divergence.proposals.rules import (
    RuleQuestion,
    alike,
    choose_common_jump_rule,
    choose_finenesses,
)
from shuffledp.divergence.row_contour import chernoff_log_means, contour_log_means
from shuffledp.divergence.row_jumps import log_means_with_jumps
from shuffledp.divergence.smooth import (
    FINEST_WITH_JUMPS,
    SHARE_OF_CONTOUR,
    USUAL_RTOL,
    with_tails,
)

_FEWEST_ROWS = 3
_MOST_NODES = 1024  # of a rule
_NOTHING = LogEnclosure(-math.inf, math.inf)


class NoisePoints:
    """Some of several points, by their numbers, with the continuous laws at them.

    What is not said about a point is left to the engine for single questions.
    """

    def __init__(self, points: Sequence[Point], numbers: Sequence[tuple[int, Smooth]]) -> None:
        self.points, self.smooths = points, dict(numbers)

    def log_deltas(self, rtols: Sequence[float]) -> dict[int, LogEnclosure]:
        """Enclose log delta at the points where that is as narrow as it should be."""
        found: dict[int, LogEnclosure] = {}
        finenesses = self._finenesses(rtols)
        for rules in self._rules(finenesses):
            tolerances = [SHARE_OF_CONTOUR * rtols[i] for i in rules]
            means = contour_log_means(self._rows(rules), self._times(list(rules)), tolerances)
            for (i, rule), mean in zip(rules.items(), means, strict=True):
                value = _NOTHING if mean is None else self._with_tails(rule, i, mean)
                found[i] = value
        narrow = {i: value for i, value in found.items() if value.width <= rtols[i]}
        # A rule that few points share is left to single questions.
        left = [i for i in self.smooths if i not in narrow and (i in found or not finenesses[i])]
        return narrow | self._with_jumps(left, rtols)

    def _with_jumps(self, left: Sequence[int], rtols: Sequence[float]) -> dict[int, LogEnclosure]:
        """Do the same at points where large values may have to be jumps."""
        found = {}
        widths = {i: max(rtols[i], FINEST_WITH_JUMPS) for i in left}
        questions = {i: self._question(i, widths[i]) for i in left}
        for group in alike(questions):
            if len(group) < _FEWEST_ROWS:
                continue
            plan = choose_common_jump_rule([questions[i] for i in group])
            if plan is None:
                continue
            epsilons = np.array([self.points[i].epsilon for i in group])
            tolerances = [SHARE_OF_CONTOUR * widths[i] for i in group]
            means = log_means_with_jumps(plan, self._times(group), epsilons, tolerances)
            for i, mean in zip(group, means, strict=True):
                value = self._with_tails(plan.rule, i, mean)
                if value.width <= widths[i]:
                    found[i] = value
        return found

    def log_delta_bounds(self) -> dict[int, float]:
        """Return upper bounds on log delta from one tilt."""
        found = {}
        for rules in self._rules(self._finenesses([USUAL_RTOL] * len(self.points))):
            bounds = chernoff_log_means(self._rows(rules), self._times(list(rules)))
            for (i, rule), bound in zip(rules.items(), bounds, strict=True):
                found[i] = self._with_tails(rule, i, LogEnclosure(-math.inf, bound)).upper
        return found

    def _finenesses(self, rtols: Sequence[float]) -> dict[int, Fineness | None]:
        """Choose how fine the rule of each point is; None where there is none."""
        questions = [self._question(i, rtols[i]) for i in self.smooths]
        return dict(zip(self.smooths, choose_finenesses(questions), strict=True))

    def _rules(self, finenesses: Mapping[int, Fineness | None]) -> Iterator[dict[int, Quadrature]]:
        """Yield points, and their rules, that have equally many nodes."""
        groups: defaultdict[int, dict[int, Quadrature]] = defaultdict(dict)
        for i, fineness in finenesses.items():
            if fineness is not None:
                rule = fineness.rule(self.smooths[i])
                groups[rule.nodes.size + (rule.nodes.residual > 0)][i] = rule
        for size, rules in groups.items():
            if len(rules) >= _FEWEST_ROWS and size <= _MOST_NODES:
                yield rules

    def _question(self, i: int, rtol: float) -> RuleQuestion:
        return RuleQuestion(self.smooths[i], self.points[i].n, self.points[i].epsilon, rtol)

    def _rows(self, rules: dict[int, Quadrature]) -> SmoothRows:
        """Return the laws of all points; those of one rule in a row are made together."""
        runs = groupby(rules.items(), key=lambda item: id(item[1]))
        parts = []
        for _, run in runs:
            items = list(run)
            epsilons = np.array([self.points[i].epsilon for i, _ in items])
            parts.append(items[0][1].rows(epsilons))
        return SmoothRows.together(parts)

    def _times(self, numbers: Sequence[int]) -> IntArray:
        return np.array([self.points[i].n for i in numbers])

    def _with_tails(self, rule: Quadrature, i: int, mean: LogEnclosure) -> LogEnclosure:
        return with_tails(rule, self.points[i].n, self.points[i].epsilon, mean)
