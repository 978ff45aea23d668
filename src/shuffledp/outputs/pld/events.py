"""Shuffled rounds among the events of dp_accounting. Only loaded if that is installed."""

from __future__ import annotations

import importlib
from typing import Any

from shuffledp.accounting import Rounds, ShuffleAccountant
from shuffledp.accounting.setting import Bound
from shuffledp.basics.errors import MAX_ROUNDS, check_users
from shuffledp.basics.extras import import_extra
from shuffledp.mechanisms import LocalRandomizer
from shuffledp.mechanisms.text import as_randomizer
from shuffledp.outputs.pld.pld import check_replaces, to_pld

_dp: Any = import_extra("dp_accounting")
_attr: Any = importlib.import_module("attr")  # dp_accounting needs it
_Event: Any = _dp.DpEvent
_Accountant: Any = _dp.pld.PLDAccountant


def _read(value: object) -> LocalRandomizer:
    """Return a randomizer with the only neighbours that dp_accounting can express."""
    return check_replaces("randomizer", as_randomizer(value))


@_attr.frozen  # type: ignore[untyped-decorator, unused-ignore]
class ShuffledDpEvent(_Event):  # type: ignore[misc]
    """One round: n users run a local randomizer behind a shuffler.

    Attributes:
        randomizer: what each user runs; a text is read.
        n: the number of users, the one whose data changes included.
        best: whether the smaller one of two bounds counts, as for accountants; else the blanket.

    >>> ShuffledDpEvent("krr(k=10, epsilon0=2)", n=10_000)
    ShuffledDpEvent(randomizer=KRR(k=10, epsilon0=2.0), n=10000, best=True)
    """

    # No field is a text: to_named_tuple() of dp_accounting 0.6 would take it apart.
    randomizer: LocalRandomizer = _attr.field(converter=_read)
    n: int = _attr.field(converter=check_users)
    best: bool = True

    def accountant(self) -> ShuffleAccountant:
        """Return the accountant of this round."""
        bound: Bound = "best" if self.best else "blanket"
        return ShuffleAccountant(self.randomizer, self.n, bound=bound)


class ShuffledPLDAccountant(_Accountant):  # type: ignore[misc]
    """The ``PLDAccountant`` of dp_accounting, which also knows :class:`ShuffledDpEvent`.

    Neighbours replace one record, or one user's inputs: with another relation shuffled events are
    refused. Rounds of one event are composed here, certified; the rest is dp_accounting's own
    arithmetic, which bounds discretisation errors but not those of rounding. Randomized response is
    composed as often as ``count`` says, which dp_accounting 0.6 does not do.

    Args:
        neighboring_relation: that of all events; ``REPLACE_ONE`` unless given.
        value_discretization_interval: losses are multiples of it.

    >>> accountant = ShuffledPLDAccountant(value_discretization_interval=1e-3)
    >>> weekly = ShuffledDpEvent("krr(k=10, epsilon0=2)", n=10_000)
    >>> print(f"{accountant.compose(weekly, 52).get_epsilon(1e-6):.2f}")
    0.66
    """

    _pld: Any
    _contains_non_dp_event: bool

    def __init__(
        self,
        neighboring_relation: Any = _dp.NeighboringRelation.REPLACE_ONE,
        value_discretization_interval: float = 1e-4,
    ) -> None:
        super().__init__(neighboring_relation, value_discretization_interval)

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        """Compose an event so many times, or only say whether that can be done."""
        if isinstance(event, ShuffledDpEvent):
            problem = self._problem(count)
            if problem is not None:
                return self.CompositionErrorDetails(event, problem)
            if do_compose and count > 0:
                self._add(event.accountant().rounds(count))
            return None
        if isinstance(event, _dp.RandomizedResponseDpEvent) and do_compose and count != 1:
            once = _Accountant(self.neighboring_relation, self._value_discretization_interval)
            once.compose(event)
            self._contains_non_dp_event |= count > 0 and once._contains_non_dp_event
            if count > 0:
                self._pld = self._pld.compose(once._pld.self_compose(count))
            return None
        return super()._maybe_compose(event, count, do_compose)

    def _problem(self, count: object) -> str | None:
        relation = _dp.NeighboringRelation.REPLACE_ONE
        if self.neighboring_relation != relation:
            return (
                f"neighbouring datasets of `ShuffledDpEvent` replace the inputs of one user: "
                f"neighboring_relation must be {relation}, got {self.neighboring_relation}"
            )
        if not isinstance(count, int) or not 0 <= count <= MAX_ROUNDS:
            return f"count must be an integer from 0 to {MAX_ROUNDS}, got {count!r}"
        return None

    def _add(self, rounds: Rounds) -> None:
        width = self._value_discretization_interval
        self._pld = self._pld.compose(to_pld(rounds, value_discretization_interval=width))
