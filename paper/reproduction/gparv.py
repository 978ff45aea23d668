"""Table 1: the law of the generalised privacy amplification random variable."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reproduction.curve import OnDone
from reproduction.decompositions import library_blanket
from reproduction.formula import FINITE, LIMIT
from reproduction.item import Item, Result
from reproduction.settings import Settings
from reproduction.table import Cell, Table, number
from shuffledp.basics.rounding import nearest

_LEVEL, _EPSILON, _K = 1.0, 0.1, 10
_SAME = 1e-12

#: The five values of G.
VALUES = ("1 - E e^ε", "E - E e^ε", "1 - e^ε", "0 (residual)", "E - e^ε")

#: The mass of the residual as the paper prints it.
_RESIDUALS: dict[str, tuple[str, Callable[[float], float]]] = {
    "k-RR": ("(E-1)/(E+k-1)", lambda E: (E - 1) / (E + _K - 1)),
    "BLH": ("(E-1)/(E+1)", lambda E: (E - 1) / (E + 1)),
    "RAPPOR": ("1 - 1/h", lambda E: 1 - 1 / math.sqrt(E)),
    "OUE": ("(1 - 1/E)/2", lambda E: (1 - 1 / E) / 2),
    "HR": ("(E-1)/(E+1)", lambda E: (E - 1) / (E + 1)),
}


def library_law(name: str, size: int | None, places: Sequence[float]) -> list[float]:
    """Return the probabilities that the library's GPARV gives to some values.

    Raises:
        ArithmeticError: if it takes other values as well.
    """
    law = library_blanket(name, _LEVEL, size).at(_EPSILON).lower
    found = [0.0] * len(places)
    for value, weight in zip(law.values.tolist(), law.masses.tolist(), strict=True):
        near = [i for i, place in enumerate(places) if abs(value - place) < _SAME]
        if len(near) != 1:
            raise ArithmeticError(f"G takes the value {value!r}, which the paper does not list")
        found[near[0]] += weight
    return found


@dataclass(frozen=True, kw_only=True)
class GparvTable(Item):
    """The five values of G and their probabilities."""

    def identity(self, settings: Settings) -> dict[str, object]:
        """Return level, epsilon and k."""
        return {"epsilon0": _LEVEL, "epsilon": _EPSILON, "k": _K}

    def compute(self, settings: Settings, on_done: OnDone | None = None) -> Result:
        """Evaluate the printed formulas and the library's decomposition."""
        E, ratio = math.exp(_LEVEL), math.exp(_EPSILON)
        places = (1 - E * ratio, E - E * ratio, 1 - ratio, 0.0, E - ratio)
        rows: list[tuple[Cell, ...]] = []
        for name, (residual_text, residual) in _RESIDUALS.items():
            row, size = (FINITE[name], _K) if name == "k-RR" else (LIMIT[name], None)
            printed = row.at(_LEVEL, size or 0)
            formulas = (row.p, row.q, row.r, None, row.p)
            texts = [residual_text if f is None else f.text for f in formulas]
            paper = (printed.p, printed.q, printed.r, residual(E), printed.p)
            own = library_law(name, size, places)
            for value, place, text, theirs, ours in zip(
                VALUES, places, texts, paper, own, strict=True
            ):
                agrees = "agrees" if abs(theirs - ours) < _SAME else "differs"
                shown = text if text != "0" else "zero"
                rows.append((name, value, place, shown, theirs, ours, agrees))
        columns = (
            "mechanism",
            "value of G",
            "value",
            "paper's probability",
            "paper's value",
            "library",
            "paper",
        )
        return Result(Table(columns, tuple(rows)))

    def findings(self, table: Table) -> list[str]:
        """Check the law: probabilities sum to 1 and the mean is 1 - e^epsilon."""
        agreed = sum(cell == "agrees" for cell in table.column("paper"))
        totals, means = [], []
        for name in _RESIDUALS:
            pairs = [(number(row[2]), number(row[5])) for row in table.rows if row[0] == name]
            totals.append(math.fsum(p for _, p in pairs))
            means.append(math.fsum(x * p for x, p in pairs))
        drift = max(abs(mean + math.expm1(_EPSILON)) for mean in means)
        return [
            f"{agreed} of {len(table.rows)} probabilities agree with the paper.",
            f"The probabilities of each mechanism sum to 1 within "
            f"{nearest(max(abs(t - 1) for t in totals), 2)}, and the mean of G is 1 - e^ε within "
            f"{nearest(drift, 2)}.",
        ]


GPARV_TABLE = GparvTable(
    name="gparv",
    title="Law of the GPARV of common mechanisms",
    place="Table 1",
    caption=(
        f"The values that G takes and their probabilities, at ε0 = {_LEVEL:g}, ε = {_EPSILON:g} "
        f"and k = {_K}; BLH, RAPPOR, OUE and HR in the limit of large domains. E = e^ε0, "
        "h = e^(ε0/2)."
    ),
    paper="Formulas for the probabilities of five values.",
)
