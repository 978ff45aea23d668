"""Shares within a part of the people, from cross tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shuffledp.arrays import FloatArray
from shuffledp.collection import Estimate
from shuffledp.collection.cross import CrossTable
from shuffledp.rounding import nearest, round_up
from shuffledp.study.attribute import Attribute
from shuffledp.wording import closest, did_you_mean

_FEWEST = 4.0  # standard errors by which the share of the part must exceed 0


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

        whole = linear(base)
        total, error = float(whole.values[0]), float(whole.standard_errors[0])
        if not total > _FEWEST * error:
            shown = ", ".join(f"{key} = {value}" for key, value in given.items())
            raise ValueError(
                f"the share of people with {shown} is estimated as {nearest(total, 3)} +- "
                f"{round_up(error, 3)}: too little to say something about them"
            )
        ratios, errors = [], []
        for own in np.eye(base.size)[:counted]:
            ratio = float(linear(own).values[0]) / total
            apart = linear((own - ratio * base) / total)
            ratios.append(ratio)
            errors.append(float(apart.standard_errors[0]))
        return Estimate(np.array(ratios), np.array(errors), self.n, whole_domain=True)


def _picked(attribute: Attribute, value: str) -> FloatArray:
    if value not in attribute.values:
        guess = did_you_mean(closest(str(value), attribute.values))
        raise ValueError(f"attribute {attribute.name!r} has no value {value!r}{guess}")
    picked = np.zeros(len(attribute.values))
    picked[attribute.values.index(value)] = 1.0
    return picked
