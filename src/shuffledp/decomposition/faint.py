"""Components whose weights are too small for normal doubles."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shuffledp.arrays import UNIT, FloatArray

#: The fields of a decomposition that is not complete yet, by their names.
Fields = dict[str, Any]

_RATIOS = ("log_ratio0", "log_ratio1")
_ARRAYS = (*_RATIOS, "weight", "log_ratio_error", "weight_error")

#: Components of more than this weight have ratios of less than e**600.
_HEAVIER = math.exp(-598.0)

#: Smallest normal double.
TINY = 2.0**-1022

#: Relative error of exponentials of sums of logarithms, each of at most 1500 and good to 12 UNIT.
_ERROR = 2**17 * UNIT


def normal_product(x: FloatArray | float, y: FloatArray, substitute: float) -> FloatArray:
    """Return x y for numbers of at least 0; what is above 0 but no normal double is replaced."""
    both = x * y
    return np.where((both < TINY) & (x > 0) & (y > 0), substitute, both)


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
        mass0 = np.where(np.isfinite(self.log_ratio0), np.maximum(mass0, TINY), 0.0)
        mass1 = np.where(mass1 < TINY, 0.0, mass1)
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
        """Merge them with the lightest of the heavier ones at their common mean: a contraction.

        Without heavier ones they are merged with the residual, an atom with ratios (0, 0).
        """
        if self.log_weight.size == 0:
            return others
        heavier = np.flatnonzero(others["weight"] > _HEAVIER)
        if heavier.size == 0:
            others = _with_residual_as_component(others)
            heavier = np.array([others["weight"].size - 1])
        lightest = heavier[np.argmin(others["weight"][heavier])]
        fields = {name: others[name].copy() for name in _ARRAYS}
        own, own_error = fields["weight"][lightest], fields["weight_error"][lightest]
        fields["weight"][lightest] += np.exp(self.log_weight).sum()
        for name, mass in zip(_RATIOS, self._masses(), strict=True):
            total = own * np.exp(fields[name][lightest]) + mass.sum()
            with np.errstate(divide="ignore"):
                fields[name][lightest] = np.log(total / fields["weight"][lightest])
        fields["log_ratio_error"][lightest] += 2 * own_error + 2 * self._mass_error
        fields["weight_error"][lightest] += self._mass_error
        return others | fields

    def _masses(self) -> tuple[FloatArray, FloatArray]:
        """Return a and b of each component."""
        with np.errstate(under="ignore"):
            return (
                np.exp(self.log_weight + self.log_ratio0),
                np.exp(self.log_weight + self.log_ratio1),
            )


def _with_residual_as_component(others: Fields) -> Fields:
    added = {
        "log_ratio0": -np.inf,
        "log_ratio1": -np.inf,
        "weight": others["residual"],
        "log_ratio_error": 0.0,
        "weight_error": others["residual_error"],
    }
    arrays = {name: np.append(others[name], value) for name, value in added.items()}
    return others | arrays | {"residual": 0.0}
