"""Closed forms of optimal decompositions: the text of each formula beside its value."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from reproduction.enumeration import Coefficients


@dataclass(frozen=True)
class Formula:
    """One coefficient as a function of E = e^epsilon0 and of the size D (k for k-RR).

    In the text h stands for e^(epsilon0/2).
    """

    text: str
    value: Callable[[float, int], float]


@dataclass(frozen=True)
class Row:
    """The three coefficients of one mechanism."""

    p: Formula
    q: Formula
    r: Formula

    def at(self, epsilon0: float, size: int) -> Coefficients:
        """Evaluate the formulas."""
        E = math.exp(epsilon0)
        return Coefficients(*(f.value(E, size) for f in (self.p, self.q, self.r)))


_HALF = Formula("1/(2(E+1))", lambda E, D: 1 / (2 * (E + 1)))

#: Finite domains. D is the number of inputs, for HR the number of outputs.
FINITE = {
    "k-RR": Row(
        Formula("1/(E+k-1)", lambda E, k: 1 / (E + k - 1)),
        Formula("0", lambda E, k: 0.0),
        Formula("(k-2)/(E+k-1)", lambda E, k: (k - 2) / (E + k - 1)),
    ),
    "BLH": Row(
        _HALF,
        Formula("1/(2(E+1)) - 1/(2^(D-1)(E+1))", lambda E, D: (0.5 - 2.0 ** (1 - D)) / (E + 1)),
        Formula("1/(2(E+1)) + E/(2^(D-1)(E+1))", lambda E, D: (0.5 + E * 2.0 ** (1 - D)) / (E + 1)),
    ),
    "RAPPOR": Row(
        Formula("1/(h+1)^2", lambda E, D: (math.sqrt(E) + 1) ** -2),
        Formula(
            "1/(h(h+1)^2) - 1/(h(h+1)^D)",
            lambda E, D: ((math.sqrt(E) + 1) ** -2 - (math.sqrt(E) + 1) ** -D) / math.sqrt(E),
        ),
        Formula(
            "h/(h+1)^2 + h/(h+1)^D",
            lambda E, D: ((math.sqrt(E) + 1) ** -2 + (math.sqrt(E) + 1) ** -D) * math.sqrt(E),
        ),
    ),
    "OUE": Row(
        _HALF,
        Formula(
            "1/(2E(E+1)) - 1/(2E(E+1)^(D-1))",
            lambda E, D: (1 / (E + 1) - (E + 1) ** (1 - D)) / (2 * E),
        ),
        Formula(
            "E/(2(E+1)) + 1/(2(E+1)^(D-1))",
            lambda E, D: (E / (E + 1) + (E + 1) ** (1 - D)) / 2,
        ),
    ),
    "HR": Row(
        _HALF,
        Formula("1/(2(E+1)) - 2/(D(E+1))", lambda E, D: (0.5 - 2 / D) / (E + 1)),
        Formula("1/(2(E+1)) + 2E/(D(E+1))", lambda E, D: (0.5 + 2 * E / D) / (E + 1)),
    ),
}

#: The rows of the paper's table that differ from those above.
PRINTED = {
    "HR": Row(
        _HALF,
        _HALF,
        Formula("1/(2(E+1)) + 2(E-1)/(D(E+1))", lambda E, D: (0.5 + 2 * (E - 1) / D) / (E + 1)),
    ),
}

#: The limit of large domains.
LIMIT = {
    "BLH": Row(_HALF, _HALF, _HALF),
    "RAPPOR": Row(
        Formula("1/(h+1)^2", lambda E, D: (math.sqrt(E) + 1) ** -2),
        Formula("1/(h(h+1)^2)", lambda E, D: (math.sqrt(E) + 1) ** -2 / math.sqrt(E)),
        Formula("h/(h+1)^2", lambda E, D: (math.sqrt(E) + 1) ** -2 * math.sqrt(E)),
    ),
    "OUE": Row(
        _HALF,
        Formula("1/(2E(E+1))", lambda E, D: 1 / (2 * E * (E + 1))),
        Formula("E/(2(E+1))", lambda E, D: E / (2 * (E + 1))),
    ),
    "HR": Row(_HALF, _HALF, _HALF),
}
