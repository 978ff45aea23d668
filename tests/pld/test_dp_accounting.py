"""Distributions and events, composed by dp_accounting itself."""

from __future__ import annotations

import math

import pytest

from shuffledp import Rounds, ShuffleAccountant

dp = pytest.importorskip("dp_accounting")

from shuffledp.outputs import pld  # noqa: E402
from shuffledp.outputs.pld import ShuffledDpEvent, ShuffledPLDAccountant, to_pld  # noqa: E402

WIDTH = 1e-3
WEEKLY = ShuffleAccountant("krr(k=3, epsilon0=1)", 1000)
EVENT = ShuffledDpEvent("krr(k=3, epsilon0=1)", 1000)
REPLACE = dp.NeighboringRelation.REPLACE_ONE


def accountant():
    return ShuffledPLDAccountant(value_discretization_interval=WIDTH)


def check(epsilon, rounds, delta=1e-6):
    """What dp_accounting finds is above what datasets reveal, and close to what is certified."""
    assert rounds.epsilon_lower_bound(delta) <= epsilon <= 1.01 * rounds.get_epsilon(delta)


@pytest.mark.heavy
@pytest.mark.parametrize("times", [1, 12])
def test_distributions(times):
    made = to_pld(WEEKLY.rounds(times), value_discretization_interval=WIDTH)
    check(made.get_epsilon_for_delta(1e-6), WEEKLY.rounds(times))


@pytest.mark.heavy
def test_an_accountant_is_one_round():
    made = to_pld(WEEKLY, value_discretization_interval=WIDTH)
    same = to_pld(WEEKLY.rounds(1), value_discretization_interval=WIDTH)
    assert made.get_epsilon_for_delta(1e-6) == same.get_epsilon_for_delta(1e-6)
    check(made.self_compose(12).get_epsilon_for_delta(1e-6), WEEKLY.rounds(12))


@pytest.mark.heavy
def test_different_rounds():
    rounds = Rounds([(WEEKLY, 3), (ShuffleAccountant("krr(k=2, epsilon0=2)", 900), 2)])
    made = to_pld(rounds, value_discretization_interval=WIDTH)
    check(made.get_epsilon_for_delta(1e-6), rounds)


@pytest.mark.heavy
def test_counts_and_nested_events():
    nested = dp.ComposedDpEvent(
        [dp.SelfComposedDpEvent(EVENT, 2), EVENT, dp.SelfComposedDpEvent(dp.NoOpDpEvent(), 9)]
    )
    found = accountant().compose(dp.SelfComposedDpEvent(nested, 2), 2)
    check(found.get_epsilon(1e-6), WEEKLY.rounds(12))
    empty = accountant().compose(dp.ComposedDpEvent([dp.SelfComposedDpEvent(EVENT, 0)]))
    assert empty.get_epsilon(1e-6) == 0


@pytest.mark.heavy
def test_with_a_central_mechanism():
    gaussian = dp.GaussianDpEvent(10.0)
    central = dp.pld.PLDAccountant(REPLACE, WIDTH).compose(gaussian, 4).get_epsilon(1e-6)
    both = accountant().compose(dp.ComposedDpEvent([dp.SelfComposedDpEvent(gaussian, 4), EVENT]))
    found = both.get_epsilon(1e-6)
    assert central < found < central + WEEKLY.get_epsilon(1e-9)
    # The same, by hand, from the distributions.
    own = dp.pld.privacy_loss_distribution.from_gaussian_mechanism(
        5.0, value_discretization_interval=WIDTH, neighboring_relation=REPLACE
    )
    by_hand = own.compose(to_pld(WEEKLY, value_discretization_interval=WIDTH))
    assert found == pytest.approx(by_hand.get_epsilon_for_delta(1e-6), rel=1e-6)


@pytest.mark.heavy
def test_randomized_response_counts():
    event = dp.RandomizedResponseDpEvent(0.9, 2)
    exact = dp.pld.privacy_loss_distribution.from_randomized_response(
        0.9, 2, value_discretization_interval=WIDTH, neighboring_relation=REPLACE
    )
    for count in (1, 10):
        found = accountant().compose(event, count).get_epsilon(1e-3)
        assert found == pytest.approx(exact.self_compose(count).get_epsilon_for_delta(1e-3))
    nothing_hidden = dp.RandomizedResponseDpEvent(0.0, 2)
    assert accountant().compose(nothing_hidden, 2).get_epsilon(0.1) == math.inf
    assert accountant().compose(dp.NonPrivateDpEvent()).compose(EVENT).get_delta(1.0) == 1


@pytest.mark.parametrize("relation", ["ADD_OR_REMOVE_ONE", "REPLACE_SPECIAL"])
def test_mixed_adjacency_is_refused(relation):
    other = ShuffledPLDAccountant(dp.NeighboringRelation[relation], WIDTH)
    for event in (EVENT, dp.ComposedDpEvent([dp.GaussianDpEvent(1.0), EVENT])):
        assert not other.supports(event)
        with pytest.raises(dp.UnsupportedEventError, match=r"must be NeighboringRelation\.REPLACE"):
            other.compose(event)
    assert other.get_epsilon(1e-6) == 0  # nothing was composed


def test_what_replaces_nothing_is_refused():
    with pytest.raises(dp.UnsupportedEventError):
        accountant().compose(dp.ComposedDpEvent([EVENT, dp.LaplaceDpEvent(1.0)]))
    with pytest.raises(dp.UnsupportedEventError):
        accountant().compose(dp.PoissonSampledDpEvent(0.1, EVENT))
    for count in (-1, 2.5, 10**10):
        with pytest.raises(dp.UnsupportedEventError, match="count must be an integer from 0"):
            accountant().compose(dp.SelfComposedDpEvent(EVENT, count))


@pytest.mark.heavy
def test_the_best_bound():
    best = ShuffledDpEvent("krr(k=10, epsilon0=2)", 1000, best=True)
    found = accountant().compose(best).get_epsilon(1e-6)
    assert found <= 1.01 * best.accountant().get_epsilon(1e-6)
    assert best.accountant().bound == "best"


@pytest.mark.heavy
def test_events_are_values():
    assert ShuffledDpEvent("krr(k=3, epsilon0=1.0)", 1e3) == EVENT
    assert dp.DpEvent.from_named_tuple(EVENT.to_named_tuple()) == EVENT
    assert accountant().compose(EVENT, 2).ledger == dp.SelfComposedDpEvent(EVENT, 2)
    with pytest.raises(ValueError, match="n must be"):
        ShuffledDpEvent("krr(k=3, epsilon0=1.0)", 0)
    with pytest.raises(ValueError, match="unknown mechanism"):
        ShuffledDpEvent("nosuch(1)", 10)


def test_bad_input():
    with pytest.raises(TypeError, match="collected must be"):
        to_pld("krr(3, 1)")
    for width in (0, -1, math.nan):
        with pytest.raises(ValueError, match="value_discretization_interval must be"):
            to_pld(WEEKLY, value_discretization_interval=width)
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        pld.nosuch  # noqa: B018
