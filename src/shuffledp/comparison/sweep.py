"""Many questions in several series, asked in one pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from shuffledp.cluster import Client
from shuffledp.comparison.kept import Kept
from shuffledp.comparison.question import Question, Value
from shuffledp.comparison.resumption import resume
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
    answers = iter(
        resume(
            answer_together,
            [block for own in split.values() for block in own],
            None if kept is None else _KeptBlocks(kept),
            processes=processes,
            client=client,
            on_done=on_done,
            weigh=len,
        )
    )
    return {
        name: [values for block in islice(answers, len(own)) for values in block]
        for name, own in split.items()
    }


@dataclass(frozen=True)
class _KeptBlocks:
    """Answers to whole blocks: those of one block depend on each other."""

    kept: Kept

    def get(self, block: Sequence[Question]) -> list[tuple[Value, ...]] | None:
        """Return the answers to a block, if all of them are known."""
        found = [values for question in block if (values := self.kept.get(question)) is not None]
        return found if len(found) == len(block) else None

    def add(self, block: Sequence[Question], answers: Sequence[tuple[Value, ...]]) -> None:
        """Keep the answers to a block."""
        for question, values in zip(block, answers, strict=True):
            self.kept.add(question, values)
