"""One question for several bounds, and what each of them says."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from shuffledp.accounting import ShuffleAccountant
from shuffledp.accounting.answered import OneMechanism
from shuffledp.accounting.setting import Bound as BoundName
from shuffledp.accounting.setting import Setting
from shuffledp.accounting.sum_view import View, tells_less
from shuffledp.basics.errors import NoAnswerError, wide_is_enough
from shuffledp.comparison.bounds import OURS
from shuffledp.comparison.published import BASELINES, Baseline
from shuffledp.comparison.published.baseline import users_covered
from shuffledp.comparison.published.numeric import NumericBaseline

#: Which accountant says what each of our bounds is.
KINDS = {"guarantee": "best", "lower_bound": "best", "blanket": "blanket"}


@dataclass(frozen=True)
class Question(OneMechanism):
    """What some bounds say about n users: the ``quantity`` at a ``target`` of the other one.

    Attributes:
        setting: what happens: published analyses answer for one round; they and the blanket are
            about the multiset; all answer for the users who are honest, and published upper bounds
            do not cover reports that are learned after the fact.
        quantity: what is asked for.
        target: the delta at which epsilon is asked for, or the epsilon at which delta is.
        bounds: names of :data:`shuffledp.comparison.BOUNDS`, or other analyses.
        rtol: the relative width of the enclosures.
    """

    setting: Setting
    quantity: Literal["epsilon", "delta"]
    target: float
    bounds: tuple[str | type[Baseline], ...]
    rtol: float = 1e-4


@dataclass(frozen=True)
class Value:
    """What one bound says.

    Attributes:
        number: upper bounds are rounded up, lower bounds down; None where there is no answer.
        reason: why there is none, else None.
        rtol_reached: whether a guarantee is as precise as was asked for.
        seconds: the processor time it took.
    """

    number: float | None
    reason: str | None = None
    rtol_reached: bool = True
    seconds: float = field(default=0.0, compare=False)


def answer(question: Question) -> tuple[Value, ...]:
    """Ask all bounds of a question.

    >>> setting = Setting(mechanism="krr(k=10, epsilon0=2)", n=10_000)
    >>> ours, theirs = answer(Question(setting, "epsilon", 1e-6, ("guarantee", "erlingsson")))
    >>> round(ours.number, 4), theirs.reason
    (0.0798, 'it needs epsilon0 below 1/2, got 2')
    """
    ours = accountants(question)
    return tuple(answer_by(bound, question, ours) for bound in question.bounds)


def accountants(question: Question) -> dict[str, ShuffleAccountant]:
    """Return what answers for our bounds, by their kind of bound."""
    return {
        "best": _accountant(question, "best", question.setting.view),
        "blanket": _accountant(question, "blanket", "multiset"),
    }


def _accountant(question: Question, bound: BoundName, view: View) -> ShuffleAccountant:
    setting = replace(question.setting.one_round, bound=bound, view=view)
    return ShuffleAccountant.of(setting, question.rtol)


def answer_by(
    bound: str | type[Baseline], question: Question, ours: Mapping[str, ShuffleAccountant]
) -> Value:
    """Ask one bound, given the accountants of the question."""
    start = time.process_time()
    number, reason = None, None
    with wide_is_enough() as said:
        try:
            number = _number(bound, question, ours)
        except NoAnswerError as error:
            reason = str(error)
    if number == math.inf:
        number, reason = None, "every epsilon has a larger delta, as far as can be certified"
    return Value(number, reason, number is None or not said, time.process_time() - start)


def _number(
    bound: str | type[Baseline], question: Question, ours: Mapping[str, ShuffleAccountant]
) -> float:
    target = question.target
    if question.setting.rounds > 1:
        return _number_of_rounds(bound, question, ours)
    if bound == "lower_bound":
        attained = ours[KINDS[bound]]
        if question.quantity == "epsilon":
            return attained.epsilon_lower_bound(target)
        return attained.delta_lower_bound(target)
    analysis: ShuffleAccountant | Baseline
    analysis = ours[KINDS[bound]] if bound in KINDS else _baseline(bound, question)
    if question.quantity == "epsilon":
        return analysis.get_epsilon(target)
    return analysis.get_delta(target)


def _number_of_rounds(
    bound: str | type[Baseline], question: Question, ours: Mapping[str, ShuffleAccountant]
) -> float:
    if bound not in OURS:
        raise NoAnswerError("it is an analysis of a single round")
    setting, one = question.setting, ours[KINDS[str(bound)]]
    rounds = one.rounds(setting.rounds, at_most=setting.at_most, rtol=question.rtol)
    attained, target = bound == "lower_bound", question.target
    if question.quantity == "delta":
        return rounds.delta_lower_bound(target) if attained else rounds.get_delta(target)
    return rounds.epsilon_lower_bound(target) if attained else rounds.get_epsilon(target)


def _baseline(bound: str | type[Baseline], question: Question) -> Baseline:
    analysis = BASELINES[bound] if isinstance(bound, str) else bound
    if (
        analysis.kind == "lower"
        and question.setting.view == "sum"
        and tells_less(question.randomizer)
    ):
        raise NoAnswerError("it is what the multiset reveals, and the sum may reveal less")
    users = users_covered(analysis, question.setting.crowd)
    if issubclass(analysis, NumericBaseline):
        return analysis(question.randomizer, users, rtol=question.rtol)
    return analysis(question.randomizer, users)
