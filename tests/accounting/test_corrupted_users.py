"""Users who work for the analyst: fixed in advance (n - f), or chosen after the fact."""

from __future__ import annotations

import json
import math
import warnings
from collections import defaultdict
from fractions import Fraction
from itertools import product

import pytest
from click.testing import CliRunner
from rational import exact_delta

from shuffledp import (
    KRR,
    MatrixRandomizer,
    Rounds,
    ShuffleAccountant,
    audit,
    calibrate_epsilon0,
    certify,
    required_users,
)
from shuffledp.accounting.crowd import Crowd, count_of, crowd_of
from shuffledp.bounds.chernoff import users_aside
from shuffledp.cli import main

LAM = Fraction(5, 4)
EPSILON = math.log(1.25)


def test_users_fixed_in_advance_are_not_there():
    for bound in ("blanket", "best"):
        few = ShuffleAccountant("oue(epsilon0=2)", 700, bound=bound)
        many = ShuffleAccountant("oue(epsilon0=2)", 1000, bound=bound, corrupted=300)
        assert many.get_epsilon(1e-6) == few.get_epsilon(1e-6)
        assert many.get_delta(0.1) == few.get_delta(0.1)
        assert many.epsilon_lower_bound(1e-6) == few.epsilon_lower_bound(1e-6)


def test_shares_are_those_of_the_decimal_written_and_rounded_up():
    assert count_of("corrupted", 0.1, 1000) == 100
    assert count_of("corrupted", 0.1, 1001) == 101
    assert count_of("corrupted", 1e-12, 5) == 1
    assert count_of("corrupted", Fraction(1, 3), 10) == 4
    assert count_of("corrupted", 3.0, 10) == 3
    assert crowd_of(10, 0, 0) == Crowd(10)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"corrupted": 10}, "corrupted must be an integer of at least 0 and at most 9, got 10"),
        ({"corrupted": -1}, "corrupted must be"),
        ({"corrupted": 1.5}, "corrupted must be"),
        ({"corrupted": 0.99}, "must leave at least one of n = 10"),
        ({"corrupted": 5, "corrupted_adaptively": 5}, "got 5 and 5"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, said):
    with pytest.raises(ValueError, match=said):
        ShuffleAccountant(KRR(3, 1.0), 10, **arguments)


@pytest.mark.parametrize("value", ["1", None, True, [1]])
def test_wrong_types_are_refused(value):
    with pytest.raises(TypeError, match="corrupted must be"):
        ShuffleAccountant(KRR(3, 1.0), 10, corrupted=value)


def test_proofs_and_runs_are_of_honest_users():
    accountant = ShuffleAccountant(KRR(3, 1.0), 10, corrupted=2)
    with pytest.raises(ValueError, match="n = 8 honest ones"):
        audit(accountant, target_delta=0.1)
    proved, honest = (
        certify(accountant, target_delta=0.1),
        certify("krr(3, 1)", 8, target_delta=0.1),
    )
    assert (proved.n, proved.corrupted) == (10, 2)
    assert proved.guarantee.epsilon == honest.guarantee.epsilon


def binomial(m: int, p: Fraction, end: int | None = None) -> list[Fraction]:
    """P(Bin(m, p) = i) for i below ``end``."""
    last = m + 1 if end is None else end
    return [math.comb(m, i) * p**i * (1 - p) ** (m - i) for i in range(last)]


def adaptive_bound(ratio: Fraction, k: int, n: int, f: int) -> Fraction:
    """E[phi(max(1, 1 + Bin(n-1, gamma) - f))] of randomized response, exactly."""
    gamma = k / (ratio + k - 1)
    tops, others = [ratio / gamma, 1 / gamma], [1 / gamma, ratio / gamma]
    weights = [Fraction(1, k)] * 2
    if k > 2:
        tops, others = [*tops, 1 / gamma], [*others, 1 / gamma]
        weights.append(Fraction(k - 2, k))
    r0, r1 = [x * gamma * gamma for x in tops], [x * gamma * gamma for x in others]
    return sum(
        mass * exact_delta(r0, r1, weights, max(1, 1 + size - f), LAM)
        for size, mass in enumerate(binomial(n - 1, gamma))
    )


def true_adaptive_delta(ratio: Fraction, k: int, n: int) -> Fraction:
    """The largest delta if one report of another user is learned, chosen by what is seen."""
    law = [[(ratio if x == y else 1) / (ratio + k - 1) for y in range(k)] for x in range(k)]
    worst = Fraction(0)
    for others in product(range(k), repeat=n - 1):
        gains = defaultdict(lambda: [Fraction(0)] * (n - 1))
        joint = defaultdict(Fraction)
        for reports in product(range(k), repeat=n):
            rest = math.prod(law[x][y] for x, y in zip(others, reports[1:], strict=True))
            excess = rest * (law[0][reports[0]] - LAM * law[1][reports[0]])
            for chosen in range(n - 1):
                joint[tuple(sorted(reports)), chosen, reports[1 + chosen]] += excess
        for (seen, chosen, _), excess in joint.items():
            gains[seen][chosen] += max(excess, 0)
        worst = max(worst, sum(max(choices) for choices in gains.values()))
    return worst


@pytest.mark.parametrize(("ratio", "k", "n"), [(3, 2, 2), (3, 2, 4), (5, 3, 3), (2, 3, 4)])
def test_the_guarantee_covers_every_way_to_choose(ratio, k, n):
    truth = true_adaptive_delta(Fraction(ratio), k, n)
    proved = adaptive_bound(Fraction(ratio), k, n, 1)
    assert truth <= proved
    rows = [[(ratio if x == y else 1) / (ratio + k - 1) for y in range(k)] for x in range(k)]
    accountant = ShuffleAccountant(MatrixRandomizer(rows), n, corrupted_adaptively=1)
    assert float(proved) <= accountant.get_delta(EPSILON) * (1 + 1e-9)
    assert accountant.delta_lower_bound(EPSILON) <= float(truth) * (1 + 1e-9)


def most_revealed(
    reports: list[tuple[tuple[int, ...], Fraction]], unknown: frozenset[int], left: int
) -> Fraction:
    """The largest delta if so many reports are asked for, one after the other."""
    revealed = max(sum((excess for _, excess in reports), Fraction(0)), Fraction(0))
    for user in unknown if left else ():
        answers = defaultdict(list)
        for row in reports:
            answers[row[0][user]].append(row)
        further = (most_revealed(rows, unknown - {user}, left - 1) for rows in answers.values())
        revealed = max(revealed, sum(further, Fraction(0)))
    return revealed


@pytest.mark.parametrize(("fixed", "f", "n"), [(0, 2, 4), (1, 1, 4), (1, 2, 5)])
def test_reports_asked_for_one_after_the_other(fixed, f, n):
    """All datasets of a matrix whose inputs are not alike, with users fixed in advance, too."""
    law = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(3, 8), Fraction(5, 8)]]
    honest, truth = n - fixed, Fraction(0)
    for others in product(range(2), repeat=honest - 1):
        for x, y in ((0, 1), (1, 0)):
            seen = defaultdict(list)
            for reports in product(range(2), repeat=honest):
                rest = math.prod(law[z][r] for z, r in zip(others, reports[1:], strict=True))
                excess = rest * (law[x][reports[0]] - LAM * law[y][reports[0]])
                seen[sum(reports)].append((reports, excess))
            unknown = frozenset(range(1, honest))
            truth = max(truth, sum(most_revealed(rows, unknown, f) for rows in seen.values()))
    accountant = ShuffleAccountant(
        MatrixRandomizer([[float(p) for p in row] for row in law]),
        n,
        corrupted=fixed,
        corrupted_adaptively=f,
    )
    assert accountant.delta_lower_bound(EPSILON) <= float(truth) * (1 + 1e-9)
    assert float(truth) <= accountant.get_delta(EPSILON) * (1 + 1e-9)


def test_chosen_after_the_fact_is_more_than_fixed_in_advance():
    """With one pool of three the difference is exact, so n - f is no guarantee there."""
    ratio, k, n = Fraction(3), 2, 4
    gamma = k / (ratio + k - 1)
    fixed = exact_delta([ratio, 1], [1, ratio], [gamma / 2] * 2, n - 1, LAM)
    assert adaptive_bound(ratio, k, n, 1) > fixed


@pytest.mark.parametrize(("n", "f"), [(40, 3), (60, 10)])
def test_the_guarantee_is_above_the_exact_bound_of_more_users(n, f):
    proved = adaptive_bound(Fraction(3), 2, n, f)
    accountant = ShuffleAccountant(
        MatrixRandomizer([[0.75, 0.25], [0.25, 0.75]]), n, corrupted_adaptively=f
    )
    assert float(proved) <= accountant.get_delta(EPSILON) * (1 + 1e-9)


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("text", ["krr(k=10, epsilon0=2)", "laplace(epsilon0=1)", "gaussian(3)"])
@pytest.mark.parametrize(("n", "f", "delta"), [(1000, 20, 1e-6), (10**6, 5000, 1e-9), (5, 1, 0.1)])
def test_an_epsilon_keeps_its_word(text, n, f, delta):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adaptive = ShuffleAccountant(text, n, corrupted_adaptively=f)
        interval = adaptive.epsilon_interval(delta)
        assert adaptive.get_delta(interval.upper) <= delta or interval.upper == math.inf
        fixed = ShuffleAccountant(text, n, corrupted=f)
        assert interval.upper >= fixed.epsilon_interval(delta).lower
        assert adaptive.epsilon_lower_bound(delta) <= interval.upper


@pytest.mark.parametrize("pool", [0.0625, 0.5, 0.875])
@pytest.mark.parametrize("f", [1, 2, 7])
@pytest.mark.parametrize("risk", [1e-3, 1e-12])
def test_those_set_aside_are_enough(pool, f, risk):
    m = users_aside(f, pool, risk, 10**6)
    too_few = sum(binomial(m, Fraction(pool), f))
    assert too_few <= Fraction(risk)
    assert m <= 1.5 * (f + 4 * math.sqrt(f) + 3 * -math.log(risk)) / pool


def test_the_answer_says_who_is_corrupted():
    line = ["epsilon", "krr(k=10, epsilon0=2)", "-n", "1000", "--delta", "1e-6", "--corrupted"]
    text = CliRunner().invoke(main, [*line, "5%"]).stdout
    assert "users        1,000, 50 of them corrupted\n" in text
    assert "With 1,000 users, 50 of them corrupted, the shuffled reports are" in text
    answer = json.loads(CliRunner().invoke(main, [*line, "0.05", "--json"]).stdout)
    assert (answer["n"], answer["corrupted"], answer["corrupted_adaptively"]) == (1000, 50, 0)
    assert "50 users, fixed before the reports are drawn" in answer["assumptions"][-1]
    report = ShuffleAccountant("krr(k=10, epsilon0=2)", 1000, corrupted=50).epsilon_report(1e-6)
    assert answer["guarantee"]["upper"] == report.guarantee.upper
    assert report.epsilon_at(1e-6) == report.guarantee.upper
    assert "1,000 users, 50 of them corrupted of krr" in str(report)
    assert "50 of them corrupted" in report._repr_html_()
    assert repr(ShuffleAccountant(KRR(3, 1.0), 9, corrupted=2, corrupted_adaptively=1)) == (
        "ShuffleAccountant(KRR(k=3, epsilon0=1.0), n=9, corrupted=2, corrupted_adaptively=1)"
    )


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "100%", "nan", "1000"])
def test_the_command_line_names_what_is_wrong(text):
    line = ["delta", "krr(k=10, epsilon0=2)", "-n", "1000", "--epsilon", "1", "--corrupted", text]
    result = CliRunner().invoke(main, line)
    assert result.exit_code == 2
    assert "corrupted must" in result.stderr


def test_the_best_bound_of_reports_learned_adaptively_is_the_blanket():
    best, blanket = (
        ShuffleAccountant("blh(epsilon0=2)", 1000, corrupted_adaptively=10, bound=bound)
        for bound in ("best", "blanket")
    )
    report = best.epsilon_report(1e-6)
    assert report.guarantee == blanket.epsilon_interval(1e-6)
    assert (report.bound, report.bound_reason) == ("blanket", "reports are learned adaptively")


def test_rounds_of_corrupted_crowds_are_their_own_kind():
    honest, some = (ShuffleAccountant(KRR(3, 1.0), 1000, corrupted=f) for f in (0, 400))
    fewer = ShuffleAccountant(KRR(3, 1.0), 600)
    all_honest, corrupted, left = (one.rounds(2, rtol=0.1) for one in (honest, some, fewer))
    assert all_honest.get_epsilon(1e-6) < corrupted.get_epsilon(1e-6) == left.get_epsilon(1e-6)
    assert corrupted.epsilon_lower_bound(1e-6) == left.epsilon_lower_bound(1e-6)
    assert len(Rounds([(honest, 1), (some, 1)]).kinds) == 2


TARGET = {"target_epsilon": 0.3, "target_delta": 1e-6}


@pytest.mark.parametrize(
    "collusion",
    [{"corrupted": 100}, {"corrupted": 0.25}, {"corrupted": 7, "corrupted_adaptively": 0.01}],
    ids=str,
)
def test_calibrations_keep_their_word_to_crowds_with_corrupted_users(collusion):
    users = required_users("krr(k=4, epsilon0=2)", **TARGET, **collusion)
    level = calibrate_epsilon0("krr(k=4)", n=2000, **TARGET, **collusion)
    for found in (users, level):
        accountant = ShuffleAccountant(found.mechanism, found.n, **collusion)
        assert accountant.get_epsilon(1e-6) <= 0.3
        assert accountant.get_delta(0.3) <= 1e-6
        assert found.report.crowd == accountant.crowd
    assert not (
        ShuffleAccountant(users.mechanism, round(0.99 * users.n), **collusion).get_delta(0.3)
        <= 1e-6
    )


def test_a_crowd_needs_as_many_more_users_as_are_corrupted_in_advance():
    honest = required_users("krr(k=4, epsilon0=2)", **TARGET).n
    assert required_users("krr(k=4, epsilon0=2)", **TARGET, corrupted=1000).n == honest + 1000
    half = required_users("krr(k=4, epsilon0=2)", **TARGET, corrupted=0.5).n
    assert half - math.ceil(half / 2) == honest
    same = calibrate_epsilon0("krr(k=4)", n=500, **TARGET)
    more = calibrate_epsilon0("krr(k=4)", n=1000, **TARGET, corrupted=500)
    assert more.epsilon0 == same.epsilon0


def test_corrupted_users_of_calibrations_are_checked():
    with pytest.raises(ValueError, match="must leave at least one of n = 10 users honest"):
        calibrate_epsilon0("krr(k=4)", n=10, **TARGET, corrupted=5, corrupted_adaptively=5)
    for wrong in (-1, 1.5, math.nan):
        with pytest.raises(ValueError, match="corrupted"):
            required_users("krr(k=4, epsilon0=2)", **TARGET, corrupted=wrong)


def test_users_and_calibrate_take_corrupted_users():
    run = CliRunner().invoke
    options = ["--epsilon", "0.3", "--delta", "1e-6", "--corrupted", "25%", "--json"]
    users = json.loads(run(main, ["users", "krr(k=4, epsilon0=2)", *options]).output)
    assert users["corrupted"] == math.ceil(users["n"] / 4)
    level = json.loads(run(main, ["calibrate", "krr(k=4)", "-n", "1000", *options]).output)
    assert (level["n"], level["corrupted"]) == (1000, 250)
    wrong = run(main, ["calibrate", "krr(k=4)", "-n", "4", *options[:5], "4"])
    assert wrong.exit_code == 2
    assert "corrupted must be an integer of at least 0 and at most 3, got 4" in wrong.output
