"""The numbers that make up a decomposition, and the invariants they keep."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from shuffledp.arrays import UNIT, FloatArray
from shuffledp.decomposition.arithmetic import vector
from shuffledp.errors import MAX_EPSILON0, check_real

if TYPE_CHECKING:
    from shuffledp.decomposition.decomposition import Decomposition


#: Larger ratios would leave the range of doubles together with e**epsilon.
MAX_LOG_RATIO = 2 * MAX_EPSILON0


@dataclass(frozen=True, eq=False, kw_only=True)
class Components:
    """Arrays over components, converted, checked and frozen; see :class:`Decomposition`.

    No default is an attribute of the class: what an object does not have is not made yet.
    """

    log_ratio0: FloatArray
    log_ratio1: FloatArray
    weight: FloatArray
    residual: float
    log_ratio_error: FloatArray = field(default_factory=lambda: np.zeros(1))
    weight_error: FloatArray = field(default_factory=lambda: np.full(1, 4 * UNIT))
    residual_error: float = field(default_factory=lambda: 4 * UNIT)
    singular0: FloatArray = field(default_factory=lambda: np.zeros(0))
    singular1: FloatArray = field(default_factory=lambda: np.zeros(0))
    singular_error: float = field(default_factory=lambda: 8 * UNIT)
    spread: Decomposition | None = field(default_factory=lambda: None)

    _COMPONENT_ARRAYS: ClassVar[tuple[str, ...]] = (
        "log_ratio0",
        "log_ratio1",
        "weight",
        "log_ratio_error",
        "weight_error",
    )

    def __post_init__(self) -> None:
        """Convert, check the invariants, freeze."""
        self._convert()
        self._check()
        self._count_silent_components()
        for name in (*self._COMPONENT_ARRAYS, "singular0", "singular1"):
            getattr(self, name).setflags(write=False)

    def _convert(self) -> None:
        for name in ("log_ratio0", "log_ratio1", "weight", "singular0", "singular1"):
            object.__setattr__(self, name, vector(name, getattr(self, name)))
        for name in ("log_ratio_error", "weight_error"):
            error = np.array(getattr(self, name), dtype=np.float64)
            if error.ndim > 1 or error.size not in (1, self.weight.size):
                raise ValueError(
                    f"{name} must have one entry or one per component, got shape {error.shape}"
                )
            object.__setattr__(self, name, np.broadcast_to(error, self.weight.shape).copy())

    def _check(self) -> None:
        if not self.log_ratio0.size == self.log_ratio1.size == self.weight.size:
            raise ValueError(
                "log_ratio0, log_ratio1 and weight must have the same length, got "
                f"{self.log_ratio0.size}, {self.log_ratio1.size} and {self.weight.size}"
            )
        if self.singular0.size != self.singular1.size:
            raise ValueError(
                "singular0 and singular1 must have the same length, got "
                f"{self.singular0.size} and {self.singular1.size}"
            )
        for name in ("log_ratio0", "log_ratio1"):
            logs = getattr(self, name)
            if not (logs <= MAX_LOG_RATIO).all():
                raise ValueError(f"{name} must be at most {MAX_LOG_RATIO:g}, got {logs!r}")
        if not (self.weight > 0).all() or not np.isfinite(self.weight).all():
            raise ValueError(f"weight must be positive and finite, got {self.weight!r}")
        for name in ("singular0", "singular1"):
            masses = getattr(self, name)
            if not ((masses >= 0) & (masses <= 1 + self.singular_error + 4 * UNIT)).all():
                raise ValueError(f"{name} must lie in [0, 1], got {masses!r}")
        for name in ("log_ratio_error", "weight_error", "residual_error", "singular_error"):
            error = np.asarray(getattr(self, name))
            if not ((error >= 0) & (error < 1)).all():
                raise ValueError(f"{name} must lie in [0, 1), got {error!r}")
        residual = check_real("residual", self.residual)
        if residual < 0:
            raise ValueError(f"residual must be at least 0, got {residual!r}")
        object.__setattr__(self, "residual", residual)
        self._check_masses()

    def _check_masses(self) -> None:
        """Check that the weights, a and b sum to 1 up to their stated errors and nothing more."""
        rounding = 4 * (self.size + self.singular0.size + 8) * UNIT
        slack = float((self.weight * self.weight_error).sum())
        slack += self.residual * self.residual_error
        total = float(self.weight.sum()) + self.residual
        found = [("weight plus residual", total, slack)]
        error = np.expm1(self.log_ratio_error) + self.weight_error * np.exp(self.log_ratio_error)
        for name, ratio, singular in (
            ("a", self.ratio0, self.singular0),
            ("b", self.ratio1, self.singular1),
        ):
            parts, apart = self.weight * ratio, float(singular.sum())
            slack = float((parts * error).sum()) + apart * self.singular_error
            found.append((name, float(parts.sum()) + apart, slack))
        for name, total, slack in found:
            if not abs(total - 1) <= rounding + slack:
                raise ValueError(f"the masses of {name} must sum to 1, got {total!r}")

    def _count_silent_components(self) -> None:
        """Count components with a = b = 0, where G = 0, into the residual.

        A sum of positive numbers is relatively as good as the worst of them, up to rounding.
        """
        silent = np.isneginf(self.log_ratio0) & np.isneginf(self.log_ratio1)
        if not silent.any():
            return
        mass = float(self.weight[silent].sum())
        error = float(self.weight_error[silent].max()) + int(silent.sum()) * UNIT
        object.__setattr__(self, "residual", self.residual + mass)
        object.__setattr__(self, "residual_error", max(self.residual_error, error) + UNIT)
        for name in self._COMPONENT_ARRAYS:
            object.__setattr__(self, name, getattr(self, name)[~silent])

    @property
    def ratio0(self) -> FloatArray:
        """a/c of each component."""
        return np.exp(self.log_ratio0)

    @property
    def ratio1(self) -> FloatArray:
        """b/c of each component."""
        return np.exp(self.log_ratio1)

    @property
    def size(self) -> int:
        """Number of components, singular ones and the residual not counted."""
        return self.weight.size

    @property
    def exposed(self) -> float:
        """A lower bound on the probability of outputs that the second input cannot have."""
        exposed = self.singular0[self.singular1 == 0]
        rounding = (4 + exposed.size) * UNIT
        mass: float = float(exposed.sum()) * (1 - self.singular_error - rounding)
        return max(mass, 0.0)
