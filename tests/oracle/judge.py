"""Whether answers of the package are true."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, Protocol

from oracle.channel import Channel
from oracle.number import logarithm
from oracle.truth import Truth
from shuffledp import ShuffleAccountant, parse
from shuffledp.basics.errors import AccuracyWarning, NoAnswerError


class Answers(Protocol):
    """What claims to bound delta and epsilon."""

    def get_delta(self, target_epsilon: float) -> float: ...

    def get_epsilon(self, target_delta: float) -> float: ...


@dataclass
class Verdict:
    """What was wrong, in words that reproduce it, and how much was asked and refused."""

    questions: int = 0
    refusals: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)

    def ask(self, what: str, question: Callable[[], float]) -> float | None:
        """The answer; None, and noted, if there is none."""
        self.questions += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AccuracyWarning)
                answer = question()
        except (ValueError, NoAnswerError) as refusal:
            self.refusals.append(f"{what}: {refusal}")
            return None
        except Exception as error:
            self.violations.append(f"{what}: {type(error).__name__}: {error}")
            return None
        if not answer >= 0:
            self.violations.append(f"{what}: the answer is {answer!r}")
        return answer


def judge_accountant(
    text: str,
    truth: Truth,
    epsilons: Iterable[float],
    deltas: Iterable[float],
    rtol: float = 1e-4,
    bound: Literal["blanket", "best"] = "blanket",
) -> Verdict:
    """Compare guarantees and lower bounds of a mechanism with the truth."""
    verdict = Verdict()
    try:
        accountant = ShuffleAccountant(parse(text), truth.n, rtol=rtol, bound=bound)
    except ValueError as refusal:
        verdict.refusals.append(f"{text}: {refusal}")
        return verdict
    judge_upper(text, accountant, truth, epsilons, deltas, verdict)
    if truth.channel.whole:
        judge_lower(
            text,
            accountant.delta_lower_bound,
            accountant.epsilon_lower_bound,
            truth,
            epsilons,
            deltas,
            verdict,
        )
    return verdict


def judge_upper(
    text: str,
    answers: Answers,
    truth: Truth,
    epsilons: Iterable[float],
    deltas: Iterable[float],
    verdict: Verdict,
) -> None:
    """Note every guarantee that is below the truth."""
    for epsilon in epsilons:
        what = f"{text}, n={truth.n}, get_delta({epsilon!r})"
        answer = verdict.ask(what, lambda e=epsilon: answers.get_delta(e))
        if answer is not None:
            true = truth.delta(epsilon)
            if true.low > Fraction(answer):
                verdict.violations.append(f"{what} = {answer!r}, the truth is {true}")
    for delta in deltas:
        what = f"{text}, n={truth.n}, get_epsilon({delta!r})"
        answer = verdict.ask(what, lambda d=delta: answers.get_epsilon(d))
        if answer is not None and answer < math.inf:
            true = truth.delta(answer)
            if true.low > Fraction(delta):
                verdict.violations.append(f"{what} = {answer!r}, where delta is {true}")


def judge_lower(
    text: str,
    lower_delta: Callable[[float], float],
    lower_epsilon: Callable[[float], float],
    truth: Truth,
    epsilons: Iterable[float],
    deltas: Iterable[float],
    verdict: Verdict,
) -> None:
    """Note every lower bound that is above the truth."""
    for epsilon in epsilons:
        what = f"{text}, n={truth.n}, delta_lower_bound({epsilon!r})"
        answer = verdict.ask(what, lambda e=epsilon: lower_delta(e))
        if answer is not None and answer > 0:
            true = truth.delta(epsilon)
            if true.high < Fraction(answer):
                verdict.violations.append(f"{what} = {answer!r}, the truth is {true}")
    for delta in deltas:
        what = f"{text}, n={truth.n}, epsilon_lower_bound({delta!r})"
        answer = verdict.ask(what, lambda d=delta: lower_epsilon(d))
        if answer is not None and answer > 0 and not is_attained(truth, answer, delta):
            verdict.violations.append(
                f"{what} = {answer!r}, the truth is {truth.epsilon(delta):.17g}"
            )


def is_attained(truth: Truth, epsilon: float, delta: float) -> bool:
    """Whether delta is exceeded everywhere below an epsilon."""
    if epsilon == math.inf:
        return truth.delta_at_infinity().high >= Fraction(delta)
    if delta > 0:
        return truth.delta(epsilon).high >= Fraction(delta)
    ratio = truth.largest_ratio
    return ratio is None or Fraction(epsilon) <= logarithm(ratio) * (1 + Fraction(1, 10**60))


def upper_level(channel: Channel) -> float | None:
    """The LDP level over all pairs of inputs, rounded up; None if it is infinite."""
    level = channel.level()
    if level is None:
        return None
    rounded = float(level)
    return math.nextafter(rounded, math.inf) if Fraction(rounded) < level else rounded


def judge_profile(
    text: str, truth: Truth, epsilons: list[float], bound: Literal["blanket", "best"]
) -> Verdict:
    """Note every point of a profile that does not enclose the truth."""
    verdict = Verdict()
    try:
        accountant = ShuffleAccountant(parse(text), truth.n, bound=bound)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            profile = accountant.profile(epsilons)
    except (ValueError, NoAnswerError) as refusal:
        verdict.refusals.append(f"{text}: {refusal}")
        return verdict
    ends = zip(epsilons, profile.lower.tolist(), profile.upper.tolist(), strict=True)
    for epsilon, lower, upper in ends:
        verdict.questions += 1
        true = truth.delta(epsilon)
        above = truth.channel.whole and bound == "best" and true.high < Fraction(lower)
        if above or true.low > Fraction(upper):
            verdict.violations.append(
                f"{text}, n={truth.n}, profile at {epsilon!r}: [{lower!r}, {upper!r}], "
                f"the truth is {true}"
            )
    return verdict
