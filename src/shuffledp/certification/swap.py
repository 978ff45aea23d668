r"""The swap bound in balls: an upper bound on delta over all backgrounds of a pair.

See :mod:`shuffledp.divergence.swap` for the theorem. With S the sum of slot 0 and those slots whose
users are not examined, :math:`E[S_+]` is at most the trapezoidal sum of its smoothed transform
(:mod:`shuffledp.certification.contour`, 1 and 2): smoothing and aliases only add to it. To that sum

1. :mod:`shuffledp.certification.swap_nodes` adds what nodes left out can add,
2. :mod:`shuffledp.certification.backgrounds` takes the largest value over all shares of the types,
   with what replacing the average over who is examined by its central term can cost,

and to delta comes the probability that more users are examined than are counted, and what setting
values that may be 0 to 0 can have changed. Everything is derived from the laws of the slots; the
parameters (tilt, smoothing, nodes, terms) decide how sharp the bound is, not whether it holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from flint import arb

from shuffledp.certification.backgrounds import Backgrounds
from shuffledp.certification.coarsening import MAX_ATOMS, choose_edges
from shuffledp.certification.geometric import Examined
from shuffledp.certification.law import Law
from shuffledp.certification.slots import Slots
from shuffledp.certification.swap_nodes import collect_nodes
from shuffledp.certification.swap_plan import Planner, SwapPlan
from shuffledp.certification.tilt import tilt_by
from shuffledp.engine.enclosure import Method, PrecisionError
from shuffledp.engine.progress import Progress

_ROUNDS = 4
_SHARE_OF_CELLS = 0.3  # of the tolerance
_SHARE_OF_BALLS = 0.05


@dataclass(frozen=True)
class SwapBound:
    """An upper bound on delta, and how it was computed."""

    upper: arb
    method: Method


@dataclass(frozen=True)
class _Evaluation:
    bound: SwapBound
    bias: float


def bound_swap(slots: Slots, n: int, tolerance: float, progress: Progress) -> SwapBound | None:
    """Bound delta over all datasets of n users that differ in one pair of inputs.

    Args:
        slots: the laws at one epsilon.
        n: number of users.
        tolerance: how much smoothing and subdivision may add to log delta, about.
        progress: is told how far the proof is.

    Returns:
        The smallest bound found, None where no good one can be expected.
    """
    if n < 2:
        return None
    few = replace(
        slots,
        first=_with_few_atoms(slots.first, n, tolerance),
        types=tuple(_with_few_atoms(law, n, tolerance) for law in slots.types),
    )
    planner = Planner(few, n, tolerance)
    plan, best = planner.first_plan(), None
    for _ in range(_ROUNDS):
        found = None if plan is None else _evaluate(few, n, plan, progress)
        if plan is None or found is None:
            break
        if best is None or found.bound.upper < best.upper:
            best = found.bound
        plan = planner.next_plan(plan, found.bias)
    return best


def _with_few_atoms(law: Law, n: int, tolerance: float) -> Law:
    """Return the law, or one with fewer atoms above it in convex order."""
    if len(law.atoms) <= MAX_ATOMS or not law.atoms[-1].value > 0:
        return law
    return law.on(choose_edges(law, n, tolerance, arb(1)), "upper")


def _evaluate(slots: Slots, n: int, plan: SwapPlan, progress: Progress) -> _Evaluation | None:
    """Bound delta with given parameters; None if that takes too long."""
    first, *types = (tilt_by(law, plan.theta) for law in (slots.first, *slots.types))
    top = max((law.log_mgf.mid() for law in types), key=lambda x: x.fmpq())
    examined = Examined(slots.blanket_mass, slots.rest, n - 1, plan.terms, top)
    nodes = collect_nodes(first, types, examined, plan)
    if nodes is None:
        return None
    backgrounds = Backgrounds(nodes.kept, examined, len(types))
    largest = backgrounds.largest(_SHARE_OF_CELLS * plan.tolerance, progress)
    if not largest.value.rad() <= _SHARE_OF_BALLS * plan.tolerance * plan.value:
        raise PrecisionError("the sum of the nodes has too wide a ball")
    total = largest.bound + nodes.left_out
    unit = ((n - 1) * top + first.log_mgf + arb(plan.tau) ** 2 / 2).exp() / (n * plan.theta)
    upper = (total * unit + examined.tail + slots.slack).upper()
    if not upper.is_finite():
        raise PrecisionError("the bound is not finite")
    method = {
        "name": "swap",
        "theta": float(plan.theta).hex(),
        "tau": plan.tau.hex(),
        "step": plan.step.hex(),
        "nodes": len(nodes.kept),
        "terms": plan.terms,
        "backgrounds": largest.points,
    }
    size = float(largest.value.mid())
    bias = plan.tau**2 * float(backgrounds.density(largest.lead).mid()) / size if size > 0 else 0.0
    return _Evaluation(SwapBound(upper, method), bias)
