"""Texts for the parser: valid ones, damaged ones, and code that must never run."""

from __future__ import annotations

import string

from hypothesis import strategies as st

#: Mechanisms whose bounds are quick to compute.
VALID = [
    "krr(k=3, epsilon0=1)",
    "krr(10, 0.5)",
    "blh(epsilon0=1, domain_size=5)",
    "olh(epsilon0=1, buckets=4)",
    "rappor(epsilon0=1)",
    "oue(epsilon0=2, domain_size=None)",
    "unary(p=0.75, q=0.25)",
    "hadamard(epsilon0=1, domain_size=7)",
    "subset(epsilon0=1, domain_size=5, size=2)",
    "laplace(epsilon0=1, domain='interval')",
    "discrete_laplace(epsilon0=1, bound=3)",
    "any_pure_ldp(epsilon0=1)",
    "matrix([[0.5, 0.5], [0.25, 0.75]])",
    "matrix([[1, 0], [0, 1]])",
    "matrix([[1]])",
    "joint(krr(k=2, epsilon0=1), oue(epsilon0=1))",
    "joint(krr(2, 1), krr(2, 1), at_most=1)",
    "parallel(0.5*krr(k=3, epsilon0=1), 0.5*blh(epsilon0=1))",
    "subsample(krr(k=3, epsilon0=1), rate=0.5)",
]

#: The same without epsilon0, as calibration takes them.
FAMILIES = ["krr(k=3)", "oue()", "blh(domain_size=4)", "any_pure_ldp()", "joint(krr(k=2), oue())"]

#: What a careless reader would run: each would create the file "evaluated".
CODE = [
    "open('evaluated', 'w')",
    "krr(k=open('evaluated', 'w'), epsilon0=1)",
    "__import__('pathlib').Path('evaluated').touch()",
    "krr(k=__import__('os').mkdir('evaluated'), epsilon0=1)",
    "exec(\"open('evaluated', 'w')\")",
    "krr(k=eval(\"open('evaluated', 'w')\"), epsilon0=1)",
    "(lambda: open('evaluated', 'w'))()",
    "krr(k=(lambda: open('evaluated', 'w'))(), epsilon0=1)",
    "krr(k=[open('evaluated', 'w') for _ in 'x'], epsilon0=1)",
    "matrix([[open('evaluated', 'w') for _ in 'x']])",
    "krr(k=(f := open('evaluated', 'w')), epsilon0=1)",
    "matrix(f\"{open('evaluated', 'w')}\")",
    "krr(*[open('evaluated', 'w')])",
    "krr(**{'k': open('evaluated', 'w')})",
    "krr.__init__.__globals__['__builtins__']['open']('evaluated', 'w')",
    "krr(k=2, epsilon0=1).__class__.__base__.__subclasses__()",
    "open('evaluated', 'w')*krr(2, 1)",
    "parallel(open('evaluated', 'w')*krr(2, 1))",
    "subsample(krr(2, 1), rate=open('evaluated', 'w'))",
    "joint(krr(2, 1), open('evaluated', 'w'))",
]

#: Files that are no matrix, or not there, or never end.
PATHS = [
    "",
    ".",
    "..",
    "/",
    "/dev/null",
    "/dev/zero",
    "/proc/self/mem",
    "no such file",
    "no/such/folder.npy",
    "\0",
    "\ud800",
    "a" * 5000,
    "nul.npy",
    "~",
    "http://example.org/matrix.csv",
    "%s{}",
]

_NUMBERS = [
    *("0", "1", "2", "3", "-1", "-0", "0.5", "1e-300", "1e300", "1e400", "-1e400", "5e-324"),
    *("nan", "inf", "-inf", "None", "True", "1j", "...", "''", "b''", "[]", "[[]]", "()", "{}"),
    *("9" * 400, "9" * 5000, "0x" + "f" * 5000, "0b1", "1_0", "01", "1e", "--1", "+1", "~1", "٣"),
]

_TOKENS = [
    *("krr", "blh", "oue", "subset", "laplace", "matrix", "joint", "parallel", "subsample"),
    *("k", "epsilon0", "domain_size", "size", "p", "q", "rate", "at_most", "exactly", "path"),
    *("(", ")", "[", "]", "{", "}", ",", "=", ":", ".", "*", "**", "+", "-", "/", "@", ";", "|"),
    *("'", '"', "\\", "\n", "\t", " ", "#", "\0", "'''", ":=", "->", "==", "!=", "<", ">>", "%"),
    *("lambda", "if", "else", "for", "in", "is", "not", "and", "await", "yield", "async", "from"),
    *("print", "eval", "exec", "open", "__import__", "globals", "__class__", "type", "exit"),
    *(
        "f'{",
        "}'",
        "r'\\d'",
        "'\\d'",
        "'\\N{DASH}'",
        "u''",
        "rb''",
        "ε",
        "ｋrr",
        "\u2028",
        "\ud800",
    ),
    *_NUMBERS,
]

numbers = st.sampled_from(_NUMBERS) | st.floats().map(repr) | st.integers().map(str)

soups = st.lists(st.sampled_from(_TOKENS), max_size=20).map("".join)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A valid text with a few pieces replaced, dropped, doubled or put in."""
    text = draw(st.sampled_from(VALID + FAMILIES))
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 8)))
        piece = draw(
            st.sampled_from(_TOKENS)
            | st.sampled_from(["", text[start:end] * 2])
            | st.text(string.printable, max_size=4)
        )
        text = text[:start] + piece + text[end:]
    return text


@st.composite
def with_numbers(draw: st.DrawFn) -> str:
    """A valid text whose numbers, some of them, are others."""
    parts, word = [], ""
    for character in draw(st.sampled_from(VALID + FAMILIES)) + " ":
        if character.isdigit() or (word and character == "."):
            word += character
            continue
        if word and not (parts and parts[-1][-1:].isalpha()):  # not the 0 of epsilon0
            word = draw(st.just(word) | numbers)
        parts += [word, character]
        word = ""
    return "".join(parts)


@st.composite
def nested(draw: st.DrawFn) -> str:
    """Brackets of one kind, as deep as one likes, around something."""
    start, end = draw(
        st.sampled_from(
            [
                ("joint(", ")"),
                ("subsample(", ", 0.9)"),
                ("parallel(1*", ")"),
                ("parallel(0.5*krr(2, 1), 0.5*", ")"),
                ("(", ")"),
                ("[", "]"),
                ("matrix([", "])"),
                ("krr(k=", ")"),
                ("-", ""),
                ("not ", ""),
                ("lambda: ", ""),
                ("{1:", "}"),
                ("f'{", "}'"),
            ]
        )
    )
    depth = draw(st.sampled_from([1, 2, 5, 20, 80, 95, 100, 200, 1000, 3000, 20_000]))
    return start * depth + draw(st.sampled_from(["krr(k=2, epsilon0=1)", "1", ""])) + end * depth


paths = st.sampled_from(PATHS).map(lambda path: f"matrix({path!r})")

#: Anything that somebody might hand to the parser.
texts = st.one_of(
    damaged(),
    with_numbers(),
    nested(),
    paths,
    soups,
    st.sampled_from(CODE),
    st.sampled_from(VALID),
    st.sampled_from(FAMILIES),
    st.text(max_size=30),
)
