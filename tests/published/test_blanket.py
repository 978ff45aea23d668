"""Hoeffding's and Bennett's bounds: against the lemma, against the paper, and at the edges."""

from __future__ import annotations

import math
import warnings

import mpmath as mp
import numpy as np
import pytest
from blankets import blanket_accountant
from direct_sums import PrivacyAmplificationVariable, bennett, exact, hoeffding, mixture
from hypothesis import given, settings
from hypothesis import strategies as st

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    Gaussian,
    HadamardResponse,
    Laplace,
    MatrixRandomizer,
    SubsetSelection,
    joint,
    one_of,
    subsample,
)
from shuffledp.basics.errors import AccuracyWarning, NoAnswerError
from shuffledp.comparison.published import (
    BlanketBennett,
    BlanketHoeffding,
    GenericBennett,
    GenericHoeffding,
)

SPECIFIC = [(BlanketHoeffding, hoeffding), (BlanketBennett, bennett)]
GENERIC = [(GenericHoeffding, hoeffding), (GenericBennett, bennett)]


def random_matrix(seed: int, inputs: int, outputs: int) -> MatrixRandomizer:
    rows = np.random.default_rng(seed).dirichlet(np.full(outputs, 3.0), size=inputs)
    rows = (rows + 0.02) / (rows + 0.02).sum(axis=1, keepdims=True)
    return MatrixRandomizer(rows)


def direct_delta(randomizer: MatrixRandomizer, n: int, epsilon: float, bound) -> mp.mpf:
    largest = mp.mpf(0)
    for pair in randomizer.neighbours():
        variable = PrivacyAmplificationVariable.of(randomizer, pair, epsilon)
        if max(variable.values) > 0:
            largest = max(largest, mixture(variable, n, bound))
    return min(largest, mp.mpf(1))


def is_just_above(upper: float, value: mp.mpf, rtol: float = 1e-9) -> bool:
    return value <= upper <= value * (1 + rtol)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(("analysis", "inequality"), SPECIFIC)
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10**6),
    inputs=st.integers(2, 4),
    outputs=st.integers(2, 5),
    n=st.integers(1, 150),
    share=st.floats(0.05, 0.99),
)
def test_direct_summation_of_the_lemma(analysis, inequality, seed, inputs, outputs, n, share):
    randomizer = random_matrix(seed, inputs, outputs)
    epsilon = share * randomizer.epsilon0
    with mp.workdps(40):
        wanted = direct_delta(randomizer, n, epsilon, inequality)
        assert is_just_above(analysis(randomizer, n).get_delta(epsilon), wanted)


@pytest.mark.parametrize(("analysis", "inequality"), SPECIFIC)
@pytest.mark.parametrize("n", [1, 2, 5])
def test_inequalities_exceed_the_exact_lemma(analysis, inequality, n):
    randomizer = random_matrix(7, 3, 3)
    for share in (0.1, 0.5, 0.9):
        epsilon = share * randomizer.epsilon0
        with mp.workdps(40):
            truth = direct_delta(randomizer, n, epsilon, exact)
            assert truth <= direct_delta(randomizer, n, epsilon, inequality)
        assert truth == pytest.approx(
            blanket_accountant(randomizer, n).get_delta(epsilon), rel=2e-4
        )


def test_hoeffding_by_hand():
    # 2-RR with E = 3: gamma = 1/2, L is 3/2 - l/2 or 1/2 - 3l/2; at l = 2 that is 1/2 or -5/2, so
    # a = 1, b = 3, and (1/(4/2)) (9/4) ((1 - (1 - e^(-2/9))/2)^4 - (1/2)^4) is the bound for n = 4.
    randomizer = KRR(k=2, epsilon0=math.log(3))
    by_hand = 0.5 * 2.25 * ((1 - 0.5 * (1 - math.exp(-2 / 9))) ** 4 - 0.0625)
    assert BlanketHoeffding(randomizer, 4).get_delta(math.log(2)) == pytest.approx(by_hand)


def test_bennett_by_hand():
    # As above: b = 1/2, c = (1/4 + 25/4)/2 = 13/4, u = 2/13.
    randomizer = KRR(k=2, epsilon0=math.log(3))
    u = 2 / 13
    phi = (1 + u) * math.log(1 + u) - u
    q = math.exp(-13 * phi)
    by_hand = 0.5 * 0.5 / math.log(1 + u) * ((0.5 + 0.5 * q) ** 4 - 0.0625)
    assert BlanketBennett(randomizer, 4).get_delta(math.log(2)) == pytest.approx(min(by_hand, 1))


def krr_moments(k: int, epsilon0: float, epsilon: float) -> tuple[float, float, float, float]:
    """gamma, range, largest value and second moment of L as printed for k-RR."""
    ratio = math.exp(epsilon)
    gamma = k / (math.exp(epsilon0) + k - 1)
    left = 1 - gamma
    square = gamma * (2 - gamma) * (ratio - 1) ** 2 + left**2 * k * (ratio**2 + 1)
    return gamma, left * k * (ratio + 1), gamma * (1 - ratio) + left * k, square


def laplace_moments(epsilon0: float, epsilon: float) -> tuple[float, float, float, float]:
    ratio, half = math.exp(epsilon), math.exp(epsilon0 / 2)
    square = (ratio**2 + 1) / 3 * (2 * half + half**-2) - 2 * ratio * (2 / half - half**-2)
    return 1 / half, (ratio + 1) * (half - 1 / half), half * (1 - ratio / half**2), square


@pytest.mark.parametrize("epsilon0", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.1, 0.6, 0.95])
@pytest.mark.parametrize("n", [10, 1000])
@pytest.mark.parametrize("mechanism", ["krr", "laplace"])
def test_moments_published_for_krr_and_laplace(mechanism, epsilon0, share, n):
    epsilon = share * epsilon0
    if mechanism == "krr":
        randomizer, moments = KRR(k=10, epsilon0=epsilon0), krr_moments(10, epsilon0, epsilon)
    else:
        randomizer, moments = Laplace(epsilon0=epsilon0), laplace_moments(epsilon0, epsilon)
    gamma, width, top, square = moments
    a = math.expm1(epsilon)
    u = a * top / square
    phi = (1 + u) * math.log1p(u) - u
    exponents = {BlanketHoeffding: 2 * a**2 / width**2, BlanketBennett: square / top**2 * phi}
    factors = {BlanketHoeffding: width**2 / (4 * a), BlanketBennett: top / math.log1p(u)}
    # The cells of the Laplace density spread L a little: at most 1e-6 of its second moment.
    rel = 1e-9 if mechanism == "krr" else 2e-5
    for analysis, x in exponents.items():
        mixed = (1 + gamma * math.expm1(-x)) ** n - (1 - gamma) ** n
        wanted = min(factors[analysis] * mixed / (gamma * n), 1.0)
        assert analysis(randomizer, n).get_delta(epsilon) == pytest.approx(wanted, rel=rel)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("epsilon0", [1e-12, 0.1, 1.0, 4.0, 20.0])
@pytest.mark.parametrize("n", [1, 7, 1000])
@pytest.mark.parametrize(("analysis", "inequality"), GENERIC)
def test_generic_direct_summation(analysis, inequality, epsilon0, n):
    for share in (0.1, 0.5, 0.9):
        with mp.workdps(60):
            epsilon = mp.mpf(share * epsilon0)
            E, ratio = mp.exp(mp.mpf(epsilon0)), mp.exp(epsilon)
            a, b = ratio - 1, E - ratio
            if inequality is hoeffding:
                width = (E - 1) * (ratio + 1)
                factor, x = width**2 / (4 * a), 2 * a**2 / width**2
            else:
                c = E * (1 + ratio**2) - 2 * ratio
                u = a * b / c
                factor = b / mp.log(1 + u)
                x = c / b**2 * ((1 + u) * mp.log(1 + u) - u)
            terms = (
                mp.binomial(n, m) * E**-m * (1 - 1 / E) ** (n - m) * mp.exp(-m * x)
                for m in range(1, n + 1)
            )
            wanted = min(factor * mp.fsum(terms) * E / n, mp.mpf(1))
            delta = analysis(KRR(k=5, epsilon0=epsilon0), n).get_delta(share * epsilon0)
            assert is_just_above(delta, wanted)


@pytest.mark.parametrize(
    "randomizer",
    [
        KRR(k=2, epsilon0=1.0),
        KRR(k=50, epsilon0=2.0),
        Laplace(epsilon0=2.0),
        RAPPOR(epsilon0=1.0),
        HadamardResponse(epsilon0=1.0),
        SubsetSelection(epsilon0=1.0, domain_size=6, size=2),
        random_matrix(3, 4, 5),
    ],
    ids=str,
)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_generic_moments_cover_every_randomizer(randomizer, share):
    """gamma >= 1/E, and L within the assumed range, with at most the assumed second moment."""
    epsilon0 = randomizer.epsilon0
    E, ratio = math.exp(epsilon0), math.exp(share * epsilon0)
    for pair in randomizer.neighbours():
        blanket = randomizer.decomposition(pair).upper
        law = blanket.at(share * epsilon0).upper
        gamma = blanket.weight.sum()
        values = gamma * law.values[: blanket.size]
        slack = 1 + 1e-12
        assert gamma * slack >= 1 / E
        assert values.max() <= (E - ratio) * slack
        assert values.min() >= (1 - E * ratio) * slack
        assert (blanket.weight @ values**2) / gamma <= (E * (1 + ratio**2) - 2 * ratio) * slack


def test_compositions_are_those_of_the_product_matrix():
    two, three = KRR(k=2, epsilon0=1.0), KRR(k=3, epsilon0=0.5)

    def matrix(randomizer):
        E, k = math.exp(randomizer.epsilon0), randomizer.k
        return (np.ones((k, k)) + (E - 1) * np.eye(k)) / (E + k - 1)

    product = MatrixRandomizer(np.kron(matrix(two), matrix(three)))
    half = MatrixRandomizer(np.hstack([0.3 * matrix(two), np.full((2, 1), 0.7)]))
    for analysis, _ in SPECIFIC:
        for composed, flat in ((joint(two, three), product), (subsample(two, 0.3), half)):
            for epsilon in (0.05, 0.4, 0.9):
                left = analysis(composed, 50).get_delta(epsilon)
                # A blanket that takes the infimum over the whole domain is the product's.
                assert left == pytest.approx(analysis(flat, 50).get_delta(epsilon), rel=1e-9)
    mixed = one_of({two: 0.5, three: 0.5})
    assert BlanketBennett(mixed, 5000).get_epsilon(1e-6) >= (
        blanket_accountant(mixed, 5000).get_epsilon(1e-6)
    )


@pytest.mark.parametrize(
    ("epsilon", "printed"),
    [(0.01, 0.170), (0.05, 0.620), (0.1, 1.000), (0.2, 1.510), (0.5, 2.370), (1.0, 3.060)],
)
def test_frequency_table_of_the_paper(epsilon, printed):
    """The largest epsilon0 that Bennett's bound admits at n = 1000, rounded to 0.01.

    The paper rounds to the nearest 0.01, so its 2.370 at epsilon = 0.5 lies above the largest safe
    value, 2.3670: Bennett's own delta there is 1.05e-6.
    """

    def is_safe(epsilon0: float) -> bool:
        return BlanketBennett(KRR(k=10, epsilon0=epsilon0), 1000).get_delta(epsilon) <= 1e-6

    assert is_safe(printed - 0.005)
    assert not is_safe(printed + 0.005)
    assert is_safe(printed) == (epsilon != 0.5)


@pytest.mark.parametrize("analysis", [a for a, _ in SPECIFIC + GENERIC])
class TestSearch:
    @pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-40, 1e-290])
    @pytest.mark.parametrize("epsilon0", [1e-9, 0.1, 1.0])
    def test_safe_end(self, analysis, delta, epsilon0):
        bound = analysis(KRR(k=10, epsilon0=epsilon0), 10**6)
        try:
            epsilon = bound.get_epsilon(delta)
        except NoAnswerError:
            assert bound.get_delta(0.999 * epsilon0) > delta
            return
        assert bound.get_delta(epsilon) <= delta < bound.get_delta(epsilon * (1 - 1e-9))

    def test_delta_has_no_floor(self, analysis):
        bound = analysis(KRR(k=10, epsilon0=0.5), 10**7)
        assert 0 < bound.get_delta(0.03) < 1e-100
        assert bound.get_delta(0.4) == 5e-324  # underflow is rounded up, not to 0
        assert bound.get_delta(0.5) == 0  # from here on L is never positive

    def test_one_at_epsilon_0_and_where_delta_is_1(self, analysis):
        bound = analysis(KRR(k=10, epsilon0=0.5), 100)
        assert bound.get_delta(0.0) == 1
        assert bound.get_epsilon(1.0) == 0
        assert bound.get_delta(1e-300) == 1

    @pytest.mark.heavy(keep=2)
    def test_no_amplification_is_said_not_answered_by_epsilon0(self, analysis):
        bound = analysis(KRR(k=10, epsilon0=4.0), 20)
        with pytest.raises(NoAnswerError, match="below 4, where delta is 0 even without"):
            bound.get_epsilon(1e-6)
        with pytest.raises(NoAnswerError, match="delta = 0 "):
            bound.get_epsilon(0.0)

    def test_huge_n_and_extreme_levels(self, analysis):
        for epsilon0 in (1e-12, 1.0, 30.0, 299.0, 300.0):
            bound = analysis(KRR(k=3, epsilon0=epsilon0), 2**53)
            for share in (1e-6, 0.1, 0.9):
                assert 0 < bound.get_delta(share * epsilon0) <= 1

    def test_not_pure_ldp(self, analysis):
        with pytest.raises(NoAnswerError, match=r"bounded|pure LDP"):
            analysis(Gaussian(sigma=1.0), 100).get_delta(0.1)
        with pytest.raises(NoAnswerError, match=r"bounded|pure LDP"):
            analysis(subsample(Gaussian(sigma=1.0), 0.5), 100).get_epsilon(0.1)


def test_outputs_of_some_inputs_only_add_their_divergence():
    randomizer = MatrixRandomizer([[0.5, 0.49, 0.01], [0.49, 0.51, 0.0], [0.5, 0.5, 0.0]])
    n, epsilon = 10**6, 0.2
    for analysis, _ in SPECIFIC:
        bound = analysis(randomizer, n)
        assert 0.01 <= bound.get_delta(epsilon) <= 0.0101
        assert bound.get_delta(epsilon) >= (
            blanket_accountant(randomizer, n).delta_interval(epsilon).lower
        )
        assert bound.get_epsilon(0.02) < epsilon
        with pytest.raises(NoAnswerError, match="at every epsilon"):
            bound.get_epsilon(0.005)


def test_formula_that_rises_again():
    """Near epsilon0 the generic formula exceeds 1, but not in between: the search finds that."""
    bound = GenericBennett(KRR(k=10, epsilon0=4.0), 10**4)
    assert bound.get_delta(3.99) == 1
    epsilon = bound.get_epsilon(0.9)
    assert epsilon < 3
    assert bound.get_delta(epsilon) <= 0.9 < bound.get_delta(epsilon * (1 - 1e-6))


def test_outputs_of_some_inputs_only_at_large_epsilon():
    randomizer = MatrixRandomizer([[0.5, 0.49, 0.01], [0.49, 0.51, 0.0]])
    for analysis, _ in SPECIFIC:
        for epsilon in (1.0, 300.0):
            assert 0.01 <= analysis(randomizer, 100).get_delta(epsilon) <= 0.0101


def test_without_common_outputs_reports_are_given_away():
    randomizer = MatrixRandomizer([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    for analysis, _ in SPECIFIC:
        assert analysis(randomizer, 100).get_delta(1.0) == 1
        with pytest.raises(NoAnswerError, match="at every epsilon"):
            analysis(randomizer, 100).get_epsilon(1e-6)


def test_equal_rows_reveal_nothing():
    randomizer = MatrixRandomizer([[0.5, 0.5], [0.5, 0.5]])
    for analysis, _ in SPECIFIC:
        assert analysis(randomizer, 10).get_delta(0.1) == 0
        assert analysis(randomizer, 10).get_epsilon(1e-6) == 0


def test_asymmetric_matrices_compare_all_pairs():
    randomizer = random_matrix(11, 4, 4)
    for analysis, inequality in SPECIFIC:
        bound = analysis(randomizer, 100)
        epsilon = bound.get_epsilon(1e-3)
        assert bound.get_delta(epsilon) <= 1e-3 * (1 + 1e-9)
        with mp.workdps(30):
            assert direct_delta(randomizer, 100, epsilon * (1 - 1e-6), inequality) > 1e-3


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    "randomizer", [OUE(epsilon0=0.01), BinaryLocalHash(epsilon0=8.0), Laplace(epsilon0=1e-6)]
)
def test_never_below_ours(randomizer):
    for n in (3, 100, 10**5):
        for share in (0.01, 0.3, 0.97):
            epsilon = share * randomizer.epsilon0
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", AccuracyWarning)
                ours = blanket_accountant(randomizer, n).delta_interval(epsilon).lower
            for analysis, _ in SPECIFIC + GENERIC:
                assert analysis(randomizer, n).get_delta(epsilon) >= ours
