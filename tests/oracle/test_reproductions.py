"""Answers that were too small, each with the truth from the definition."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from oracle.judge import Verdict, judge_accountant, judge_upper, upper_level
from oracle.reader import read
from oracle.truth import Truth
from shuffledp import (
    GeneralClone,
    MatrixRandomizer,
    ShuffleAccountant,
    certify,
    joint,
    parse,
    verify,
)
from shuffledp.comparison.published import BASELINES
from shuffledp.mechanisms import Pair

_LIMITED = "joint(krr(k=2, epsilon0=2), krr(k=2, epsilon0=1), at_most=1)"
_WITH_MATRIX = "joint(matrix([[0.6, 0.4], [0.55, 0.45]]), krr(k=2, epsilon0=2))"


def assert_true(text: str, n: int, epsilons: list[float], deltas: list[float]) -> None:
    verdict = judge_accountant(text, Truth(read(text), n), epsilons, deltas)
    assert not verdict.violations, "\n".join(verdict.violations)
    assert not verdict.refusals, "\n".join(verdict.refusals)


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize(
    ("part", "true_delta"), [(_LIMITED, 0.5641), (_WITH_MATRIX, 0.5585)], ids=["limit", "matrix"]
)
def test_parallel_of_joints_compares_all_pairs(part: str, true_delta: float) -> None:
    text = f"parallel(0.5*{part}, 0.5*{part})"
    assert float(Truth(read(text), 3).delta(0.3).high) == pytest.approx(true_delta, abs=1e-4)
    assert_true(text, 3, [0.0, 0.3, 1.0], [1e-6, 0.1])


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("part", [_LIMITED, _WITH_MATRIX], ids=["limit", "matrix"])
def test_certificates_of_parallel_joints_are_true(part: str) -> None:
    text = f"parallel(0.5*{part}, 0.5*{part})"
    certificate = certify(ShuffleAccountant(parse(text), 3), target_epsilon=0.3)
    verify(certificate)
    claim = certificate.guarantee
    assert Truth(read(text), 3).delta(Fraction(claim.epsilon)).low <= Fraction(claim.delta)


@pytest.mark.heavy
def test_a_small_residual_counts() -> None:
    text = "matrix([[0.9999999999995, 5e-13], [0.99999999999999, 1e-14]])"
    assert float(Truth(read(text), 2).delta(3.5).high) == pytest.approx(8.44e-26, rel=1e-3)
    assert_true(text, 2, [0.0, 1.0, 3.0, 3.5], [1e-13, 1e-20])


def test_a_small_residual_counts_for_many_users() -> None:
    """All others hold the second input: the rare report has binomial counts."""
    text = "matrix([[0.9999999999991, 9e-13], [0.99999999999999, 1e-14]])"
    n, epsilon = 10**14, 5e-13
    with mpmath.workdps(60):
        first, second = (mpmath.mpf(p) for p in (9e-13, 1e-14))
        others = [
            mpmath.binomial(n - 1, k) * second**k * (1 - second) ** (n - 1 - k) for k in range(40)
        ]

        def law(rare: mpmath.mpf, k: int) -> mpmath.mpf:
            return others[k] * (1 - rare) + (others[k - 1] * rare if k else 0)

        gains = [law(first, k) - mpmath.exp(epsilon) * law(second, k) for k in range(40)]
        revealed = float(sum(gain for gain in gains if gain > 0))
    accountant = ShuffleAccountant(parse(text), n)
    assert revealed > 1e-13
    assert accountant.get_delta(epsilon) >= revealed * (1 - 1e-9)


def test_unary_masses_of_large_domains() -> None:
    """Ball arithmetic encloses the bound itself; the guarantee must not be below it."""
    text = "unary(p=1.7152439504143044e-11, q=2.9209078920704114e-06, domain_size=300000)"
    accountant = ShuffleAccountant(parse(text), 10**10)
    epsilon = 5.01564451e-05
    certificate = certify(accountant, target_epsilon=epsilon)
    assert Fraction(accountant.get_delta(epsilon)) >= Fraction(certificate.guarantee.lower)


def test_unary_of_a_huge_domain_is_answered() -> None:
    accountant = ShuffleAccountant(parse("unary(p=1e-12, q=1e-9, domain_size=1000000000)"), 1000)
    assert 0 <= accountant.delta_lower_bound(1.0) <= accountant.get_delta(1.0) <= 1


@pytest.mark.parametrize(
    "rows",
    [
        [
            [0.6427321945290295, 0.2817970540238965, 0.07547075144619758],
            [0.1534307768639361, 0.19785556229437695, 0.6487136608410743],
        ],
        [[0.15794179277685216, 0.8420582072239876], [0.7494496962930747, 0.2505503037067723]],
        [[0.9, 0.1], [0.9000000000000006, 0.1]],
        [[0.3000000000000007, 0.6999999999999993], [0.3, 0.7]],
    ],
)
def test_rows_are_divided_by_their_exact_sums(rows: list[list[float]]) -> None:
    """Reports are drawn so; rows that miss 1 by more than rounding may also be refused."""
    text = f"matrix({rows})"
    verdict = judge_accountant(text, Truth(read(text), 2), [0.0, 1e-15, 0.1], [0.0, 1e-3])
    assert not verdict.violations, "\n".join(verdict.violations)


def test_a_small_residual_counts_in_a_joint() -> None:
    near = (
        "matrix([[0.27542547067904144, 0.2633109770943032, 0.1969475271435034, 0.264316025083152], "
        "[0.27542547067904144, 0.2633109770943032, 0.19694752714315544, 0.26431602508349994]])"
    )
    assert_true(f"joint({near}, {near}, exactly=2)", 2, [0.0, 2e-12, 3e-12], [1e-13])


@pytest.mark.parametrize("name", sorted(n for n, b in BASELINES.items() if b.kind == "upper"))
def test_baselines_know_what_the_others_may_hold(name: str) -> None:
    text = "joint(krr(k=2, epsilon0=2), krr(k=2, epsilon0=2), krr(k=2, epsilon0=2), at_most=1)"
    truth, verdict = Truth(read(text), 3), Verdict()
    baseline = BASELINES[name](parse(text), 3)
    judge_upper(f"{name} of {text}", baseline, truth, [0.1, 1.0, 1.5, 1.9], [1e-3, 1e-6], verdict)
    assert not verdict.violations, "\n".join(verdict.violations)


def test_baselines_of_six_attributes_are_above_our_lower_bound() -> None:
    parts = ", ".join(["krr(k=3, epsilon0=2)"] * 6)
    mechanism = parse(f"joint({parts}, at_most=1)")
    leaked = ShuffleAccountant(mechanism, 1000).epsilon_lower_bound(1e-6)
    for name in ("standard_clone", "restored_generic"):
        assert BASELINES[name](mechanism, 1000).get_epsilon(1e-6) >= leaked, name


def test_the_level_of_all_inputs_makes_a_generic_bound_hold() -> None:
    channel = read(_LIMITED)
    level = upper_level(channel)
    assert level == pytest.approx(3.0)
    verdict, generic = Verdict(), f"any_pure_ldp(epsilon0={level!r})"
    accountant = ShuffleAccountant(parse(generic), 4)
    judge_upper(generic, accountant, Truth(channel, 4), [0.0, 0.5, 1.9], [1e-3, 1e-9], verdict)
    assert not verdict.violations, "\n".join(verdict.violations)


@pytest.mark.parametrize(
    "text",
    [
        "parallel(0.5*krr(k=2, epsilon0=1), 0.5*discrete_laplace(epsilon0=1, bound=2))",
        f"parallel(0.5*{_LIMITED}, 0.5*krr(k=2, epsilon0=1))",
    ],
)
def test_parallel_refuses_parts_of_different_domains(text: str) -> None:
    with pytest.raises(ValueError, match="parallel"):
        parse(text)


def test_nested_parallels_share_one_value() -> None:
    inner = "parallel(0.5*krr(k=2, epsilon0=1), 0.5*krr(k=2, epsilon0=3))"
    assert_true(f"parallel(0.5*{inner}, 0.5*krr(k=2, epsilon0=2))", 3, [0.1, 1.0], [1e-3])
    inner = "parallel(0.5*krr(k=2, epsilon0=1), 0.5*discrete_laplace(epsilon0=3, bound=1))"
    assert_true(f"parallel(0.5*{inner}, 0.5*krr(k=2, epsilon0=2))", 3, [0.1, 1.0], [1e-3])


def test_one_of_gives_every_part_its_own_attribute() -> None:
    text = "one_of(0.5*krr(k=2, epsilon0=1), 0.5*discrete_laplace(epsilon0=1, bound=2))"
    assert_true(text, 3, [0.0, 0.1, 0.5], [1e-3])


def test_matrices_of_one_path_are_not_one_matrix() -> None:
    rows = [[0.5, 0.5], [0.49, 0.51]], [[0.9, 0.1], [0.1, 0.9]]
    text = f"joint(matrix({rows[0]}), matrix({rows[1]}), at_most=1)"
    true = Truth(read(text), 4).delta(0.2)
    assert float(true.high) == pytest.approx(0.567, abs=0.001)
    same_path = [MatrixRandomizer(r, path="m.csv") for r in rows]  # type: ignore[arg-type]
    confused = joint(*same_path, at_most=1)
    assert Fraction(ShuffleAccountant(confused, 4).get_delta(0.2)) >= true.low
    assert Fraction(ShuffleAccountant(parse(text), 4).get_delta(0.2)) >= true.low
    swapped = [MatrixRandomizer(r, path="m.csv") for r in reversed(rows)]  # type: ignore[arg-type]
    assert Fraction(ShuffleAccountant(joint(*swapped, at_most=1), 4).get_delta(0.2)) >= true.low


def test_what_a_general_clone_tolerates_is_in_its_answer() -> None:
    small = 9e-13
    rows = [[1 - small, small], [1.0, 0.0]]
    try:
        clone = GeneralClone(
            MatrixRandomizer(rows),  # type: ignore[arg-type]
            Pair(0, 1),
            [[1.0, 0.0]],  # type: ignore[arg-type]
            [1 - small],  # type: ignore[arg-type]
            [1.0],  # type: ignore[arg-type]
            [1 - small],  # type: ignore[arg-type]
        )
    except ValueError:
        return
    true = Truth(read(f"matrix({rows})"), 2).delta(0.5)
    assert Fraction(clone.delta_interval(2, 0.5).upper) >= true.low


def test_simplified_clones_merge_only_what_is_equal() -> None:
    rows = [[0.5, 0.5], [0.5000000000000142, 0.4999999999999858]]
    matrix = MatrixRandomizer(rows)  # type: ignore[arg-type]
    true = Truth(read(f"matrix({rows})"), 2).delta(0.0)
    clone = GeneralClone.simplified(matrix, Pair(0, 1))
    assert Fraction(clone.delta_interval(2, 0.0).upper) >= true.low


@pytest.mark.parametrize("place", [3, 4, 5], ids=["a", "b", "c"])
def test_general_clones_refuse_infinite_coefficients(place: int) -> None:
    arguments: list[object] = [
        MatrixRandomizer([[0.5, 0.5], [0.5, 0.5]]),  # type: ignore[arg-type]
        Pair(0, 1),
        [[1.0, 0.0], [0.0, 1.0]],
        [0.5, 0.5],
        [0.5, 0.5],
        [0.5, 0.5],
    ]
    arguments[place] = [0.5, math.inf]
    with pytest.raises(ValueError, match=r"coefficient|finite|sum"):
        GeneralClone(*arguments)  # type: ignore[arg-type]
