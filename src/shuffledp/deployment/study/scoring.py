"""How well a mechanism answers a study."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType

from shuffledp.deployment.study.attribute import Attribute
from shuffledp.deployment.study.study import Study
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.planning import Prediction
from shuffledp.planning.frequency_task import AnsweredFrequency, Frequency
from shuffledp.planning.mean_task import AnsweredMean, Mean
from shuffledp.planning.task import Task


def task_of(attribute: Attribute, n: int) -> Task:
    """Return what is to be estimated about an attribute."""
    if attribute.kind == "number":
        return AnsweredMean(n, None) if attribute.may_miss else Mean(n, None)
    if attribute.is_among_answers:
        return AnsweredFrequency(n, len(attribute.values))
    return Frequency(n, len(attribute.values))


@dataclass(frozen=True)
class Predictions:
    """Predicted errors: of shares, and of means in parts of the range from low to high.

    Attributes:
        attributes: by the name of the attribute.
        crosses: by the names of the attributes of a cross table.
        score: root of the weighted mean of squared errors, by which strategies are compared. A
            cross table counts as much as its attributes on average.
    """

    attributes: Mapping[str, Prediction]
    crosses: Mapping[tuple[str, ...], Prediction]
    score: float

    @property
    def by_name(self) -> dict[str, Prediction]:
        """All errors by what they are of, for people."""
        crosses = {" x ".join(names): error for names, error in self.crosses.items()}
        return {**self.attributes, **crosses}

    @classmethod
    def of(
        cls,
        study: Study,
        errors: Sequence[Prediction],
        crosses: Mapping[tuple[str, ...], Prediction] = MappingProxyType({}),
    ) -> Predictions:
        """Add the score to the errors of all attributes, in their order, and of cross tables."""
        by_name = dict(zip((a.name for a in study.attributes), errors, strict=True))
        terms = [(study[name].weight, error) for name, error in by_name.items()]
        terms += [(cross_weight(study, names), error) for names, error in crosses.items()]
        total = math.fsum(weight * error.rms_error**2 for weight, error in terms)
        return cls(by_name, dict(crosses), math.sqrt(total / total_weight(study)))

    @classmethod
    def together(cls, study: Study, parts: Iterable[Predictions]) -> Predictions:
        """Return the predictions of several parts of a study, which are about all of it."""
        attributes: dict[str, Prediction] = {}
        crosses: dict[tuple[str, ...], Prediction] = {}
        for part in parts:
            attributes |= part.attributes
            crosses |= part.crosses
        return cls.of(study, [attributes[a.name] for a in study.attributes], crosses)


def cross_weight(study: Study, names: Sequence[str]) -> float:
    """Return how much the squared error of a cross table counts."""
    return math.fsum(study[name].weight for name in names) / len(names)


def total_weight(study: Study) -> float:
    """Return how much all squared errors of a study count together."""
    own = [attribute.weight for attribute in study.attributes]
    return math.fsum([*own, *(cross_weight(study, names) for names in study.crosses)])


def cross_prediction(n: int, *parts: tuple[Frequency, LocalRandomizer]) -> Prediction:
    r"""Predict the error of a cross table of several attributes from joint reports.

    With :math:`m_1=E\hat s^2` for the value that a user holds and :math:`m_0` for another, a user
    adds :math:`\prod_im_{1,0}^{(i)}-[\text{all held}]` to the variance of a cell. Over all cells
    that is the same for all data: :math:`\prod_i(m_1^{(i)}+(k_i-1)m_0^{(i)})-1`.

    >>> from shuffledp import KRR
    >>> task = Frequency(n=100, domain_size=2)
    >>> exact = (task, KRR(k=2, epsilon0=300.0))
    >>> cross_prediction(100, exact, exact).max_error < 1e-9
    True
    """
    moments = [_second_moments(*part) for part in parts]
    sizes = [task.size for task, _ in parts]
    # Moments of held values are 1 more than a variance: their products are taken apart.
    pairs = zip(sizes, moments, strict=True)
    total = _excess(own + (size - 1) * other for size, (own, other) in pairs)
    worst = _excess(own for own, _ in moments)
    for held in product((True, False), repeat=len(parts)):
        if not all(held):
            kinds = zip(held, moments, strict=True)
            worst = max(worst, math.prod(1 + own if is_held else o for is_held, (own, o) in kinds))
    return Prediction.of_variances(total / n, worst / n, math.prod(sizes))


def _excess(numbers: Iterable[float]) -> float:
    """Return how much the product of all 1 + x exceeds 1, without cancellation."""
    excess = 0.0
    for number in numbers:
        excess += number + excess * number
    return excess


def _second_moments(task: Frequency, randomizer: LocalRandomizer) -> tuple[float, float]:
    """Return the variances for one user of a value that is held, and of another one."""
    held, other = task.variances(randomizer)
    return task.n * held, task.n * other


def sampled(prediction: Prediction, task: Task, share: float) -> Prediction:
    r"""Predict the error if only a random share of the users is asked.

    The noise grows by 1/share, and who is asked adds :math:`(1/m-1/n)` times the variance of the
    inputs: at most 1 - 1/k for all of k shares together, and 1/4 for one share or a mean.
    """
    count = task.estimates if isinstance(task, Frequency) else 1
    return _of_sample(prediction, task.n, share, count)


def sampled_predictions(study: Study, predictions: Predictions, share: float) -> Predictions:
    """Predict all errors of a study if only a random share of the users is asked."""
    n = study.n
    errors = [
        _of_sample(predictions.attributes[a.name], n, share, max(len(a.counted), 1))
        for a in study.attributes
    ]
    crosses = {
        names: _of_sample(error, n, share, math.prod(len(study[name].values) for name in names))
        for names, error in predictions.crosses.items()
    }
    return Predictions.of(study, errors, crosses)


def _of_sample(prediction: Prediction, n: int, share: float, count: int) -> Prediction:
    further = (1 / share - 1) / n
    spread = 1 - 1 / count if count > 1 else 0.25
    total = prediction.squared_error / share + further * spread
    largest = prediction.max_error**2 / share + further * 0.25
    return Prediction.of_variances(total, largest, count)
