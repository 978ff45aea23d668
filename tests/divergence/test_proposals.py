"""Whatever is proposed, the enclosure holds: proposals cost time or width, never truth."""

from __future__ import annotations

import ast
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import enumerated_delta

import shuffledp.divergence
from shuffledp.decomposition import GPARV, Law
from shuffledp.divergence import BlockSum, contour, log_delta, log_delta_bound, mean, nodes, terms
from shuffledp.divergence.contour import contour_log_mean
from shuffledp.divergence.proposals.grid import Grid
from shuffledp.divergence.proposals.jumps import JumpPlan
from shuffledp.divergence.proposals.smoothing import Smoothing

FOLDER = Path(shuffledp.divergence.__file__).parent


def make_law(values: list[float], weights: list[float]) -> Law:
    zeros = np.zeros(len(values))
    return Law(np.array(values), np.array(weights) / sum(weights), zeros, zeros.copy())


LAWS = [
    make_law([1.7, -2.3, 0.0], [0.25, 0.25, 0.5]),
    make_law([0.9, -0.4, -1.1], [0.3, 0.3, 0.4]),
    make_law([30.0, -5.5, 0.0], [0.001, 0.1, 0.9]),
]

factors = st.floats(-4, 4).map(lambda x: 10.0**x)


@settings(max_examples=150)
@given(data=st.data(), law=st.sampled_from(LAWS), n=st.integers(1, 5))
def test_any_contour_is_valid(data: st.DataObject, law: Law, n: int) -> None:
    """Tilt, noise, nodes, points and stretches drawn at random."""
    exact = math.log(n * enumerated_delta(law, n))

    class Drawn(Smoothing):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            self.tau = data.draw(st.floats(0.003, 3.0), label="tau")
            self.value *= data.draw(factors, label="value")

    points = st.lists(st.floats(-1, 8), min_size=4, max_size=4)
    places = st.integers(0, 3)
    grids = st.builds(Grid, st.floats(0.001, 5.0), st.integers(1, 3000), places, places)
    starts = st.lists(st.integers(-10, 3000), max_size=20)
    with pytest.MonkeyPatch.context() as patch:
        tilt = data.draw(st.floats(0.05, 5.0), label="tilt")
        patch.setattr(contour, "saddle_point", lambda *_: tilt)
        patch.setattr(contour, "Smoothing", Drawn)
        patch.setattr(
            contour, "alias_points", lambda *_: np.array(data.draw(points), dtype=np.float64)
        )
        patch.setattr(contour, "choose_grid", lambda *_: data.draw(grids))
        patch.setattr(contour, "_ROUNDS", 2)
        patch.setattr(
            nodes, "stretch_starts", lambda *_: np.array(data.draw(starts), dtype=np.int64)
        )
        patch.setattr(nodes, "main_lobe", lambda *_: data.draw(st.integers(-3, 50)))
        with np.errstate(all="ignore"):
            enclosure = contour_log_mean(BlockSum.of((law, n)), 1e-3, 1e7)
    assert enclosure.lower <= exact + 1e-13
    assert enclosure.upper >= exact - 1e-13


@settings(max_examples=100)
@given(
    law=st.sampled_from(LAWS),
    n=st.integers(1, 5),
    level=st.floats(),
    orders=st.integers(1, 4),
    merged=st.integers(1, 3),
    guess=st.floats(),
    cells=st.tuples(
        st.lists(st.floats(), min_size=1, max_size=3),
        st.lists(st.floats(), max_size=2),
        st.lists(st.floats(), max_size=5),
    ),
    tilt=st.floats(0.01, 100.0),
)
def test_any_jumps_and_any_cells_are_valid(
    law: Law,
    n: int,
    level: float,
    orders: int,
    merged: int,
    guess: float,
    cells: tuple[list[float], ...],
    tilt: float,
) -> None:
    exact = math.log(enumerated_delta(law, n))
    gparv = GPARV(law, law, 0.0, 0.0)
    classes, floors, edges = cells
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mean, "choose_jumps", lambda *_: JumpPlan(level, orders, guess))
        patch.setattr(mean, "jump_levels", lambda *_: [level, 1.0])
        patch.setattr(mean, "class_edges", lambda *_: np.array(classes))
        patch.setattr(mean, "MERGED", merged)
        patch.setattr(terms, "fall_floors", lambda *_: floors)
        patch.setattr(terms, "loss_floors", lambda *_: floors)
        patch.setattr(mean, "_QUICK_ENUMERATION", 0)
        patch.setattr(mean, "_MAX_ATOMS", 1)
        patch.setattr(
            mean, "edges_for", lambda total, _: [np.array(edges, dtype=float)] * len(total.laws)
        )
        patch.setattr(contour, "saddle_point", lambda *_: tilt)
        with np.errstate(all="ignore"):
            enclosure = log_delta(gparv, n)
            bound = log_delta_bound(gparv, n)
    assert enclosure.lower <= exact + 1e-13
    assert min(enclosure.upper, bound) >= exact - 1e-13


def test_what_is_trusted_stands_apart() -> None:
    """Proposals return plain numbers: no enclosure is made or touched among them."""
    for path in (FOLDER / "proposals").glob("*.py"):
        names = {
            alias.name
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        assert not names & {"LogEnclosure", "UNIT"}


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("unit", [1e-290, 1e-200, 1.0, 1e200, 1e290])
@pytest.mark.parametrize("n", [1, 10, 10**9])
def test_proposals_cope_with_any_unit(unit: float, n: int) -> None:
    """Gains of that size with falling probabilities, and more atoms than are used as they are."""
    shares = np.concatenate([np.geomspace(1e-3, 1e3, 300), [-1.0, 0.0]])
    weights = np.concatenate([np.geomspace(1e-3, 1e-40, 300), [0.5, 0.4]])
    answers = []
    for factor in (1.0, unit):
        law = make_law((factor * shares).tolist(), weights.tolist())
        answers.append(log_delta(GPARV(law, law, 0.0, 0.0), n))
        assert answers[-1].lower <= log_delta_bound(GPARV(law, law, 0.0, 0.0), n)
    plain, scaled = answers
    assert scaled.lower - math.log(unit) <= plain.upper
    assert plain.lower <= scaled.upper - math.log(unit)
    assert scaled.width <= 1.2 * plain.width + 1e-9
