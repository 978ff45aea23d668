"""Many questions in several series, asked in one pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from shuffledp.cluster import Client
from shuffledp.comparison.kept import Kept
from shuffledp.comparison.pool import compute
from shuffledp.comparison.question import Question, Value, answer

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
    known = [None if kept is None else kept.get(question) for question in questions]
    missing = [question for question, own in zip(questions, known, strict=True) if own is None]

    def keep(number: int, values: tuple[Value, ...]) -> None:
        if kept is not None:
            kept.add(missing[number], values)

    def report(done: int, total: int) -> None:
        if on_done is not None:
            on_done(done + len(questions) - total, len(questions))

    if len(missing) < len(questions):
        report(0, len(missing))
    found = iter(
        compute(answer, missing, processes=processes, client=client, on_done=report, on_result=keep)
    )
    answers = iter([next(found) if own is None else own for own in known])
    return {name: list(islice(answers, len(own))) for name, own in series.items()}
