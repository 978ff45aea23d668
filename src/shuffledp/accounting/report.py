"""The answer to one question about privacy, with the question it answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from shuffledp._version import __version__
from shuffledp.accounting.answered import Answered, OneMechanism
from shuffledp.accounting.assumptions import COUNTED, neighbours_of, particulars
from shuffledp.accounting.datasets import Datasets
from shuffledp.accounting.setting import Setting
from shuffledp.accounting.sum_view import is_exact, view_in_words
from shuffledp.basics.errors import ContradictionError
from shuffledp.basics.interval import Interval
from shuffledp.basics.markup import facts
from shuffledp.basics.wording import shorten
from shuffledp.bounds.curve import Proof
from shuffledp.mechanisms import LocalRandomizer, Pair, Relation

if TYPE_CHECKING:
    from shuffledp.accounting.accountant import ShuffleAccountant

#: Where there is no worst pair, and no datasets.
NOBODY = "no two inputs differ"

_MAX_TEXT = 72


@dataclass(frozen=True, kw_only=True)
class Report(OneMechanism, Answered):
    """A certified guarantee beside what is certainly leaked, and the question they answer.

    Attributes:
        setting: what was asked about.
        quantity: what is asked for, "epsilon" or "delta".
        target: the other one of the two, which is given.
        rtol: the relative width of the guarantee that was asked for.
        guarantee: enclosure of the bound; its upper end is the guarantee.
        lower_bound: what the datasets below already reveal, rounded down.
        worst_pair: the inputs of the differing user for which the bound that proves the guarantee
            is largest; None if no two inputs have different laws. That of ``datasets`` may be
            another one, if the two are nearly as bad.
        datasets: the pair of neighbouring datasets behind ``lower_bound``; None if none are known.
        pairs: how it is known that no other pair is worse: "proved" or "compared N pairs".
        rtol_reached: whether the enclosure is as narrow as was asked for.
        log_guarantee: for delta, the enclosure of its logarithm, which never underflows.
        log_lower_bound: for delta, the logarithm of the lower bound.
        bound: what proves the guarantee, "blanket", "swap", "exact" where the largest delta of all
            datasets is known, or "composition" of the sums of several attributes.
        bound_reason: why the blanket stands, if the swap bound was asked for and is not
            established for this mechanism.

    >>> from shuffledp import ShuffleAccountant
    >>> report = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000).epsilon_report(1e-6)
    >>> print(report)
    epsilon <= 0.07981 at delta = 1e-6 for 10,000 users of krr(k=10, epsilon0=2.0)
    (no analysis can prove less than 0.07979)
    >>> report.datasets.other, report.delta_at(0.1) < 1e-6
    (2, True)
    """

    setting: Setting
    rtol: float
    worst_pair: Pair | None
    datasets: Datasets | None
    pairs: str
    bound: Proof = "blanket"
    bound_reason: str | None = None

    def __post_init__(self) -> None:
        """Refuse bounds that contradict each other."""
        check_order(self.lower_bound, self.guarantee.upper)
        if self.log_guarantee is not None and self.log_lower_bound is not None:
            check_order(self.log_lower_bound, self.log_guarantee.upper)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the numbers assume."""
        seen = f"the analyst sees {self.view_in_words}"
        own = particulars(self.randomizer, self.bound)
        return (COUNTED, *neighbours_of([self.randomizer]), seen, *self.crowd.assumptions, *own)

    @property
    def relation(self) -> Relation:
        """How neighbouring datasets differ: what the guarantee protects."""
        return self.randomizer.relation

    @property
    def view_in_words(self) -> str:
        """What the analyst sees, and what follows from it."""
        is_own = self.bound in ("exact", "composition")
        if self.view == "sum" and is_exact(self.randomizer, self.crowd) and not is_own:
            return (
                "the sum of the reports; the guarantee is that of the multiset, which is the "
                "smallest one that is proved here"
            )
        return view_in_words(self.randomizer, self.view, self.crowd)

    def epsilon_at(self, target_delta: float) -> float:
        """Return the certified epsilon at another delta, for the same users, as precisely."""
        return self._accountant.get_epsilon(target_delta)

    def delta_at(self, target_epsilon: float) -> float:
        """Return the certified delta at another epsilon, for the same users, as precisely."""
        return self._accountant.get_delta(target_epsilon)

    @property
    def _accountant(self) -> ShuffleAccountant:
        from shuffledp.accounting.accountant import ShuffleAccountant

        return ShuffleAccountant.of(self.setting, self.rtol)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of JSON answers, which docs/json.md explains; None for infinity.

        >>> from shuffledp import ShuffleAccountant
        >>> report = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000).epsilon_report(1e-6)
        >>> report.to_dict()["datasets"]
        'x1 = 0 vs 1, all others hold 2'
        """
        fields: dict[str, Any] = {
            "mechanism": str(self.randomizer),
            "relation": self.relation.to_dict(),
            **level_fields(self.randomizer),
            "n": self.n,
            "corrupted": self.crowd.corrupted,
            "corrupted_adaptively": self.crowd.corrupted_adaptively,
            "view": self.view,
            "target_epsilon": self.target_epsilon,
            "target_delta": self.target_delta,
            "quantity": self.quantity,
            "guarantee": _ends(self.guarantee),
            "lower_bound": _finite(self.lower_bound),
            "worst_pair": in_words(self.worst_pair),
            "pairs": self.pairs,
            "datasets": self.datasets_in_words,
            "bound": self.bound,
            "bound_reason": self.bound_reason,
            "rtol": self.rtol,
            "rtol_reached": self.rtol_reached,
        }
        if self.log_guarantee is not None and self.log_lower_bound is not None:
            ends = _ends(self.log_guarantee)
            zero = "delta may be 0, without logarithm"
            fields |= {
                "log_guarantee": ends,
                "log_guarantee_reason": zero if None in ends.values() else None,
                "log_lower_bound": _finite(self.log_lower_bound),
            }
        return fields | {"assumptions": list(self.assumptions), "version": __version__}

    @property
    def datasets_in_words(self) -> str:
        """The datasets in words, or why there are none."""
        if self.datasets is None and self.worst_pair is not None:
            return "none are known"
        return in_words(self.datasets)

    def __str__(self) -> str:
        """Return the guarantee with its question, and the lower bound if there is one."""
        line = f"{self.quantity} <= {self.at_most} at {self.given} for "
        line += f"{self.crowd} of "
        line += shorten(str(self.randomizer), _MAX_TEXT)
        if self.view == "sum":
            line += ", of which only the sum is seen"
        if not self.relation.replaces_input:
            line += f"; neighbouring datasets {self.relation}"
        if not self.decimal_lower_bound:
            return line
        return f"{line}\n(no analysis can prove less than {self.at_least})"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        rows = {
            "mechanism": shorten(str(self.randomizer), _MAX_TEXT),
            "users": str(self.crowd),
            "analyst sees": self.view_in_words,
            "neighbours": str(self.relation),
            "given": self.given,
            "guarantee": f"{self.quantity} <= {self.at_most}",
            "lower bound": f"{self.quantity} >= {self.at_least}",
            "worst pair": f"{in_words(self.worst_pair)} ({self.pairs})",
            "datasets": self.datasets_in_words,
        }
        return facts(rows)


def in_words(where: Pair | Datasets | None) -> str:
    """Return where a bound is attained, in words.

    >>> in_words(Pair(0, 1)), in_words(None)
    ('x1 = 0 vs 1', 'no two inputs differ')
    """
    return NOBODY if where is None else str(where)


def level_fields(randomizer: LocalRandomizer) -> dict[str, Any]:
    """Return the level of one report whose sender is known, as JSON answers state it.

    It is that of the whole domain: whoever knows the sender may ask about any two inputs.
    """
    level = randomizer.domain_epsilon0
    pure = math.isfinite(level)
    reason = None if pure else "the mechanism is not pure LDP"
    return {"ldp_level": level if pure else None, "ldp_level_reason": reason}


def check_order(lower: float, guarantee: float) -> float:
    """Return a lower bound; raise the alarm if it is above the guarantee."""
    if not lower <= guarantee:
        raise ContradictionError(f"the lower bound {lower!r} exceeds the guarantee {guarantee!r}")
    return lower


def _ends(interval: Interval) -> dict[str, float | None]:
    return {"lower": _finite(interval.lower), "upper": _finite(interval.upper)}


def _finite(number: float) -> float | None:
    """Return the number; JSON has no infinity."""
    return number if math.isfinite(number) else None
