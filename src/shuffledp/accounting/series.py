"""Several accountants that are asked alike, prepared together for what they will be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from shuffledp.accounting.along import prepare_epsilons, prepare_log_deltas
from shuffledp.accounting.worst_case import WorstCase


def prepare(
    families: Sequence[Mapping[str, WorstCase]],
    quantity: Literal["epsilon", "delta"],
    targets: Sequence[float],
    places: Sequence[float],
) -> None:
    """Evaluate together what several accountants need for one answer, which then costs little.

    An answer after that is certified as any other, and as narrow. It may differ from that of an
    accountant that was not prepared, by less than ``rtol``; so accountants are made for the purpose
    and not shared. Those that need something else answer as always.

    Args:
        families: one for each point of a curve, from ``accountant.known.families``.
        quantity: what the accountants will be asked for.
        targets: the delta or the epsilon at which.
        places: where each stands along the curve, increasing, so that answers change smoothly.

    >>> from shuffledp import ShuffleAccountant
    >>> accountants = [ShuffleAccountant("krr(k=10, epsilon0=2)", n) for n in range(1000, 1100)]
    >>> families = [accountant.known.families for accountant in accountants]
    >>> prepare(families, "epsilon", [1e-6] * 100, list(range(100)))
    >>> f"{accountants[50].get_epsilon(1e-6):.3f}"
    '0.266'
    """
    for name in {name: None for own in families for name in own}:
        those = [i for i, own in enumerate(families) if name in own]
        cases, asked = [families[i][name] for i in those], [targets[i] for i in those]
        if quantity == "epsilon":
            prepare_epsilons(cases, asked, [places[i] for i in those])
        else:
            prepare_log_deltas(cases, asked)
