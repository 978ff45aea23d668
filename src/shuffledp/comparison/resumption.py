"""Work of which a part may be done already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from shuffledp.cluster import Client
from shuffledp.comparison.pool import compute

_Argument = TypeVar("_Argument")
_Result = TypeVar("_Result")
_Asked_contra = TypeVar("_Asked_contra", contravariant=True)


class Memory(Protocol[_Asked_contra, _Result]):
    """Results of a run that was interrupted."""

    def get(self, argument: _Asked_contra, /) -> _Result | None:
        """Return the result for an argument, if it is known."""

    def add(self, argument: _Asked_contra, result: _Result, /) -> None:
        """Keep the result for an argument."""


def resume(
    function: Callable[[_Argument], _Result],
    arguments: Sequence[_Argument],
    memory: Memory[_Argument, _Result] | None,
    *,
    processes: int | None = None,
    client: Client | None = None,
    on_done: Callable[[int, int], None] | None = None,
    weigh: Callable[[_Argument], int] = lambda _: 1,
) -> list[_Result]:
    """Return ``[function(argument) for argument in arguments]``; what is known is not computed.

    Args:
        function: as for :func:`shuffledp.comparison.compute`.
        arguments: likewise.
        memory: what is known; results are added as they come. None if nothing is to be kept.
        processes: likewise.
        client: likewise.
        on_done: called with the weights of finished and of all arguments, known ones included.
        weigh: returns the weight of an argument.

    >>> resume(abs, [3, -1, -2], None)
    [3, 1, 2]
    """
    known = [None if memory is None else memory.get(argument) for argument in arguments]
    missing = [argument for argument, own in zip(arguments, known, strict=True) if own is None]
    whole = sum(map(weigh, arguments))
    done = whole - sum(map(weigh, missing))

    def keep(number: int, result: _Result) -> None:
        nonlocal done
        done += weigh(missing[number])
        if memory is not None:
            memory.add(missing[number], result)

    def report(*_: int) -> None:
        if on_done is not None:
            on_done(done, whole)

    if len(missing) < len(arguments):
        report()
    found = iter(
        compute(
            function, missing, processes=processes, client=client, on_done=report, on_result=keep
        )
    )
    return [next(found) if own is None else own for own in known]
