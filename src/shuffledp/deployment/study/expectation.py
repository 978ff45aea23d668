"""Errors of a study if answers are as expected.

What is expected is stated by whoever plans, never read from data, and only predictions use it: no
guarantee and no choice of a mechanism depends on it. All numbers are about n people among whom the
answers have exactly the expected shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shuffledp.basics.arrays import FloatArray
from shuffledp.collection.combination import Covariances, unit_variances
from shuffledp.deployment.study.attribute import Attribute
from shuffledp.deployment.study.encoding import encoding_of, support_of
from shuffledp.deployment.study.scoring import Predictions
from shuffledp.deployment.study.shuffle import Shuffle, users_of
from shuffledp.deployment.study.study import Study
from shuffledp.mechanisms import DiscreteLaplace, Joint, LocalRandomizer, OneOf
from shuffledp.planning import Prediction
from shuffledp.planning.frequency_task import Frequency

_LEVELS = 2**16  # that stand for all numbers from low to high


def expected_predictions(study: Study, shuffles: Sequence[Shuffle]) -> Predictions:
    """Predict the errors of all estimates if answers are as the study expects them.

    Answers about different attributes are taken as independent: the expected share of a cell of a
    cross table is the product of those of its values.

    >>> from shuffledp import KRR
    >>> member = Attribute.yes_no("member", expected=[0.9, 0.1])
    >>> study = Study((member,), n=100, epsilon=1.0, delta=1e-6)
    >>> shuffles = [Shuffle(("member",), KRR(k=2, epsilon0=300.0))]
    >>> expected_predictions(study, shuffles).score < 1e-9
    True
    """
    errors: dict[str, Prediction] = {}
    crosses: dict[tuple[str, ...], Prediction] = {}
    for shuffle, users in zip(shuffles, users_of(shuffles, study.n), strict=True):
        asked = _Asked(study.n, users / study.n)
        parts = dict(zip(shuffle.names, shuffle.parts, strict=True))
        for (name, part), share in zip(parts.items(), _shares(shuffle), strict=True):
            own = _Asked(study.n, asked.share * share)
            errors[name] = _attribute_error(study[name], part, own)
        if isinstance(shuffle.mechanism, Joint):
            for names in study.crosses:
                if set(names) <= parts.keys():
                    pairs = [(study[name], parts[name]) for name in names]
                    crosses[names] = _cross_error(pairs, asked)
    return Predictions.of(study, [errors[a.name] for a in study.attributes], crosses)


def with_expected_answers(study: Study, predictions: Predictions) -> Predictions:
    """Return errors for the expected shares of answers, from those for shares near 1.

    What is said about people who answer has an error in inverse proportion to their share.
    """
    errors = []
    for attribute in study.attributes:
        error, answers = predictions.attributes[attribute.name], 1.0
        if attribute.is_among_answers:
            answers = float(expected_shares(attribute)[:-1].sum())
        errors.append(
            Prediction(
                error.squared_error / answers**2,
                error.rms_error / answers,
                error.max_error / answers,
            )
        )
    return Predictions.of(study, errors, predictions.crosses)


def expected_shares(attribute: Attribute) -> FloatArray:
    """Return the expected shares of all values of a report; of numbers those of levels.

    >>> expected_shares(Attribute.yes_no("member", missing="leave out")).tolist()
    [0.5, 0.5, 0.0]
    """
    if attribute.expected is not None:
        shares = np.array(attribute.expected)
    elif attribute.kind == "number":
        shares = np.append(np.ones(_LEVELS), np.zeros(int(attribute.may_miss)))
    else:
        left_out = len(attribute.values) - len(attribute.counted)
        shares = np.append(np.ones(len(attribute.counted)), np.zeros(left_out))
    normal: FloatArray = shares / shares.sum()
    return normal


@dataclass(frozen=True)
class _Asked:
    """A random share of n users, who report."""

    n: int
    share: float

    def predict(self, noise: FloatArray, spread: FloatArray) -> Prediction:
        r"""Return the error from the variances of the noise, and of the inputs, of one user.

        With m = share * n reports it is noise/m and :math:`(1/m-1/n)` times that of the inputs.
        """
        variances = (noise / self.share + spread * (1 / self.share - 1)) / self.n
        total, largest = float(variances.sum()), float(variances.max())
        return Prediction.of_variances(total, largest, variances.size)


def _shares(shuffle: Shuffle) -> tuple[float, ...]:
    """Return for each attribute the share of the reports that are about it."""
    if isinstance(shuffle.mechanism, OneOf):
        return shuffle.mechanism.weights
    return (1.0,) * len(shuffle.names)


def _attribute_error(attribute: Attribute, part: LocalRandomizer, asked: _Asked) -> Prediction:
    if attribute.kind == "number":
        return asked.predict(*_of_mean(attribute, part))
    if attribute.is_among_answers:
        return asked.predict(*_of_ratios(attribute, part))
    shares = expected_shares(attribute)
    return asked.predict(_noise(shares, part), shares * (1 - shares))


def _noise(shares: FloatArray, part: LocalRandomizer) -> FloatArray:
    """Return for every value the variance for one user: it is linear in the share."""
    held, other = Frequency(1, shares.size).variances(part)
    noise: FloatArray = shares * held + (1 - shares) * other
    return noise


def _of_ratios(attribute: Attribute, part: LocalRandomizer) -> tuple[FloatArray, FloatArray]:
    r"""Return the variances for one user of the shares r among those who answer, for large n.

    With b the share of answers, :math:`\hat a_x/\hat b` varies like
    :math:`(\hat a_x-r_x\hat b)/b`: a weighted sum of the estimated shares, whose variance depends
    on whether a user holds x, another label, or does not answer.
    """
    held = expected_shares(attribute)[:-1]
    answers, labels = held.sum(), held.size
    ratio = held / answers
    own, other = (1 - ratio) / answers, -ratio / answers
    total, squares = (1 - labels * ratio) / answers, own**2 + (labels - 1) * other**2
    one = Covariances.of(support_of(part), labels + 1)
    noise = (
        held * one.weighted(own, total, squares)
        + (answers - held) * one.weighted(other, total, squares)
        + (1 - answers) * one.weighted(np.zeros(labels), total, squares)
    )
    return noise, ratio * (1 - ratio) / answers


def _of_mean(attribute: Attribute, part: LocalRandomizer) -> tuple[FloatArray, FloatArray]:
    r"""Return the variances for one user of the mean, in parts of the range, rounding included.

    Among those who answer, a share b, it is a ratio, and varies like :math:`(x-\bar x)/b` does.
    """
    shares = expected_shares(attribute)
    steps = encoding_of(attribute, part).points - 1
    levels = shares[:-1] if attribute.may_miss else shares
    answers, last = levels.sum(), levels.size - 1
    x = np.arange(levels.size) / last
    mean = levels @ x / answers
    place = np.arange(levels.size) * steps
    below, between = place // last, place % last / last
    rounding = levels @ (between * (1 - between)) / steps**2 / answers**2
    spread = levels @ (x - mean) ** 2 / answers**2
    if isinstance(part, DiscreteLaplace):
        return np.array([part.noise_variance / steps**2 + rounding]), np.array([spread])
    weights = np.arange(steps + 1) / steps
    if attribute.may_miss:
        weights = np.append((weights - mean) / answers, 0.0)
    unit = unit_variances(support_of(part), weights)
    rounded = (1 - between) * unit[below] + between * unit[np.minimum(below + 1, steps)]
    noise = levels @ rounded + (1 - answers) * unit[-1]
    return np.array([noise + rounding]), np.array([spread])


def _cross_error(pairs: Sequence[tuple[Attribute, LocalRandomizer]], asked: _Asked) -> Prediction:
    r"""Predict the error of a cross table from joint reports.

    With :math:`v_i` the variance for one user of the share :math:`f_i` of a value alone, that of a
    cell is :math:`\prod_i(f_i+v_i)-\prod_if_i`, taken apart so that nothing cancels.
    """
    cells, noise = np.ones(1), np.zeros(1)
    for attribute, part in pairs:
        shares = expected_shares(attribute)
        alone = _noise(shares, part)
        noise = np.outer(noise, shares + alone).ravel() + np.outer(cells, alone).ravel()
        cells = np.outer(cells, shares).ravel()
    return asked.predict(noise, cells * (1 - cells))
