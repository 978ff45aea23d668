"""The mixture of decompositions: a user runs one of several mechanisms (paper, section 4.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from shuffledp.arrays import UNIT
from shuffledp.decomposition.faint import TINY, Faint, Fields, normal_product
from shuffledp.errors import check_real

if TYPE_CHECKING:
    from shuffledp.decomposition.decomposition import Decomposition

#: Weights further from the sum 1 are a mistake, not rounding. They are divided by their sum.
_TOLERANCE = 1e-12

#: Lighter components are kept apart: they would leave the range of normal doubles.
_LOG_TINY = -700.0

#: The sum of the weights, the quotient and the product are rounded, and so may be one weight.
_ROUNDING = 8 * UNIT


def mix(weights: Sequence[float], parts: Sequence[Decomposition]) -> Decomposition:
    """Return the mixture; both sides of it if parts are cells or masses underflow."""
    shares = _shares(weights, len(parts))
    lower, faint = _mixture(shares, parts, above=False)
    spread = None
    cells = any(part.spread is not None for part in parts)
    if cells or faint.log_weight.size or _singular_underflows(shares, parts):
        upper, exposed = _mixture(shares, [part.upper for part in parts], above=True)
        spread = replace(parts[0], spread=None, **exposed.exposed_in(upper))
    return replace(parts[0], spread=spread, **faint.absorbed_in(lower))


def _shares(weights: Sequence[float], count: int) -> list[float]:
    """Return the weights divided by their sum."""
    if not count or len(weights) != count:
        raise ValueError(
            f"weights and parts must be non-empty and of equal length, got {len(weights)} and "
            f"{count}"
        )
    given = [check_real("weights", w) for w in weights]
    total = math.fsum(given)
    if min(given) <= 0 or abs(total - 1) > _TOLERANCE:
        raise ValueError(f"weights must be positive and sum to 1, got {given!r}")
    return [w / total for w in given]


def _singular_underflows(shares: Sequence[float], parts: Sequence[Decomposition]) -> bool:
    return any(
        bool((normal_product(share, masses, TINY) != normal_product(share, masses, 0.0)).any())
        for share, part in zip(shares, parts, strict=True)
        for masses in (part.singular0, part.singular1)
    )


def _mixture(
    shares: Sequence[float], parts: Sequence[Decomposition], *, above: bool
) -> tuple[Fields, Faint]:
    """Mix atoms; components of tiny weight are returned apart.

    Singular masses that underflow are rounded so that the bound grows if ``above``, else shrinks.
    """
    substitute0, substitute1 = (TINY, 0.0) if above else (0.0, TINY)
    scaled = list(zip(shares, parts, strict=True))
    log0, log1, error = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("log_ratio0", "log_ratio1", "log_ratio_error")
    )
    weight_error = np.concatenate([part.weight_error for part in parts]) + _ROUNDING
    log_weight = np.concatenate([math.log(share) + np.log(part.weight) for share, part in scaled])
    kept = log_weight >= _LOG_TINY
    vague = float((error - np.log1p(-weight_error)).max(initial=0.0))
    fields = {
        "log_ratio0": log0[kept],
        "log_ratio1": log1[kept],
        "weight": np.concatenate([share * part.weight for share, part in scaled])[kept],
        "residual": sum(share * part.residual for share, part in scaled),
        "log_ratio_error": error[kept],
        "weight_error": weight_error[kept],
        # A sum of positive numbers is relatively as good as the worst of them, up to rounding.
        "residual_error": max(p.residual_error for p in parts) + len(parts) * UNIT + _ROUNDING,
        "singular0": np.concatenate(
            [normal_product(share, part.singular0, substitute0) for share, part in scaled]
        ),
        "singular1": np.concatenate(
            [normal_product(share, part.singular1, substitute1) for share, part in scaled]
        ),
        "singular_error": max(part.singular_error for part in parts) + _ROUNDING,
    }
    return fields, Faint(log_weight[~kept], log0[~kept], log1[~kept], vague)
