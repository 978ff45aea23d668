"""Many questions in several series, asked in one pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from shuffledp.comparison.pool import compute
from shuffledp.comparison.question import Question, Value
from shuffledp.comparison.together import answer_together, blocks

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

    >>> from shuffledp import KRR
    >>> krr = KRR(k=10, epsilon0=2.0)
    >>> series = {"krr": [Question(krr, n, "epsilon", 1e-6, ("guarantee",)) for n in (100, 1000)]}
    >>> [round(value.number, 2) for (value,) in sweep(series)["krr"]]
    [0.88, 0.27]
    """
    split = {name: list(blocks(own)) for name, own in series.items()}
    answers = iter(
        compute(
            answer_together,
            [block for own in split.values() for block in own],
            processes=processes,
            on_done=on_done,
            weigh=len,
        )
    )
    return {
        name: [values for block in islice(answers, len(own)) for values in block]
        for name, own in split.items()
    }
