"""What the reports of a study tell: about one attribute, or a part of the people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np

from shuffledp.basics.arrays import FloatArray
from shuffledp.basics.errors import check_integer, check_probability
from shuffledp.basics.rounding import nearest, round_up
from shuffledp.basics.wording import closest, did_you_mean
from shuffledp.collection import Estimate
from shuffledp.collection.combination import combination
from shuffledp.collection.cross import CrossTable
from shuffledp.collection.moments import Moments
from shuffledp.deployment.study.attribute import Attribute
from shuffledp.deployment.study.encoding import encoding_of, support_of
from shuffledp.mechanisms import DiscreteLaplace, LocalRandomizer

_FEWEST = 4.0  # standard errors by which the share of a part must exceed 0


@dataclass(frozen=True)
class Quantile:
    """A quantile of ordered categories.

    Attributes:
        label: the first category up to which the estimated share reaches the probability.
        lower: the first one up to which the share may reach it, at the confidence level.
        upper: the first one from which on the share surely reaches it, at the confidence level.
    """

    label: str
    lower: str
    upper: str


@dataclass(frozen=True)
class Place:
    """A place in the order of the shares.

    Attributes:
        label: the value.
        share: its estimated share.
        p_value: with which probability two values of equal shares would seem at least as far apart
            as this one and the next, whichever of them seems larger; None for the last value. It
            is not the probability that the order is wrong: that depends on what shares are likely
            before anything is known, and values of nearly equal shares come in any order.
    """

    label: str
    share: float
    p_value: float | None


@dataclass(frozen=True, eq=False)
class Answers:
    """What reports tell about an attribute.

    Attributes:
        attribute: the attribute.
        part: the mechanism that read it.
        moments: the estimates from those who reported it.
        n: the number of users.
    """

    attribute: Attribute
    part: LocalRandomizer
    moments: Moments
    n: int

    @property
    def labels(self) -> tuple[str, ...]:
        """The values that shares belong to; missing answers among them if they are a category."""
        return self.attribute.counted

    @property
    def shares(self) -> Estimate | None:
        """The shares of the labels, of those who answered if the others are left out.

        Raises:
            ValueError: if hardly anybody answered.
        """
        if self.attribute.kind == "number":
            return None
        if not self._leaves_out:
            return self.moments.estimate(self.n)
        ratios = [self.among_answers(row) for row in np.eye(len(self.attribute.labels))]
        return Estimate(
            np.array([ratio.values[0] for ratio in ratios]),
            np.array([ratio.standard_errors[0] for ratio in ratios]),
            self.n,
            whole_domain=True,
        )

    @property
    def missing(self) -> Estimate | None:
        """The share of missing answers, None where they are an error."""
        if not self.attribute.may_miss:
            return None
        whole = self.moments.estimate(self.n)
        return Estimate(whole.values[-1:], whole.standard_errors[-1:], self.n, whole_domain=False)

    @property
    def mean(self) -> Estimate | None:
        """The mean of those who answered: of a number, or of categories that are numbers.

        None for other categories, also if they are not ordered. The standard error of the mean of
        a number includes rounding, see :meth:`_rounded`.
        """
        points = self._points()
        if points is None:
            return None
        step = float(points[1] - points[0])
        if isinstance(self.part, DiscreteLaplace):
            own = self.moments.estimate(self.n)
            values, errors = points[0] + step * own.values, step * own.standard_errors
            found = Estimate(values, errors, self.n, whole_domain=False)
            spread = step**2 * (self.moments.spread or 0.0)
        else:
            found = self.among_answers(points)
            spread = float(self.among_answers((points - found.values) ** 2).values[0])
        return self._rounded(found, step, spread) if self.attribute.kind == "number" else found

    def _rounded(self, mean: Estimate, step: float, spread: float) -> Estimate:
        r"""Add the variance of rounding to points at a distance of ``step`` to that of a mean.

        Rounding x adds :math:`t(1-t)\,\text{step}^2`, t where x lies between two points. Reports
        do not tell t, but it is at most a quarter of the squared step; and on average no more than
        the variance of the points that answers were rounded to, which is that of the answers and
        the one of rounding. So errors are not too small, and too large where answers are points.
        """
        missing = self.missing
        answers = self.n * (1.0 if missing is None else 1.0 - float(missing.values[0]))
        most = min(step**2 / 4, max(spread, 0.0))
        errors = np.sqrt(mean.standard_errors**2 + most / answers)
        return Estimate(mean.values, errors, mean.n, mean.whole_domain)

    def quantile(self, probability: float, level: float = 0.95) -> Quantile:
        """Return a quantile of those who answered, with the categories that it may be.

        The truth is above ``upper`` only if the share up to the category before it, which is too
        small, seems to reach the probability surely; below ``lower`` only if the share up to it
        does not seem to reach it. Each is one estimate that errs to one side, whatever the others
        do: half of 1 - level. Estimated shares need not grow from category to category, so that
        the first share that surely reaches the probability would be too low an end.

        Raises:
            ValueError: if the categories are not ordered.
        """
        if not self.attribute.ordered:
            raise ValueError(f"attribute {self.attribute.name!r} has no ordered categories")
        q, labels = check_probability("probability", probability), self.attribute.labels
        reach = NormalDist().inv_cdf((1 + check_probability("level", level)) / 2)
        steps = np.tri(len(labels))
        up_to = [self.among_answers(row) for row in steps[:-1]]
        cumulated = [float(one.values[0]) for one in up_to]
        errors = [reach * float(one.standard_errors[0]) for one in up_to]
        pairs = list(zip(cumulated, errors, strict=True))

        def first(ends: list[float]) -> str:
            return next((labels[i] for i, end in enumerate(ends) if end >= q), labels[-1])

        too_small = (i for i, (c, e) in enumerate(pairs) if c - e < q)
        last = max(too_small, default=-1)
        return Quantile(first(cumulated), first([c + e for c, e in pairs]), labels[last + 1])

    def top(self, count: int) -> list[Place]:
        r"""Return the largest shares, each with the p-value of its lead over the next one.

        The reports say which of two values seems larger, so both directions count: the lead
        d with the standard error s has :math:`2\Phi(-d/s)`. Whatever the shares are, a lead of a
        p-value up to p in the wrong direction is no more frequent than p.

        Raises:
            ValueError: if it is an attribute without labels.
        """
        shares = self.shares
        if shares is None:
            raise ValueError(f"attribute {self.attribute.name!r} is a number, which has no shares")
        count = check_integer("count", count, 1, shares.values.size)
        order = np.argsort(-shares.values, kind="stable").tolist()
        found = []
        for place, following in zip(order[:count], [*order[1:], None], strict=False):
            p_value = None
            if following is not None:
                weights = np.zeros(shares.values.size)
                weights[[place, following]] = 1.0, -1.0
                apart = self._difference(weights)
                error = float(apart.standard_errors[0])
                lead = max(float(apart.values[0]), 0.0)
                p_value = 2 * NormalDist().cdf(-lead / error) if error > 0 else float(lead == 0)
            found.append(Place(self.labels[place], float(shares.values[place]), p_value))
        return found

    def _difference(self, weights: FloatArray) -> Estimate:
        if self._leaves_out:
            return self.among_answers(weights)
        return combination(support_of(self.part), self.moments, weights).estimate(self.n)

    def among_answers(self, weights: FloatArray) -> Estimate:
        r"""Return a weighted sum of the shares among those who answered.

        With missing answers it is a ratio a/b of two estimates, b the share of answers; its error
        is that of :math:`(a-rb)/b` with r fixed at the estimate, which is right for large n.

        Raises:
            ValueError: if the share of answers is not well above 0.
        """
        if not self.attribute.may_miss:
            return combination(support_of(self.part), self.moments, weights).estimate(self.n)
        held = np.append(np.asarray(weights, dtype=np.float64), 0.0)
        answered = np.append(np.ones(held.size - 1), 0.0)
        share = combination(support_of(self.part), self.moments, answered).estimate(self.n)
        total = _enough(share, f"answers about {self.attribute.name!r}")
        ratio = float(held @ self.moments.values) / total
        linear = combination(support_of(self.part), self.moments, (held - ratio * answered) / total)
        return Estimate(
            np.array([ratio]), linear.estimate(self.n).standard_errors, self.n, whole_domain=False
        )

    @property
    def _leaves_out(self) -> bool:
        return self.attribute.missing == "leave out"

    def _points(self) -> FloatArray | None:
        """Return the numbers that the values of a report stand for."""
        attribute = self.attribute
        if attribute.kind == "number":
            points = encoding_of(attribute, self.part).points
            return np.linspace(float(attribute.low or 0), float(attribute.high or 0), points)
        if not attribute.ordered:
            return None
        try:
            return np.array([float(label) for label in attribute.labels])
        except ValueError:
            return None


@dataclass(frozen=True, eq=False)
class Subgroups:
    """A cross table with its labels.

    Attributes:
        attributes: those of the table, in its order.
        table: the sums over the reports.
        n: the number of users, those included who sent other reports.
    """

    attributes: tuple[Attribute, ...]
    table: CrossTable
    n: int

    @cached_property
    def whole(self) -> Estimate:
        """The shares of all cells."""
        return self.table.moments().estimate(self.n)

    def shares(self, name: str, given: Mapping[str, str]) -> Estimate:
        r"""Return the shares of one attribute's labels among those with given values of the rest.

        It is a ratio r = a/b of two estimates, b the share of those with the given values (and an
        answer, where the study leaves missing ones out). By the delta method its error is that of
        :math:`(a-rb)/b` with r and the last b fixed at the estimates, which is right for large n.

        Raises:
            ValueError: if a given value is unknown, or the share b is not well above 0.
        """
        place = [attribute.name for attribute in self.attributes].index(name)
        attribute = self.attributes[place]
        fixed = [
            np.ones(0) if other.name == name else _picked(other, given[other.name])
            for other in self.attributes
        ]
        counted = len(attribute.counted)
        base = np.zeros(len(attribute.values))
        base[:counted] = 1.0

        def linear(weights: FloatArray) -> Estimate:
            vectors = [weights if i == place else one for i, one in enumerate(fixed)]
            return self.table.combination(vectors).estimate(self.n)

        shown = ", ".join(f"{key} = {value}" for key, value in given.items())
        total = _enough(linear(base), f"people with {shown}")
        ratios, errors = [], []
        for own in np.eye(base.size)[:counted]:
            ratio = float(linear(own).values[0]) / total
            apart = linear((own - ratio * base) / total)
            ratios.append(ratio)
            errors.append(float(apart.standard_errors[0]))
        return Estimate(np.array(ratios), np.array(errors), self.n, whole_domain=True)


def _enough(share: Estimate, whose: str) -> float:
    """Return the share of a part of the people, if it is well above 0.

    Raises:
        ValueError: if it is not.
    """
    total, error = float(share.values[0]), float(share.standard_errors[0])
    if not total > _FEWEST * error:
        raise ValueError(
            f"the share of {whose} is estimated as {nearest(total, 3)} +- {round_up(error, 3)}: "
            "too little to say something about them"
        )
    return total


def _picked(attribute: Attribute, value: str) -> FloatArray:
    if value not in attribute.values:
        guess = did_you_mean(closest(str(value), attribute.values))
        raise ValueError(f"attribute {attribute.name!r} has no value {value!r}{guess}")
    picked = np.zeros(len(attribute.values))
    picked[attribute.values.index(value)] = 1.0
    return picked
