"""Constructors refuse bad parameters by name and value, and accept every honest number."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from enumeration import assert_masses_of_laws, assert_same_law, backgrounds

from shuffledp.mechanisms import (
    KRR,
    OUE,
    RAPPOR,
    AnyPureLDP,
    BinaryLocalHash,
    DiscreteLaplace,
    Gaussian,
    HadamardResponse,
    Laplace,
    LocalHash,
    LocalRandomizer,
    SubsetSelection,
    UnaryEncoding,
)

#: Every mechanism with parameters by value: a valid choice of all of them.
VALID: dict[type[LocalRandomizer], dict[str, object]] = {
    KRR: {"k": 4, "epsilon0": 1.0},
    BinaryLocalHash: {"epsilon0": 1.0, "domain_size": 4},
    LocalHash: {"epsilon0": 1.0, "buckets": 3, "domain_size": 4},
    RAPPOR: {"epsilon0": 1.0, "domain_size": 4},
    OUE: {"epsilon0": 1.0, "domain_size": 4},
    UnaryEncoding: {"p": 0.75, "q": 0.25, "domain_size": 4},
    HadamardResponse: {"epsilon0": 1.0, "domain_size": 4},
    SubsetSelection: {"epsilon0": 1.0, "domain_size": 6, "size": 2},
    Laplace: {"epsilon0": 1.0, "domain": "binary", "grid": 2048},
    Gaussian: {"sigma": 1.0, "grid": 2048},
    DiscreteLaplace: {"epsilon0": 1.0, "bound": 4},
    AnyPureLDP: {"epsilon0": 1.0},
}

NOT_NUMBERS = ("1", b"1", [1.0], (1.0,), {}, 1j, True, False, np.True_, Decimal(1), object)
BAD_REALS = (math.nan, math.inf, -math.inf, np.nan, 0, 0.0, -0.0, -1, -1e-300)

BAD_VALUES: dict[str, tuple[object, ...]] = {
    "epsilon0": (*BAD_REALS, 300.0000001, 1e308, 301),
    "sigma": (*BAD_REALS, 0.0499, 1e-300, 1.1e6, 1e308),
    "p": (*BAD_REALS, 1, 1.0, 1.5),
    "q": (*BAD_REALS, 1, 1.0, 1.5),
    "k": (0, 1, -3, 2.5, math.nan, math.inf, Fraction(5, 2), -(10**400)),
    "buckets": (0, 1, -3, 2.5, math.nan, math.inf, -(10**400)),
    "domain_size": (0, 1, -3, 2.5, math.nan, math.inf, -(10**400)),
    "size": (0, -1, 6, 7, 2.5, math.nan, math.inf, 10**400),
    "grid": (0, -1, 512, 3000, 2.5, math.nan, math.inf, 2**31, 10**400),
    "bound": (0, -1, 2.5, math.nan, math.inf, 10**9 + 1, 10**400),
}

OPTIONAL = {
    (BinaryLocalHash, "domain_size"),
    (LocalHash, "domain_size"),
    (LocalHash, "buckets"),
    (RAPPOR, "domain_size"),
    (OUE, "domain_size"),
    (UnaryEncoding, "domain_size"),
    (HadamardResponse, "domain_size"),
    (SubsetSelection, "size"),
    (Laplace, "grid"),
    (Gaussian, "grid"),
}


def wrong_types() -> Iterator[tuple[type[LocalRandomizer], str, object]]:
    for mechanism, valid in VALID.items():
        for name in valid:
            if name == "domain":
                continue
            yield from ((mechanism, name, value) for value in NOT_NUMBERS)
            if (mechanism, name) not in OPTIONAL:
                yield mechanism, name, None


def wrong_values() -> Iterator[tuple[type[LocalRandomizer], str, object]]:
    for mechanism, valid in VALID.items():
        for name in valid:
            yield from ((mechanism, name, value) for value in BAD_VALUES.get(name, ()))


def label(value: object) -> str:
    return value.__name__ if isinstance(value, type) else repr(value)[:24]


def built_or_refused(
    mechanism: type[LocalRandomizer], arguments: dict[str, object], name: str
) -> LocalRandomizer | None:
    """The mechanism, or None if it refused the parameter with this name."""
    try:
        return mechanism(**arguments)
    except ValueError as error:
        if name not in str(error):
            raise
        return None


def test_table_is_complete():
    for mechanism, valid in VALID.items():
        assert set(valid) == {field.name for field in dataclasses.fields(mechanism)}
        made = mechanism(**valid)
        assert {name: getattr(made, name) for name in valid} == valid


@pytest.mark.parametrize(("mechanism", "name", "value"), list(wrong_types()), ids=label)
def test_wrong_types(mechanism, name, value):
    with pytest.raises(TypeError, match=rf"\b{name}\b") as error:
        mechanism(**{**VALID[mechanism], name: value})
    assert repr(value) in str(error.value)


@pytest.mark.parametrize(("mechanism", "name", "value"), list(wrong_values()), ids=label)
def test_wrong_values(mechanism, name, value):
    with pytest.raises(ValueError, match=rf"\b{name}\b") as error:
        mechanism(**{**VALID[mechanism], name: value})
    assert repr(value)[:20] in str(error.value)


@pytest.mark.parametrize("name", ["epsilon0", "sigma", "p", "q"])
def test_numbers_beyond_doubles_are_wrong_values(name):
    for mechanism, valid in VALID.items():
        if name in valid:
            for value in (10**400, -(10**400), Fraction(10**400)):
                with pytest.raises(ValueError, match=rf"\b{name}\b"):
                    mechanism(**{**valid, name: value})


@pytest.mark.parametrize("name", ["k", "buckets", "domain_size", "bound"])
def test_fractions_beyond_doubles_are_no_integers(name):
    mechanism = next(m for m, valid in VALID.items() if name in valid)
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        mechanism(**{**VALID[mechanism], name: Fraction(10**400, 3)})


@pytest.mark.parametrize(
    ("mechanism", "name"),
    [(KRR, "k"), (LocalHash, "buckets"), (SubsetSelection, "domain_size")]
    + [
        (mechanism, "domain_size")
        for mechanism in (BinaryLocalHash, LocalHash, RAPPOR, OUE, UnaryEncoding, HadamardResponse)
    ],
)
def test_huge_sizes_are_refused_or_work(mechanism, name):
    """No size may be accepted first and break the computation afterwards."""
    arguments = {**VALID[mechanism], name: 10**400}
    if mechanism is SubsetSelection:
        arguments["size"] = None
    made = built_or_refused(mechanism, arguments, name)
    if made is None:
        return
    pair = made.neighbours()[0]
    blanket = made.decomposition(pair)
    if name == "domain_size" and mechanism is not SubsetSelection:
        limit = mechanism(**{**arguments, "domain_size": None})
        assert_same_law(blanket, limit.decomposition(pair))
    assert backgrounds(made, pair)


@pytest.mark.parametrize("level", [5e-324, 1e-310, 1e-300, 1e-17, 300.0])
@pytest.mark.parametrize("mechanism", [m for m in VALID if "epsilon0" in VALID[m]])
def test_extreme_levels_are_refused_or_work(mechanism, level):
    for bound in (3, 4) if mechanism is DiscreteLaplace else (None,):
        arguments = {**VALID[mechanism], "epsilon0": level}
        if bound is not None:
            arguments["bound"] = bound
        made = built_or_refused(mechanism, arguments, "epsilon0")
        if made is None:
            continue
        pair = made.neighbours()[0]
        blanket = made.decomposition(pair)
        assert_masses_of_laws(blanket)
        assert backgrounds(made, pair)


@pytest.mark.parametrize("domain", ["circle", "", "Binary", None, 1, True, b"binary", ["binary"]])
def test_laplace_domain(domain):
    with pytest.raises((TypeError, ValueError), match="domain") as error:
        Laplace(epsilon0=1.0, domain=domain)
    assert repr(domain) in str(error.value)
    assert "binary" in str(error.value)
    assert "interval" in str(error.value)


def test_unary_probabilities_must_differ():
    with pytest.raises(ValueError, match="p and q") as error:
        UnaryEncoding(p=0.3, q=0.3)
    assert "0.3" in str(error.value)


@pytest.mark.parametrize(("p", "q"), [(0.5, 1e-200), (1e-200, 0.5), (0.5, 5e-324), (5e-324, 0.9)])
def test_unary_level_must_not_be_too_large(p, q):
    with pytest.raises(ValueError, match="level"):
        UnaryEncoding(p=p, q=q)


def test_subset_size_leaves_somebody_out():
    with pytest.raises(ValueError, match="size"):
        SubsetSelection(epsilon0=1.0, domain_size=3, size=3)
    assert SubsetSelection(epsilon0=1.0, domain_size=3, size=2).subset_size == 2


@pytest.mark.parametrize("mechanism", VALID)
def test_required_parameters(mechanism):
    with pytest.raises(TypeError):
        mechanism()
    with pytest.raises(TypeError):
        mechanism(**VALID[mechanism], nonsense=1)


@pytest.mark.parametrize("mechanism", VALID)
def test_numbers_of_any_kind_become_plain_ones(mechanism):
    def convert(value: object, real: type, integer: type) -> object:
        if isinstance(value, int):
            return integer(value)
        return real(value) if isinstance(value, float) else value

    plain = mechanism(**VALID[mechanism])
    for real, integer in ((np.float64, np.int64), (np.float32, np.uint16), (Fraction, float)):
        arguments = {n: convert(v, real, integer) for n, v in VALID[mechanism].items()}
        made = mechanism(**arguments)
        assert made == plain
        assert hash(made) == hash(plain)
        assert str(made) == str(plain)
        for name, value in VALID[mechanism].items():
            assert type(getattr(made, name)) is type(value)


@pytest.mark.parametrize("mechanism", VALID)
def test_mechanisms_are_values(mechanism):
    made, same = mechanism(**VALID[mechanism]), mechanism(**VALID[mechanism])
    assert made == same
    assert len({made, same}) == 1
    name, value = next(iter(VALID[mechanism].items()))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, name, value)
    other = value + 1 if isinstance(value, int) else value * 0.75
    assert dataclasses.replace(made, **{name: other}) != made


def test_mechanisms_of_equal_parameters_differ():
    assert len({RAPPOR(epsilon0=1), OUE(epsilon0=1), BinaryLocalHash(epsilon0=1)}) == 3
