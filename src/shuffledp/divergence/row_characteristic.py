"""The characteristic functions of many tilted laws, one in each row, at multiples of steps."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from shuffledp.arrays import FloatArray, IntArray
from shuffledp.divergence.characteristic import (
    Characteristic,
    evaluate,
    from_complex,
    relative_error,
    transforms_of,
)
from shuffledp.divergence.row_tilt import TiltedRows

_FEWEST_NODES, _FEWEST_ANGLES = 12, 4000  # of a row, below which sines one by one are as quick


def evaluate_rows(
    tilted: TiltedRows,
    rows: IntArray,
    nodes: IntArray,
    steps: FloatArray,
    accurate: FloatArray,
) -> Characteristic:
    """Evaluate phi of the law of each node's row at a multiple of the row's step.

    Where a row has many nodes, exponentials are products, as in ``evaluate_nodes``, if the power of
    its law allows it.

    Args:
        tilted: the laws.
        rows: the row of each node.
        nodes: their numbers.
        steps: of all rows.
        accurate: by how much powers of a product may be off, relatively, in every row.
    """
    t = steps[rows] * nodes.astype(np.float64)
    count = np.bincount(rows, minlength=steps.size)
    errors = relative_error(tilted.atoms_of(np.arange(steps.size)))
    exact = tilted.times * errors > accurate
    many = (count >= _FEWEST_NODES) & (count * tilted.atoms.size >= _FEWEST_ANGLES) & ~exact
    if not many.any():
        return evaluate(tilted.atoms_of(rows), t)
    by_product = many[rows]
    places = np.flatnonzero(by_product)
    places = places[np.argsort(rows[places], kind="stable")]
    phi = np.empty(places.size, dtype=np.complex128)
    end = 0
    for row in np.flatnonzero(many).tolist():
        begin, end = end, end + int(count[row])
        phi[begin:end] = _by_product(tilted, row, float(steps[row]), nodes[places[begin:end]])
    found = from_complex(tilted.atoms_of(rows[places]), t[places], phi)
    if places.size == rows.size:
        return _sorted(found, places)
    others = np.flatnonzero(~by_product)
    rest = evaluate(tilted.atoms_of(rows[others]), t[others])
    return _sorted(_joined(found, rest), np.concatenate([places, others]))


def _by_product(
    tilted: TiltedRows, row: int, step: float, nodes: IntArray
) -> NDArray[np.complex128]:
    """Return phi of one law at multiples of a step."""
    atoms, side = tilted.atoms, math.isqrt(nodes.size)
    (phi,) = transforms_of(atoms.centred[row], step, nodes, side, atoms.probability[row])
    return phi


def _joined(first: Characteristic, second: Characteristic) -> Characteristic:
    return Characteristic(
        np.concatenate([first.log_modulus, second.log_modulus]),
        np.concatenate([first.argument, second.argument]),
        np.concatenate([first.error, second.error]),
        None
        if first.limit is None or second.limit is None
        else np.concatenate([first.limit, second.limit]),
    )


def _sorted(found: Characteristic, places: IntArray) -> Characteristic:
    """Return the values in the order of their places."""
    order = np.argsort(places)
    return Characteristic(
        found.log_modulus[order],
        found.argument[order],
        found.error[order],
        None if found.limit is None else found.limit[order],
    )
