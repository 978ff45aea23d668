"""In which rounds a user takes part who may choose some of them only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shuffledp.accounting.rounds.round_kind import RoundKind


@dataclass(frozen=True)
class Turns:
    """Some rounds of a user, each of which may be any one of several kinds.

    Attributes:
        kinds: the kinds it may be; the first one is what datasets that reveal much take.
        times: how many such rounds there are.
    """

    kinds: tuple[RoundKind, ...]
    times: int


def all_turns(kinds: Sequence[RoundKind]) -> tuple[Turns, ...]:
    """Return the rounds of a user who takes part in all."""
    return tuple(Turns((kind,), kind.times) for kind in kinds)


def chosen_turns(kinds: Sequence[RoundKind], at_most: int) -> tuple[Turns, ...]:
    r"""Return what bounds the rounds of a user who takes part in at most so many.

    Let :math:`H_1,H_2,\dots` be the profiles of the kinds in the order given, and
    :math:`E_j=\max(H_j,H_{j+1},\dots)`, a profile, too. A round of kind j is below :math:`E_j`, and
    these fall with j. So whatever is chosen, also after seeing what was published, is below the
    product of the first ``at_most`` ones, each :math:`E_j` as often as there are rounds of kind j.
    For, by induction over the rounds that are left, choosing kind j and then the best of the rest
    is a product of as many factors, the i-th largest of which is at most the i-th of these.

    Args:
        kinds: the kinds of rounds. Any order is right; beginning with what reveals most is best.
        at_most: in how many rounds a user takes part.

    >>> from shuffledp import ShuffleAccountant
    >>> one, other = (ShuffleAccountant("krr(k=3, epsilon0=1)", n) for n in (100, 200))
    >>> turns = chosen_turns([RoundKind(one, 4), RoundKind(other, 52)], 10)
    >>> [(len(turn.kinds), turn.times) for turn in turns]
    [(2, 4), (1, 6)]
    """
    turns, left = [], at_most
    for place, kind in enumerate(kinds):
        times = min(kind.times, left)
        if times:
            turns.append(Turns(tuple(kinds[place:]), times))
        left -= times
    return tuple(turns)
