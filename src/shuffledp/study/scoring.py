"""How well a mechanism answers a study."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from shuffledp.planning import Prediction
from shuffledp.planning.frequency import Frequency
from shuffledp.planning.mean import AnsweredMean, Mean
from shuffledp.planning.task import Task
from shuffledp.randomizers import LocalRandomizer
from shuffledp.study.attribute import Attribute
from shuffledp.study.study import Study


def task_of(attribute: Attribute, n: int) -> Task:
    """Return what is to be estimated about an attribute."""
    if attribute.kind == "number":
        return AnsweredMean(n, None) if attribute.may_miss else Mean(n, None)
    return Frequency(n, len(attribute.values))


@dataclass(frozen=True)
class Predictions:
    """Predicted errors: of shares, and of means in parts of the range from low to high.

    Attributes:
        attributes: by the name of the attribute.
        crosses: by the names of the two attributes of a cross table.
        score: root of the weighted mean of squared errors, by which strategies are compared. A
            cross table counts as much as its two attributes on average.
    """

    attributes: Mapping[str, Prediction]
    crosses: Mapping[tuple[str, str], Prediction]
    score: float

    @classmethod
    def of(
        cls,
        study: Study,
        errors: Sequence[Prediction],
        crosses: Mapping[tuple[str, str], Prediction] = MappingProxyType({}),
    ) -> Predictions:
        """Add the score to the errors of all attributes, in their order, and of cross tables."""
        weights = {attribute.name: attribute.weight for attribute in study.attributes}
        by_name = dict(zip(weights, errors, strict=True))
        terms = [(weights[name], error) for name, error in by_name.items()]
        terms += [((weights[a] + weights[b]) / 2, error) for (a, b), error in crosses.items()]
        total = math.fsum(weight * error.rms_error**2 for weight, error in terms)
        return cls(by_name, dict(crosses), math.sqrt(total / math.fsum(w for w, _ in terms)))


def cross_prediction(
    n: int, first: tuple[Frequency, LocalRandomizer], second: tuple[Frequency, LocalRandomizer]
) -> Prediction:
    r"""Predict the error of a cross table from joint reports.

    With :math:`m_1=E\hat s^2` for the value that a user holds and :math:`m_0` for another, a user
    adds :math:`m_{1,0}m'_{1,0}-[\text{both held}]` to the variance of a cell. Over all cells that
    is the same for all data: :math:`(m_1+(k-1)m_0)(m'_1+(k'-1)m'_0)-1`.

    >>> from shuffledp import KRR
    >>> task = Frequency(n=100, domain_size=2)
    >>> exact = (task, KRR(k=2, epsilon0=300.0))
    >>> cross_prediction(100, exact, exact).max_error < 1e-9
    True
    """
    (own, other), (own2, other2) = (_second_moments(*part) for part in (first, second))
    size, size2 = first[0].size, second[0].size
    # Moments of held values are 1 more than a variance: their products are taken apart.
    rest, rest2 = (size - 1) * other, (size2 - 1) * other2
    total = (own + rest) + (own2 + rest2) + (own + rest) * (own2 + rest2)
    worst = max(own + own2 + own * own2, (1 + own) * other2, other * (1 + own2), other * other2)
    return Prediction.of_variances(total / n, worst / n, size * size2)


def _second_moments(task: Frequency, randomizer: LocalRandomizer) -> tuple[float, float]:
    """Return the variances for one user of a value that is held, and of another one."""
    held, other = task.variances(randomizer)
    return task.n * held, task.n * other


def sampled(prediction: Prediction, task: Task, share: float) -> Prediction:
    r"""Predict the error if only a random share of the users is asked.

    The noise grows by 1/share, and who is asked adds :math:`(1/m-1/n)` times the variance of the
    inputs: at most 1 - 1/k for all of k shares together, and 1/4 for one share or a mean.
    """
    further = (1 / share - 1) / task.n
    count = task.size if isinstance(task, Frequency) else 1
    spread = 1 - 1 / count if count > 1 else 0.25
    total = prediction.squared_error / share + further * spread
    largest = prediction.max_error**2 / share + further * 0.25
    return Prediction.of_variances(total, largest, count)
