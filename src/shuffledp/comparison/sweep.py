"""Many questions in several series, asked in one pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from shuffledp.cluster import Client
from shuffledp.comparison.kept import Kept
from shuffledp.comparison.question import Question, Value, answer
from shuffledp.comparison.resumption import resume

_Name = TypeVar("_Name")


def sweep(
    series: Mapping[_Name, Sequence[Question]],
    *,
    processes: int | None = None,
    client: Client | None = None,
    kept: Kept | None = None,
    on_done: Callable[[int, int], None] | None = None,
) -> dict[_Name, list[tuple[Value, ...]]]:
    """Return what the bounds of all questions say, in the same series and order.

    Args:
        series: the questions.
        processes: as for :func:`shuffledp.comparison.compute`.
        client: likewise.
        kept: answers of a run that was interrupted, which are not computed again; more are added.
        on_done: called with the numbers of finished and of all questions.

    >>> from shuffledp import KRR
    >>> krr = KRR(k=10, epsilon0=2.0)
    >>> series = {"krr": [Question(krr, n, "epsilon", 1e-6, ("guarantee",)) for n in (100, 1000)]}
    >>> [round(value.number, 2) for (value,) in sweep(series)["krr"]]
    [0.88, 0.27]
    """
    questions = [question for own in series.values() for question in own]
    found = resume(answer, questions, kept, processes=processes, client=client, on_done=on_done)
    answers = iter(found)
    return {name: list(islice(answers, len(own))) for name, own in series.items()}
