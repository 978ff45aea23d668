"""Questions along a curve: prepared together, they have the answers of single questions."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from tiers import examples

from shuffledp import KRR, Laplace, LocalRandomizer, MatrixRandomizer, ShuffleAccountant, parse
from shuffledp.accounting import along
from shuffledp.accounting.along import prepare_epsilons, prepare_log_deltas
from shuffledp.accounting.candidates import Candidate, Listed
from shuffledp.accounting.proposals import Hint
from shuffledp.accounting.report import Bound
from shuffledp.accounting.series import prepare
from shuffledp.accounting.worst_case import WorstCase
from shuffledp.divergence import LogEnclosure, Point, log_delta_at
from shuffledp.interval import Interval

MECHANISMS = [
    "krr(k=10, epsilon0=2)",
    "krr(k=3, epsilon0=0.1)",
    "oue(epsilon0=4)",
    "hadamard(epsilon0=2, domain_size=12)",
    "any_pure_ldp(epsilon0=1)",
    "laplace(epsilon0=1)",
    "joint(krr(k=2, epsilon0=1), oue(epsilon0=0.5))",
]


def along_users(text: str, bound: Bound, count: int = 13) -> list[ShuffleAccountant]:
    users = [round(40 * 1.9**i) for i in range(count)]
    return [ShuffleAccountant(text, n, bound=bound) for n in users]


def prepared(accountants: list[ShuffleAccountant], delta: float) -> None:
    places = [math.log(accountant.n) for accountant in accountants]
    families = [accountant.known.families for accountant in accountants]
    prepare(families, "epsilon", [delta] * len(accountants), places)


def fresh(accountant: ShuffleAccountant) -> ShuffleAccountant:
    return ShuffleAccountant(accountant.randomizer, accountant.n, bound=accountant.bound)


@pytest.mark.heavy(keep=4)
@pytest.mark.parametrize("text", MECHANISMS)
@pytest.mark.parametrize("bound", ["blanket", "best"])
def test_epsilons_of_a_prepared_curve_are_those_of_single_questions(
    text: str, bound: Bound
) -> None:
    accountants = along_users(text, bound)
    prepared(accountants, 1e-6)
    for accountant in accountants:
        found, single = accountant.epsilon_interval(1e-6), fresh(accountant).epsilon_interval(1e-6)
        assert max(found.lower, single.lower) <= min(found.upper, single.upper)
        slack = 2e-4 if bound == "best" else 1e-4
        assert found.upper == pytest.approx(single.upper, rel=slack)
        assert found.lower == pytest.approx(single.lower, rel=slack)
        # Certified from above at the upper end, by an evaluation that was made for it alone.
        assert fresh(accountant).delta_interval(found.upper).lower <= 1e-6


def test_what_is_prepared_is_not_evaluated_again(monkeypatch: pytest.MonkeyPatch) -> None:
    accountants = along_users("krr(k=10, epsilon0=2)", "blanket")
    prepared(accountants, 1e-6)
    monkeypatch.setattr("shuffledp.accounting.worst_case.find_root", None)
    assert all(accountant.get_epsilon(1e-6) > 0 for accountant in accountants)
    with pytest.raises(TypeError):
        accountants[0].get_epsilon(1e-7)


@pytest.mark.parametrize("bound", ["blanket", "best"])
def test_deltas_of_a_prepared_curve_are_those_of_single_questions(bound: Bound) -> None:
    accountant = ShuffleAccountant("oue(epsilon0=2)", 500, bound=bound)
    epsilons = [0.0, 1e-6, 0.01, 0.05, 0.1, 0.3, 1.0, 2.5]
    for family in accountant.known.families.values():
        prepare_log_deltas([family] * len(epsilons), epsilons)
    for epsilon in epsilons:
        found, single = (own.log_delta_interval(epsilon) for own in (accountant, fresh(accountant)))
        assert max(found.lower, single.lower) <= min(found.upper, single.upper)
        if single.upper > -math.inf:
            assert found.upper == pytest.approx(single.upper, abs=1e-4)


def test_flat_deltas_get_a_closer_look_together() -> None:
    """Where delta hardly depends on epsilon, epsilon needs many digits of delta."""
    blanket = KRR(k=3, epsilon0=1.0).blanket(KRR(k=3, epsilon0=1.0).neighbours()[0])
    points = [along.Point(blanket, 100, epsilon) for epsilon in (1e-3, 2e-3, 3e-3, 0.3)]
    values = along.enclose_log_deltas(points, [1e-4] * 4)
    assert [value.width < 1e-5 for value in values] == [True, True, True, False]


class Blind:
    """Guesses that know nothing."""

    draw = random.Random(0)
    rough = frozenset({0, 8})

    def __init__(self, *_: object) -> None:
        pass

    def at(self, place: float) -> Hint:
        return Hint(10 ** self.draw.uniform(-6, 2), -(10 ** self.draw.uniform(-3, 4)))


def test_wrong_guesses_cost_time_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(along, "_Guesses", Blind)
    accountants = along_users("krr(k=10, epsilon0=2)", "blanket")
    prepared(accountants, 1e-6)
    for accountant in accountants:
        found, single = accountant.epsilon_interval(1e-6), fresh(accountant).epsilon_interval(1e-6)
        assert max(found.lower, single.lower) <= min(found.upper, single.upper)
        assert found.upper == pytest.approx(single.upper, rel=1e-4)


def test_guesses_lie_on_a_curve_through_the_answers() -> None:
    """Of problems whose epsilon is a power of the number of users, exactly."""
    users = [1000 * 2**i for i in range(13)]
    places = [math.log(n) for n in users]
    hints = {i: Hint(3 * n**-0.5, -2.0 * n) for i, n in enumerate(users)}
    some = {i: hints[i] for i in (0, 4, 8, 12)}
    hint = along._Guesses(places, some).at(places[6])
    assert hint is not None
    assert hint.epsilon == pytest.approx(hints[6].epsilon)
    assert hint.slope == pytest.approx(hints[6].slope)
    assert along._Guesses(places, {i: hints[i] for i in (0, 4)}).at(1.0) is None


@pytest.mark.parametrize(("bend", "rough"), [(0.0, set()), (1e-5, set()), (1e-2, {3, 6, 9, 12})])
def test_guesses_are_rough_where_answers_leave_the_curve(bend: float, rough: set[int]) -> None:
    """Epsilon is a power of n times something that no polynomial of fifth degree follows.

    Only between its ends: at these there is no curve on both sides.
    """
    hints = {3 * i: Hint(0.2 * math.exp(-0.1 * i + bend * (-1) ** i), -1.0) for i in range(6)}
    assert along._Guesses([1.0 + i for i in range(16)], hints).rough == rough


def test_guesses_are_rough_next_to_a_kink_alone() -> None:
    """Answers far from it lie on the curve through those beside them."""
    hints = {i: Hint(0.2 * math.exp(-0.1 * i - 0.1 * max(i - 10, 0)), -1.0) for i in range(21)}
    rough = along._Guesses(list(range(21)), hints).rough
    assert {9, 10, 11} <= rough <= set(range(6, 15))


def asked_for(monkeypatch: pytest.MonkeyPatch) -> list[list[int]]:
    """Return what is only approached, in turns, when forty-three answers are prepared."""
    asked = []
    approached = along._approached

    def record(problems: object, hints: dict[int, Hint | None]) -> dict[int, Hint]:
        asked.append(sorted(hints))
        return approached(problems, hints)  # type: ignore[arg-type]

    monkeypatch.setattr(along, "_approached", record)
    accountants = [ShuffleAccountant("krr(k=10, epsilon0=2)", n) for n in range(1000, 1043)]
    prepared(accountants, 1e-6)
    return asked


def test_rough_guesses_are_refined_between_landmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(along, "_ROUGH", 0.0)
    asked = asked_for(monkeypatch)
    assert asked[:2] == [[0, 7, 14, 21, 28, 35, 42], [3, 10, 17, 24, 31, 38]]


def test_only_gaps_beside_rough_answers_are_refined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(along._Guesses, "rough", frozenset({21}))
    assert asked_for(monkeypatch)[:2] == [[0, 7, 14, 21, 28, 35, 42], [17, 24]]


@pytest.mark.parametrize("mechanism", [KRR(k=10, epsilon0=2.0), Laplace(epsilon0=1.0)])
def test_two_looks_tell_where_a_root_is(mechanism: LocalRandomizer) -> None:
    """Just above it, so that a third one shows that the target is met."""
    blanket = mechanism.blanket(mechanism.neighbours()[0])
    target = Interval(-14.0, -14.0)
    problems = [along.RootProblem(blanket, n, target, 1e-4) for n in (500, 5000, 50_000, 500_000)]
    found = along._approached(problems, dict.fromkeys(range(4)))
    for i, problem in enumerate(problems):
        root = problem.search(None).run().epsilon
        assert root.lower < found[i].epsilon < root.upper * (1 + 1e-4)
        value, beside = (
            log_delta_at(blanket, problem.n, epsilon, rtol=1e-6).upper
            for epsilon in (found[i].epsilon, found[i].epsilon * 1.001)
        )
        assert -14.0 - 2e-3 < value <= -14.0
        slope = (beside - value) / (0.001 * found[i].epsilon)
        assert found[i].slope == pytest.approx(slope, rel=0.05)


def test_the_worst_of_several_candidates_counts() -> None:
    """Of random matrices; the pair and background that lead are not always the worst ones."""
    rng = np.random.default_rng(4)
    surprises = 0
    for _ in range(examples(40)):
        weights = rng.uniform(0.05, 1.0, (3, 3)) ** 2
        matrix = MatrixRandomizer(weights / weights.sum(axis=1, keepdims=True))
        accountants = [ShuffleAccountant(matrix, n, bound="best") for n in range(70, 74)]
        lower = [accountant.known.families["lower"] for accountant in accountants]
        prepare_epsilons(lower, [1e-3] * 4, list(range(4)))
        for accountant, case in zip(accountants, lower, strict=True):
            found, worst = case.epsilon(1e-3)
            single, _ = fresh(accountant).known.families["lower"].epsilon(1e-3)
            assert found.lower <= single.upper
            assert found.upper >= single.lower
            surprises += worst is not case.candidates.leader()
    assert surprises


@pytest.mark.parametrize("delta", [0.0, 1.0, 1e-300, 0.999])
def test_any_delta_can_be_prepared(delta: float) -> None:
    accountants = along_users("krr(k=10, epsilon0=2)", "best", 12)
    prepared(accountants, delta)
    for accountant in accountants:
        found, single = (own.epsilon_interval(delta) for own in (accountant, fresh(accountant)))
        assert found.upper == pytest.approx(single.upper, rel=2e-4, abs=1e-12)
        assert max(found.lower, single.lower) <= min(found.upper, single.upper)


def test_nothing_to_prepare() -> None:
    prepare([], "epsilon", [], [])
    sums = [ShuffleAccountant("laplace(epsilon0=1)", n, view="sum") for n in (10, 20)]
    adaptive = [ShuffleAccountant(KRR(3, 1.0), n, corrupted_adaptively=2) for n in (10, 20)]
    for accountants in (sums, adaptive):
        prepared(accountants, 1e-6)
        assert [dict(own.known.families) for own in accountants] == [{}, {}]
        assert accountants[0].get_epsilon(1e-6) == fresh_like(accountants[0]).get_epsilon(1e-6)


def fresh_like(accountant: ShuffleAccountant) -> ShuffleAccountant:
    return ShuffleAccountant(
        accountant.randomizer,
        accountant.n,
        corrupted_adaptively=accountant.crowd.corrupted_adaptively,
        view=accountant.view,
    )


def test_what_is_learned_is_of_the_same_users_and_bounds() -> None:
    def upper(text: str, n: int, rtol: float = 1e-4) -> along.WorstCase:
        return ShuffleAccountant(parse(text), n, rtol=rtol).known.families["upper"]

    known = upper("krr(k=10, epsilon0=2)", 1000)
    known.remember_epsilon(1e-6, (Interval(0.0, 123.0), None))
    known.remember_log_delta(0.1, (LogEnclosure(-99.0, -99.0), None))
    same = upper("krr(k=10, epsilon0=2)", 1000)
    same.learn(known)
    assert same.epsilon(1e-6)[0].upper == 123.0
    assert same.log_delta(0.1)[0].upper == -99.0
    for other in (
        upper("krr(k=10, epsilon0=2)", 1001),
        upper("krr(k=10, epsilon0=2.5)", 1000),
        upper("krr(k=10, epsilon0=2)", 1000, 1e-3),
    ):
        other.learn(known)
        assert other.epsilon(1e-6)[0].upper < 1
        assert other.log_delta(0.1)[0].upper > -99


def test_candidates_whose_bounds_are_lower_are_not_evaluated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of normal noise the leader is far below the other candidate, unless epsilon is small."""
    accountants = [ShuffleAccountant("gaussian(1)", 1000, bound="best") for _ in range(4)]
    lower = [accountant.known.families["lower"] for accountant in accountants]
    epsilons = [0.5, 0.6, 0.7, 0.8]
    evaluated = []
    enclose = along.enclose_log_deltas

    def record(points: Sequence[Point], rtols: Sequence[float]) -> list[LogEnclosure]:
        evaluated.extend(points)
        return enclose(points, rtols)

    monkeypatch.setattr(along, "enclose_log_deltas", record)
    prepare_log_deltas(lower, epsilons)
    assert len(evaluated) == 4
    for accountant, case, epsilon in zip(accountants, lower, epsilons, strict=True):
        found, worst = case.log_delta(epsilon)
        single, same = fresh(accountant).known.families["lower"].log_delta(epsilon)
        assert worst == same != case.candidates.leader()
        assert max(found.lower, single.lower) <= min(found.upper, single.upper)
        assert found.width < 1e-3


def test_candidates_that_look_alike_all_count() -> None:
    """What a candidate stands for is no key: two that are equal may have different laws."""
    accountant = ShuffleAccountant("krr(k=3, epsilon0=1)", 200)
    (weak, strong) = (
        parse(text).blanket(parse(text).neighbours()[0])
        for text in ("krr(k=3, epsilon0=1)", "krr(k=3, epsilon0=2)")
    )
    pair = accountant.known.families["upper"].candidates.leader().pair  # type: ignore[union-attr]
    for order in (1, -1):
        both = [Candidate(pair, None, weak), Candidate(pair, None, strong)][::order]
        case = WorstCase(Listed(both), 200, 1e-4)
        alone = WorstCase(Listed([Candidate(pair, None, strong)]), 200, 1e-4)
        prepare_log_deltas([case], [0.3])
        found, _ = case.log_delta(0.3)
        assert found.upper == pytest.approx(alone.log_delta(0.3)[0].upper, abs=1e-4)
