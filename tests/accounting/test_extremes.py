"""The edges of the domain: no users to speak of, no privacy at all, nothing to hide."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from blankets import blanket_accountant

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Interval,
    Laplace,
    LocalHash,
    MatrixRandomizer,
    ShuffleAccountant,
    SubsetSelection,
    UnaryEncoding,
)
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.mechanisms import LocalRandomizer

MECHANISMS: list[LocalRandomizer] = [
    KRR(k=2, epsilon0=1.0),
    KRR(k=10, epsilon0=1.0),
    BinaryLocalHash(epsilon0=1.0),
    LocalHash(epsilon0=1.0),
    RAPPOR(epsilon0=1.0),
    OUE(epsilon0=1.0, domain_size=4),
    UnaryEncoding(p=0.75, q=0.5),
    HadamardResponse(epsilon0=1.0, domain_size=4),
    SubsetSelection(epsilon0=1.0, domain_size=5, size=2),
    AnyPureLDP(epsilon0=1.0),
    Laplace(epsilon0=1.0),
    DiscreteLaplace(epsilon0=1.0, bound=3),
]


@pytest.fixture(autouse=True)
def _wide_enclosures_are_allowed_to_say_so() -> None:
    warnings.simplefilter("ignore", AccuracyWarning)


@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 1000, 2**53])
def test_delta_is_exactly_zero_from_the_local_level_on(randomizer: LocalRandomizer, n: int) -> None:
    accountant = ShuffleAccountant(randomizer, n)
    level = randomizer.epsilon0 * (1 + 1e-12)
    if not isinstance(randomizer, UnaryEncoding | Laplace):  # their levels are rounded
        level = randomizer.epsilon0
    for epsilon in (level, 1.5 * level, 300.0):
        assert accountant.delta_interval(epsilon) == Interval(0.0, 0.0)
        assert accountant.log_delta_interval(epsilon) == Interval(-math.inf, -math.inf)
        assert accountant.delta_lower_bound(epsilon) == 0
    assert accountant.delta_interval(0.5 * level).upper > 0


@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 1000, 2**53])
def test_delta_zero_asks_for_the_local_level(randomizer: LocalRandomizer, n: int) -> None:
    interval = ShuffleAccountant(randomizer, n).epsilon_interval(0.0)
    assert interval.lower <= randomizer.epsilon0 <= interval.upper
    assert interval.width <= 1e-12
    assert ShuffleAccountant(randomizer, n).epsilon_lower_bound(0.0) == pytest.approx(
        randomizer.epsilon0, rel=1e-12
    )


@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
@pytest.mark.parametrize("n", [1, 1000])
def test_delta_one_asks_for_nothing(randomizer: LocalRandomizer, n: int) -> None:
    accountant = ShuffleAccountant(randomizer, n)
    assert accountant.epsilon_interval(1.0) == Interval(0.0, 0.0)
    assert accountant.epsilon_lower_bound(1.0) == 0


@pytest.mark.parametrize("epsilon0", [50.0, 300.0])
@pytest.mark.parametrize("make", [KRR, BinaryLocalHash, RAPPOR, OUE, AnyPureLDP, Laplace])
def test_delta_one_asks_for_nothing_even_without_any_privacy(make: type, epsilon0: float) -> None:
    randomizer = make(k=3, epsilon0=epsilon0) if make is KRR else make(epsilon0=epsilon0)
    assert ShuffleAccountant(randomizer, 1).epsilon_interval(1.0) == Interval(0.0, 0.0)


@pytest.mark.heavy(keep=7)
@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
def test_epsilon_zero_is_the_total_variation_distance(randomizer: LocalRandomizer) -> None:
    """For one user: sum of (a - b)_+ over the components."""
    blanket = randomizer.decomposition(randomizer.neighbours()[0])
    exact = float(blanket.weight @ np.maximum(blanket.ratio0 - blanket.ratio1, 0))
    interval = ShuffleAccountant(randomizer, 1).delta_interval(0.0)
    assert interval.lower <= exact * (1 + 1e-9)
    assert interval.upper >= exact * (1 - 1e-9)
    assert ShuffleAccountant(randomizer, 10).get_delta(0.0) < interval.lower


def local_delta(randomizer: KRR, epsilon: float) -> float:
    """The hockey-stick divergence of one k-ary randomized response."""
    likely, other = math.exp(randomizer.epsilon0), 1.0
    total = likely + randomizer.k - 1
    return max(likely - math.exp(epsilon) * other, 0.0) / total


@pytest.mark.parametrize("epsilon0", [1e-6, 0.01, 1.0, 10.0, 50.0, 300.0])
@pytest.mark.parametrize("k", [2, 3, 1000])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_one_user_has_the_local_guarantee(epsilon0: float, k: int, share: float) -> None:
    randomizer = KRR(k=k, epsilon0=epsilon0)
    epsilon = share * epsilon0
    exact = math.expm1(epsilon0 - epsilon) * math.exp(epsilon) / (math.exp(epsilon0) + k - 1)
    accountant = ShuffleAccountant(randomizer, 1)
    interval = accountant.delta_interval(epsilon)
    assert interval.lower <= exact * (1 + 1e-12)
    assert interval.upper >= exact * (1 - 1e-12)
    assert interval.width <= 1e-4 * interval.upper
    assert accountant.delta_lower_bound(epsilon) == pytest.approx(exact, rel=1e-4)
    assert exact == pytest.approx(local_delta(randomizer, epsilon), rel=1e-8)


HUGE = [(15.0, 100), (50.0, 2), (150.0, 100), (300.0, 1), (300.0, 100)]


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("epsilon0", "n"),
    [
        *HUGE,
        *(
            pytest.param(epsilon0, n, marks=pytest.mark.slow)
            for epsilon0 in (15.0, 50.0, 150.0, 300.0)
            for n in (1, 2, 100, 10**6, 2**53)
            if (epsilon0, n) not in HUGE
        ),
    ],
)
@pytest.mark.parametrize("make", [KRR, RAPPOR, AnyPureLDP, Laplace])
def test_huge_levels_get_an_answer(make: type, epsilon0: float, n: int) -> None:
    """Perhaps a wide one, but certified: between nothing and the local level."""
    randomizer = make(k=3, epsilon0=epsilon0) if make is KRR else make(epsilon0=epsilon0)
    accountant = ShuffleAccountant(randomizer, n)
    interval = accountant.epsilon_interval(1e-6)
    assert 0 <= interval.lower <= interval.upper <= epsilon0 * (1 + 1e-12)
    delta = accountant.delta_interval(0.5 * epsilon0)
    assert 0 <= delta.lower <= delta.upper <= 1
    assert accountant.epsilon_lower_bound(1e-6) <= interval.upper
    if n <= 100 and epsilon0 >= 50:
        # So few users cannot hide anything: their reports are true, nearly surely.
        assert delta.upper > 0.99


@pytest.mark.heavy(keep=7)
@pytest.mark.parametrize("epsilon0", [40.0, 100.0, 150.0])
@pytest.mark.parametrize("n", [2, 76, 100, 10**5, 10**9])
@pytest.mark.parametrize("gap", [1e-3, 1e-9, 1e-13, 1e-15])
def test_huge_levels_close_to_their_end(epsilon0: float, n: int, gap: float) -> None:
    """If other users hardly ever say anything informative, n users have the delta of one."""
    accountant = ShuffleAccountant(KRR(k=2, epsilon0=epsilon0), n)
    epsilon = epsilon0 * (1 - gap)
    exact = math.log(-math.expm1(epsilon - epsilon0)) - math.log1p(math.exp(-epsilon0))
    others = (n - 1) * 2 * math.exp(-epsilon0)  # bounds how much they can lower it
    interval = accountant.log_delta_interval(epsilon)
    assert interval.lower <= exact + 1e-12
    assert interval.upper >= exact - others - 1e-12
    assert accountant.delta_lower_bound(epsilon) <= math.exp(exact) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon0", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("n", [1, 100, 10**6, 2**53])
def test_tiny_levels_keep_their_digits(epsilon0: float, n: int) -> None:
    """For a small level epsilon scales with it: epsilon(c epsilon0, c delta) = c epsilon."""
    scaled = [
        ShuffleAccountant(KRR(k=4, epsilon0=c * epsilon0), n).epsilon_interval(
            c * epsilon0 * 1e-3 / math.sqrt(n)
        )
        for c in (1.0, 0.125)
    ]
    assert scaled[0].width <= 1e-4 * scaled[0].upper
    assert 0 < scaled[0].lower <= scaled[0].upper < epsilon0
    assert scaled[1].upper / 0.125 == pytest.approx(scaled[0].upper, rel=3e-4 + 3 * epsilon0)


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("randomizer", MECHANISMS, ids=str)
def test_the_largest_number_of_users(randomizer: LocalRandomizer) -> None:
    accountant = ShuffleAccountant(randomizer, 2**53)
    interval = accountant.epsilon_interval(1e-10)
    million = ShuffleAccountant(randomizer, 10**6).get_epsilon(1e-10)
    assert interval.upper < million * 1e-3
    assert accountant.epsilon_lower_bound(1e-10) <= interval.upper
    log = accountant.log_delta_interval(0.0)
    # Delta at 0 falls like 1/sqrt(n).
    fewer = ShuffleAccountant(randomizer, 2**33).log_delta_interval(0.0)
    assert fewer.upper - log.upper == pytest.approx(10 * math.log(2), abs=1e-2)


class TestMatrices:
    def test_one_row_reveals_nothing(self) -> None:
        accountant = ShuffleAccountant(MatrixRandomizer([[0.25, 0.75]]), 10)
        self.reveals_nothing(accountant)
        assert accountant.delta_report(0.0).worst_pair is None

    def test_identical_rows_reveal_nothing(self) -> None:
        self.reveals_nothing(ShuffleAccountant(MatrixRandomizer([[0.25, 0.75]] * 3), 10))

    @staticmethod
    def reveals_nothing(accountant: ShuffleAccountant) -> None:
        assert accountant.delta_interval(0.0) == Interval(0.0, 0.0)
        assert accountant.epsilon_interval(0.0) == Interval(0.0, 0.0)
        assert accountant.epsilon_interval(1e-9) == Interval(0.0, 0.0)
        assert accountant.delta_lower_bound(0.0) == 0
        assert accountant.epsilon_lower_bound(0.0) == 0
        assert accountant.epsilon_report(1e-6).guarantee == Interval(0.0, 0.0)

    @pytest.mark.heavy
    def test_equal_rows_among_others(self) -> None:
        rows = [[0.75, 0.25], [0.25, 0.75]]
        twice = ShuffleAccountant(MatrixRandomizer([*rows, *rows]), 20)
        once = ShuffleAccountant(MatrixRandomizer(rows), 20)
        assert twice.delta_interval(0.2) == once.delta_interval(0.2)

    def test_columns_of_zeros_do_not_matter(self) -> None:
        padded = ShuffleAccountant(MatrixRandomizer([[0.75, 0.0, 0.25], [0.25, 0.0, 0.75]]), 20)
        plain = ShuffleAccountant(MatrixRandomizer([[0.75, 0.25], [0.25, 0.75]]), 20)
        found, expected = padded.epsilon_interval(1e-5), plain.epsilon_interval(1e-5)
        assert found.lower == pytest.approx(expected.lower, rel=1e-12)
        assert found.upper == pytest.approx(expected.upper, rel=1e-12)

    @pytest.mark.heavy(keep=4)
    @pytest.mark.parametrize("n", [1, 2, 50, 10**6])
    @pytest.mark.parametrize("mass", [0.5, 0.125, 1e-6])
    def test_an_output_that_gives_its_sender_away(self, mass: float, n: int) -> None:
        """Only input 1 ever sends output 2: no epsilon helps against that."""
        rows = [[0.5, 0.5, 0.0], [0.5 - mass, 0.5, mass]]
        accountant = ShuffleAccountant(MatrixRandomizer(rows), n)
        for epsilon in (0.1, 5.0, 300.0):
            interval = accountant.delta_interval(epsilon)
            assert interval.upper >= mass * (1 - 1e-12)
            if epsilon >= 5.0:
                assert interval.lower <= mass * (1 + 1e-12)
                assert interval.upper <= mass * (1 + 1e-9)
            assert accountant.delta_lower_bound(epsilon) >= mass * (1 - 1e-9)
        assert accountant.get_epsilon(0.0) == math.inf
        assert accountant.get_epsilon(mass * 0.99) == math.inf
        assert accountant.epsilon_lower_bound(mass * 0.99) == math.inf
        above = accountant.epsilon_interval(mass * 1.01)
        assert above.upper < math.inf
        assert above.width <= 1e-4 * above.upper
        delta = accountant.delta_interval(above.upper)
        assert delta.lower <= mass * 1.01

    def test_disjoint_outputs(self) -> None:
        accountant = ShuffleAccountant(MatrixRandomizer([[1.0, 0.0], [0.0, 1.0]]), 1000)
        assert accountant.get_delta(10.0) == pytest.approx(1.0)
        assert accountant.delta_interval(0.0).upper <= 1
        assert accountant.delta_lower_bound(10.0) == pytest.approx(1.0)
        assert accountant.get_epsilon(0.5) == math.inf
        assert accountant.get_epsilon(1.0) == 0

    @pytest.mark.heavy(keep=1)
    @pytest.mark.parametrize("tiny", [1e-12, 1e-60, 1e-120, 1e-200, 1e-250])
    @pytest.mark.parametrize("n", [1, 10, pytest.param(10**6, marks=pytest.mark.slow)])
    def test_tiny_entries(self, tiny: float, n: int) -> None:
        """Ratios may leave the range of what is computed with; an answer or a clear refusal."""
        matrix = MatrixRandomizer([[1 - tiny, tiny], [0.5, 0.5]])
        accountant = ShuffleAccountant(matrix, n)
        level = math.log(0.5 / tiny)
        interval = accountant.epsilon_interval(1e-3)
        assert 0 <= interval.lower <= interval.upper <= level * (1 + 1e-9)
        assert accountant.epsilon_interval(0.0).upper >= level * (1 - 1e-12)
        delta = accountant.delta_interval(1.0)
        exact = 0.5 - math.e * tiny  # of one user; output 1 gives input 1 away to others' 0
        if n == 1:
            assert delta.lower <= exact * (1 + 1e-9)
            assert delta.upper >= exact * (1 - 1e-9)
        assert delta.upper <= exact * (1 + 1e-9)

    def test_entries_too_small_to_compute_with_are_refused(self) -> None:
        with pytest.raises(ValueError, match="matrix"):
            MatrixRandomizer([[1.0, 1e-300], [0.5, 0.5]])


@pytest.mark.heavy
@pytest.mark.parametrize("sigma", [pytest.param(0.3, marks=pytest.mark.slow), 2.0, 100.0, 1e6])
@pytest.mark.parametrize("n", [1, 10, 10**6])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-200])
def test_normal_noise_always_gets_an_answer(sigma: float, n: int, delta: float) -> None:
    accountant = blanket_accountant(Gaussian(sigma=sigma), n)
    interval = accountant.epsilon_interval(delta)
    assert 0 <= interval.lower <= interval.upper
    assert accountant.epsilon_lower_bound(delta) <= interval.upper
