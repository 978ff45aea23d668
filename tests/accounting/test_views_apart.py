"""Whatever is kept for one view never answers for another one."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from shuffledp import OUE, ShuffleAccountant, UnaryEncoding, max_rounds
from shuffledp.accounting.crowd import Crowd
from shuffledp.accounting.rounds.one_round import attack, bound_profile
from shuffledp.accounting.rounds.round_kind import merge_kinds
from shuffledp.bounds.rounds.profile import Fineness
from shuffledp.outputs.pld import renyi_divergence

TEXT, N = "discrete_laplace(1, 2)", 100


def asked(view, **more):
    return ShuffleAccountant(TEXT, N, view=view, **more)


def test_rounds_of_different_views_are_of_different_kinds():
    mixed = [(asked("multiset"), 2), (asked("sum"), 3), (asked("multiset"), 4)]
    kinds = merge_kinds(mixed)
    assert [(kind.accountant.view, kind.times) for kind in kinds] == [("multiset", 6), ("sum", 3)]


@pytest.mark.heavy
@pytest.mark.parametrize("order", [("sum", "multiset"), ("multiset", "sum")])
def test_profiles_of_rounds_are_kept_for_each_view(order):
    bound_profile.cache_clear()
    attack.cache_clear()
    found = {
        view: ShuffleAccountant(TEXT, N, view=view, bound="blanket").rounds(3, rtol=0.05)
        for view in order
    }
    values = {view: rounds.get_delta(0.5) for view, rounds in found.items()}
    leaks = {view: rounds.delta_lower_bound(0.5) for view, rounds in found.items()}
    for view in order:
        bound_profile.cache_clear()
        attack.cache_clear()
        alone = asked(view, bound="blanket").rounds(3, rtol=0.05)
        assert alone.get_delta(0.5) == values[view]
        assert alone.delta_lower_bound(0.5) == leaks[view]
    assert leaks["sum"] <= values["sum"] < leaks["multiset"] <= values["multiset"]


def test_mixed_rounds_are_between():
    sums, multisets = asked("sum").rounds(4, rtol=0.05), asked("multiset").rounds(4, rtol=0.05)
    mixed = asked("sum").rounds(2, rtol=0.05) + asked("multiset").rounds(2, rtol=0.05)
    assert sums.get_delta(0.5) < mixed.get_delta(0.5) < multisets.get_delta(0.5)
    report = mixed.delta_report(0.5)
    seen = [fact for fact in report.assumptions if fact.startswith("the analyst sees")]
    assert seen == [
        f"the analyst sees the sum of the reports alone (of {asked('sum').randomizer})",
        "the analyst sees the shuffled multiset of whole reports",
    ]
    assert [one["view"] for one in report.to_dict()["rounds"]] == ["sum", "multiset"]


def test_one_round_of_many_is_that_round():
    for view in ("sum", "multiset"):
        assert asked(view).rounds(1).get_delta(0.3) == asked(view).get_delta(0.3)


def test_more_rounds_of_sums_fit():
    times = [
        max_rounds(asked(view), target_epsilon=2.0, target_delta=1e-6, rtol=0.05).times
        for view in ("sum", "multiset")
    ]
    assert times[0] > times[1] > 0


@pytest.mark.heavy
@pytest.mark.parametrize("order", [("sum", "multiset"), ("multiset", "sum")])
def test_renyi_divergences_are_kept_for_each_view(order):
    found = {view: renyi_divergence(asked(view, bound="blanket"), 2.0) for view in order}
    assert found["sum"] < found["multiset"]


@pytest.mark.heavy
def test_renyi_divergences_know_the_corrupted():
    krr = "krr(3, 1)"
    honest = renyi_divergence(ShuffleAccountant(krr, 100, bound="blanket"), 2.0)
    few = renyi_divergence(ShuffleAccountant(krr, 60, bound="blanket"), 2.0)
    corrupted = ShuffleAccountant(krr, 100, corrupted=40, bound="blanket")
    assert renyi_divergence(corrupted, 2.0) == few > honest


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("n", [40, pytest.param(10**6, marks=pytest.mark.heavy)])
@pytest.mark.parametrize("mechanism", [OUE(2.0), UnaryEncoding(0.75, 0.25, 2)], ids=str)
def test_sums_of_bits_have_datasets_for_many_rounds(mechanism, n):
    """Those of one round, again and again; a single round is what its accountant says."""
    found = attack(mechanism, Crowd(n), "sum", 1e-3)
    one = ShuffleAccountant(mechanism, n, view="sum")
    held = one.delta_report(found.profile.end / n**0.5).datasets
    assert str(found.datasets) == str(held)
    law = found.profile.law("lower", Fineness(0, 0))
    for growth in (1, Fraction(1001, 1000), Fraction(11, 10)):
        assert float(law.at(growth)) <= one.get_delta(math.log(growth)) * (1 + 1e-9)
    report = one.rounds(2, rtol=0.02).epsilon_report(1e-5)
    assert 0 < one.epsilon_lower_bound(1e-5) < report.lower_bound < report.guarantee.upper
    assert report.guarantee.upper < 1.05 * report.lower_bound
    assert report.guarantee.upper <= ShuffleAccountant(mechanism, n).rounds(
        2, rtol=0.1
    ).get_epsilon(1e-5)


def test_an_answer_asks_its_own_view_again():
    for view in ("sum", "multiset"):
        report = asked(view).delta_report(0.3)
        assert report.delta_at(0.3) == report.guarantee.upper
