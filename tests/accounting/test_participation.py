"""Users who take part in some of several rounds that differ, and choose which ones as they go."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import permutations

import pytest
from blankets import blanket_accountant

from shuffledp import MatrixRandomizer, Rounds, ShuffleAccountant
from shuffledp.accounting.rounds.many_rounds import largest_sum
from shuffledp.outputs.pld import renyi_divergence
from shuffledp.outputs.pld.pld import upper_log_delta

Row = tuple[Fraction, ...]

#: Three local reports of one user. For the first two rounds of these, seeing the first one helps.
REPORTS: tuple[tuple[Row, Row], ...] = (
    ((Fraction(2, 11), Fraction(9, 11)), (Fraction(2, 5), Fraction(3, 5))),
    ((Fraction(5, 8), Fraction(3, 8)), (Fraction(9, 10), Fraction(1, 10))),
    ((Fraction(2, 3), Fraction(1, 3)), (Fraction(1, 3), Fraction(2, 3))),
)

WEEKLY = blanket_accountant("krr(k=10, epsilon0=2)", n=10_000)
SURVEY = blanket_accountant("krr(k=4, epsilon0=3)", n=20_000)


@cache
def largest_delta(rounds: tuple[int, ...], left: int, ratio: Fraction) -> Fraction:
    """Delta of the worst user, who sees all that was published before joining or not."""
    base = max(1 - ratio, Fraction(0))
    if not rounds or not left:
        return base
    values = [largest_delta(rounds[1:], left, ratio)]
    for first, second in permutations(REPORTS[rounds[0]]):
        values.append(
            sum(
                (
                    p * largest_delta(rounds[1:], left - 1, ratio * q / p)
                    for p, q in zip(first, second, strict=True)
                ),
                Fraction(0),
            )
        )
    return max(values)


def local(place: int, bound: str) -> ShuffleAccountant:
    rows = [[float(p) for p in row] for row in REPORTS[place]]
    return ShuffleAccountant(MatrixRandomizer(rows), 1, bound=bound)


@pytest.mark.heavy(keep=1)
@pytest.mark.filterwarnings("ignore::shuffledp.AccuracyWarning")
@pytest.mark.parametrize("bound", ["best", "blanket"])
@pytest.mark.parametrize("at_most", [1, 2, 3])
def test_choices_that_react_to_what_was_published_stay_below(at_most, bound):
    rounds = Rounds([(local(place, bound), 1) for place in range(3)], at_most=at_most, rtol=0.02)
    for ratio in (Fraction(1), Fraction(5, 4), Fraction(2), Fraction(3)):
        worst = max(largest_delta(order, at_most, ratio) for order in permutations(range(3)))
        guarantee = rounds.get_delta(math.log(ratio))
        assert worst <= guarantee * (1 + 1e-12)
        assert rounds.delta_lower_bound(math.log(ratio)) <= worst * (1 + 1e-12)
        assert guarantee <= 1.5 * worst


def test_a_choice_that_reacts_beats_every_plan():
    """So the largest delta of all plans would be no bound."""
    plans = [(0, 1), (0, 2), (1, 2), (1, 0), (2, 0), (2, 1)]
    planned = max(largest_delta(plan, 2, Fraction(2)) for plan in plans)
    reacting = max(largest_delta(order, 2, Fraction(2)) for order in permutations(range(3)))
    assert reacting > planned
    rounds = Rounds([(local(place, "best"), 1) for place in range(3)], at_most=2, rtol=0.02)
    assert rounds.get_delta(math.log(2)) >= reacting * (1 - 1e-12)


@pytest.mark.heavy
def test_what_reveals_most_is_taken_first_and_as_often_as_it_happens():
    some = Rounds([(WEEKLY, 52), (SURVEY, 4)], at_most=10)
    taken = Rounds([(WEEKLY, 6), (SURVEY, 4)]).get_epsilon(1e-6)
    found = some.epsilon_interval(1e-6)
    assert found.width <= 1e-3 * found.upper
    assert taken * (1 - 1e-3) <= found.upper <= taken * (1 + 1e-3)
    assert some.get_delta(found.upper) <= 1e-6
    assert some.epsilon_lower_bound(1e-6) == pytest.approx(found.upper, rel=2e-3)
    naive = 6 * WEEKLY.get_epsilon(1e-7) + 4 * SURVEY.get_epsilon(1e-7)
    assert some.naive_epsilon(1e-6) == pytest.approx(naive, rel=1e-9)
    assert some.meets(found.upper * 1.01, 1e-6)
    assert not some.meets(found.upper * 0.99, 1e-6)


@pytest.mark.heavy
def test_the_order_of_kinds_does_not_matter():
    first = Rounds([(WEEKLY, 2), (SURVEY, 2)], at_most=3).get_epsilon(1e-6)
    second = Rounds([(SURVEY, 2), (WEEKLY, 2)], at_most=3).get_epsilon(1e-6)
    assert first == second


def test_one_of_several_rounds_is_the_worst_of_them():
    either = Rounds([(WEEKLY, 5), (SURVEY, 5)], at_most=1)
    both = [WEEKLY, SURVEY]
    assert either.get_epsilon(1e-6) == max(one.get_epsilon(1e-6) for one in both)
    assert either.get_delta(0.05) == max(one.get_delta(0.05) for one in both)
    lower = max(one.epsilon_lower_bound(1e-6) for one in both)
    assert either.epsilon_lower_bound(1e-6) == lower
    assert upper_log_delta(either)(0.05) == pytest.approx(math.log(either.get_delta(0.05)))


def test_without_delta_the_largest_levels_add_up():
    rounds = Rounds([(WEEKLY, 3), (SURVEY, 2)], at_most=4)
    found = rounds.epsilon_interval(0.0)
    assert found.lower <= 2 * 3 + 2 * 2 <= found.upper
    assert found.width < 1e-12
    assert rounds.epsilon_lower_bound(0.0) <= 10
    assert rounds.get_delta(10.5) == 0
    assert largest_sum([(1.0, 2), (3.0, 1)], 2).lower <= 4 <= largest_sum([(3.0, 1)], 5).upper + 1


@pytest.mark.heavy
def test_other_answers_count_the_same_rounds():
    some = Rounds([(WEEKLY, 52), (SURVEY, 4)], at_most=10)
    taken = Rounds([(WEEKLY, 6), (SURVEY, 4)])
    assert renyi_divergence(some, 4) == pytest.approx(renyi_divergence(taken, 4), rel=1e-12)
    assert upper_log_delta(some)(0.3) == pytest.approx(upper_log_delta(taken)(0.3), rel=1e-3)


@pytest.mark.heavy
def test_reports_say_how_many_are_taken():
    report = Rounds([(WEEKLY, 52), (SURVEY, 4)], at_most=10).epsilon_report(1e-6)
    assert "at most 10 for each user" in str(report)
    assert (
        report.datasets_in_words
        == ["x1 = 0 vs 1, all others hold 2, in every round that is taken"] * 2
    )
