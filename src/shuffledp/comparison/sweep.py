"""Many questions in several series, asked in one pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from shuffledp.cluster import Client
from shuffledp.comparison.kept import Kept
from shuffledp.comparison.pool import compute
from shuffledp.comparison.question import Question, Value
from shuffledp.comparison.together import answer_together, blocks

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
    split = {name: list(blocks(own)) for name, own in series.items()}
    every = [block for own in split.values() for block in own]
    known = [None if kept is None else _known(block, kept) for block in every]
    missing = [block for block, own in zip(every, known, strict=True) if own is None]
    total = sum(map(len, every))
    done = total - sum(map(len, missing))

    def keep(number: int, answers: list[tuple[Value, ...]]) -> None:
        nonlocal done
        done += len(missing[number])
        if kept is not None:
            for question, values in zip(missing[number], answers, strict=True):
                kept.add(question, values)

    def report(finished: int, of: int) -> None:
        if on_done is not None:
            on_done(done, total)

    if len(missing) < len(every):
        report(0, len(missing))
    found = iter(
        compute(
            answer_together,
            missing,
            processes=processes,
            client=client,
            on_done=report,
            on_result=keep,
        )
    )
    answers = iter([next(found) if own is None else own for own in known])
    return {
        name: [values for block in islice(answers, len(own)) for values in block]
        for name, own in split.items()
    }


def _known(block: Sequence[Question], kept: Kept) -> list[tuple[Value, ...]] | None:
    """Return the answers to a block, if all of them were kept: they depend on each other."""
    answers = [kept.get(question) for question in block]
    found = [values for values in answers if values is not None]
    return found if len(found) == len(block) else None
