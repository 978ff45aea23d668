"""The datasets behind lower bounds, and how their words are read back."""

from __future__ import annotations

import pytest

from shuffledp import ShuffleAccountant, parse
from shuffledp.accounting.datasets import Datasets, find_datasets
from shuffledp.randomizers import Pair


@pytest.mark.parametrize(
    "text",
    [
        "krr(k=3, epsilon0=2)",
        "laplace(epsilon0=2)",
        "hadamard(epsilon0=2, domain_size=6)",
        "matrix([[0.6, 0.4], [0.3, 0.7], [0.1, 0.9]])",
        "joint(krr(k=3, epsilon0=1), laplace(epsilon0=1))",
        "one_of(0.3*krr(k=3, epsilon0=2), 0.7*discrete_laplace(epsilon0=1, bound=7))",
    ],
)
def test_what_a_report_names_is_found(text):
    randomizer = parse(text)
    words = ShuffleAccountant(randomizer, 20).epsilon_report(1e-3).datasets
    found = find_datasets(randomizer, words)
    assert str(found) == words
    assert randomizer.accepts(found.other)


def test_both_orders_of_a_pair():
    words = "x1 = 1 vs 0, all others hold 0"
    assert find_datasets(parse("krr(k=2, epsilon0=1)"), words) == Datasets(Pair(1, 0), 0)


@pytest.mark.parametrize("words", ["", "x1 = 0 vs 1", "x1 = 0 vs 1, all others hold 7"])
def test_unknown_words(words):
    with pytest.raises(ValueError, match="datasets must be looked at for krr"):
        find_datasets(parse("krr(k=3, epsilon0=1)"), words)
