"""The product of two decompositions: two reports of one user (paper, section 4.5)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.arithmetic import outer_sum
from shuffledp.decomposition.components import MAX_LOG_RATIO
from shuffledp.decomposition.faint import TINY, Faint, Fields, normal_product

if TYPE_CHECKING:
    from shuffledp.decomposition.decomposition import Decomposition

#: Products of weights below e**-660 are kept apart: they would leave the range of doubles.
_LOG_TINY = -660.0

#: What a decomposition without singular components says about their error.
_NO_ERROR = 8 * UNIT


def multiply(first: Decomposition, second: Decomposition) -> Decomposition:
    """Return the product; both sides of it if the factors are cells or masses underflow."""
    lower, faint = _product(first, second, above=False)
    spread = None
    atoms = first.spread is None and second.spread is None
    if not atoms or faint.log_weight.size or _singular_underflows(first, second):
        upper, exposed = _product(first.upper, second.upper, above=True)
        spread = replace(first, spread=None, **exposed.exposed_in(upper))
    return replace(first, spread=spread, **faint.absorbed_in(lower))


def _product(first: Decomposition, second: Decomposition, *, above: bool) -> tuple[Fields, Faint]:
    """Multiply atoms; components of tiny weight are returned apart.

    So are those of large ratios, which are as rare. Singular masses that underflow are rounded so
    that the bound grows if ``above``, else shrinks.
    """
    log0, error0 = outer_sum(first.log_ratio0, second.log_ratio0)
    log1, error1 = outer_sum(first.log_ratio1, second.log_ratio1)
    error = np.add.outer(first.log_ratio_error, second.log_ratio_error).ravel()
    error = (error + np.maximum(error0, error1)) * (1 + 4 * UNIT)
    weight = np.outer(first.weight, second.weight).ravel()
    weight_error = np.add.outer(first.weight_error, second.weight_error)
    weight_error += np.multiply.outer(first.weight_error, second.weight_error)
    weight_error = weight_error.ravel() + 4 * UNIT
    kept = np.ones(weight.size, dtype=np.bool_)
    faint = Faint(*(np.zeros(0),) * 3)
    largest = max(log0.max(initial=0.0), log1.max(initial=0.0))
    if largest > MAX_LOG_RATIO or _underflows(first, second):
        log_weight = np.add.outer(np.log(first.weight), np.log(second.weight)).ravel()
        kept = (log_weight >= _LOG_TINY) & (np.maximum(log0, log1) <= MAX_LOG_RATIO)
        vague = float((error - np.log1p(-weight_error)).max())
        faint = Faint(log_weight[~kept], log0[~kept], log1[~kept], vague)
    singular0 = _singular(first, second, "0", TINY if above else 0.0)
    fields = {
        "log_ratio0": log0[kept],
        "log_ratio1": log1[kept],
        "weight": weight[kept],
        "residual": first.residual + second.residual * (1 - first.residual),
        "log_ratio_error": error[kept],
        "weight_error": weight_error[kept],
        "residual_error": _residual_error(first.residual_error, second.residual_error),
        "singular0": singular0,
        "singular1": _singular(first, second, "1", 0.0 if above else TINY),
        "singular_error": _singular_error(first, second) if singular0.size else _NO_ERROR,
    }
    return fields, faint


def _residual_error(e: float, f: float) -> float:
    """Return the relative error of r + s - rs for r and s with relative errors e and f.

    The sum moves by at most e r(1-s) + f s(1-r) + ef rs, and it is at least r(1-s) + s(1-r) and at
    least rs, so relatively by at most max(e, f) + ef. Three operations are rounded.
    """
    return max(e, f) + e * f + 4 * UNIT


def _singular_error(first: Decomposition, second: Decomposition) -> float:
    """Return the relative error of products of singular masses with singular and other masses."""

    def both(d: Decomposition) -> tuple[float, float]:
        errors = np.expm1(d.log_ratio_error) + d.weight_error * np.exp(d.log_ratio_error)
        return d.singular_error, float(errors.max(initial=0.0)) + 8 * UNIT

    (s, e), (t, f) = both(first), both(second)
    return max(s + t + s * t, s + f + s * f, t + e + t * e) + 4 * UNIT


def _underflows(first: Decomposition, second: Decomposition) -> bool:
    """Whether some product of weights leaves the range of doubles."""
    if first.size == 0 or second.size == 0:
        return False
    return bool(np.log(first.weight.min()) + np.log(second.weight.min()) < _LOG_TINY)


def _singular_underflows(first: Decomposition, second: Decomposition) -> bool:
    """Whether some product of a singular mass with another mass is no normal double."""
    return any(
        (_singular(first, second, which, TINY) != _singular(first, second, which, 0.0)).any()
        for which in ("0", "1")
    )


def _singular(
    first: Decomposition, second: Decomposition, which: str, substitute: float
) -> FloatArray:
    """Return the masses of outputs one part of which only the differing user can produce.

    Masses above 0 that are below the normal doubles are replaced by the substitute.
    """

    def masses(d: Decomposition) -> tuple[FloatArray, FloatArray]:
        logs = getattr(d, f"log_ratio{which}")
        own = d.weight * np.exp(logs)
        own = np.where((own < TINY) & (logs > -np.inf), substitute, own)
        return own, getattr(d, f"singular{which}")

    def products(x: FloatArray, y: FloatArray) -> FloatArray:
        return normal_product(x[:, None], y, substitute).ravel()

    (mine, my_singular), (theirs, their_singular) = masses(first), masses(second)
    either = np.concatenate([theirs, their_singular])
    return np.concatenate([products(my_singular, either), products(mine, their_singular)])
