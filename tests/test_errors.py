from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from threading import Barrier

import numpy as np
import pytest

from shuffledp.basics import errors
from shuffledp.basics.errors import AccuracyWarning, warn_caller, wide_is_enough


@pytest.mark.parametrize(
    "value", [1, 1.5, Fraction(3, 4), np.float64(0.1), np.float32(0.1), np.int64(4), 2**53]
)
def test_real_numbers_become_floats(value):
    result = errors.check_real("x", value)
    assert type(result) is float
    assert result == float(value)


@pytest.mark.parametrize(
    "value",
    [
        Fraction(1, 3),
        1 - Fraction(1, 10**30),
        2**53 + 1,
        np.int64(2**62 + 1),
        pytest.param(
            np.longdouble("0.1"),
            marks=pytest.mark.skipif(np.finfo("g").nmant == 52, reason="it is a double here"),
        ),
    ],
)
def test_numbers_that_are_no_doubles_are_not_rounded(value):
    """Neither side is safe for all questions; what is meant is for the caller to say."""
    with pytest.raises(ValueError, match=r"^x must be a double, .* is the nearest, got "):
        errors.check_real("x", value)


@pytest.mark.parametrize(
    "value", [1 + Fraction(1, 10**30), np.nextafter(np.longdouble(3), np.longdouble(4)), 2.5]
)
def test_what_is_nearly_an_integer_is_none(value):
    with pytest.raises(ValueError, match="n must be an integer of at least 1, got"):
        errors.check_integer("n", value, 1)


@pytest.mark.parametrize("value", ["1", None, True, 1j, [1.0]])
def test_other_types_are_rejected_by_name(value):
    with pytest.raises(TypeError, match="width must be a real number"):
        errors.check_real("width", value)
    with pytest.raises(TypeError, match="count must be an integer of at least 0"):
        errors.check_integer("count", value, 0)


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_non_finite_numbers_are_rejected(value):
    with pytest.raises(ValueError, match=f"x must be finite, got {value}"):
        errors.check_real("x", value)
    with pytest.raises(ValueError, match="n must be an integer"):
        errors.check_integer("n", value, 0)


@pytest.mark.parametrize(
    ("value", "expected"), [(3, 3), (3.0, 3), (np.int32(3), 3), (2**60, 2**60)]
)
def test_integers_may_be_written_as_floats(value, expected):
    result = errors.check_integer("n", value, 1)
    assert type(result) is int
    assert result == expected


@pytest.mark.parametrize("value", [0, 2.5, 11, -3.0])
def test_integers_out_of_range_echo_range_and_value(value):
    with pytest.raises(ValueError, match=f"at least 1 and at most 10, got {value}"):
        errors.check_integer("n", value, 1, 10)


@pytest.mark.parametrize(
    ("check", "inside", "outside"),
    [
        (lambda v: errors.check_positive("x", v), [5e-324, 1, 1e308], [0, -1e-300]),
        (errors.check_epsilon0, [1e-12, 300], [0, -1, 300.001]),
        (errors.check_users, [1, 2**53], [0, 2**53 + 1, 1.5]),
        (lambda v: errors.check_probability("p", v), [1e-300, 0.5], [0, 1, -0.1, 1.1]),
        (errors.check_delta, [0, 1, 1e-300], [-1e-9, 1.0000001]),
        (errors.check_epsilon, [0, 7.5], [-1e-9]),
        (errors.check_rtol, [1e-10, 0.5], [0, 9e-11, 0.6]),
    ],
)
def test_ranges(check, inside, outside):
    for value in inside:
        assert check(value) == value
    for value in outside:
        with pytest.raises(ValueError, match=f"got {value!r}"):
            check(value)


@pytest.mark.parametrize(
    "value",
    ["a" * 1000, [1] * 1000, -(10**200), 10**5000, [10**5000], -(10**5000)],
    ids=["text", "list", "long", "huge", "huge in a list", "huge below 0"],
)
def test_long_values_are_shortened(value):
    for check in (
        lambda v: errors.check_positive("x", v),
        lambda v: errors.check_integer("x", v, 0, 5),
        lambda v: errors.check_probability("x", v),
        errors.check_delta,
        errors.check_epsilon,
        errors.check_epsilon0,
        errors.check_rtol,
    ):
        with pytest.raises((TypeError, ValueError), match="must be") as error:
            check(value)
        assert len(str(error.value)) < 150


def test_default_names_are_those_of_the_interface():
    for check, name in [
        (errors.check_epsilon0, "epsilon0"),
        (errors.check_users, "n"),
        (errors.check_delta, "target_delta"),
        (errors.check_epsilon, "target_epsilon"),
        (errors.check_rtol, "rtol"),
    ]:
        with pytest.raises(ValueError, match=f"^{name} must"):
            check(-1)


def test_a_question_without_answer_is_not_a_bad_argument():
    assert issubclass(errors.NoAnswerError, ArithmeticError)
    assert not issubclass(errors.NoAnswerError, ValueError)
    assert issubclass(errors.AccuracyWarning, UserWarning)


def test_a_thread_hears_of_its_own_enclosures_only():
    """As on a worker with several threads: the filters of warnings are those of all of them."""
    everybody_listens, everybody_has_spoken = Barrier(4, timeout=60), Barrier(4, timeout=60)

    def heard(number):
        with wide_is_enough() as said:
            everybody_listens.wait()
            if number % 2:
                warn_caller(f"{number} is wide", AccuracyWarning)
            everybody_has_spoken.wait()
        return said

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(heard, range(4))) == [[], ["1 is wide"], [], ["3 is wide"]]


def test_wide_enclosures_are_noted_by_the_nearest():
    with wide_is_enough() as said:
        warn_caller("the outer one is told", AccuracyWarning)
        with wide_is_enough():
            warn_caller("the inner one keeps it", AccuracyWarning)
    assert said == ["the outer one is told"]
    with pytest.warns(AccuracyWarning, match="as always"):
        warn_caller("as always", AccuracyWarning)
