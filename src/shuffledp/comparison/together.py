"""Neighbouring questions of a series, answered together where that is quicker."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from shuffledp.accounting import ShuffleAccountant
from shuffledp.accounting.series import prepare
from shuffledp.comparison.bounds import OURS
from shuffledp.comparison.question import Question, Value, accountants, answer_by
from shuffledp.randomizers import (
    AnyPureLDP,
    DiscreteLaplace,
    Gaussian,
    Laplace,
    LocalRandomizer,
)
from shuffledp.randomizers.joint import Joint
from shuffledp.randomizers.support import SupportRandomizer

_FEWEST = 12  # questions of which neighbours know something of each other
_MOST_QUESTIONS = 50  # few enough for progress to be seen
_MOST_PARTS = 3

#: What each of our bounds is made of.
_PARTS = {"guarantee": ("upper", "lower"), "blanket": ("upper",), "lower_bound": ("lower",)}


def blocks(questions: Sequence[Question]) -> Iterator[list[Question]]:
    """Yield the questions of a series in blocks, whose answers do not depend on other blocks.

    >>> from shuffledp import KRR
    >>> asked = [Question(KRR(10, 2.0), n, "epsilon", 1e-6, ("blanket",)) for n in range(1, 71)]
    >>> [len(block) for block in blocks(asked)], [len(block) for block in blocks(asked[:3])]
    ([35, 35], [1, 1, 1])
    """
    together = (
        len(questions) >= _FEWEST and all(map(_is_quick, questions)) and _is_course(questions)
    )
    parts = math.ceil(len(questions) / _MOST_QUESTIONS) if together else len(questions)
    ends = [len(questions) * part // parts for part in range(parts + 1)] if parts else []
    for begin, end in pairwise(ends):
        yield list(questions[begin:end])


def answer_together(questions: Sequence[Question]) -> list[tuple[Value, ...]]:
    """Ask all bounds of all questions of a block, in their order.

    Several questions are prepared together. Their numbers are certified as all others are; those of
    single questions may differ by less than ``rtol``.

    >>> from shuffledp import KRR
    >>> asked = [Question(KRR(10, 2.0), n, "epsilon", 1e-6, ("blanket",)) for n in (1000, 1100)]
    >>> [round(value.number, 3) for (value,) in answer_together(asked)]
    [0.273, 0.259]
    """
    ours = [accountants(question) for question in questions]
    seconds: dict[str, float] = {}
    if len(questions) > 1:
        needed = {part for bound in questions[0].bounds for part in _parts(str(bound), ours)}
        for part in ("upper", "lower"):
            if part in needed:
                seconds[part] = _prepare(part, questions, ours)
    return [
        tuple(
            _with_share(bound, answer_by(bound, question, own), seconds)
            for bound in question.bounds
        )
        for question, own in zip(questions, ours, strict=True)
    ]


def _parts(bound: str, ours: Sequence[Mapping[str, ShuffleAccountant]]) -> tuple[str, ...]:
    """Return what a bound is made of; guarantees of the blanket alone need no datasets."""
    if bound == "guarantee" and all(own["best"].known.is_blanket for own in ours):
        return _PARTS["blanket"]
    return _PARTS.get(bound, ())


def _prepare(
    part: str, questions: Sequence[Question], ours: Sequence[Mapping[str, ShuffleAccountant]]
) -> float:
    """Prepare one part of what is needed; return the processor time per question."""
    start = time.process_time()
    families = [(own["best"].known.families, own["blanket"].known.families) for own in ours]
    chosen = [{part: best[part]} if part in best else {} for best, _ in families]
    targets = [question.target for question in questions]
    prepare(chosen, questions[0].quantity, targets, list(map(_place, questions)))
    for own, (_, blanket) in zip(chosen, families, strict=True):
        if part in own and part in blanket:
            blanket[part].learn(own[part])
    return (time.process_time() - start) / len(questions)


def _with_share(bound: object, value: Value, seconds: Mapping[str, float]) -> Value:
    """Add what a question took of what was done for all."""
    shares = sum(seconds.get(part, 0.0) for part in _PARTS.get(str(bound), ()))
    return replace(value, seconds=value.seconds + shares)


def _is_quick(question: Question) -> bool:
    """Whether bounds of ours are asked about one round of few kinds of reports, or of noise."""
    ours = any(bound in OURS for bound in question.bounds)
    randomizer = question.randomizer
    quick = _has_few_reports(randomizer) or _is_continuous(randomizer)
    return ours and question.rounds == 1 and quick


def _has_few_reports(randomizer: LocalRandomizer) -> bool:
    if isinstance(randomizer, Joint):
        parts = randomizer.parts
        return len(parts) <= _MOST_PARTS and all(map(_has_few_reports, parts))
    return isinstance(randomizer, SupportRandomizer | AnyPureLDP | DiscreteLaplace)


def _is_continuous(randomizer: LocalRandomizer) -> bool:
    """Whether reports have densities for which few nodes can stand."""
    return isinstance(randomizer, Laplace | Gaussian)


def _is_course(questions: Sequence[Question]) -> bool:
    """Whether the questions are alike but for one number, which increases."""
    same = len({(q.quantity, q.bounds, q.rtol, q.view) for q in questions}) == 1
    return same and all(_place(one) < _place(other) for one, other in pairwise(questions))


def _place(question: Question) -> float:
    """Return where a question stands among those that differ from it in one number."""
    level = question.randomizer.epsilon0
    logs = [math.log(question.n), math.log(level) if 0 < level < math.inf else 0.0]
    if question.quantity == "delta":
        return sum(logs) + question.target
    return sum(logs) + (math.log(question.target) if question.target > 0 else -math.inf)
