"""What the reader of texts says when it cannot read one: what was probably meant."""

from __future__ import annotations

import re

import pytest

from shuffledp import KRR, Laplace, MatrixRandomizer
from shuffledp.mechanisms import COMPOSITIONS, MECHANISMS, as_family, as_randomizer, parse
from shuffledp.mechanisms.aliases import _ALIASES, guess


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("KRR", "krr"),
        ("grr", "krr"),
        ("GRR", "krr"),
        ("krrr", "krr"),
        ("optimal_local_hashing", "olh"),
        ("OptimalLocalHashing", "olh"),
        ("LocalHash", "olh"),
        ("BinaryLocalHash", "blh"),
        ("HadamardResponse", "hadamard"),
        ("SubsetSelection", "subset"),
        ("subset_selection", "subset"),
        ("AnyPureLDP", "any_pure_ldp"),
        ("MatrixRandomizer", "matrix"),
        ("laplacian", "laplace"),
        ("sub_sample", "subsample"),
    ],
)
@pytest.mark.parametrize("text", ["{}(2, 1)", "{}", "joint({}(2, 1), krr(2, 1))"])
def test_unknown_names_have_a_guess(name, meant, text):
    with pytest.raises(ValueError, match=rf"unknown mechanism '{name}'.*; did you mean {meant}\b"):
        parse(text.format(name))


def test_names_like_no_other_have_none():
    with pytest.raises(ValueError, match="unknown mechanism 'zzz'; known: krr") as caught:
        parse("zzz(1)")
    assert "did you mean" not in str(caught.value)


def test_aliases_lead_to_mechanisms_and_hide_none():
    known = {**MECHANISMS, **COMPOSITIONS}
    assert set(_ALIASES.values()) <= set(known)
    assert not set(_ALIASES) & set(known)
    assert guess("grr", {"oue": MECHANISMS["oue"]}) == []


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("matrix(m.csv)", "m.csv"),
        ("matrix(path=m.csv)", "m.csv"),
        ("matrix(data/m.csv)", "data/m.csv"),
        ("matrix(my-file.csv)", "my-file.csv"),
        ("laplace(1, domain=interval)", "interval"),
        ("laplace(1, interval)", "interval"),
        ("subsample(laplace(1, domain=interval), rate=0.5)", "interval"),
    ],
)
def test_a_text_without_quotes_says_quote_it(text, bare):
    message = f"got {bare}; quote it if it is a text: '{bare}'"
    with pytest.raises(ValueError, match=re.escape(message)):
        parse(text)


@pytest.mark.parametrize("text", ["matrix(./m.csv)", "matrix(/tmp/m.csv)", "matrix(path=../m.csv)"])
def test_a_path_that_is_no_expression_says_quote_it_too(text):
    with pytest.raises(ValueError, match=re.escape("quote the name of a file: matrix('m.csv')")):
        parse(text)


@pytest.mark.parametrize("text", ["krr(k=2**3, epsilon0=1)", "krr(k=f(x), epsilon0=1)", "krr(3,1"])
def test_no_quotes_where_they_would_not_help(text):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        parse(text)
    assert "quote" not in str(caught.value)


def test_quoted_texts_are_read(tmp_path):
    file = tmp_path / "m.csv"
    file.write_text("0.5,0.5\n0.25,0.75\n")
    assert isinstance(parse(f"matrix({str(file)!r})"), MatrixRandomizer)
    assert parse("laplace(1, domain='interval')") == Laplace(1.0, domain="interval")


def test_singular_and_plural():
    with pytest.raises(ValueError, match="any_pure_ldp takes at most 1 parameter, got 2"):
        parse("any_pure_ldp(1, 2)")
    with pytest.raises(ValueError, match="krr takes at most 2 parameters, got 3"):
        parse("krr(1, 2, 3)")


def test_what_is_cut_off_is_said():
    text = f"krr(k={'x' * 200}"
    with pytest.raises(ValueError, match=r"\.\.\. \([\d,]+ more characters\)'$"):
        parse(text)
    with pytest.raises(ValueError, match=r"\.\.\. \([\d,]+ more characters\)"):
        parse(f"krr(k=10, epsilon0='{'x' * 2000}')")


class TestAsRandomizer:
    def test_texts_and_objects(self):
        krr = KRR(k=10, epsilon0=2.0)
        assert as_randomizer(krr) is krr
        assert as_randomizer("krr(k=10, epsilon0=2)") == krr

    @pytest.mark.parametrize("value", [None, 3, KRR, b"krr(k=10, epsilon0=2)", ["krr(3, 1)"]])
    def test_nothing_else(self, value):
        with pytest.raises(TypeError, match="mechanism must be a local randomizer such as KRR"):
            as_randomizer(value, "mechanism")

    def test_unreadable_texts(self):
        with pytest.raises(ValueError, match="krr needs epsilon0"):
            as_randomizer("krr(k=10)")


class TestAsFamily:
    def test_texts_and_functions(self):
        for family in ("krr(k=10)", lambda epsilon0: KRR(10, epsilon0)):
            assert as_family(family)(2.0) == KRR(k=10, epsilon0=2.0)

    @pytest.mark.parametrize("value", [None, 3, KRR(k=10, epsilon0=2.0)])
    def test_nothing_else(self, value):
        with pytest.raises(TypeError, match="family must be a callable from epsilon0"):
            as_family(value)

    def test_functions_that_return_something_else(self):
        with pytest.raises(TypeError, match=r"family must return a local randomizer, got 2\.0"):
            as_family(abs)(2.0)

    def test_texts_that_are_complete(self):
        with pytest.raises(ValueError, match="leave it out"):
            as_family("krr(k=10, epsilon0=2)")
