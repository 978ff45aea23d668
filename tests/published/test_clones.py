"""Clones, the restored generic bound and the lower bound with a uniform background."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from blankets import blanket_accountant
from direct_sums import clone_pair
from direct_sums import hockey_stick as divergence
from oracles import histogram_law, hockey_stick

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    Gaussian,
    GeneralClone,
    HadamardResponse,
    Laplace,
    MatrixRandomizer,
    ShuffleAccountant,
    SubsetSelection,
    UnaryEncoding,
)
from shuffledp.basics.errors import NoAnswerError
from shuffledp.comparison.published import (
    GhaziUniform,
    RestoredGeneric,
    StandardClone,
    StandardCloneClosedForm,
    StrongerClone,
)
from shuffledp.mechanisms import Pair

RTOL = 1e-8


def krr_matrix(k: int, epsilon0: float) -> MatrixRandomizer:
    E = math.exp(epsilon0)
    return MatrixRandomizer((np.ones((k, k)) + (E - 1) * np.eye(k)) / (E + k - 1))


def unary_matrix(p: float, q: float, size: int) -> MatrixRandomizer:
    """Every report of a unary encoding: bit x is 1 with probability p, the others with q."""
    rows = [
        [
            math.prod(
                (r if bit else 1 - r)
                for bit, r in zip(bits, (p if j == x else q for j in range(size)), strict=True)
            )
            for bits in product((0, 1), repeat=size)
        ]
        for x in range(size)
    ]
    return MatrixRandomizer(rows)


class TestStandardClone:
    @pytest.mark.parametrize("epsilon0", [1e-6, 0.1, 1.0, 3.0])
    @pytest.mark.parametrize("n", [1, 2, 5, 12, 30])
    def test_double_binomial_sum_of_the_reduction_pair(self, epsilon0, n):
        with mp.workdps(40):
            law0, law1 = clone_pair(epsilon0, n)
            assert abs(mp.fsum(law0.ravel()) - 1) < 1e-30
            for share in (0.0, 0.2, 0.6, 0.95):
                wanted = divergence(law0, law1, share * epsilon0)
                clone = StandardClone(KRR(k=7, epsilon0=epsilon0), n, rtol=RTOL)
                assert wanted <= clone.get_delta(share * epsilon0) <= wanted * (1 + 1e-7)

    def test_epsilon_inverts_delta_and_is_safe(self):
        with mp.workdps(40):
            law0, law1 = clone_pair(2.0, 25)
            for delta in (0.2, 1e-2, 1e-5):
                epsilon = StandardClone(OUE(epsilon0=2.0), 25).get_epsilon(delta)
                assert divergence(law0, law1, epsilon) <= delta
                assert divergence(law0, law1, epsilon * (1 - 2e-4)) > delta

    @pytest.mark.heavy(keep=2)
    def test_agrees_with_the_general_clone_of_a_matrix(self):
        matrix = krr_matrix(4, 1.0)
        wanted = GeneralClone.standard(matrix, Pair(0, 1)).delta_interval(1000, 0.1)
        assert StandardClone(matrix, 1000).get_delta(0.1) == pytest.approx(wanted.upper, rel=3e-4)

    def test_delta_0_and_beyond_the_level(self):
        clone = StandardClone(KRR(k=3, epsilon0=1.0), 100)
        assert clone.get_epsilon(0.0) == pytest.approx(1.0, rel=1e-12)
        assert clone.get_epsilon(0.0) >= 1.0
        assert clone.get_delta(1.1) == 0

    def test_delta_has_no_floor(self):
        assert 0 < StandardClone(KRR(k=3, epsilon0=1.0), 10**6).get_delta(0.1) < 1e-100


class TestClosedForm:
    def test_by_hand(self):
        # n = 10^6, epsilon0 = log 4, delta = 4e-8: log(4/delta) = log 1e8, E = 4, so
        # 1 + (3/5) (8 sqrt(4 * 18.420680744) / 1000 + 32e-6) = 1.0412218, its log is 0.0403948.
        bound = StandardCloneClosedForm(KRR(k=3, epsilon0=math.log(4)), 10**6)
        root = math.sqrt(4 * 18.420680743952367)
        by_hand = math.log(1 + 0.6 * (0.008 * root + 32e-6))
        assert by_hand == pytest.approx(0.0403948, rel=1e-6)
        assert bound.get_epsilon(4e-8) == pytest.approx(by_hand, rel=1e-12)
        assert bound.get_delta(by_hand) == pytest.approx(4e-8, rel=1e-9)

    def test_regime(self):
        bound = StandardCloneClosedForm(KRR(k=3, epsilon0=4.0), 1000)
        with pytest.raises(NoAnswerError, match=r"at most log\(n/\(16 log\(2/delta\)\)\) = 1\.460"):
            bound.get_epsilon(1e-6)
        with pytest.raises(NoAnswerError, match="delta above 0"):
            bound.get_epsilon(0.0)
        with pytest.raises(NoAnswerError, match="no delta of at most 1"):
            StandardCloneClosedForm(KRR(k=3, epsilon0=1.0), 1000).get_delta(0.001)

    def test_smallest_delta_that_the_condition_admits(self):
        bound = StandardCloneClosedForm(KRR(k=3, epsilon0=1.0), 1000)
        smallest = 2 * math.exp(-1000 / (16 * math.e))
        assert bound.get_delta(0.99) == pytest.approx(smallest)
        assert bound.get_epsilon(smallest * (1 + 1e-9)) <= 0.99
        with pytest.raises(NoAnswerError):
            bound.get_epsilon(smallest * (1 - 1e-9))

    @pytest.mark.parametrize("delta", [0.9, 1e-3, 1e-9])
    def test_both_directions_agree_and_are_safe(self, delta):
        bound = StandardCloneClosedForm(KRR(k=3, epsilon0=0.5), 10**5)
        epsilon = bound.get_epsilon(delta)
        assert bound.get_delta(epsilon) <= delta * (1 + 1e-12)
        assert bound.get_delta(epsilon * (1 - 1e-9)) > delta


class TestRestoredGeneric:
    @pytest.mark.parametrize("randomizer", [KRR(k=9, epsilon0=2.0), Laplace(epsilon0=0.3)], ids=str)
    def test_is_binary_randomized_response(self, randomizer):
        generic = RestoredGeneric(randomizer, 5000)
        accountant = blanket_accountant(AnyPureLDP(epsilon0=randomizer.epsilon0), 5000)
        assert generic.get_epsilon(1e-6) == accountant.get_epsilon(1e-6)
        assert generic.get_delta(0.05) == accountant.get_delta(0.05)

    def test_level_of_a_matrix_is_rounded_up(self):
        matrix = krr_matrix(2, 1.0)
        exact = blanket_accountant(matrix, 1000).get_epsilon(1e-6)
        assert RestoredGeneric(matrix, 1000).get_epsilon(1e-6) == pytest.approx(exact, rel=2e-4)

    def test_not_above_the_standard_clone(self):
        for epsilon0, n in ((0.1, 100), (1.0, 1000), (5.0, 10**6)):
            randomizer = KRR(k=2, epsilon0=epsilon0)
            generic, clone = RestoredGeneric(randomizer, n), StandardClone(randomizer, n)
            assert generic.get_epsilon(1e-6) <= clone.get_epsilon(1e-6) * (1 + 2e-4)


class TestStrongerClone:
    @pytest.mark.parametrize(
        ("randomizer", "matrix"),
        [
            (KRR(k=2, epsilon0=1.5), krr_matrix(2, 1.5)),
            (KRR(k=5, epsilon0=1.5), krr_matrix(5, 1.5)),
            (UnaryEncoding(0.7, 0.2, 3), unary_matrix(0.7, 0.2, 3)),
            (UnaryEncoding(0.6, 0.3, 2), unary_matrix(0.6, 0.3, 2)),
        ],
        ids=str,
    )
    def test_agrees_with_the_general_clone_of_a_matrix(self, randomizer, matrix):
        clone = GeneralClone.stronger(matrix, Pair(0, 1))
        stronger = StrongerClone(randomizer, 500, rtol=1e-6)
        for epsilon in (0.0, 0.05, 0.4):
            wanted = clone.delta_interval(500, epsilon).upper
            assert stronger.get_delta(epsilon) == pytest.approx(wanted, rel=3e-4)

    @pytest.mark.parametrize(
        "randomizer",
        [
            KRR(k=10, epsilon0=2.0),
            BinaryLocalHash(epsilon0=2.0),
            BinaryLocalHash(epsilon0=2.0, domain_size=4),
            RAPPOR(epsilon0=2.0),
            OUE(epsilon0=1e-6),
            HadamardResponse(epsilon0=2.0),
            SubsetSelection(epsilon0=2.0, domain_size=6, size=3),
        ],
        ids=str,
    )
    def test_between_the_blanket_and_the_generic_bound(self, randomizer):
        epsilon = StrongerClone(randomizer, 5000).get_epsilon(1e-6)
        assert epsilon >= blanket_accountant(randomizer, 5000).epsilon_interval(1e-6).lower
        assert epsilon <= RestoredGeneric(randomizer, 5000).get_epsilon(1e-6) * (1 + 2e-4)

    def test_support_mechanisms_only(self):
        with pytest.raises(NoAnswerError, match="support mechanisms"):
            StrongerClone(Laplace(epsilon0=1.0), 100).get_epsilon(1e-6)


class TestGhazi:
    @pytest.mark.parametrize("k", [2, 3, 4])
    @pytest.mark.parametrize("n", [1, 2, 4])
    def test_datasets_with_uniform_others(self, k, n):
        E, ratio = Fraction(3), Fraction(5, 4)
        row = [[(E if x == y else 1) / (E + k - 1) for y in range(k)] for x in range(2)]
        uniform = [Fraction(1, k)] * k
        laws = [histogram_law([row[x], *([uniform] * (n - 1))]) for x in range(2)]
        wanted = float(hockey_stick(*laws, ratio))
        bound = GhaziUniform(KRR(k=k, epsilon0=math.log(3)), n, rtol=RTOL)
        assert bound.get_delta(math.log(5 / 4)) == pytest.approx(wanted, rel=1e-7)
        assert bound.get_delta(math.log(5 / 4)) <= wanted * (1 + 1e-14)

    def test_rounds_down(self):
        bound = GhaziUniform(KRR(k=5, epsilon0=2.0), 1000)
        epsilon = bound.get_epsilon(1e-6)
        # delta exceeds the target just below: no smaller epsilon is possible for these datasets
        assert bound.get_delta(epsilon * (1 - 1e-4)) > 1e-6
        assert bound.get_delta(epsilon * (1 + 1e-3)) < 1e-6
        assert bound.get_epsilon(0.0) <= 2.0

    @pytest.mark.heavy
    @pytest.mark.parametrize("epsilon0", [1e-12, 1e-3, 1.0, 8.0])
    @pytest.mark.parametrize("k", [2, 100, 10**6])
    def test_below_the_guarantee(self, epsilon0, k):
        randomizer = KRR(k=k, epsilon0=epsilon0)
        for n in (10, 10**5):
            epsilon = GhaziUniform(randomizer, n).get_epsilon(1e-6)
            assert epsilon <= ShuffleAccountant(randomizer, n).get_epsilon(1e-6)

    @pytest.mark.parametrize("randomizer", [Laplace(epsilon0=1.0), Gaussian(sigma=1.0)], ids=str)
    def test_krr_only(self, randomizer):
        with pytest.raises(NoAnswerError, match=r"k-ary randomized response \(krr\) only"):
            GhaziUniform(randomizer, 100).get_delta(0.1)
