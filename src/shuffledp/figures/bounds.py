"""Every bound by its name, ours and the published ones, asked in the same way."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from shuffledp.accounting import ShuffleAccountant
from shuffledp.baselines import BASELINES, Baseline
from shuffledp.baselines.numeric import NumericBaseline
from shuffledp.errors import AccuracyWarning, NoAnswerError
from shuffledp.randomizers import LocalRandomizer


@dataclass(frozen=True)
class Bound:
    """What a bound is called, and on which side of the truth it is."""

    title: str
    kind: Literal["upper", "lower"]


#: All bounds by the names that programs use, ours first.
BOUNDS: Mapping[str, Bound] = MappingProxyType(
    {
        "guarantee": Bound("guarantee", "upper"),
        "lower_bound": Bound("lower bound", "lower"),
        **{name: Bound(analysis.title, analysis.kind) for name, analysis in BASELINES.items()},
    }
)


#: The names of our own bounds.
OURS = ("guarantee", "lower_bound")


@dataclass(frozen=True)
class Question:
    """What some bounds say about n users: the ``quantity`` at a ``target`` of the other one.

    Attributes:
        randomizer: what each user runs.
        n: number of users.
        quantity: what is asked for.
        target: the delta at which epsilon is asked for, or the epsilon at which delta is.
        bounds: the names of the bounds.
        rtol: the relative width of the enclosures.
    """

    randomizer: LocalRandomizer
    n: int
    quantity: Literal["epsilon", "delta"]
    target: float
    bounds: tuple[str, ...]
    rtol: float = 1e-4


@dataclass(frozen=True)
class Value:
    """What one bound says.

    Attributes:
        number: upper bounds are rounded up, lower bounds down; None where there is no answer.
        reason: why there is none, else None.
        rtol_reached: whether a guarantee is as precise as was asked for.
    """

    number: float | None
    reason: str | None = None
    rtol_reached: bool = True


def answer(question: Question) -> tuple[Value, ...]:
    """Ask all bounds of a question.

    >>> from shuffledp import KRR
    >>> bounds = ("guarantee", "erlingsson")
    >>> ours, theirs = answer(Question(KRR(k=10, epsilon0=2.0), 10_000, "epsilon", 1e-6, bounds))
    >>> round(ours.number, 4), theirs.reason
    (0.0798, 'it needs epsilon0 below 1/2, got 2')
    """
    accountant = ShuffleAccountant(question.randomizer, question.n, rtol=question.rtol)
    return tuple(_value(bound, question, accountant) for bound in question.bounds)


def _value(bound: str, question: Question, accountant: ShuffleAccountant) -> Value:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AccuracyWarning)
        try:
            number = _number(bound, question, accountant)
        except NoAnswerError as error:
            return Value(None, str(error))
    if number == math.inf:
        return Value(None, "every epsilon has a larger delta, as far as can be certified")
    reached = not any(issubclass(warning.category, AccuracyWarning) for warning in caught)
    return Value(number, rtol_reached=reached)


def _number(bound: str, question: Question, accountant: ShuffleAccountant) -> float:
    target = question.target
    if bound == "lower_bound":
        if question.quantity == "epsilon":
            return accountant.epsilon_lower_bound(target)
        return accountant.delta_lower_bound(target)
    analysis: ShuffleAccountant | Baseline
    analysis = accountant if bound == "guarantee" else _baseline(bound, question)
    if question.quantity == "epsilon":
        return analysis.get_epsilon(target)
    return analysis.get_delta(target)


def _baseline(bound: str, question: Question) -> Baseline:
    analysis = BASELINES[bound]
    if issubclass(analysis, NumericBaseline):
        return analysis(question.randomizer, question.n, rtol=question.rtol)
    return analysis(question.randomizer, question.n)
