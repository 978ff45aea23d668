"""The largest safe epsilon0 and the smallest safe number of users."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import pytest
from blankets import blanket_accountant, blanket_level, blanket_users

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHash,
    MatrixRandomizer,
    ShuffleAccountant,
    SubsetSelection,
    calibrate_epsilon0,
    required_users,
)
from shuffledp.basics.errors import AccuracyWarning, NoAnswerError
from shuffledp.mechanisms import LocalRandomizer


@pytest.fixture(autouse=True)
def _wide_enclosures_are_allowed_to_say_so() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)


def delta_bounds(randomizer: LocalRandomizer, n: int, epsilon: float) -> tuple[float, float]:
    interval = blanket_accountant(randomizer, n, rtol=1e-9).delta_interval(epsilon)
    return interval.lower, interval.upper


@pytest.mark.parametrize(("epsilon", "expected"), [(0.01, 0.2098), (0.1, 1.1480), (1.0, 3.5083)])
def test_the_published_example(epsilon: float, expected: float) -> None:
    level = blanket_level("krr(k=10)", n=1000, target_epsilon=epsilon, target_delta=1e-6)
    assert level.epsilon0 == pytest.approx(expected, abs=1.1e-4)


FAMILIES = {
    "krr(k=10)": lambda e: KRR(k=10, epsilon0=e),
    "krr(k=2)": lambda e: KRR(k=2, epsilon0=e),
    "blh()": lambda e: BinaryLocalHash(epsilon0=e),
    "blh(domain_size=8)": lambda e: BinaryLocalHash(epsilon0=e, domain_size=8),
    "olh(buckets=4)": lambda e: LocalHash(epsilon0=e, buckets=4),
    "rappor()": lambda e: RAPPOR(epsilon0=e),
    "oue()": lambda e: OUE(epsilon0=e),
    "hadamard(domain_size=7)": lambda e: HadamardResponse(epsilon0=e, domain_size=7),
    "subset(domain_size=10, size=2)": lambda e: SubsetSelection(e, 10, 2),
    "any_pure_ldp()": lambda e: AnyPureLDP(epsilon0=e),
    "laplace()": lambda e: Laplace(epsilon0=e),
    "discrete_laplace(bound=3)": lambda e: DiscreteLaplace(epsilon0=e, bound=3),
}


@pytest.mark.heavy(keep=5)
@pytest.mark.parametrize("text", FAMILIES)
@pytest.mark.parametrize(("n", "epsilon", "delta"), [(1000, 0.3, 1e-6), (10**7, 0.01, 1e-9)])
def test_the_answer_is_safe_and_a_little_more_is_not(
    text: str, n: int, epsilon: float, delta: float
) -> None:
    make = FAMILIES[text]
    level = blanket_level(text, n=n, target_epsilon=epsilon, target_delta=delta)
    _, upper = delta_bounds(make(level.epsilon0), n, epsilon)
    assert upper <= delta * (1 + 1e-6)
    lower, _ = delta_bounds(make(level.epsilon0 * 1.0001), n, epsilon)
    assert lower > delta


@pytest.mark.heavy
@pytest.mark.parametrize("text", ["krr(k=10)", "rappor()", "laplace()"])
def test_a_callable_gives_the_same_answer_as_its_text(text: str) -> None:
    question = {"n": 500, "target_epsilon": 0.5, "target_delta": 1e-5}
    from_text = blanket_level(text, **question).epsilon0
    found = blanket_level(FAMILIES[text], **question).epsilon0
    assert found == pytest.approx(from_text, rel=2e-6)


def test_without_amplification_the_level_is_epsilon() -> None:
    """One user has the local guarantee; with delta = 0 so has everybody."""
    alone = calibrate_epsilon0("krr(k=5)", n=1, target_epsilon=0.7, target_delta=0.0)
    assert alone.epsilon0 == 0.7
    level = calibrate_epsilon0("krr(k=5)", n=10**6, target_epsilon=0.7, target_delta=0.0)
    assert level.epsilon0 == pytest.approx(0.7, rel=1e-5)


def test_anything_goes_with_delta_one() -> None:
    level = calibrate_epsilon0("krr(k=5)", n=3, target_epsilon=0.0, target_delta=1.0)
    assert level.epsilon0 == 300.0


def test_nothing_goes_with_epsilon_and_delta_zero() -> None:
    with pytest.raises(NoAnswerError, match="epsilon0"):
        calibrate_epsilon0("krr(k=5)", n=1000, target_epsilon=0.0, target_delta=0.0)


def test_a_family_that_is_never_safe() -> None:
    with pytest.raises(NoAnswerError):
        calibrate_epsilon0(
            lambda _: KRR(k=2, epsilon0=5.0), n=10, target_epsilon=0.1, target_delta=1e-6
        )


def test_retuned_local_hashing_is_not_monotone() -> None:
    """Between 1.250 and 1.253 the number of buckets jumps from 4 to 5, and delta falls."""
    before, after = LocalHash(epsilon0=1.250), LocalHash(epsilon0=1.253)
    assert (before.hash_buckets, after.hash_buckets) == (4, 5)
    low, _ = delta_bounds(before, 1000, 0.3)
    _, high = delta_bounds(after, 1000, 0.3)
    assert low == pytest.approx(7.2e-18, rel=0.02)
    assert high == pytest.approx(4.6e-19, rel=0.02)
    fixed = LocalHash(epsilon0=1.253, buckets=4)
    assert delta_bounds(fixed, 1000, 0.3)[0] > low  # with the buckets fixed it grows


def test_retuned_subset_selection_is_not_monotone() -> None:
    sizes = {SubsetSelection(e, 10).subset_size: e for e in (1.72, 1.76)}
    assert set(sizes) == {2, 1}
    low, _ = delta_bounds(SubsetSelection(1.72, 10), 1000, 0.3)
    _, high = delta_bounds(SubsetSelection(1.76, 10), 1000, 0.3)
    assert high < low / 20


@pytest.mark.heavy
@pytest.mark.parametrize("family", ["olh()", lambda e: LocalHash(epsilon0=e)])
@pytest.mark.parametrize("delta", [1e-18, 5e-18, 1e-12])
def test_a_retuned_family_gets_the_best_piece(family: object, delta: float) -> None:
    """Safe again after a failure: the answer is safe, and it is at least that of any fixed g."""
    found = blanket_level(family, n=1000, target_epsilon=0.3, target_delta=delta)  # type: ignore[arg-type]
    level = found.epsilon0
    assert delta_bounds(LocalHash(epsilon0=level), 1000, 0.3)[1] <= delta * (1 + 1e-6)
    candidates = [1.0 + 0.002 * i for i in range(600)]
    safe = [
        e
        for e in candidates
        if e > level * 1.002
        and blanket_accountant(LocalHash(epsilon0=e), 1000).log_delta_interval(0.3).upper
        <= math.log(delta)
    ]
    assert not safe


USERS: list[tuple[LocalRandomizer, float, float]] = [
    (KRR(k=10, epsilon0=2.0), 0.1, 1e-6),
    (KRR(k=2, epsilon0=1.0), 0.5, 1e-3),
    (RAPPOR(epsilon0=4.0), 1.0, 1e-8),
    (OUE(epsilon0=1.0), 0.01, 1e-6),
    (Laplace(epsilon0=1.0), 0.1, 1e-6),
    (AnyPureLDP(epsilon0=3.0), 0.2, 1e-10),
    (SubsetSelection(2.0, 8, 3), 0.05, 1e-6),
    (Gaussian(sigma=2.0), 0.1, 1e-4),
    (KRR(k=3, epsilon0=0.5), 0.0, 1e-3),
    (MatrixRandomizer([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.3, 0.2, 0.5]]), 0.2, 1e-5),
]


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(("randomizer", "epsilon", "delta"), USERS, ids=str)
def test_the_number_of_users_is_safe_and_a_little_less_is_not(
    randomizer: LocalRandomizer, epsilon: float, delta: float
) -> None:
    """Up to a relative 1e-4, as documented; of noise, the reference is known to 1e-3."""
    n = blanket_users(randomizer, target_epsilon=epsilon, target_delta=delta).n
    assert isinstance(n, int)
    assert n > 1
    _, upper = delta_bounds(randomizer, n, epsilon)
    noisy = isinstance(randomizer, Laplace | Gaussian)
    assert upper <= delta * (1 + (1e-3 if noisy else 1e-6))
    fewer = min(n - 1, math.floor(n * (1 - (1e-3 if noisy else 1e-4))))
    lower, _ = delta_bounds(randomizer, fewer, epsilon)
    assert lower > delta


def test_one_user_may_be_enough() -> None:
    randomizer = KRR(k=10, epsilon0=1.0)
    assert required_users(randomizer, target_epsilon=1.0, target_delta=0.0).n == 1
    assert required_users(randomizer, target_epsilon=0.0, target_delta=1.0).n == 1


def test_two_users() -> None:
    randomizer = KRR(k=2, epsilon0=1.0)
    alone, together = (delta_bounds(randomizer, n, 0.2)[1] for n in (1, 2))
    target = math.sqrt(alone * together)
    assert blanket_users(randomizer, target_epsilon=0.2, target_delta=target).n == 2


@pytest.mark.heavy
def test_no_number_of_users_is_enough() -> None:
    for randomizer, epsilon, delta in [
        (KRR(k=10, epsilon0=2.0), 0.0, 0.0),
        (KRR(k=10, epsilon0=2.0), 0.0, 1e-9),
        (MatrixRandomizer([[1.0, 0.0], [0.5, 0.5]]), 1.0, 0.4),
    ]:
        with pytest.raises(NoAnswerError, match=r"2\*\*53"):
            required_users(randomizer, target_epsilon=epsilon, target_delta=delta)


def test_billions_of_users() -> None:
    randomizer = KRR(k=10, epsilon0=2.0)
    n = blanket_users(randomizer, target_epsilon=0.0, target_delta=1e-7).n
    assert n == pytest.approx(7.93e13, rel=0.01)
    assert delta_bounds(randomizer, n, 0.0)[1] <= 1e-7 * (1 + 1e-5)
    assert delta_bounds(randomizer, int(n * (1 - 1e-4)), 0.0)[0] > 1e-7


def test_a_calibration_is_its_number_with_a_mechanism_and_a_report() -> None:
    found = calibrate_epsilon0("krr(k=10)", n=1000, target_epsilon=1.0, target_delta=1e-6)
    assert float(found) == found.epsilon0
    assert found.mechanism == KRR(k=10, epsilon0=found.epsilon0)
    assert (found.report.randomizer, found.report.n) == (found.mechanism, 1000)
    assert (found.report.quantity, found.report.target) == ("epsilon", 1e-6)
    assert found.report.guarantee.upper <= 1.0


def test_both_promises_are_about_the_mechanism_that_is_returned() -> None:
    """A family may make another mechanism at every call; no promise is about a sibling."""
    made: dict[float, LocalRandomizer] = {}

    def family(epsilon0: float) -> LocalRandomizer:
        assert epsilon0 not in made
        made[epsilon0] = KRR(k=10, epsilon0=epsilon0)
        return made[epsilon0]

    found = calibrate_epsilon0(family, n=100, target_epsilon=0.5, target_delta=1e-6)
    assert found.mechanism is made[found.epsilon0]


def test_required_users_are_their_number_with_a_mechanism_and_a_report() -> None:
    found = required_users("krr(k=10, epsilon0=2)", target_epsilon=0.1, target_delta=1e-6)
    assert int(found) == found.n == range(10**5)[found]
    assert found.mechanism == KRR(k=10, epsilon0=2.0)
    assert (found.report.n, found.report.target) == (found.n, 1e-6)
    assert found.report.guarantee.upper <= 0.1


BEST = {
    "krr(k=2)": (1000, 0.3, 1.14, 1e-3),
    "blh()": (10_000, 0.1, 1.2, 1e-3),
    "laplace()": (1000, 0.2, 1.15, 1e-3),
}


@pytest.mark.heavy
@pytest.mark.parametrize("text", BEST)
def test_the_best_bound_allows_a_larger_level_and_a_little_more_is_not_safe(text: str) -> None:
    n, epsilon, gain, width = BEST[text]
    question = {"n": n, "target_epsilon": epsilon, "target_delta": 1e-6}
    found = calibrate_epsilon0(text, **question)  # type: ignore[arg-type]
    assert found.report.setting.bound == "best"
    assert found.epsilon0 > gain * blanket_level(text, **question).epsilon0
    more = FAMILIES[text](found.epsilon0 * (1 + width))
    assert ShuffleAccountant(more, n).delta_lower_bound(epsilon) > 1e-6


def test_the_best_bound_asks_for_fewer_users() -> None:
    question = {"target_epsilon": 0.5, "target_delta": 1e-6}
    randomizer = KRR(k=2, epsilon0=2.0)
    best, blanket = required_users(randomizer, **question), blanket_users(randomizer, **question)
    assert (best.report.setting.bound, blanket.report.setting.bound) == ("best", "blanket")
    assert best.n < 0.8 * blanket.n
    fewer = ShuffleAccountant(randomizer, math.floor(best.n * 0.999) - 1)
    assert fewer.delta_lower_bound(0.5) > 1e-6


@pytest.mark.parametrize("search", [calibrate_epsilon0, required_users])
def test_a_bound_that_does_not_exist_is_refused(search: Callable[..., object]) -> None:
    size = {"n": 10} if search is calibrate_epsilon0 else {}
    text = "krr(k=2)" if size else "krr(k=2, epsilon0=1)"
    with pytest.raises(ValueError, match="bound must be one of best, blanket, got 'worst'"):
        search(text, **size, target_epsilon=1.0, target_delta=1e-6, bound="worst")
