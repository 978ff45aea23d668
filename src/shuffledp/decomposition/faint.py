"""Components whose weights are too small for normal doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp.decomposition.arithmetic import UNIT, FloatArray

#: The fields of a decomposition that is not complete yet, by their names.
Fields = dict[str, Any]

_RATIOS = ("log_ratio0", "log_ratio1")

#: Smallest normal double.
_TINY = 2.0**-1022

#: Relative error of exponentials of sums of logarithms, each of at most 1500 and good to 12 UNIT.
_ERROR = 2**17 * UNIT


@dataclass(frozen=True, eq=False)
class Faint:
    """Components given by the logarithms of their weights and of the ratios a/c and b/c.

    ``error`` bounds the errors of all these logarithms that were there before they were added up.
    """

    log_weight: FloatArray
    log_ratio0: FloatArray
    log_ratio1: FloatArray
    error: float = 0.0

    @property
    def _mass_error(self) -> float:
        """Bound on the relative errors of weights and masses."""
        return math.expm1(2 * self.error) + _ERROR

    def exposed_in(self, others: Fields) -> Fields:
        """Add them to the fields of a decomposition as singular ones.

        That is a smaller blanket: a spread. Their weights go to the residual. Masses of a that
        underflow count as the smallest normal double, those of b as they come or as 0: both can
        only raise the bound.
        """
        if self.log_weight.size == 0:
            return others
        mass0, mass1 = self._masses()
        mass0 = np.where(np.isfinite(self.log_ratio0), np.maximum(mass0, _TINY), 0.0)
        mass1 = np.where(mass1 < _TINY, 0.0, mass1)
        added = float(np.exp(self.log_weight).sum())
        residual = others["residual"] + added
        share = added / residual if residual > 0 else 0.0
        return others | {
            "residual": residual,
            "residual_error": (1 - share) * others["residual_error"]
            + share * self._mass_error
            + 4 * UNIT,
            "singular0": np.concatenate([others["singular0"], mass0]),
            "singular1": np.concatenate([others["singular1"], mass1]),
            "singular_error": others["singular_error"] + self._mass_error,
        }

    def absorbed_in(self, others: Fields) -> Fields:
        """Merge them with the lightest of the others at their common mean: a contraction.

        Without others they are merged with the residual, an atom with ratios (0, 0).
        """
        if self.log_weight.size == 0:
            return others
        lightest = int(np.argmin(others["weight"])) if others["weight"].size else None
        if lightest is None:
            own, own_error = others["residual"], others["residual_error"]
            ratios, log_error = (0.0, 0.0), 0.0
        else:
            own, own_error = others["weight"][lightest], others["weight_error"][lightest]
            ratios = tuple(np.exp(others[name][lightest]) for name in _RATIOS)
            log_error = others["log_ratio_error"][lightest]
        weight = own + float(np.exp(self.log_weight).sum())
        sums = (
            own * ratio + mass.sum() for ratio, mass in zip(ratios, self._masses(), strict=True)
        )
        with np.errstate(divide="ignore"):
            log0, log1 = (float(np.log(total / weight)) for total in sums)
        merged = {
            "log_ratio0": log0,
            "log_ratio1": log1,
            "weight": weight,
            "log_ratio_error": log_error + 2 * own_error + 2 * self._mass_error,
            "weight_error": own_error + self._mass_error,
        }
        if lightest is None:
            alone = {name: np.array([value]) for name, value in merged.items()}
            return others | alone | {"residual": 0.0}
        changed = {name: others[name].copy() for name in merged}
        for name, value in merged.items():
            changed[name][lightest] = value
        return others | changed

    def _masses(self) -> tuple[FloatArray, FloatArray]:
        """Return a and b of each component."""
        with np.errstate(under="ignore"):
            return (
                np.exp(self.log_weight + self.log_ratio0),
                np.exp(self.log_weight + self.log_ratio1),
            )
