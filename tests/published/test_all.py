"""What holds of every analysis: arguments, regimes, and the right side of our bounds."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from blankets import blanket_accountant

from shuffledp import (
    KRR,
    OUE,
    RAPPOR,
    BinaryLocalHash,
    Gaussian,
    Laplace,
    MatrixRandomizer,
    ShuffleAccountant,
    joint,
    parse,
)
from shuffledp.basics.errors import NoAnswerError
from shuffledp.comparison.published import BASELINES, Baseline, Erlingsson
from shuffledp.comparison.published.decimals import float_up

MECHANISMS = {
    "10-RR": lambda e: KRR(k=10, epsilon0=e),
    "BLH": lambda e: BinaryLocalHash(epsilon0=e),
    "RAPPOR": lambda e: RAPPOR(epsilon0=e),
    "OUE": lambda e: OUE(epsilon0=e),
    "Laplace": lambda e: Laplace(epsilon0=e),
}

UPPER = [
    name for name, analysis in BASELINES.items() if analysis.kind == "upper" and analysis.sound
]

SUBJECTS = {"liew_renyi": Gaussian(sigma=1.0)}


@pytest.mark.heavy(keep=1)
@pytest.mark.filterwarnings("ignore::shuffledp.basics.errors.AccuracyWarning")
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("epsilon0", [0.1, 4.0])
@pytest.mark.parametrize("n", [10**3, 10**4, 10**5])
def test_upper_bounds_are_above_ours_and_lower_bounds_below(mechanism, epsilon0, n):
    randomizer = MECHANISMS[mechanism](epsilon0)
    guarantee = ShuffleAccountant(randomizer, n).get_epsilon(1e-6)
    accountant = blanket_accountant(randomizer, n)
    ours = accountant.epsilon_interval(1e-6)
    answered = set()
    for name, analysis in BASELINES.items():
        try:
            epsilon = analysis(randomizer, n).get_epsilon(1e-6)
        except NoAnswerError:
            continue
        answered.add(name)
        if not analysis.sound:
            continue
        assert epsilon <= guarantee if analysis.kind == "lower" else epsilon >= ours.lower
        delta = analysis(randomizer, n).get_delta(epsilon)
        if name in UPPER:
            assert delta <= 1e-6 * (1 + 1e-9)
            assert delta >= accountant.delta_interval(epsilon).lower
    assert {"standard_clone", "restored_generic"} <= answered
    assert ("ghazi_uniform" in answered) == (mechanism == "10-RR")
    assert ("erlingsson" in answered) == (epsilon0 < 0.5)


def test_every_title_is_its_own_and_every_docstring_is_complete():
    titles = [analysis.title for analysis in BASELINES.values()]
    assert len(set(titles)) == len(titles)
    for analysis in BASELINES.values():
        for word in ("20", "Regime:", ">>>"):
            assert word in analysis.__doc__


@pytest.mark.parametrize("name", BASELINES)
class TestArguments:
    def make(self, name: str) -> Baseline:
        return BASELINES[name](SUBJECTS.get(name, KRR(k=3, epsilon0=0.1)), 10**4)

    @pytest.mark.parametrize("n", [0, -1, 2**53 + 1, 1.5, math.nan])
    def test_bad_users(self, name, n):
        with pytest.raises(ValueError, match="n must be"):
            BASELINES[name](KRR(k=3, epsilon0=0.1), n)

    @pytest.mark.parametrize("randomizer", [None, 1.0, "krr(k=3, epsilon0=1)", KRR])
    def test_bad_randomizer(self, name, randomizer):
        with pytest.raises(TypeError, match="randomizer must be"):
            BASELINES[name](randomizer, 10)

    @pytest.mark.parametrize("delta", [-1e-9, 1.1, math.inf, math.nan])
    def test_bad_delta(self, name, delta):
        with pytest.raises(ValueError, match="target_delta must be"):
            self.make(name).get_epsilon(delta)

    @pytest.mark.parametrize("epsilon", [-1e-9, math.inf, math.nan])
    def test_bad_epsilon(self, name, epsilon):
        with pytest.raises(ValueError, match="target_epsilon must be"):
            self.make(name).get_delta(epsilon)

    def test_types(self, name):
        with pytest.raises(TypeError, match="target_delta must be"):
            self.make(name).get_epsilon("1e-6")
        with pytest.raises(TypeError, match="target_epsilon must be"):
            self.make(name).get_delta(None)

    def test_answers_are_floats_and_repr_names_the_question(self, name):
        bound = self.make(name)
        assert type(bound.get_epsilon(1e-6)) is float
        assert type(bound.get_delta(0.05)) is float
        assert repr(bound) == f"{type(bound).__name__}({bound.randomizer!r}, n=10000)"

    @pytest.mark.parametrize("epsilon", [0.1, 299.0, 300.0])
    def test_large_epsilon(self, name, epsilon):
        delta = self.make(name).get_delta(epsilon)
        assert 0 <= delta < 1e-2
        if name in ("erlingsson", "standard_clone_closed_form"):
            assert delta > 0  # these formulas never reach 0

    def test_smaller_delta_costs_more_epsilon(self, name):
        answers = [self.make(name).get_epsilon(delta) for delta in (1e-3, 1e-6, 1e-9)]
        assert answers == sorted(answers)

    def test_mechanisms_outside_the_regime(self, name):
        randomizer = KRR(k=3, epsilon0=0.1) if name in SUBJECTS else Gaussian(sigma=1.0)
        with pytest.raises(NoAnswerError):
            BASELINES[name](randomizer, 10**4).get_epsilon(1e-6)

    def test_level_beyond_the_range(self, name):
        """Neither a wrong number nor a crash where levels add up to more than 300."""
        randomizer = joint(KRR(k=3, epsilon0=200.0), KRR(k=3, epsilon0=200.0))
        with pytest.raises(NoAnswerError):
            BASELINES[name](randomizer, 10**4).get_epsilon(1e-6)


class TestErlingsson:
    def test_by_hand(self):
        # 12 * 0.25 * sqrt(log(1e8)/1e4) = 3 * sqrt(18.420680744)/100 = 3 * 0.04291932...
        bound = Erlingsson(KRR(k=3, epsilon0=0.25), 10**4)
        assert bound.get_epsilon(1e-8) == pytest.approx(3 * 0.0429193205, rel=1e-8)
        assert bound.get_delta(bound.get_epsilon(1e-8)) == pytest.approx(1e-8, rel=1e-9)

    def test_formula_is_reported_also_above_epsilon0(self):
        assert Erlingsson(KRR(k=3, epsilon0=0.1), 1000).get_epsilon(1e-6) > 0.1

    def test_rounds_up(self):
        for exponent in range(-300, -2):
            bound = Erlingsson(KRR(k=3, epsilon0=0.25), 10**6)
            delta = 10.0**exponent
            assert bound.get_delta(bound.get_epsilon(delta)) <= delta * (1 + 1e-12)

    def test_no_floor(self):
        assert 0 < Erlingsson(KRR(k=3, epsilon0=0.1), 10**6).get_delta(0.03) < 1e-200
        assert Erlingsson(KRR(k=3, epsilon0=0.1), 10**9).get_delta(0.1) == 5e-324

    @pytest.mark.parametrize(
        ("randomizer", "n", "delta", "reason"),
        [
            (KRR(k=3, epsilon0=0.5), 10**4, 1e-6, "epsilon0 below 1/2, got 0.5"),
            (KRR(k=3, epsilon0=0.1), 999, 1e-6, "at least 1,000 users, got 999"),
            (KRR(k=3, epsilon0=0.1), 10**4, 0.01, "below 1/100"),
            (KRR(k=3, epsilon0=0.1), 10**4, 0.0, "above 0"),
            (Gaussian(sigma=1.0), 10**4, 1e-6, "pure LDP"),
        ],
    )
    def test_regime(self, randomizer, n, delta, reason):
        with pytest.raises(NoAnswerError, match=reason):
            Erlingsson(randomizer, n).get_epsilon(delta)

    def test_regime_of_epsilon(self):
        bound = Erlingsson(KRR(k=3, epsilon0=0.1), 1000)
        with pytest.raises(NoAnswerError, match="below 1/100"):
            bound.get_delta(0.01)
        with pytest.raises(NoAnswerError, match="below 1/100"):
            bound.get_delta(0.0)


def test_levels_of_matrices_are_rounded_up():
    matrix = MatrixRandomizer([[0.51, 0.49], [0.49, 0.51]])
    exact = 12 * math.log(51 / 49) * math.sqrt(math.log(1e6) / 10**4)
    epsilon = Erlingsson(matrix, 10**4).get_epsilon(1e-6)
    assert exact <= epsilon <= exact * (1 + 1e-12)


@pytest.mark.parametrize("text", ["0.1", "1e-320", "-0.3", "123456789.123456789", "0"])
def test_rounding_of_decimals(text):
    number = Decimal(text)
    assert -float_up(-number) <= number <= float_up(number)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("limit", ["at_most=1", "exactly=2"])
def test_neighbours_that_differ_little_do_not_hide_what_others_hold(limit):
    """The level of neighbours is not enough: the other users may hold anything."""
    limited = parse(f"joint({', '.join(['krr(k=3, epsilon0=2)'] * 6)}, {limit})")
    leaked = ShuffleAccountant(limited, 1000).epsilon_lower_bound(1e-6)
    for name in UPPER:
        try:
            assert BASELINES[name](limited, 1000).get_epsilon(1e-6) >= leaked, name
        except NoAnswerError:
            continue
