"""Many questions in several series, asked in one pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from shuffledp.comparison.pool import compute
from shuffledp.comparison.question import Question, Value, answer

_Name = TypeVar("_Name")


def sweep(
    series: Mapping[_Name, Sequence[Question]],
    *,
    processes: int | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> dict[_Name, list[tuple[Value, ...]]]:
    """Return what the bounds of all questions say, in the same series and order.

    Args:
        series: the questions.
        processes: as for :func:`shuffledp.comparison.compute`.
        on_done: called with the numbers of finished and of all questions.

    >>> from shuffledp import Setting
    >>> settings = [Setting(mechanism="krr(k=10, epsilon0=2)", n=n) for n in (100, 1000)]
    >>> series = {"krr": [Question(one, "epsilon", 1e-6, ("guarantee",)) for one in settings]}
    >>> [round(value.number, 2) for (value,) in sweep(series)["krr"]]
    [0.88, 0.27]
    """
    questions = [question for own in series.values() for question in own]
    answers = iter(compute(answer, questions, processes=processes, on_done=on_done))
    return {name: list(islice(answers, len(own))) for name, own in series.items()}
