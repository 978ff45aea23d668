"""Only the sum is seen: exact values, and what is only as good as the multiset."""

from __future__ import annotations

import json
import math
import warnings
from fractions import Fraction

import pytest
from click.testing import CliRunner

from shuffledp import (
    KRR,
    HadamardResponse,
    Laplace,
    ShuffleAccountant,
    audit,
    calibrate_epsilon0,
    certify,
    required_users,
)
from shuffledp.basics.errors import AccuracyWarning
from shuffledp.basics.interval import Interval
from shuffledp.bounds.sums.noise import geometric_log_delta, laplace_log_delta, normal_log_delta
from shuffledp.cli import main


def contains(enclosure, value, width):
    log = math.log(value)
    assert enclosure.lower - 1e-13 <= log <= enclosure.upper + 1e-13
    assert enclosure.width < width


@pytest.mark.parametrize(
    ("n", "epsilon0", "epsilon", "value"),
    [
        (1, 1, 0.5, 0.221199216928595),
        (2, 1, 0.3, 0.127572657175195),
        (10, 1, 0.2, 0.0255168329989362),
        (10, 4, 1, 0.0882297465264144),
        (100, 1, 0.2, 4.04998359921864e-5),
        (1000, 1, 0.1, 1.58690409722513e-8),
        (1000, 3, 0.25, 1.62464728171365e-6),
        (4000, 0.5, 0.02, 2.37629987792008e-7),
        (10**12, 1, 3.181980515339464e-6, 4.90882825947e-13),
    ],
)
def test_laplace(n, epsilon0, epsilon, value):
    """Ideal noise reveals as much as noise on the grid, as far as these digits tell."""
    found = laplace_log_delta(epsilon0, 1 << 20, n, epsilon)
    assert found.lower - 1e-8 <= math.log(value) <= found.upper + 1e-11
    assert found.width < 1e-8


@pytest.mark.parametrize(
    ("n", "epsilon0", "bound", "epsilon", "value"),
    [
        (1, 1, 1, 0.3, 0.368025632271708),
        (5, 1, 3, 0.2, 0.061917207927957),
        (20, 2, 4, 0.5, 0.00894363130488837),
        (50, 1, 10, 0.15, 0.0030315373224092),
        (100, 1, 1, 0.3, 1.03292140691235e-7),
    ],
)
def test_discrete_laplace(n, epsilon0, bound, epsilon, value):
    contains(geometric_log_delta(epsilon0, bound, n, epsilon), value, 1e-8)


@pytest.mark.parametrize(
    ("sigma", "n", "epsilon", "value"),
    [
        (1, 1, 1, 0.126936737506644),
        (1, 100, 0.3, 4.43519788202509e-5),
        (2, 10**4, 0.01, 4.26662073679858e-5),
        (1, 10**6, 0.005, 5.35954704105721e-11),
        (5, 10**9, 2e-5, 1.34672409218288e-9),
        (1, 10**12, 5e-6, 5.34617889926272e-14),
    ],
)
def test_gaussian(sigma, n, epsilon, value):
    contains(normal_log_delta(sigma, n, epsilon), value, 1e-8)


def noise(k: int, alpha: Fraction) -> Fraction:
    return (1 - alpha) / (1 + alpha) * alpha ** abs(k)


def exact_sum_delta(alpha: Fraction, bound: int, n: int, growth: Fraction, reach: int) -> Fraction:
    """Delta of the sum of noise, cut off at ``reach`` each, where hardly any mass is left."""
    single = {k: noise(k, alpha) for k in range(-reach, reach + 1)}
    total = {0: Fraction(1)}
    for _ in range(n):
        after: dict[int, Fraction] = {}
        for k, mass in total.items():
            for j, weight in single.items():
                after[k + j] = after.get(k + j, Fraction(0)) + mass * weight
        total = after
    zero = Fraction(0)
    return sum(
        max(total.get(k - bound, zero) - growth * total.get(k, zero), zero)
        for k in range(-n * reach, n * reach + bound + 1)
    )


@pytest.mark.heavy(keep=5)
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("bound", [1, 2, 3])
@pytest.mark.parametrize("growth", [Fraction(1), Fraction(5, 4), Fraction(7, 2)])
def test_few_users_against_fractions(n, bound, growth):
    alpha, reach = Fraction(1, 4), 50
    truth = float(exact_sum_delta(alpha, bound, n, growth, reach))
    found = geometric_log_delta(bound * math.log(4), bound, n, math.log(growth))
    if truth < 1e-12:
        assert found.upper < math.log(1e-12)
        return
    contains(found, truth, 1e-8)


GAINS = [
    ("laplace(1)", 10**4, 0.02315015),
    ("laplace(1)", 10**6, 0.00184633),
    ("laplace(4)", 10**4, 0.10282745),
    ("laplace(4)", 10**6, 0.00855077),
    ("discrete_laplace(1, 10)", 10**4, 0.02316057),
    ("discrete_laplace(1, 10)", 10**6, 0.00184719),
    ("gaussian(1)", 10**4, 0.03367378),
    ("gaussian(1)", 10**6, 0.00271822),
    ("gaussian(3)", 10**4, 0.01023123),
    ("gaussian(3)", 10**6, 0.00078917),
]


@pytest.mark.parametrize(("text", "n", "expected"), GAINS)
def test_reference_epsilons(text, n, expected):
    found = ShuffleAccountant(text, n, view="sum").epsilon_interval(1e-6)
    assert found.lower <= expected * (1 + 1e-6)
    assert expected * (1 - 1e-6) <= found.upper
    assert found.width <= 1e-4 * found.upper


@pytest.mark.parametrize(
    ("text", "epsilon", "expected"),
    [
        ("laplace(1)", 0.2, 171),
        ("laplace(4)", 0.2, 2875),
        ("gaussian(1)", 0.2, 361),
        ("gaussian(3)", 0.2, 41),
    ],
)
def test_the_smallest_batch(text, epsilon, expected):
    found = required_users(text, target_epsilon=epsilon, target_delta=1e-6, view="sum")
    assert expected <= found.n <= math.ceil(expected * (1 + 2e-4))
    assert found.report.view == "sum"


NOISE = ["laplace(1)", "laplace(epsilon0=2, domain='interval')", "discrete_laplace(2, 3)"]


@pytest.mark.heavy(keep=1)
@pytest.mark.parametrize("text", [*NOISE, "gaussian(2)"])
@pytest.mark.parametrize("n", [1, 2, 30, 10**5])
def test_an_epsilon_keeps_its_word_and_is_never_above_that_of_the_multiset(text, n):
    sums, multiset = (ShuffleAccountant(text, n, view=view) for view in ("sum", "multiset"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        for delta in (1e-6, 0.01):
            epsilon = sums.get_epsilon(delta)
            assert sums.get_delta(epsilon) <= delta
            assert epsilon <= multiset.get_epsilon(delta) * (1 + 2e-4)
            assert sums.epsilon_lower_bound(delta) <= epsilon
        assert sums.delta_lower_bound(0.1) <= sums.get_delta(0.1)


@pytest.mark.parametrize("text", ["laplace(1)", "krr(5, 1)", "subset(1, 8)"])
def test_reports_that_are_learned_adaptively_have_the_guarantee_of_the_multiset(text):
    crowd = {"corrupted_adaptively": 3}
    multiset = ShuffleAccountant(text, 200, **crowd)
    sums = ShuffleAccountant(text, 200, view="sum", **crowd)
    assert sums.get_delta(0.4) == multiset.get_delta(0.4)
    assert sums.delta_lower_bound(0.4) <= multiset.delta_lower_bound(0.4)
    report = sums.epsilon_report(1e-3)
    assert report.bound_reason == "reports are learned adaptively"
    assert "multiset" in report.view_in_words


@pytest.mark.parametrize("bound", ["best", "blanket"])
def test_what_is_exact_is_called_exact(bound):
    report = ShuffleAccountant("laplace(1)", 100, bound=bound, view="sum").epsilon_report(1e-6)
    assert (report.bound, report.bound_reason, report.rtol_reached) == ("exact", None, True)


def test_delta_1_needs_no_epsilon():
    for text in ("laplace(1)", "gaussian(1)", "oue(1)"):
        accountant = ShuffleAccountant(text, 5, view="sum")
        assert accountant.epsilon_interval(1) == Interval(0.0, 0.0)
        assert accountant.meets(0.0, 1)


def test_more_users_never_hurt():
    for text in ("laplace(1)", "discrete_laplace(2, 3)", "gaussian(2)"):
        deltas = [
            ShuffleAccountant(text, n, view="sum").get_delta(0.3) for n in (1, 2, 3, 9, 40, 1000)
        ]
        assert deltas == sorted(deltas, reverse=True)


def test_corrupted_users_are_not_there():
    few = ShuffleAccountant("laplace(1)", 70, view="sum")
    many = ShuffleAccountant("laplace(1)", 100, corrupted=30, view="sum")
    assert many.get_delta(0.2) == few.get_delta(0.2)


@pytest.mark.parametrize(
    "text", ["krr(5, 1)", "hadamard(1, 7)", "matrix([[0.7, 0.3], [0.4, 0.6]])"]
)
def test_some_sums_tell_everything(text):
    sums, multiset = (ShuffleAccountant(text, 300, view=view) for view in ("sum", "multiset"))
    assert sums.epsilon_interval(1e-6) == multiset.epsilon_interval(1e-6)
    assert sums.epsilon_lower_bound(1e-6) == multiset.epsilon_lower_bound(1e-6)
    assert "as good as the multiset" in sums.epsilon_report(1e-6).view_in_words


@pytest.mark.heavy(keep=2)
@pytest.mark.parametrize(
    "text",
    [
        "hadamard(1, 6)",
        "hadamard(1)",
        "subset(1, 8)",
        "olh(1)",
        pytest.param("any_pure_ldp(1)", marks=pytest.mark.heavy),
        "subsample(laplace(1), 0.5)",
        "parallel(0.5*krr(3, 1), 0.5*krr(3, 2))",
    ],
)
def test_other_sums_have_the_guarantee_of_the_multiset_and_no_lower_bound(text):
    sums, multiset = (ShuffleAccountant(text, 100, view=view) for view in ("sum", "multiset"))
    guarantee = multiset.epsilon_interval(1e-4).upper
    assert sums.epsilon_interval(1e-4) == Interval(0.0, guarantee)
    assert sums.delta_interval(0.1) == Interval(0.0, multiset.get_delta(0.1))
    report = sums.epsilon_report(1e-4)
    assert report.bound == multiset.epsilon_report(1e-4).bound
    assert (report.lower_bound, sums.epsilon_lower_bound(1e-4)) == (0.0, 0.0)
    assert sums.delta_lower_bound(0.1) == 0.0
    assert report.datasets is None
    assert "the guarantee is that of the multiset" in report.view_in_words


class Skewed(Laplace):
    """A class derived from the Laplace mechanism, which may state another law."""


def test_derived_classes_have_the_guarantee_of_the_multiset():
    found = ShuffleAccountant(Skewed(1.0), 50, view="sum").get_epsilon(1e-3)
    assert found == ShuffleAccountant(Skewed(1.0), 50).get_epsilon(1e-3)
    assert found == pytest.approx(ShuffleAccountant(Laplace(1.0), 50).get_epsilon(1e-3), rel=1e-4)


class Turned(HadamardResponse):
    """A class derived from Hadamard response, whose sum may not tell the multiset."""


def test_the_sum_of_a_derived_class_need_not_tell_the_multiset():
    report = ShuffleAccountant(Turned(1.0, 7), 50, view="sum").delta_report(0.1)
    assert "the guarantee is that of the multiset" in report.view_in_words
    assert report.lower_bound == 0.0
    assert ShuffleAccountant("hadamard(1, 7)", 50, view="sum").delta_lower_bound(0.1) > 0


def test_calibration():
    found = calibrate_epsilon0(
        "laplace()", n=1000, target_epsilon=0.1, target_delta=1e-6, view="sum"
    )
    accountant = ShuffleAccountant(found.mechanism, 1000, view="sum")
    assert 0.0999 < accountant.get_epsilon(1e-6) <= 0.1
    assert accountant.get_delta(0.1) <= 1e-6


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="view must be one of multiset, sum"):
        ShuffleAccountant(KRR(3, 1.0), 10, view="histogram")
    with pytest.raises(ValueError, match="view must be one of multiset, sum"):
        required_users(KRR(3, 1.0), target_epsilon=1, target_delta=0.1, view="x")
    for ask, text in ((certify, "krr(k=3, epsilon0=1)"), (audit, "laplace(1)")):
        with pytest.raises(ValueError, match="multiset"):
            ask(ShuffleAccountant(text, 10, view="sum"), target_delta=0.1)


def test_the_answer_says_what_is_seen():
    line = ["epsilon", "laplace(1)", "-n", "1000", "--delta", "1e-6", "--view", "sum"]
    text = CliRunner().invoke(main, line).stdout
    assert "With 1,000 users the sum of the reports is (" in text
    assert "The analyst sees the sum of the reports alone." in text
    answer = json.loads(CliRunner().invoke(main, [*line, "--json"]).stdout)
    assert answer["view"] == "sum"
    assert "the analyst sees the sum of the reports alone" in answer["assumptions"]
    assert "the analyst sees the shuffled multiset of whole reports" not in answer["assumptions"]
    report = ShuffleAccountant("laplace(1)", 1000, view="sum").epsilon_report(1e-6)
    assert report.epsilon_at(1e-6) == report.guarantee.upper == answer["guarantee"]["upper"]
    assert "of which only the sum is seen" in str(report)
    assert "the sum of the reports alone" in report._repr_html_()
    users = ["users", "laplace(1)", "--epsilon", "0.2", "--delta", "1e-6", "--view", "sum"]
    assert "users        171 " in CliRunner().invoke(main, users).stdout
