"""Several rounds: reference values, one round, sums, limits and what is refused."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from blankets import blanket_accountant

from shuffledp import (
    KRR,
    AccuracyWarning,
    Interval,
    NoAnswerError,
    Rounds,
    ShuffleAccountant,
    calibrate_epsilon0,
    max_rounds,
    required_users,
)
from shuffledp.accounting.assumptions import PLANNED, ROUNDS
from shuffledp.accounting.rounds.many_rounds import add_up
from shuffledp.accounting.rounds.one_round import bound_profile
from shuffledp.accounting.rounds.renyi import renyi_divergence
from shuffledp.bounds.curve import UNKNOWN
from shuffledp.bounds.rounds.profile import Fineness

WEEKLY = blanket_accountant("krr(k=10, epsilon0=2)", n=10_000)

#: Mechanism, n, delta, rounds, and enclosures of the bound's epsilon that were computed with much
#: finer grids and checked by quadrature; for one user, exact sums.
REFERENCES = [
    ("any_pure_ldp(4)", 10**4, 1e-6, 4, 0.85387378, 0.85387442),
    ("any_pure_ldp(4)", 10**4, 1e-6, 16, 1.8023618, 1.8023631),
    ("any_pure_ldp(2)", 10**4, 1e-6, 4, 0.23982146, 0.23982168),
    ("any_pure_ldp(2)", 10**4, 1e-6, 16, 0.50302844, 0.50302892),
    ("krr(10, 4)", 10**4, 1e-6, 4, 0.79308708, 0.79308778),
    ("krr(10, 4)", 10**4, 1e-6, 16, 1.6738128, 1.6738144),
    ("krr(10, 2)", 10**4, 1e-6, 2, 0.11568368, 0.11568379),
    ("krr(10, 2)", 10**4, 1e-6, 4, 0.16759733, 0.16759748),
    ("krr(10, 2)", 10**4, 1e-6, 16, 0.35152384, 0.35152416),
    ("krr(10, 2)", 10**4, 1e-6, 52, 0.66054206, 0.66054265),
    ("krr(10, 2)", 10**4, 1e-6, 1000, 3.3006646, 3.3006676),
    ("krr(10, 2)", 10**4, 1e-6, 10**6, 354.24457, 354.24497),
    ("oue(2)", 10**6, 1e-8, 52, 0.072018527, 0.072018591),
    ("krr(2, 1)", 1, 1e-6, 100, 83.53070167, 83.53070168),
    ("krr(2, 0.5)", 1, 1e-3, 10, 4.878371958, 4.878371959),
    ("krr(2, 0.1)", 1, 1e-9, 1000, 23.27573991, 23.27573992),
]


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(("text", "n", "delta", "times", "low", "high"), REFERENCES)
def test_reference_values(text, n, delta, times, low, high):
    rounds = blanket_accountant(text, n).rounds(times)
    found = rounds.epsilon_interval(delta)
    assert found.lower <= high
    assert low <= found.upper
    assert found.width <= 1e-3 * found.upper
    assert rounds.get_delta(found.upper) <= delta


@pytest.mark.slow
def test_reference_value_of_noise():
    found = blanket_accountant("laplace(1)", 10**4).rounds(52).epsilon_interval(1e-6)
    assert found.lower <= 0.31414839
    assert found.upper >= 0.31411739
    assert found.width <= 1e-3 * found.upper


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("text", "n", "delta", "times", "attained"),
    [("krr(10, 2)", 10**4, 1e-6, 52, 0.6605356), ("krr(2, 2)", 10**4, 1e-6, 16, 0.3746818)],
)
def test_what_datasets_attain_is_nearly_found(text, n, delta, times, attained):
    rounds = blanket_accountant(text, n).rounds(times)
    lower = rounds.epsilon_lower_bound(delta)
    assert (1 - 1e-3) * attained <= lower <= rounds.get_epsilon(delta)
    epsilon = rounds.get_epsilon(delta)
    assert 0 < rounds.delta_lower_bound(epsilon) <= rounds.get_delta(epsilon) <= delta


def local_delta(times: int, epsilon0: float, epsilon: float) -> float:
    """Delta of many local reports of randomized response, as a binomial sum."""
    kept = 1 / (1 + math.exp(-epsilon0))
    terms = []
    for yes in range(times + 1):
        loss = (2 * yes - times) * epsilon0
        if loss > epsilon:
            log = math.lgamma(times + 1) - math.lgamma(yes + 1) - math.lgamma(times - yes + 1)
            log += yes * math.log(kept) + (times - yes) * math.log1p(-kept)
            terms.append(math.exp(log) * -math.expm1(epsilon - loss))
    return math.fsum(terms)


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 4.0, 9.5])
def test_one_user_is_a_binomial_sum(epsilon):
    rounds = blanket_accountant("krr(2, 0.5)", n=1).rounds(20)
    true = local_delta(20, 0.5, epsilon)
    found = rounds.delta_interval(epsilon)
    assert found.lower * (1 - 1e-12) <= true <= found.upper * (1 + 1e-12)
    assert found.width <= 0.02 * found.upper


def test_laws_have_the_moments_that_quadrature_of_delta_finds():
    r"""The mean of e^{zL} is 1 + z(z+1) times the integral of (e^{ze} + e^{-(z+1)e}) delta(e)."""
    profile = bound_profile(WEEKLY.randomizer, WEEKLY.crowd, "blanket", "multiset", 1e-3)
    upper, lower = (profile.law(side, Fineness(0, 0)) for side in ("upper", "lower"))
    end, parts, order = 0.14, 8, 6
    places, weights = np.polynomial.legendre.leggauss(order)
    width = end / parts / 2
    nodes = np.concatenate([width * (places + 2 * part + 1) for part in range(parts)])
    deltas = np.array([WEEKLY.get_delta(float(e)) for e in nodes])
    for z in (5.0, 30.0):
        kernel = np.exp(z * nodes) + np.exp(-(z + 1) * nodes)
        moment = 1 + z * (z + 1) * width * float(np.tile(weights, parts) @ (kernel * deltas))
        high, low = (
            float(law.kept) * float(law.finite.masses @ np.exp(z * law.finite.values))
            for law in (upper, lower)
        )
        # Quadrature is off by 1e-5 of what exceeds 1; the laws by 1e-3 of it.
        assert low - 1 <= (moment - 1) * (1 + 1e-4)
        assert (moment - 1) * (1 - 1e-4) <= high - 1
        assert high - low <= 2e-3 * (high - 1)


def test_sums_of_epsilons_are_enclosed():
    for number, times in ((0.1, 3), (0.7, 10**9), (1e-7, 52)):
        total = add_up([(number, times), (0.3, 7)])
        exact = Fraction(number) * times + Fraction(0.3) * 7
        assert total.lower < exact < total.upper
        assert total.width < 1e-14 * total.upper


def test_a_single_round_is_what_its_accountant_says():
    once = WEEKLY.rounds(1)
    assert once.epsilon_interval(1e-6) == WEEKLY.epsilon_interval(1e-6)
    assert once.log_delta_interval(0.1) == WEEKLY.log_delta_interval(0.1)
    assert once.epsilon_lower_bound(1e-6) == WEEKLY.epsilon_lower_bound(1e-6)
    assert once.delta_lower_bound(0.1) == pytest.approx(WEEKLY.delta_lower_bound(0.1), rel=1e-12)
    assert once.epsilon_report(1e-6).guarantee == WEEKLY.epsilon_interval(1e-6)
    assert once.get_delta(1000.0) == 0
    assert once.meets(WEEKLY.get_epsilon(1e-6), 1e-6)


@pytest.mark.heavy
def test_rounds_can_be_added_in_any_order_and_grouping():
    survey = blanket_accountant("krr(4, 3)", n=20_000)
    first = Rounds([(WEEKLY, 48), (survey, 4), (WEEKLY, 4)])
    second = survey.rounds(4) + WEEKLY.rounds(52)
    assert [kind.times for kind in first.kinds] == [52, 4]
    assert [kind.times for kind in second.kinds] == [4, 52]
    one, other = first.get_epsilon(1e-6), second.get_epsilon(1e-6)
    assert one == pytest.approx(other, rel=1e-3)
    alone = WEEKLY.rounds(52).get_epsilon(1e-6)
    assert alone < one < alone + survey.rounds(4).get_epsilon(1e-6)
    both = WEEKLY.rounds(20) + WEEKLY.rounds(32)
    assert both.get_epsilon(1e-6) == alone
    assert (WEEKLY.rounds(2, rtol=1e-2) + WEEKLY.rounds(2)).rtol == 1e-3


@pytest.mark.heavy
def test_more_rounds_reveal_more_but_less_than_their_sum():
    values = [WEEKLY.rounds(times).get_epsilon(1e-6) for times in (1, 2, 4, 52, 10**6, 10**9)]
    assert values == sorted(values)
    for times in (2, 52):
        rounds = WEEKLY.rounds(times)
        assert rounds.get_epsilon(1e-6) < rounds.naive_epsilon(1e-6)
        assert rounds.naive_epsilon(1e-6) >= times * WEEKLY.get_epsilon(1e-6 / times) * (1 - 1e-9)


@pytest.mark.heavy
@pytest.mark.parametrize("times", [4, 10**6, 10**9])
@pytest.mark.parametrize("delta", [1e-3, 1e-20])
def test_answers_are_narrow_and_keep_their_word(times, delta):
    rounds = WEEKLY.rounds(times)
    found = rounds.epsilon_interval(delta)
    assert found.width <= 1e-3 * found.upper
    assert rounds.get_delta(found.upper) <= delta
    assert rounds.epsilon_lower_bound(delta) <= found.upper
    inside = rounds.log_delta_interval(found.upper)
    assert inside.lower <= math.log(delta)
    assert rounds.log_delta_interval(found.upper * (1 + 2e-3)).upper <= inside.lower


def test_no_delta_and_every_delta():
    rounds = WEEKLY.rounds(10)
    found = rounds.epsilon_interval(0.0)
    assert found.lower <= 20 <= found.upper
    assert found.width < 1e-12
    assert rounds.epsilon_lower_bound(0.0) <= 20
    assert rounds.get_epsilon(1.0) == 0
    assert rounds.meets(20.1, 0.0)
    assert not rounds.meets(19.9, 0.0)
    assert rounds.get_delta(20.5) == 0


def test_many_rounds_of_few_users_cost_no_more_than_their_levels():
    """Where delta is so small that nearly the sum of all levels is needed."""
    for text, n, level in (("krr(2, 1)", 1, 1.0), ("krr(3, 1)", 3, 1.0)):
        for times in (2, 4):
            found = blanket_accountant(text, n).rounds(times).epsilon_interval(1e-20)
            assert found.lower <= times * level <= found.upper * (1 + 1e-4)
            assert found.upper <= times * level * (1 + 1e-14)
            assert found.width <= 1e-3 * found.upper


@pytest.mark.heavy
def test_outputs_that_only_one_input_has():
    """There delta does not go to 0: below it, no epsilon is enough."""
    rounds = blanket_accountant("matrix([[0.5, 0.5, 0], [0.3, 0.4, 0.3]])", n=20).rounds(4)
    assert rounds.epsilon_interval(1e-6) == Interval(math.inf, math.inf)
    assert rounds.epsilon_lower_bound(1e-6) == math.inf
    lost = 1 - Fraction(7, 10) ** 4
    log = rounds.log_delta_interval(50.0)
    assert log.upper >= math.log(lost) - 1e-9
    assert log.upper <= math.log(lost) + 0.01


@pytest.mark.parametrize("n", [1, 3])
def test_nothing_is_hidden_by_no_noise(n):
    """Both bounds know that; a delta of 1 is met by every epsilon, no other one by any."""
    for bound in ("blanket", "best"):
        plainly = ShuffleAccountant("matrix([[1, 0], [0, 1]])", n=n, bound=bound).rounds(3)
        assert plainly.get_epsilon(0.5) == math.inf
        assert plainly.get_epsilon(1.0) == 0
        assert plainly.get_delta(20.0) == 1
        assert plainly.delta_lower_bound(20.0) == pytest.approx(1, abs=1e-12)
        assert renyi_divergence(plainly, 2.0) == math.inf


def test_the_largest_profile_of_several_kinds_may_go_on_beyond_all_choices():
    """The kind that reveals most has a lower level than the other one, of which there is one."""
    often = blanket_accountant("matrix([[0.75, 0.25], [0.140625, 0.859375]])", n=2)
    once = blanket_accountant("matrix([[0.9375, 0.0625], [0.59375, 0.40625]])", n=2)
    rounds = Rounds([(often, 2), (once, 1)], at_most=2, rtol=0.03)
    found = rounds.epsilon_interval(2e-4)
    assert found.upper <= rounds.get_epsilon(0.0)
    assert rounds.epsilon_lower_bound(2e-4) <= found.upper


def test_levels_that_are_infinite_add_up():
    """The lower end of one was the largest double, and two of those are too large for a sum."""
    kinds = [blanket_accountant(f"matrix([[1, 0], [{p}, {1 - p}]])", n=1) for p in (0.5, 0.25)]
    assert kinds[0].epsilon_interval(0.0) == Interval(math.inf, math.inf)
    both = Rounds([(kind, 1) for kind in kinds])
    assert both.epsilon_interval(0.0) == Interval(math.inf, math.inf)


def test_nothing_leaks_from_equal_rows():
    rounds = blanket_accountant("matrix([[0.5, 0.5], [0.5, 0.5]])", n=5).rounds(7)
    assert rounds.get_epsilon(1e-9) == 0
    assert rounds.get_delta(0.0) == 0
    assert rounds.epsilon_lower_bound(0.5) == 0


def test_participation_in_few_of_many_rounds():
    limited = WEEKLY.rounds(52, at_most=4)
    assert limited.get_epsilon(1e-6) == WEEKLY.rounds(4).get_epsilon(1e-6)
    assert WEEKLY.rounds(3, at_most=4).get_epsilon(1e-6) == WEEKLY.rounds(3).get_epsilon(1e-6)
    assert WEEKLY.rounds(52, at_most=1).get_epsilon(1e-6) == WEEKLY.get_epsilon(1e-6)
    assert any(
        "at most 4 of the rounds" in fact for fact in limited.epsilon_report(1e-6).assumptions
    )
    with pytest.raises(ValueError, match="cannot be added"):
        limited + WEEKLY.rounds(3)


@pytest.mark.heavy
def test_the_best_bound_is_never_the_larger_one():
    """Its cells are wider; where the blanket decides, that must not show."""
    best = ShuffleAccountant("krr(k=10, epsilon0=2)", n=10_000).rounds(52)
    blanket = WEEKLY.rounds(52)
    epsilon = best.get_epsilon(1e-6)
    assert epsilon <= blanket.get_epsilon(1e-6)
    assert best.get_delta(epsilon) <= 1e-6
    assert best.get_delta(0.6) <= blanket.get_delta(0.6)
    assert best.meets(blanket.get_epsilon(1e-6), 1e-6)


@pytest.mark.heavy
def test_guarantees_need_no_attack(monkeypatch):
    """Upper laws are made of what is proved, which takes less than enclosing the truth."""

    def nobody(*arguments):
        raise AssertionError(f"datasets are looked for: {arguments}")

    monkeypatch.setattr("shuffledp.accounting.rounds.many_rounds.attack", nobody)
    monkeypatch.setattr("shuffledp.accounting.choice._attack", lambda *_: UNKNOWN)
    rounds = Rounds([(ShuffleAccountant("krr(k=3, epsilon0=1.25)", n=300), 4)])
    assert 0 < rounds.get_delta(0.5) < 1
    assert rounds.meets(1.2, 1e-6)


@pytest.mark.heavy
def test_the_best_bound_is_used_where_it_is_asked_for():
    blanket = blanket_accountant("oue(1)", n=100).rounds(3)
    best = ShuffleAccountant("oue(1)", n=100).rounds(3)
    found = best.epsilon_interval(1e-4)
    assert blanket.epsilon_lower_bound(1e-4) <= found.upper
    assert found.upper <= blanket.get_epsilon(1e-4) * (1 + 1e-3)
    assert found.lower == best.epsilon_lower_bound(1e-4)
    assert best.get_delta(found.upper) <= 1e-4
    assert best.delta_lower_bound(0.5) == best.delta_interval(0.5).lower


@pytest.mark.heavy
def test_profiles():
    found = WEEKLY.rounds(52).profile([0.1, 0.5])
    assert found.epsilons.tolist() == [0.1, 0.5]
    assert (found.lower <= found.upper).all()
    assert found.upper[0] > found.upper[1]
    with pytest.raises(TypeError, match="epsilons must be several numbers"):
        WEEKLY.rounds(2).profile(0.1)  # type: ignore[arg-type]


def test_reports():
    report = WEEKLY.rounds(52).epsilon_report(1e-6)
    assert report.guarantee.upper == WEEKLY.rounds(52).get_epsilon(1e-6)
    assert report.one_round == (WEEKLY.get_epsilon(1e-6),)
    assert report.naive == WEEKLY.rounds(52).naive_epsilon(1e-6)
    fields = report.to_dict()
    assert fields["times"] == 52
    assert fields["rounds"][0]["mechanism"] == "krr(k=10, epsilon0=2.0)"
    assert {*ROUNDS, PLANNED} <= set(fields["assumptions"])
    assert "52 x krr(k=10, epsilon0=2.0), n = 10,000" in str(report)
    assert "<table>" in report._repr_html_()
    delta = WEEKLY.rounds(52).delta_report(0.5)
    assert delta.guarantee == WEEKLY.rounds(52).delta_interval(0.5)
    assert delta.lower_bound <= delta.guarantee.upper
    assert delta.to_dict()["one_round"] == []
    assert delta.to_dict()["naive"] is None
    assert "log_guarantee" in delta.to_dict()
    with_limit = WEEKLY.rounds(52, at_most=2).epsilon_report(1e-6)
    assert "at most 2 for each user" in str(with_limit)


@pytest.mark.heavy
def test_tiny_deltas_have_logarithms():
    log = WEEKLY.rounds(3).log_delta_interval(1.0)
    assert -600 < log.lower <= log.upper < -100
    with pytest.warns(AccuracyWarning, match="delta for 3 rounds is wider"):
        assert WEEKLY.rounds(3).log_delta_interval(4.0).upper < -600


@pytest.mark.parametrize("times", [0, -1, 2.5, 10**9 + 1, "52", None, True, math.nan])
def test_bad_numbers_of_rounds(times):
    with pytest.raises((TypeError, ValueError), match="number of rounds must be an integer"):
        WEEKLY.rounds(times)
    with pytest.raises((TypeError, ValueError), match="number of rounds must be an integer"):
        Rounds([(WEEKLY, times)])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Rounds([]), "at least one round, got none"),
        (lambda: Rounds(WEEKLY), "pairs of an accountant and a number"),
        (lambda: Rounds([WEEKLY]), "pairs of an accountant and a number"),
        (lambda: Rounds([("krr(10, 2)", 52)]), "must name ShuffleAccountants, got 'krr"),
        (lambda: WEEKLY.rounds(2, at_most=0), "at_most must be an integer of at least 1"),
        (lambda: WEEKLY.rounds(2, rtol=0.0), "rtol must be between"),
        (lambda: WEEKLY.rounds(10**9) + WEEKLY.rounds(1), "the sum of all rounds must be"),
        (lambda: WEEKLY.rounds(2).get_epsilon(-1.0), "target_delta must be between 0 and 1"),
        (lambda: WEEKLY.rounds(2).get_delta(-1.0), "target_epsilon must be between 0 and 1e"),
        (lambda: WEEKLY.rounds(2).meets(1.0, 2.0), "target_delta must be between 0 and 1"),
        (lambda: WEEKLY.rounds(2) + 1, "unsupported operand"),
        (
            lambda: calibrate_epsilon0(
                "krr(k=3)", n=9, target_epsilon=1.0, target_delta=0.1, rounds=0
            ),
            "rounds must be an integer",
        ),
        (
            lambda: required_users("krr(3, 1)", target_epsilon=1.0, target_delta=0.1, rounds=-2),
            "rounds must be an integer",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_repr_reads_back():
    names = {"Rounds": Rounds, "ShuffleAccountant": ShuffleAccountant, "KRR": KRR}
    for rounds in (WEEKLY.rounds(52), WEEKLY.rounds(5, at_most=2, rtol=1e-2)):
        again = eval(repr(rounds), names)  # noqa: S307
        assert repr(again) == repr(rounds)


def test_how_many_rounds_fit():
    found = max_rounds(WEEKLY, target_epsilon=1.0, target_delta=1e-6)
    assert int(found) == found.times == range(200)[found] == 112
    assert found.report.guarantee.upper <= 1
    assert WEEKLY.rounds(112).get_delta(1.0) <= 1e-6
    assert WEEKLY.rounds(113).epsilon_interval(1e-6).upper > 1
    pure = max_rounds(WEEKLY, target_epsilon=7.0, target_delta=0.0)
    assert pure.times == 3
    with pytest.raises(NoAnswerError, match="not even one round"):
        max_rounds(WEEKLY, target_epsilon=0.01, target_delta=1e-6)
    silent = blanket_accountant("matrix([[0.5, 0.5], [0.5, 0.5]])", n=5)
    assert max_rounds(silent, target_epsilon=0.0, target_delta=0.0).times == 10**9


@pytest.mark.heavy
def test_calibration_and_users_for_several_rounds():
    found = calibrate_epsilon0(
        "krr(k=10)", n=10_000, target_epsilon=1.0, target_delta=1e-6, rounds=52
    )
    assert found.epsilon0 == pytest.approx(2.443, rel=1e-3)
    rounds = blanket_accountant(found.mechanism, 10_000).rounds(52)
    assert rounds.get_epsilon(1e-6) <= 1
    assert rounds.get_delta(1.0) <= 1e-6
    assert found.report.guarantee.upper <= 1
    assert found.rounds == 52
    users = required_users(found.mechanism, target_epsilon=1.0, target_delta=1e-6, rounds=52)
    assert users.n == pytest.approx(10_000, rel=3e-3)
    assert users.rounds == 52
    assert blanket_accountant(found.mechanism, users.n).rounds(52).get_epsilon(1e-6) <= 1


@pytest.mark.heavy
def test_an_enclosure_that_is_too_wide_is_announced():
    rounds = blanket_accountant("krr(3, 1)", n=4).rounds(2, rtol=1e-6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = rounds.epsilon_interval(0.01)
    wide = found.width > 1e-6 * found.upper
    assert wide == any(issubclass(w.category, AccuracyWarning) for w in caught)
    assert np.isfinite(found.upper)
