"""The laws of G at many epsilons, against those at each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shuffledp import parse
from shuffledp.decomposition import Decomposition, LawRows

FIELDS = ("values", "weights", "value_error", "weight_error")


@pytest.mark.parametrize(
    "text",
    [
        "krr(k=10, epsilon0=2)",
        "subset(epsilon0=1, domain_size=10)",
        "krr(k=2, epsilon0=250)",
        "rappor(epsilon0=4)",
    ],
)
def test_a_row_is_the_law_at_its_epsilon(text: str) -> None:
    mechanism = parse(text)
    pair = mechanism.neighbours()[0]
    for decomposition in (mechanism.blanket(pair), mechanism.background(pair, pair.first)):
        epsilons = np.array([0.0, 1e-9, 0.3, 2.0, 10.0, 240.0])
        rows = decomposition.rows_at(epsilons)
        for row, epsilon in enumerate(epsilons):
            law = decomposition.at(float(epsilon)).lower
            assert rows.size == law.size
            for name in FIELDS:
                own, single = getattr(rows, name)[row], getattr(law, name)
                np.testing.assert_allclose(own, single, rtol=1e-13, atol=0)


def test_ratios_of_zero_have_rows() -> None:
    decomposition = Decomposition.from_coefficients([0.5, 0.5, 0.0], [0.5, 0.0, 0.5], [0.2] * 3)
    rows = decomposition.rows_at(np.array([0.0, 1.0]))
    law = decomposition.at(1.0).lower
    assert rows.values[1].tolist() == pytest.approx(law.values.tolist())
    assert np.isfinite(rows.value_error).all()
    assert math.fsum(rows.weights[0]) == pytest.approx(1.0)


def test_rows_are_joined_and_chosen_in_order() -> None:
    decomposition = parse("krr(k=3, epsilon0=1)").blanket(
        parse("krr(k=3, epsilon0=1)").neighbours()[0]
    )
    parts = [decomposition.rows_at(np.array(own)) for own in ([0.1, 0.2], [0.3])]
    joined = LawRows.joined(parts)
    together = decomposition.rows_at(np.array([0.1, 0.2, 0.3]))
    picked = joined.chosen(np.array([2, 0]))
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(joined, name), getattr(together, name))
        np.testing.assert_array_equal(getattr(picked, name), getattr(together, name)[[2, 0]])


def test_weights_that_laws_share_cannot_be_changed() -> None:
    mechanism = parse("krr(k=3, epsilon0=1)")
    law = mechanism.blanket(mechanism.neighbours()[0]).at(0.0)
    with pytest.raises(ValueError, match="read-only"):
        law.lower.weights[0] = 0.5
