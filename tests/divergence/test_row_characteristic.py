"""Characteristic functions of rows, node by node, whichever way they are evaluated."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_many_sums import tilted_rows

from shuffledp.arrays import UNIT
from shuffledp.divergence import row_atoms, row_characteristic
from shuffledp.divergence.characteristic import relative_error
from shuffledp.divergence.row_atoms import PlacedAtoms
from shuffledp.divergence.row_characteristic import evaluate_rows

STEPS = np.array([0.1, 0.03, 0.2])


def mixed_nodes(seed: int, *counts: int) -> tuple[np.ndarray, np.ndarray]:
    """So many nodes of each row, in any order."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return rows, rng.choice(400, rows.size, replace=False)


@pytest.mark.parametrize(
    ("counts", "accurate", "products"),
    [
        ((30, 30, 20), (1.0, 1.0, 1.0), [0, 1]),  # row 2 has too few angles
        ((30, 30, 30), (1.0, 1e-20, 1.0), [0, 2]),  # products would not do for row 1
        ((9, 30, 40), (1.0, 1.0, 1.0), [1, 2]),
        ((30, 31, 32), (1.0, 1.0, 1.0), [0, 1, 2]),
        ((3, 0, 40), (1.0, 1.0, 1e-20), []),
    ],
)
def test_every_node_has_its_own_row(
    counts: tuple[int, ...],
    accurate: tuple[float, ...],
    products: list[int],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tilted, by_product, used = tilted_rows(), row_characteristic._by_product, []

    def noted(*arguments):
        used.append(arguments[1])
        return by_product(*arguments)

    monkeypatch.setattr(row_characteristic, "_by_product", noted)
    monkeypatch.setattr(row_characteristic, "_FEWEST_NODES", 10)
    monkeypatch.setattr(row_characteristic, "_FEWEST_ANGLES", 25 * tilted.atoms.size)
    rows, nodes = mixed_nodes(3, *counts)
    found = evaluate_rows(tilted, rows, nodes, STEPS, np.array(accurate))
    assert used == products
    own, t = tilted.atoms.chosen(rows), STEPS[rows] * nodes
    phi = (own.probability * np.exp(1j * t[:, None] * own.centred)).sum(axis=1)
    assert np.exp(found.log_modulus + 1j * found.argument) == pytest.approx(phi, abs=1e-12)
    relative, reach = relative_error(tilted.atoms_of(rows)), t * own.mean_deviation
    of_product = 2 * relative + 16 * UNIT + 8 * UNIT * reach
    of_sines = relative * np.minimum(reach, 2.0) + 4 * UNIT * reach
    error = np.where(np.isin(rows, products), of_product, of_sines)
    assert found.error == pytest.approx(error, rel=1e-9, abs=0.0)
    assert found.limit is None


def test_products_only_of_many_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_characteristic, "_by_product", None)
    monkeypatch.setattr(row_characteristic, "_FEWEST_NODES", 31)
    monkeypatch.setattr(row_characteristic, "_FEWEST_ANGLES", 0)
    rows, nodes = mixed_nodes(4, 30, 30, 30)
    assert evaluate_rows(tilted_rows(), rows, nodes, STEPS, np.ones(3)).error.size == 90
    rows, nodes = mixed_nodes(4, 30, 31, 30)
    with pytest.raises(TypeError):
        evaluate_rows(tilted_rows(), rows, nodes, STEPS, np.ones(3))


@pytest.mark.parametrize("most", [1, 20, 10**6])
@pytest.mark.parametrize("long", [1, 12, 40, math.inf])
@pytest.mark.parametrize("seed", range(4))
def test_parts_are_all_of_them_with_their_laws(
    seed: int, long: float, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Runs of one row, long or short, at either end or between, or nothing at all."""
    monkeypatch.setattr(row_atoms, "_LONG", long)
    laws, rng = tilted_rows().atoms, np.random.default_rng(seed)
    runs = rng.integers(1, 15, rng.integers(1, 9)) if seed else np.zeros(0, dtype=np.int64)
    rows = np.repeat(rng.integers(0, 3, runs.size), runs)
    run = np.cumsum(np.diff(rows, prepend=-1) != 0)
    is_long = np.bincount(run)[run] * laws.size >= long
    done = 0
    for part, p, c in PlacedAtoms(laws, rows).parts(rows.size, most):
        size = part.stop - part.start
        assert part.start == done
        assert 0 < size <= max(most // laws.size, 1)
        own = rows[part]
        assert np.array_equal(np.broadcast_to(p, (size, laws.size)), laws.probability[own])
        assert np.array_equal(np.broadcast_to(c, (size, laws.size)), laws.centred[own])
        assert (is_long[part] == (p.ndim == 1)).all()
        done = part.stop
    assert done == rows.size
