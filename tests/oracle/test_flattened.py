"""A mechanism has one guarantee, however it is written: as a composition, or as its matrix."""

from __future__ import annotations

import random

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


PARTS = (
    "krr(k=2, epsilon0={})",
    "krr(k=3, epsilon0={})",
    "oue(epsilon0={}, domain_size=2)",
    "rappor(epsilon0={}, domain_size=3)",
    "hadamard(epsilon0={}, domain_size=2)",
    "discrete_laplace(epsilon0={}, bound=1)",
    "discrete_laplace(epsilon0={}, bound=2)",
    "matrix([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125]])",
    "matrix([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.5, 0.25]])",
)
WHOLES = (
    "joint({}, {})",
    "joint({}, subsample({}, rate=0.5))",
    "subsample(joint({}, {}), rate=0.25)",
    "one_of(0.25*{}, 0.75*{})",
)


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("seed", range(40))
def test_random_compositions_and_their_matrix_agree(seed: int) -> None:
    rng = random.Random(seed)
    parts = [rng.choice(PARTS).format(rng.choice((0.5, 1, 2))) for _ in range(2)]
    text, n = rng.choice(WHOLES).format(*parts), rng.choice((1000, 10**4))
    composed, whole = (
        ShuffleAccountant(own, n).epsilon_report(1e-5) for own in (text, flat(read(text)))
    )
    assert (composed.bound, whole.bound) == ("swap", "swap")
    assert composed.guarantee.upper == pytest.approx(whole.guarantee.upper, rel=2e-4), text
    assert composed.lower_bound == pytest.approx(whole.lower_bound, rel=2e-4), text
    assert composed.guarantee.upper <= 1.01 * composed.lower_bound, text


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    "text",
    [
        "parallel(0.5*krr(k=3, epsilon0=1), 0.5*discrete_laplace(epsilon0=2, bound=2))",
        "parallel(0.5*discrete_laplace(epsilon0=1, bound=2), "
        "0.5*discrete_laplace(epsilon0=2, bound=2))",
        "joint(discrete_laplace(epsilon0=2, bound=3), discrete_laplace(epsilon0=1, bound=1))",
        "joint(rappor(epsilon0=3, domain_size=2), subsample(krr(k=3, epsilon0=3), rate=0.5))",
        "joint(blh(epsilon0=1, domain_size=3), krr(k=2, epsilon0=2))",
    ],
)
def test_hard_compositions_and_their_matrix_agree(text: str) -> None:
    """Noise on few integers; attributes that stay and point to a user; entries that are rounded."""
    composed, whole = (
        ShuffleAccountant(own, 1000).epsilon_report(1e-5) for own in (text, flat(read(text)))
    )
    assert composed.guarantee.upper == pytest.approx(whole.guarantee.upper, rel=2e-4)
    assert composed.guarantee.upper <= 1.005 * composed.lower_bound
    assert whole.guarantee.upper <= 1.005 * whole.lower_bound
