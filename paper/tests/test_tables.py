"""Tables of the paper: formulas against enumeration, printed numbers against computed ones."""

from __future__ import annotations

import ast
import math
import operator
import re

import numpy as np
import pytest

from reproduction import ITEMS, Settings
from reproduction.decompositions import SIZES, library_coefficients, mean_of_row
from reproduction.enumeration import MECHANISMS, Coefficients, coefficients
from reproduction.formula import FINITE, LIMIT, PRINTED
from reproduction.frequency import (
    BENNETT,
    OURS,
    TARGETS,
    delta_at,
    reading,
)
from reproduction.frequency import (
    PRINTED as PRINTED_LEVELS,
)
from reproduction.laplace_cdf import cell_law, closed_form, support
from reproduction.table import Table
from shuffledp import KRR, ShuffleAccountant

SETTINGS = Settings(points=3)
LEVELS = (0.1, 1.0, 4.0)

OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}


def evaluate(text: str, **values: float) -> float:
    """The value of a formula as it is printed: juxtaposition multiplies, ^ is a power."""
    explicit = re.sub(r"(?<=[\dEhDk)])(?=[(EhDk])", "*", text).replace("^", "**")
    return walk(ast.parse(explicit, mode="eval").body, values)


def walk(node: ast.expr, values: dict[str, float]) -> float:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    assert isinstance(node, ast.BinOp)
    return OPERATORS[type(node.op)](walk(node.left, values), walk(node.right, values))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("size", [3, 4, 6])
@pytest.mark.parametrize("name", list(FINITE))
def test_formulas_and_library_equal_enumeration(name, size, level):
    size = 2 ** (size // 2 + 1) if name == "HR" else size
    real = coefficients(MECHANISMS[name](size, level), level)
    assert real.distance(FINITE[name].at(level, size)) < 1e-14
    assert real.distance(library_coefficients(name, level, size)) < 1e-14
    assert mean_of_row(real, level) == pytest.approx(1, abs=1e-13)


@pytest.mark.parametrize("kind", ["finite", "printed", "limit"])
def test_texts_of_formulas_mean_their_values(kind):
    for row in {"finite": FINITE, "printed": PRINTED, "limit": LIMIT}[kind].values():
        for formula in (row.p, row.q, row.r):
            for E, size in ((1.5, 4), (math.e, 5), (50.0, 8)):
                known = {"E": E, "h": math.sqrt(E), "D": size, "k": size}
                expected = pytest.approx(formula.value(E, size), rel=1e-12)
                assert evaluate(formula.text, **known) == expected, formula.text


@pytest.mark.parametrize("name", list(MECHANISMS))
def test_enumerated_mechanisms_are_private(name):
    for level in LEVELS:
        matrix = MECHANISMS[name](4, level)
        assert np.allclose(matrix.sum(axis=1), 1, atol=1e-14)
        assert (matrix.max(axis=0) / matrix.min(axis=0)).max() == pytest.approx(math.exp(level))


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", list(LIMIT))
def test_limits(name, level):
    limit = LIMIT[name].at(level, 0)
    assert limit.distance(library_coefficients(name, level, None)) < 1e-14
    size = 2**46 if name == "HR" else 200
    assert limit.distance(FINITE[name].at(level, size)) < 1e-11


def test_hadamard_approaches_its_limit_slowly():
    limit = LIMIT["HR"].at(1.0, 0)
    for size in (8, 64, 512):
        ratio = limit.distance(FINITE["HR"].at(1.0, size)) * size
        assert ratio == pytest.approx(2 * math.e / (math.e + 1))


def test_only_the_row_of_hadamard_response_is_misprinted():
    assert list(PRINTED) == ["HR"]
    printed, real = PRINTED["HR"].at(1.0, 8), FINITE["HR"].at(1.0, 8)
    E = math.e
    assert printed.p == real.p
    assert printed.q + printed.r == pytest.approx(real.q + real.r)
    assert mean_of_row(printed, 1.0) == pytest.approx(1 + 2 * (E - 1) / (8 * (E + 1)))


def test_unequal_pairs_are_refused():
    with pytest.raises(ArithmeticError, match="neither"):
        coefficients(np.array([[0.5, 0.5], [0.4, 0.6]]), 1.0)
    assert Coefficients(1.0, 0.0, 0.0).distance(Coefficients(0.5, 0.25, 0.25)) == 0.5


def test_table_of_decompositions():
    table = ITEMS["decompositions"].compute(SETTINGS).table
    assert len(table.rows) == 15
    wrong = [row[:3] for row in table.rows if row[-1] != "agrees"]
    assert wrong == [("HR", SIZES["HR"], "q"), ("HR", SIZES["HR"], "r")]
    assert max(table.column("largest deviation")) < 1e-14
    findings = ITEMS["decompositions"].findings(table)
    assert len(findings) == 3
    assert "HR, q" in findings[1]


def test_table_of_limits():
    table = ITEMS["decompositions-limit"].compute(SETTINGS).table
    assert len(table.rows) == 12
    assert set(table.column("paper")) == {"agrees"}


def test_table_of_the_gparv():
    table = ITEMS["gparv"].compute(SETTINGS).table
    assert len(table.rows) == 25
    assert set(table.column("paper")) == {"agrees"}
    for name in ("k-RR", "BLH", "RAPPOR", "OUE", "HR"):
        law = [(row[2], row[5]) for row in table.rows if row[0] == name]
        assert math.fsum(p for _, p in law) == pytest.approx(1)
        assert math.fsum(x * p for x, p in law) == pytest.approx(1 - math.exp(0.1))


ERRORS = ("l2 error (paper)", "l2 error (this run)", "its standard error")


@pytest.mark.heavy
def test_table_of_levels():
    item = ITEMS["frequency"]
    table = item.compute(SETTINGS).table
    computed = {row[:2]: row[3] for row in table.rows}
    printed = {row[:2]: row[2] for row in table.rows}
    assert printed == {
        (analysis, target): level
        for analysis, values in PRINTED_LEVELS.items()
        for target, (level, _) in zip(TARGETS, values, strict=True)
    }
    assert all(abs(computed[key] - printed[key]) < 0.01 for key in printed)
    for target in TARGETS:
        assert computed[OURS, target] > 1.1 * computed[BENNETT, target]
        # The found level is safe and a slightly larger one is not.
        level = computed[OURS, target]
        assert ShuffleAccountant(KRR(10, level), 1000, rtol=1e-7).get_delta(target) <= 1e-6
        assert delta_at(OURS, level * 1.0001, target) > 1e-6
        level = computed[BENNETT, target]
        assert delta_at(BENNETT, level, target) <= 1e-6 < delta_at(BENNETT, level * 1.0001, target)
    unsafe = {row[:2] for row in table.rows if row[6] == "unsafe"}
    assert unsafe == {key for key in printed if printed[key] > computed[key]}
    assert (BENNETT, 0.5) in unsafe
    assert len(item.findings(table)) == 3 + len(unsafe)
    for paper, measured, error in zip(*map(table.column, ERRORS), strict=True):
        assert abs(measured - paper) < 5 * error + 0.04 * paper


def test_readings_of_printed_levels():
    assert reading(1.0, 1.0032) == "rounded down"
    assert reading(2.65, 2.6599) == "rounded down"
    assert reading(2.37, 2.3671) == "rounded up"
    assert reading(1.0, 1.02) == "differs by -0.02"


@pytest.mark.parametrize("level", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
def test_laplace_law(level, epsilon):
    first, middle, last = support(level, epsilon)
    assert closed_form(math.nextafter(first, -9), level, epsilon) == 0
    atom = math.exp(-level / 2) / 2
    assert closed_form(first, level, epsilon) == pytest.approx(atom)
    assert closed_form(middle, level, epsilon) == pytest.approx(0.5)
    assert closed_form(math.nextafter(last, -9), level, epsilon) == pytest.approx(1 - atom)
    assert closed_form(last, level, epsilon) == 1
    ts = np.linspace(first - 0.1, last + 0.1, 101).tolist()
    cells = cell_law(ts, level, epsilon)
    assert cells == sorted(cells)
    exact = [closed_form(t, level, epsilon) for t in ts]
    assert np.allclose(cells, exact, atol=1e-2)  # the mass of a cell


def test_laplace_law_by_sampling():
    """L = (R(0) - e^eps R(1))/omega at outputs drawn from the blanket."""
    level, epsilon = 1.0, 0.1
    u = (np.arange(20_000) + 0.5) / 20_000
    side = np.where(u < 0.5, 2 * u, 2 * (1 - u))
    distance = -np.log(side) / level  # from 1/2, exponential on either side
    y = np.where(u < 0.5, 0.5 - distance, 0.5 + distance)
    r0, r1 = (level / 2 * np.exp(-level * np.abs(y - x)) for x in (0, 1))
    omega = np.minimum(r0, r1) / math.exp(-level / 2)
    sample = (r0 - math.exp(epsilon) * r1) / omega
    for t in (-1.0, -0.5, -0.1, 0.0, 0.3, 0.9):
        assert np.mean(sample <= t) == pytest.approx(closed_form(t, level, epsilon), abs=1e-3)


@pytest.mark.parametrize("row", [(1,), (1, 2, 3)])
def test_incomplete_rows_are_refused(row):
    with pytest.raises(ValueError, match="cells"):
        Table(("a", "b"), (row,))


def test_tables_survive_csv():
    table = Table(
        ("a", 'b "c"', "d,e"), ((1, 0.1, None), ("x\ny", 1e-300, "ε, <&>"), (-2, math.pi, "q"))
    )
    assert Table.from_csv(table.to_csv()) == table
    assert table.column("d,e") == (None, "ε, <&>", "q")
