"""A mechanism has one guarantee, however it is written: as a composition, or as its matrix."""

from __future__ import annotations

import pytest
from tiers import examples

from oracle.channel import Channel
from oracle.number import ONE
from oracle.reader import read
from oracle.tangled import Tangled
from shuffledp import ShuffleAccountant


def flat(channel: Channel) -> str:
    """The matrix of a channel, rounded to doubles."""
    return f"matrix({[[p / ONE for p in law] for law in channel.laws]})"


def assert_not_weaker(text: str, n: int, delta: float) -> bool:
    """The composition has the smaller guarantee; return whether the swap bound proves it."""
    composed, whole = (
        ShuffleAccountant(own, n).epsilon_report(delta) for own in (text, flat(read(text)))
    )
    bound = whole.guarantee.upper * (1 + whole.rtol)
    assert composed.guarantee.upper <= bound, f"{text}, n={n}, delta={delta!r}: above {bound!r}"
    return composed.bound != "blanket"


def compare_many(generator: Tangled, count: int) -> None:
    swapped = 0
    for text in generator.texts(count):
        n, delta = generator.random.choice((10, 30, 100, 10**4)), generator.deltas(2)[0]
        swapped += assert_not_weaker(text, n, delta)
    assert swapped >= count // 4


def test_compositions_of_matrices_and_their_matrix() -> None:
    compare_many(Tangled(701, limits=False, matrices=1.0), examples(27))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(7001, 7005))
def test_many_compositions_of_matrices_and_their_matrix(seed: int) -> None:
    compare_many(Tangled(seed, limits=False, matrices=1.0), 100)


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("joint(krr(k=2, epsilon0=1), krr(k=2, epsilon0=1))", 1000),
        ("joint(krr(k=2, epsilon0=2), oue(epsilon0=1, domain_size=2), at_most=2)", 100),
        ("one_of(0.5*krr(k=2, epsilon0=1), 0.5*hadamard(epsilon0=1, domain_size=2))", 300),
        ("parallel(0.5*hadamard(epsilon0=1, domain_size=4), 0.5*krr(k=4, epsilon0=2))", 300),
        ("parallel(0.5*krr(k=2, epsilon0=1), 0.5*matrix([[0.75, 0.25], [0.5, 0.5]]))", 300),
        ("subsample(joint(krr(k=2, epsilon0=1), rappor(epsilon0=1, domain_size=2)), rate=0.5)", 99),
        ("joint(subsample(krr(k=3, epsilon0=1), rate=0.5), krr(k=2, epsilon0=1))", 99),
    ],
)
def test_compositions_of_families_and_their_matrix(text: str, n: int) -> None:
    assert assert_not_weaker(text, n, 1e-4)
