r"""The swap bound: an upper bound over all backgrounds, beyond what a decomposition can prove.

Let c be at most R(v) for every input v, :math:`\gamma=|c|`, g = R(x1) - e^epsilon R(x1'), and let
the M = n - 1 other users hold v_1, ..., v_M. Reveal everything but where the user in question sits,
who may have swapped seats with a user whose report is a blanket report (docs/beyond.md):

.. math:: n\delta\le\sum_{k=0}^M\gamma(1-\gamma)^k\,\mathrm{avg}_{|K|=k}
          E\Big[\Big(\frac gc(y_0)+\sum_{J\notin K}\frac g{R(v_J)}(z_J)\Big)_+\Big],
          \qquad y_0\sim c/\gamma,\ z_J\sim R(v_J).

The expectation is a contour sum (:mod:`shuffledp.engine.contour`), of which only the upper side is
needed: smoothing and aliases add to it. So delta is at most the sum over the nodes that matter
(:mod:`shuffledp.bounds.swap.nodes`), for the worst shares of the types
(:mod:`shuffledp.bounds.swap.mixtures`), plus what other nodes add, divided by n. Beyond the last
number of users examined that is counted, m - 1, the probability that m users in a row are examined
in vain bounds what is left out: :math:`(1-\gamma)^m`. The cost does not depend on n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from flint import arb

from shuffledp.basics.arrays import usual_errors
from shuffledp.basics.balls import precision, upper_double, upper_log
from shuffledp.bounds.swap.examined import Examined
from shuffledp.bounds.swap.far import FarTypes
from shuffledp.bounds.swap.lead import ranked_types
from shuffledp.bounds.swap.mixtures import Mixtures
from shuffledp.bounds.swap.nodes import BallTypes, Types, collect_nodes
from shuffledp.bounds.swap.plan import Proposal, SwapPlan
from shuffledp.bounds.swap.slots import Slots
from shuffledp.engine.coarsening import FEW, coarse, sorted_law

#: Squares of larger gains overflow where doubles propose; levels near 300 are no case for swaps.
_MAX_GAIN = 1e150

#: Attempts with ever less smoothing.
_ROUNDS = 4

#: Of the relative error asked for, what mixtures of types may add before simplices are cut.
_SHARE_OF_MIXTURES = 0.3

#: Of the same, what laws of fewer atoms may add.
_SHARE_OF_ATOMS = 0.25

#: With more types only those that may decide are evaluated in balls.
_FEW_TYPES = 5

#: Where mixtures add more than was asked for, nodes are too many to look at them closely: more
#: smoothing, by this factor and up to this much, needs fewer.
_COARSER, _COARSEST = 8, 0.05

#: Mixtures that add so many times what smoothing adds make less smoothing useless.
_FAR_MORE = 20


@usual_errors
def swap_log_delta(slots: Slots, n: int, rtol: float) -> float:
    """Return a proved upper bound on log delta over all datasets of n users.

    Infinite where nothing better than the blanket can be expected.

    Args:
        slots: the laws.
        n: number of users.
        rtol: how much smoothing and mixtures may add to log delta, about.
    """
    if max(abs(law.values).max() for law in (slots.first, *slots.types)) > _MAX_GAIN:
        return math.inf
    with precision():
        slots = slots.without_twins()
        if len(slots.types) <= _FEW_TYPES:
            slots = _with_few_atoms(slots, n, _SHARE_OF_ATOMS * rtol)
        proposal = Proposal.of(slots, n)
        plan = proposal.plan(rtol) if proposal.is_promising else None
        best, excess = math.inf, 0.0
        for _ in range(_ROUNDS):
            found = None if plan is None else evaluate(slots, n, plan)
            if plan is None or found is None:
                break
            best = min(best, found.log_delta)
            plan = None if found.excess > _FAR_MORE * found.bias else plan.smoother(found.bias)
            excess = found.excess
        if excess > rtol and _COARSER * rtol < _COARSEST:
            best = min(best, swap_log_delta(slots, n, _COARSER * rtol))
        return best


def _with_few_atoms(slots: Slots, n: int, rtol: float) -> Slots:
    """Return laws of few atoms that are above these in convex order."""
    first, *types = (
        coarse(sorted_law(law), n, rtol, "upper") if len(law.atoms) > FEW else law
        for law in (slots.first, *slots.types)
    )
    return replace(slots, first=first, types=tuple(types))


@dataclass(frozen=True)
class Found:
    """A proved bound, and what smoothing and mixtures of types added to it, relatively, about."""

    log_delta: float
    bias: float
    excess: float


@usual_errors
def evaluate(slots: Slots, n: int, plan: SwapPlan) -> Found | None:
    """Prove the bound of one plan, whatever it is; None if that takes too long."""
    with precision():
        contour = plan.contour
        theta, tau = arb(contour.theta), arb(contour.tau)
        types: Types = (
            BallTypes(slots.types, theta)
            if len(slots.types) <= _FEW_TYPES
            else FarTypes(slots.types, contour.theta)
        )
        rest = slots.rest.upper()
        terms = plan.terms if rest > 0 else 1
        log_ratio = float(rest.log()) - types.top if terms > 1 else 0.0
        examined = Examined(n - 1, terms, upper_double(slots.gamma), log_ratio)
        nodes = collect_nodes(slots.first, types, examined, plan) if examined.is_moderate else None
        if nodes is None:
            return None
        if len(slots.types) > _FEW_TYPES:
            order, contending = ranked_types(nodes, examined)
            rows = order[: min(contending, _FEW_TYPES)]
            better = BallTypes([slots.types[v] for v in rows], theta, types.top)
            nodes = nodes.with_rows(rows, better, contour.step)
        largest = Mixtures(nodes, examined, _SHARE_OF_MIXTURES * plan.rtol).largest()
        total = largest.bound + nodes.left_out
        if not total < math.inf:
            return None
        first = sum((a.mass * (theta * a.value).exp() for a in slots.first.atoms), arb(0))
        unit = first * ((n - 1) * arb(types.top) + tau * tau * theta * theta / 2).exp() / n
        left = rest**terms if rest > 0 and terms < n else arb(0)
        bias = contour.tau**2 * largest.density / largest.value
        excess = largest.bound / largest.value - 1
        return Found(upper_log(arb(total) * unit + left), bias, excess)
