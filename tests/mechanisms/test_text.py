"""The text form: reading back, helpful errors, and no way to run code."""

from __future__ import annotations

import ast
import inspect
import string

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tiers import examples

from shuffledp.mechanisms import (
    KRR,
    MECHANISMS,
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
    MatrixRandomizer,
    SubsetSelection,
    UnaryEncoding,
    parameters,
    parse,
    parse_family,
)

epsilon0s = st.floats(1e-12, 300)
sizes = st.none() | st.integers(2, 10**12)


@st.composite
def unary_encodings(draw):
    p, q = draw(
        st.tuples(st.floats(1e-60, 1 - 1e-15), st.floats(1e-60, 1 - 1e-15)).filter(
            lambda pair: pair[0] != pair[1]
        )
    )
    return UnaryEncoding(p=p, q=q, domain_size=draw(sizes))


@st.composite
def subset_selections(draw):
    d = draw(st.integers(2, 10**9))
    size = draw(st.none() | st.integers(1, d - 1))
    return SubsetSelection(epsilon0=draw(epsilon0s), domain_size=d, size=size)


@st.composite
def matrices(draw):
    width = draw(st.integers(1, 4))
    row = st.lists(st.integers(0, 100), min_size=width, max_size=width).filter(any)
    rows = draw(st.lists(row, min_size=1, max_size=4))
    return MatrixRandomizer([[entry / sum(row) for entry in row] for row in rows])


STRATEGIES: dict[str, st.SearchStrategy[LocalRandomizer]] = {
    "krr": st.builds(KRR, k=st.integers(2, 2**53), epsilon0=epsilon0s),
    "blh": st.builds(BinaryLocalHash, epsilon0=epsilon0s, domain_size=sizes),
    "olh": st.builds(LocalHash, epsilon0=epsilon0s, buckets=sizes, domain_size=sizes),
    "rappor": st.builds(RAPPOR, epsilon0=epsilon0s, domain_size=sizes),
    "oue": st.builds(OUE, epsilon0=epsilon0s, domain_size=sizes),
    "unary": unary_encodings(),
    "hadamard": st.builds(HadamardResponse, epsilon0=epsilon0s, domain_size=sizes),
    "subset": subset_selections(),
    "laplace": st.builds(
        Laplace, epsilon0=epsilon0s, domain=st.sampled_from(["binary", "interval"])
    ),
    "gaussian": st.builds(Gaussian, sigma=st.floats(0.3, 1e6)),
    "discrete_laplace": st.builds(DiscreteLaplace, epsilon0=epsilon0s, bound=st.integers(1, 10**9)),
    "matrix": matrices(),
    "any_pure_ldp": st.builds(AnyPureLDP, epsilon0=epsilon0s),
}


def test_every_mechanism_is_drawn():
    assert set(STRATEGIES) == set(MECHANISMS)
    for name, mechanism in MECHANISMS.items():
        assert mechanism.name == name


@pytest.mark.parametrize("name", STRATEGIES)
def test_text_reads_back(name):
    @settings(max_examples=examples(50))
    @given(randomizer=STRATEGIES[name])
    def check(randomizer):
        text = str(randomizer)
        assert text.startswith(f"{name}(")
        again = parse(text)
        assert again == randomizer
        assert type(again) is type(randomizer)
        assert hash(again) == hash(randomizer)
        assert str(again) == text

    check()


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "matrix"])
def test_arguments_by_position_or_by_name(name):
    @settings(max_examples=examples(20))
    @given(randomizer=STRATEGIES[name])
    def check(randomizer):
        values = {key: repr(getattr(randomizer, key)) for key in parameters(type(randomizer))}
        by_position = ", ".join(values.values())
        by_name = ",".join(f"{key} = {value}" for key, value in reversed(values.items()))
        first, *rest = values
        mixed = ", ".join([values[first], *(f"{key}={values[key]}" for key in rest)])
        for arguments in (by_position, by_name, mixed):
            assert parse(f"{name}({arguments})") == randomizer

    check()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("krr(10, 2)", KRR(k=10, epsilon0=2.0)),
        ("krr(k=10, epsilon0=2)", KRR(k=10, epsilon0=2.0)),
        ("krr(epsilon0=2, k=10)", KRR(k=10, epsilon0=2.0)),
        (" \n krr(\n  k = 10,\n  epsilon0 = +2e0,\n) \t", KRR(k=10, epsilon0=2.0)),
        ("krr(k=1_0, epsilon0=(2))", KRR(k=10, epsilon0=2.0)),
        ("krr(k=10.0, epsilon0=2)", KRR(k=10, epsilon0=2.0)),
        ("krr(k=0x0A, epsilon0=--2)", KRR(k=10, epsilon0=2.0)),
        ("oue(1, None)", OUE(epsilon0=1.0)),
        ("olh(1, 4, 8)", LocalHash(epsilon0=1.0, buckets=4, domain_size=8)),
        ("laplace(1, 'interval')", Laplace(epsilon0=1.0, domain="interval")),
        ('laplace(1, domain="binary")', Laplace(epsilon0=1.0)),
        ("matrix([[0.5, 0.5], [1, 0]])", MatrixRandomizer([[0.5, 0.5], [1, 0]])),
        ("matrix(path=[[1]])", MatrixRandomizer([[1.0]])),
    ],
)
def test_ways_of_writing(text, expected):
    assert parse(text) == expected


def test_defaults_are_left_out():
    assert str(OUE(epsilon0=1)) == "oue(epsilon0=1.0)"
    assert str(Laplace(epsilon0=1)) == "laplace(epsilon0=1.0)"
    assert str(LocalHash(epsilon0=2, domain_size=7)) == "olh(epsilon0=2.0, domain_size=7)"


def test_text_of_numpy_arguments_reads_back():
    for made in (
        KRR(k=np.int64(4), epsilon0=np.float32(0.1)),
        Laplace(epsilon0=np.float64(1.5), domain=np.str_("interval")),
    ):
        assert parse(str(made)) == made


# Errors


@pytest.mark.parametrize(
    "text", ["rr(k=2, epsilon0=1)", "KRR(k=2, epsilon0=1)", "os()", "__import__('os')"]
)
def test_unknown_names_list_the_known_ones(text):
    with pytest.raises(ValueError, match="unknown mechanism") as error:
        parse(text)
    assert text.split("(")[0] in str(error.value)
    for name in MECHANISMS:
        assert name in str(error.value)


@pytest.mark.parametrize("name", MECHANISMS)
def test_unknown_parameters_list_the_known_ones(name):
    with pytest.raises(ValueError, match="nonsense") as error:
        parse(f"{name}(nonsense=1)")
    assert name in str(error.value)
    for key in parameters(MECHANISMS[name]):
        assert key in str(error.value)


@pytest.mark.parametrize("name", MECHANISMS)
def test_missing_parameters_are_named(name):
    required = [
        key
        for key, parameter in parameters(MECHANISMS[name]).items()
        if parameter.default is inspect.Parameter.empty
    ]
    assert required
    with pytest.raises(ValueError, match=f"{name} needs {required[0]}"):
        parse(f"{name}()")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("krr(k=2, k=3, epsilon0=1)", "k twice"),
        ("krr(2, k=3, epsilon0=1)", "k twice"),
        ("krr(2, 1.0, epsilon0=1)", "epsilon0 twice"),
        ("krr(2, 1.0, 3)", "at most 2"),
        ("gaussian(1, 2)", "at most 1"),
        ("krr(k=2)", "epsilon0"),
        ("krr(epsilon0=1)", "k"),
        ("krr(k=2, epsilon0=-1)", "epsilon0"),
        ("krr(k=1, epsilon0=1)", "k must"),
        ("krr(k='2', epsilon0=1)", "k must"),
        ("krr(k=2.5, epsilon0=1)", "2.5"),
        ("krr(k=True, epsilon0=1)", "True"),
        ("krr(k=2, epsilon0=True)", "True"),
        ("krr(k=2, epsilon0=None)", "None"),
        ("krr(k=2, epsilon0=[1])", "[1]"),
        ("krr(k=2, epsilon0=1e999)", "inf"),
        ("laplace(1, 'circle')", "circle"),
        ("unary(p=0.5, q=0.5)", "differ"),
        ("matrix('no such file.csv')", "no such file.csv"),
        ("matrix([[0.5, 0.6]])", "row 0"),
        ("matrix(1)", "matrix"),
        ("matrix(None)", "matrix"),
        ("krr", "parentheses"),
        ("", "krr(k=10, epsilon0=2)"),
        ("   ", "krr(k=10, epsilon0=2)"),
        ("krr(k=2, epsilon0=1", "krr(k=10, epsilon0=2)"),
        ("krr k=2", "krr(k=10, epsilon0=2)"),
        ("krr(k=2, epsilon0=1); krr(k=2, epsilon0=1)", "krr(k=10, epsilon0=2)"),
        ("krr(k=2, epsilon0=1)\nkrr(k=2, epsilon0=1)", "krr(k=10, epsilon0=2)"),
        ("x = krr(k=2, epsilon0=1)", "krr(k=10, epsilon0=2)"),
        ("5", "krr(k=10, epsilon0=2)"),
        ("'krr'", "krr(k=10, epsilon0=2)"),
        ("krr[2, 1]", "krr(k=10, epsilon0=2)"),
        ("krr(k=2, epsilon0=1) + 1", "krr(k=10, epsilon0=2)"),
        ("krr\0(k=2, epsilon0=1)", "krr(k=10, epsilon0=2)"),
        ("krr(k=2, epsilon0=1, \ud800=3)", "krr(k=10, epsilon0=2)"),
    ],
)
def test_errors_say_what_is_wrong(text, part):
    with pytest.raises(ValueError, match=r"\S") as error:
        parse(text)
    assert part in str(error.value)


@pytest.mark.parametrize("text", [None, 5, b"krr(k=2, epsilon0=1)", ["krr"], KRR(k=2, epsilon0=1)])
def test_only_text_is_read(text):
    for reader in (parse, parse_family):
        with pytest.raises(TypeError, match="mechanism"):
            reader(text)


@pytest.mark.parametrize(
    "text",
    [
        "krr(k=2, epsilon0=--True)",
        "krr(k=-(-2 if True else 0), epsilon0=1)",
        "krr(k=2, epsilon0=-'1')",
        "krr(k=2, epsilon0=~-2)",
        "krr(k=not 0, epsilon0=1)",
        "krr(k=2, epsilon0=1j)",
        "krr(k=2, epsilon0=b'1')",
        "krr(k=2, epsilon0=...)",
        "krr(k=(2,), epsilon0=1)",
        "krr(k={2}, epsilon0=1)",
        "krr(k={2: 1}, epsilon0=1)",
    ],
)
def test_only_numbers_texts_none_and_lists_are_values(text):
    with pytest.raises(ValueError, match=r"parameters|epsilon0|k must"):
        parse(text)


CODE = [
    "__import__('os').system('true')",
    "__import__('os')",
    "krr(k=(lambda: 1)(), epsilon0=1)",
    "krr(k=lambda: 1, epsilon0=1)",
    "krr(k=__import__('os').getpid(), epsilon0=1)",
    "krr(k=len('ab'), epsilon0=1)",
    "krr(k=krr(k=2, epsilon0=1), epsilon0=1)",
    "krr(k=krr.__class__, epsilon0=1)",
    "krr.__class__(k=2, epsilon0=1)",
    "krr.__init__.__globals__['parse']('x')",
    "KRR.__subclasses__()",
    "krr(k=[x for x in (2,)][0], epsilon0=1)",
    "matrix([x for x in ([1],)])",
    "matrix([[x for x in (1,)]])",
    "krr(k={x for x in (2,)}, epsilon0=1)",
    "krr(k=(x for x in (2,)), epsilon0=1)",
    "krr(k=f'{__import__(\"os\").getpid()}', epsilon0=1)",
    "laplace(1, f'binary')",
    "laplace(1, 'bin' + 'ary')",
    "laplace(1, 'binary'.lower())",
    "matrix(f'{1}')",
    "krr(k=1+1, epsilon0=1)",
    "krr(k=2**2, epsilon0=1)",
    "krr(k=9**9**9**9, epsilon0=1)",
    "krr(k=2 if True else 3, epsilon0=1)",
    "krr(k=(k := 2), epsilon0=1)",
    "(k := krr)(k=2, epsilon0=1)",
    "krr(*[2, 1])",
    "krr(**{'k': 2, 'epsilon0': 1})",
    "krr(*(2, 1))",
    "(lambda: krr)()(k=2, epsilon0=1)",
    "krr(k=2, epsilon0=1).blanket",
    "krr(k=2, epsilon0=1)()",
    "[krr][0](k=2, epsilon0=1)",
    "krr(k=[2][0], epsilon0=1)",
    "krr(k=2 < 3, epsilon0=1)",
    "krr(k=2 and 3, epsilon0=1)",
    "krr(k=await_, epsilon0=1)",
    "krr(k=await x, epsilon0=1)",
    "krr(k=(yield), epsilon0=1)",
    "import os",
    "exec('1')",
    "eval('1')",
    "globals()",
    "print(1)",
]


@pytest.mark.parametrize("text", CODE)
def test_code_is_refused(text):
    with pytest.raises(ValueError, match=r"\S"):
        parse(text)
    with pytest.raises(ValueError, match=r"\S"):
        parse_family(text)


def test_nothing_is_called_while_reading(monkeypatch):
    import builtins
    import os

    called = []
    monkeypatch.setattr(os, "system", lambda *_: called.append("system"))
    for name in ("eval", "exec", "compile"):
        original = getattr(builtins, name)

        def watch(source, *args, name=name, original=original, **kwargs):
            # ast.parse compiles to a tree only; anything that makes code would be seen here.
            if name != "compile" or not args or args[1] != "eval" or args[2] != ast.PyCF_ONLY_AST:
                called.append((name, source))
            return original(source, *args, **kwargs)

        monkeypatch.setattr(builtins, name, watch)
    for text in CODE:
        with pytest.raises(ValueError, match=r"\S"):
            parse(text)
    monkeypatch.undo()
    assert called == []


NESTED = {
    "parentheses": lambda n: f"krr(k={'(' * n}2{')' * n}, epsilon0=-1)",
    "brackets": lambda n: f"matrix({'[' * n}1{']' * n})",
    "calls": lambda n: f"{'krr(' * n}2{')' * n}",
    "call chain": lambda n: "krr" + "()" * n,
    "signs": lambda n: f"krr(k={'-' * n}2, epsilon0=-1)",
    "not": lambda n: f"krr(k={'not ' * n}2, epsilon0=1)",
    "sums": lambda n: f"krr(k={'1+' * n}2, epsilon0=1)",
    "powers": lambda n: f"krr(k={'2**' * n}2, epsilon0=1)",
    "attributes": lambda n: f"krr(k=a{'.a' * n}, epsilon0=1)",
    "indices": lambda n: f"krr(k=a{'[0]' * n}, epsilon0=1)",
    "lambdas": lambda n: f"krr(k={'lambda:' * n}2, epsilon0=1)",
    "choices": lambda n: f"krr(k={'1 if 1 else ' * n}2, epsilon0=1)",
}


@pytest.mark.parametrize("shape", NESTED)
def test_deep_nesting_is_an_ordinary_error(shape):
    for depth in (50, 150, 300, 1000, 2000, 10_000, 60_000):
        with pytest.raises(ValueError, match=r"\S"):
            parse(NESTED[shape](depth))


def test_huge_numbers_are_ordinary_errors():
    for number in ("1" + "0" * 400, "0x" + "f" * 5000, "-0x" + "f" * 5000, "9" * 5000, "1e400"):
        with pytest.raises(ValueError, match=r"\S"):
            parse(f"krr(k=2, epsilon0={number})")
        with pytest.raises(ValueError, match=r"\S"):
            parse(f"gaussian(sigma={number})")
        with pytest.raises(ValueError, match=r"\S"):
            parse(f"unary(p={number}, q=0.5)")
        with pytest.raises(ValueError, match=r"\S"):
            parse(f"matrix([[{number}]])")


def test_very_long_text_is_refused_and_not_repeated():
    for text in ("krr(" + " " * 2_000_000 + ")", "x" * 2_000_000, "(" * 2_000_000):
        with pytest.raises(ValueError, match="characters") as error:
            parse(text)
        assert len(str(error.value)) < 500
    with pytest.raises(ValueError, match=r"unknown|parentheses|look like") as error:
        parse("x" * 100_000)
    assert len(str(error.value)) < 500


@pytest.mark.heavy
def test_errors_repeat_only_the_start_of_long_text():
    for reader in (parse, parse_family):
        for text in (
            f"krr(k=2, epsilon0={'[' + '1,' * 50_000 + ']'}, nonsense=1)",
            f"krr(k={'a' * 100_000}, epsilon0=1)",
            f"krr(k=2, k=3, epsilon0=1{' ' * 100_000})",
            f"{'a' * 100_000}(k=2)",
            f"krr(k=2, {'b' * 100_000}=1)",
        ):
            with pytest.raises(ValueError, match=r"\S") as error:
                reader(text)
            assert len(str(error.value)) < 1000


def test_a_large_matrix_is_read():
    rows = [[1 / 128] * 128] * 64
    assert parse(str(MatrixRandomizer(rows))) == MatrixRandomizer(rows)


# Random text

words = st.sampled_from(
    [
        *MECHANISMS,
        *("k", "epsilon0", "domain_size", "buckets", "size", "p", "q", "sigma", "bound", "domain"),
        *("(", ")", "[", "]", "{", "}", ",", "=", ":", ".", "*", "**", "-", "+", "'", '"', "\\"),
        *("lambda", "None", "True", "if", "else", "for", "in", "not", "await", "yield", "f'"),
        *("0", "1", "2", "10", "0.5", "1e5", "1e999", "1j", "0x", "_", " ", "\n", "\t", "#", "\0"),
        *("'binary'", "'interval'", "[[0.5,0.5]]", "k=2", "epsilon0=1", "ε", "\ud800", "\u2028"),
    ]
)


def reads_or_refuses(text: str) -> None:
    for reader in (parse, parse_family):
        try:
            made = reader(text)
        except ValueError:
            continue
        assert callable(made) or isinstance(made, LocalRandomizer)


@settings(max_examples=400)
@given(text=st.text(max_size=60))
@example(text="matrix('\0')")
def test_random_text(text):
    reads_or_refuses(text)


@settings(max_examples=600)
@given(text=st.lists(words, max_size=25).map("".join))
def test_random_tokens(text):
    reads_or_refuses(text)


literals = st.recursive(
    st.one_of(
        st.integers(-(10**400), 10**400).map(repr),
        st.floats().map(repr),
        st.sampled_from(["1e400", "-1e400", "None", "True", "''", "'a'", "0x" + "f" * 300]),
        st.text(string.ascii_letters, max_size=5).map(repr),
    ),
    lambda inner: st.lists(inner, max_size=4).map(lambda items: f"[{', '.join(items)}]"),
    max_leaves=8,
)


@settings(max_examples=600)
@given(data=st.data())
def test_random_arguments(data):
    """Right names with arbitrary values give a mechanism or an explained refusal."""
    name = data.draw(st.sampled_from(list(MECHANISMS)))
    known = list(parameters(MECHANISMS[name]))
    keys = data.draw(st.lists(st.sampled_from(known), unique=True))
    reads_or_refuses(f"{name}({', '.join(f'{key}={data.draw(literals)}' for key in keys)})")
