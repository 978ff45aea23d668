"""Registration of mechanisms, and other ways in."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

from shuffledp import (
    KRR,
    AnyPureLDP,
    MatrixRandomizer,
    ShuffleAccountant,
    certify,
    parse,
    register,
)
from shuffledp.mechanisms import COMPOSITIONS, MECHANISMS, as_randomizer, text


def mechanism(name="fresh", example=None, base=KRR):
    """A new class with a name and an example."""
    made = type("Fresh", (base,), {"name": name, "example": example})
    return dataclass(frozen=True, repr=False)(made)


@pytest.fixture
def forget():
    """Forget the mechanisms that a test registers."""
    before = dict(text._mechanisms)
    yield
    text._mechanisms.clear()
    text._mechanisms.update(before)


@pytest.mark.usefixtures("forget")
def test_registered_mechanisms_have_a_text_form():
    fresh = mechanism(example="fresh(k=3, epsilon0=1.0)")
    assert register(fresh) is fresh
    assert parse("fresh(k=3, epsilon0=1)") == fresh(3, 1.0)
    assert type(parse("subsample(fresh(3, 1), rate=0.5)").part) is fresh
    assert list(MECHANISMS)[-1] == "fresh"


@pytest.mark.usefixtures("forget")
@pytest.mark.parametrize("name", ["", "Fresh", "two words", "1st", "a-b", "lambda", 3, None, "a\n"])
def test_names_are_checked(name):
    with pytest.raises(ValueError, match="name of Fresh must consist of small letters"):
        register(mechanism(name))


@pytest.mark.usefixtures("forget")
@pytest.mark.parametrize("name", [*MECHANISMS, *COMPOSITIONS])
def test_names_are_not_taken_twice(name):
    with pytest.raises(ValueError, match=f"must be new, but '{name}' is that of"):
        register(mechanism(name))
    assert type(parse("krr(k=2, epsilon0=1)")) is KRR


@pytest.mark.usefixtures("forget")
def test_the_same_class_is_not_registered_twice():
    fresh = register(mechanism())
    with pytest.raises(ValueError, match="must be new, but 'fresh' is that of Fresh"):
        register(fresh)


@pytest.mark.usefixtures("forget")
@pytest.mark.parametrize("example", ["krr(k=3, epsilon0=1)", "fresh(k=3)", "fresh(", "nosuch()"])
def test_a_wrong_example_is_refused_and_nothing_stays_registered(example):
    with pytest.raises(ValueError, match="example of Fresh must describe a Fresh"):
        register(mechanism(example=example))
    assert "fresh" not in MECHANISMS


@pytest.mark.parametrize("value", [KRR(3, 1.0), "krr", lambda x: x, int, None])
def test_only_classes_of_mechanisms_are_registered(value):
    with pytest.raises(TypeError, match="must be a class derived from LocalRandomizer, got"):
        register(value)


def test_incomplete_and_changeable_classes_are_refused():
    with pytest.raises(TypeError, match="but SupportRandomizer lacks full_support_mass, inputs"):
        register(KRR.__base__)

    class Changeable(KRR.__base__):
        name = "changeable"
        inputs = full_support_mass = support_mass = None

    with pytest.raises(TypeError, match="must be a frozen dataclass, which Changeable is not"):
        register(Changeable)


def test_defaults_must_have_a_text_form():
    @dataclass(frozen=True, repr=False)
    class Listing(KRR):
        name = "listing"
        sizes: list[int] = field(default_factory=list)

    with pytest.raises(TypeError, match="default of sizes of Listing must be a number, a text"):
        register(Listing)


def test_mechanisms_cannot_be_added_behind_the_back():
    with pytest.raises(TypeError):
        MECHANISMS["new"] = KRR


def staircase(x, y):
    return Fraction(2 if x == y else 1, 4)


def test_a_function_becomes_a_matrix():
    made = MatrixRandomizer.from_function(staircase, "abc", iter("abc"))
    assert made == MatrixRandomizer([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])


@pytest.mark.parametrize(
    ("function", "inputs", "kind", "words"),
    [
        (3, "ab", TypeError, "function must be a function of an input and an output, got 3"),
        (staircase, "", ValueError, "inputs and outputs must hold at least one value"),
        (
            lambda x, y: None,
            "ab",
            TypeError,
            r"function\('a', 'a'\) must be a real number, got None",
        ),
        (
            lambda x, y: 2.0,
            "ab",
            ValueError,
            r"function\('a', 'a'\) must be a probability, got 2.0",
        ),
        (lambda x, y: float("nan"), "ab", ValueError, r"function\('a', 'a'\) must be finite"),
        (
            lambda x, y: 0.25,
            "ab",
            ValueError,
            r"function\('a', y\) must sum to 1 over all 2 .* 0.5",
        ),
    ],
)
def test_what_is_wrong_with_a_function_is_said(function, inputs, kind, words):
    with pytest.raises(kind, match=words):
        MatrixRandomizer.from_function(function, inputs, inputs or "ab")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (staircase, "got the function staircase; .* MatrixRandomizer.from_function"),
        (KRR, "got the class KRR; call it with its parameters"),
        (np.eye(2), r"got an array of shape \(2, 2\); .* MatrixRandomizer\(table\)"),
        ([[1.0, 0.0]], r"got \[\[1.0, 0.0\]\]; .* MatrixRandomizer\(table\)"),
        (None, "got None$"),
    ],
)
def test_what_is_no_mechanism_is_named_with_its_way_in(value, words):
    asks = (
        as_randomizer,
        lambda given: ShuffleAccountant(given, 10),
        lambda given: certify(given, n=10, target_delta=0.1),
    )
    for ask in asks:
        with pytest.raises(TypeError, match=words):
            ask(value)


def test_a_mechanism_that_can_change_is_refused():
    class Changing(AnyPureLDP):
        __hash__ = None

    with pytest.raises(TypeError, match=r"must be of a frozen dataclass, which .*Changing"):
        ShuffleAccountant(Changing(1.0), 10)
