"""Every argument of every public question: wrong types and values are refused by name."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pytest

from shuffledp import KRR, ShuffleAccountant, calibrate_epsilon0, required_users
from shuffledp.mechanisms import LocalRandomizer

RANDOMIZER = KRR(k=3, epsilon0=1.0)


def accountant() -> ShuffleAccountant:
    return ShuffleAccountant(RANDOMIZER, 10)


NOT_NUMBERS: list[object] = ["0.1", None, [0.1], (1,), {}, 1j, True, Decimal("0.1"), object(), b"1"]
NOT_FINITE = [math.nan, math.inf, -math.inf, np.float64("nan"), 10**400]

QUESTIONS: dict[str, Callable[[object], object]] = {
    "ShuffleAccountant n": lambda v: ShuffleAccountant(RANDOMIZER, v),  # type: ignore[arg-type]
    "ShuffleAccountant rtol": lambda v: ShuffleAccountant(RANDOMIZER, 10, rtol=v),  # type: ignore[arg-type]
    "get_epsilon target_delta": lambda v: accountant().get_epsilon(v),  # type: ignore[arg-type]
    "epsilon_interval target_delta": lambda v: accountant().epsilon_interval(v),  # type: ignore[arg-type]
    "epsilon_lower_bound target_delta": lambda v: accountant().epsilon_lower_bound(v),  # type: ignore[arg-type]
    "epsilon_report target_delta": lambda v: accountant().epsilon_report(v),  # type: ignore[arg-type]
    "get_delta target_epsilon": lambda v: accountant().get_delta(v),  # type: ignore[arg-type]
    "delta_interval target_epsilon": lambda v: accountant().delta_interval(v),  # type: ignore[arg-type]
    "log_delta_interval target_epsilon": lambda v: accountant().log_delta_interval(v),  # type: ignore[arg-type]
    "delta_lower_bound target_epsilon": lambda v: accountant().delta_lower_bound(v),  # type: ignore[arg-type]
    "delta_report target_epsilon": lambda v: accountant().delta_report(v),  # type: ignore[arg-type]
    "profile epsilons": lambda v: accountant().profile([0.1, v]),  # type: ignore[list-item]
    "calibrate_epsilon0 n": lambda v: calibrate_epsilon0(
        "krr(k=3)",
        n=v,
        target_epsilon=0.1,
        target_delta=1e-6,  # type: ignore[arg-type]
    ),
    "calibrate_epsilon0 target_epsilon": lambda v: calibrate_epsilon0(
        "krr(k=3)",
        n=10,
        target_epsilon=v,
        target_delta=1e-6,  # type: ignore[arg-type]
    ),
    "calibrate_epsilon0 target_delta": lambda v: calibrate_epsilon0(
        "krr(k=3)",
        n=10,
        target_epsilon=0.1,
        target_delta=v,  # type: ignore[arg-type]
    ),
    "required_users target_epsilon": lambda v: required_users(
        RANDOMIZER,
        target_epsilon=v,
        target_delta=1e-6,  # type: ignore[arg-type]
    ),
    "required_users target_delta": lambda v: required_users(
        RANDOMIZER,
        target_epsilon=0.1,
        target_delta=v,  # type: ignore[arg-type]
    ),
}

OUT_OF_RANGE: dict[str, list[object]] = {
    "n": [0, -1, 1.5, 2**53 + 1, 0.0, -0.0, np.int64(-3)],
    "rtol": [0, -1e-4, 0.51, 1, 1e-11],
    "target_delta": [-1e-9, 1.0000001, 2, -1],
    "target_epsilon": [-1e-9, -1],
    "epsilons": [-0.5],
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize(
    "value",
    NOT_NUMBERS,
    ids=lambda v: (
        type(v).__name__ + str(v)[:8]
        if not callable(v) and type(v) is not object
        else type(v).__name__
    ),
)
def test_a_wrong_type_is_refused_by_name(question: str, value: object) -> None:
    name = question.split()[1]
    with pytest.raises(TypeError, match=rf"\b{name}\b"):
        QUESTIONS[question](value)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("value", NOT_FINITE, ids=lambda v: str(v)[:12])
def test_a_number_that_is_not_finite_is_refused_by_name(question: str, value: object) -> None:
    name = question.split()[1]
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        QUESTIONS[question](value)


@pytest.mark.parametrize(
    ("question", "value"),
    [(q, v) for q in QUESTIONS for v in OUT_OF_RANGE[q.split()[1]]],
    ids=str,
)
def test_a_value_out_of_range_is_refused_by_name(question: str, value: object) -> None:
    name = question.split()[1]
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        QUESTIONS[question](value)


@pytest.mark.parametrize(
    "value",
    [0.5, None, 3],
    ids=lambda v: (
        type(v).__name__ + str(v)[:8]
        if not callable(v) and type(v) is not object
        else type(v).__name__
    ),
)
def test_epsilons_must_be_several(value: object) -> None:
    with pytest.raises(TypeError, match="epsilons"):
        accountant().profile(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [None, 5, KRR, [[0.5, 0.5]]],
    ids=lambda v: (
        type(v).__name__ + str(v)[:8]
        if not callable(v) and type(v) is not object
        else type(v).__name__
    ),
)
def test_a_randomizer_must_be_one(value: object) -> None:
    with pytest.raises(TypeError, match="randomizer"):
        ShuffleAccountant(value, 10)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="randomizer"):
        required_users(value, target_epsilon=0.1, target_delta=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value",
    [None, 5, 1.0, RANDOMIZER, ["krr"]],
    ids=lambda v: (
        type(v).__name__ + str(v)[:8]
        if not callable(v) and type(v) is not object
        else type(v).__name__
    ),
)
def test_a_family_must_be_callable_or_text(value: object) -> None:
    with pytest.raises(TypeError, match="family"):
        calibrate_epsilon0(value, n=10, target_epsilon=0.1, target_delta=1e-6)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "result",
    [None, 1.0, "krr(k=3, epsilon0=1.0)"],
    ids=lambda v: (
        type(v).__name__ + str(v)[:8]
        if not callable(v) and type(v) is not object
        else type(v).__name__
    ),
)
def test_a_family_must_return_randomizers(result: object) -> None:
    with pytest.raises(TypeError, match="family"):
        calibrate_epsilon0(lambda _: result, n=10, target_epsilon=0.1, target_delta=1e-6)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize(
    "text", ["", "krr", "krr(k=10, epsilon0=1)", "nothing(k=3)", "krr(k=1)", "krr(k=10", "1+1"]
)
def test_a_family_text_must_make_sense(text: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        calibrate_epsilon0(text, n=10, target_epsilon=0.1, target_delta=1e-6)
    assert len(str(caught.value)) > 10


def test_errors_of_a_family_are_its_own() -> None:
    def broken(epsilon0: float) -> LocalRandomizer:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        calibrate_epsilon0(broken, n=10, target_epsilon=0.1, target_delta=1e-6)


def test_numpy_numbers_and_whole_floats_are_numbers() -> None:
    plain = ShuffleAccountant(RANDOMIZER, 10).epsilon_interval(1e-3)
    assert ShuffleAccountant(RANDOMIZER, np.int32(10)).epsilon_interval(np.float64(1e-3)) == plain  # type: ignore[arg-type]
    assert ShuffleAccountant(RANDOMIZER, 10.0).epsilon_interval(1e-3) == plain  # type: ignore[arg-type]
    assert isinstance(ShuffleAccountant(RANDOMIZER, 10.0).n, int)  # type: ignore[arg-type]


def test_an_epsilon_beyond_the_range_says_so_or_is_answered() -> None:
    """The largest level is 300; a larger epsilon has delta 0 or is refused by name."""
    for ask in (accountant().get_delta, accountant().delta_lower_bound):
        try:
            assert ask(400.0) == 0
        except ValueError as error:
            assert "target_epsilon" in str(error)  # noqa: PT017
