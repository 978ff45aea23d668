"""Proofs stand by themselves: what mechanisms say of their inputs decides nothing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from types import FunctionType
from typing import NoReturn

import pytest
from oracle.tangled import Tangled

import shuffledp.certificates
from shuffledp import CertificateError, ShuffleAccountant, certify, parse, verify
from shuffledp.basics.balls import precision
from shuffledp.certificates import Certificate, check
from shuffledp.certificates.cases import cases_to_swap, how_compared, pairs_to_prove
from shuffledp.certificates.derivation import _derive
from shuffledp.certificates.inputs import inputs_of
from shuffledp.mechanisms import LocalRandomizer, NamedTypes, Pair, Parallel

SOURCE = Path(shuffledp.certificates.__file__).parent
PAGE = (Path(__file__).parents[2] / "docs" / "certificates.md").read_text(encoding="utf-8")

#: They propose what is then proved.
PROPOSING = ("issue", "issue_rounds", "questions")


def rows_of(heading: str) -> Iterator[list[list[str]]]:
    """The names in backticks in every cell of a table of the page."""
    lines = PAGE[PAGE.index(f"| {heading} |") :].splitlines()[2:]
    for line in lines:
        if not line.startswith("|"):
            return
        yield [re.findall("`([^`]+)`", cell) for cell in line.strip("|").split("|")]


def test_the_documented_list_is_what_the_sources_import() -> None:
    documented = defaultdict(set)
    for (module,), names, _ in rows_of("From"):
        documented[module] |= set(names)
    imported = defaultdict(set)
    for file in SOURCE.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ImportFrom) or file.stem in PROPOSING:
                continue
            module = node.module or ""
            if module.startswith("shuffledp") and not module.startswith("shuffledp.certificates"):
                imported[module] |= {alias.name for alias in node.names}
    assert imported == documented


def refuse(self: object) -> NoReturn:
    raise AssertionError(f"asked {self}")


def fail_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let all that classes of mechanisms define fail, but for parameters and what is documented."""
    read = {name for names, _ in rows_of("Read") for name in names}
    kinds = [LocalRandomizer]
    for kind in kinds:
        kinds += kind.__subclasses__()
        parameters = {field.name for field in fields(kind)} if is_dataclass(kind) else set()
        for name, value in list(vars(kind).items()):
            known = name.startswith("_") or name in parameters or name in read
            if not known and isinstance(value, FunctionType | property | cached_property):
                monkeypatch.setattr(kind, name, property(refuse))


CLAIMS = [
    ("krr(k=3, epsilon0=1.0)", "best", "multiset"),
    ("krr(k=2, epsilon0=1.0)", "blanket", "multiset"),
    ("olh(epsilon0=2.0, domain_size=5)", "best", "multiset"),
    ("subset(epsilon0=1.0, domain_size=9)", "best", "multiset"),
    ("hadamard(epsilon0=1.0, domain_size=7)", "best", "multiset"),
    ("unary(p=0.25, q=0.75)", "best", "multiset"),
    ("discrete_laplace(epsilon0=1.0, bound=2)", "blanket", "multiset"),
    ("laplace(epsilon0=1.0)", "best", "multiset"),
    ("laplace(epsilon0=1.0, domain='interval')", "blanket", "multiset"),
    ("any_pure_ldp(epsilon0=1.0)", "blanket", "multiset"),
    ("matrix([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.5, 0.25]])", "best", "multiset"),
    ("joint(krr(k=3, epsilon0=1.0), krr(k=3, epsilon0=1.0), at_most=1)", "best", "multiset"),
    (
        "one_of(0.5*subsample(krr(k=2, epsilon0=1.0), rate=0.5), 0.5*rappor(epsilon0=1.0))",
        "best",
        "multiset",
    ),
    (
        "parallel(0.5*krr(k=2, epsilon0=1.0), 0.5*matrix([[0.75, 0.25], [0.5, 0.5]]))",
        "best",
        "multiset",
    ),
    ("oue(epsilon0=2.0)", "best", "sum"),
    ("blh(epsilon0=2.0, domain_size=3)", "best", "sum"),
    ("laplace(epsilon0=2.0)", "best", "sum"),
    ("discrete_laplace(epsilon0=2.0, bound=3)", "best", "sum"),
]


@pytest.mark.parametrize(("text", "bound", "view"), CLAIMS)
def test_nothing_else_is_asked(
    text: str, bound: str, view: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 1000 if bound == "best" else 20
    accountant = ShuffleAccountant(text, n, bound=bound, view=view)
    certificate = certify(accountant, target_delta=1e-3)
    randomizer = parse(text)
    monkeypatch.setattr(check, "read_mechanism", {certificate.mechanism: randomizer}.__getitem__)
    fail_when_asked(monkeypatch)
    with pytest.raises(AssertionError, match="asked"):
        randomizer.neighbours()
    verify(certificate)


@pytest.mark.parametrize("other", [None, 0, 2])
def test_masses_of_hashing_hold_those_of_polynomials(other: int | None) -> None:
    """They differ from those of all functions by up to 2**-48 of themselves."""
    randomizer = parse("olh(epsilon0=2.0, buckets=5)")
    law = _derive(randomizer, Pair(0, 1), other)
    with precision():
        for component in law.components:
            exact = component.weight.mid()
            assert component.weight.contains(exact + exact * 0.999 * 2.0**-48)
            assert not component.weight.contains(exact + exact * 2.0**-47)


ROWS = [[0.4, 0.1, 0.5], [0.1, 0.4, 0.5], [0.1, 0.1, 0.8], [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]]
EXCHANGED = [ROWS[i] for i in (0, 1, 3, 2, 4)]
PERMUTED = f"parallel(0.5*matrix({ROWS}), 0.5*matrix({EXCHANGED}))"


def claiming(certificate: Certificate, delta: str) -> Certificate:
    """The same with another delta, as a careless prover would have written it down."""
    claim = replace(certificate.guarantee, delta=delta, lower="0", upper=delta)
    words = claim.statement.replace(certificate.guarantee.delta, delta)
    altered = replace(certificate, guarantee=replace(claim, statement=words))
    return replace(altered, digest=altered.computed_digest())


def test_a_false_reduction_of_types_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """At 0.632 the true delta of ten users is 0.010937; without one input it looks like 0.01."""
    certificate = certify(PERMUTED, 10, target_epsilon=0.632)
    assert float(certificate.guarantee.delta) >= 0.010936
    monkeypatch.setattr(Parallel, "input_types", lambda self, pair: NamedTypes({0: 0, 1: 1, 2: 2}))
    verify(certificate)
    with pytest.raises(CertificateError, match="is proved to be at most"):
        verify(claiming(certificate, "0.0105"))


def test_a_dropped_pair_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "matrix([[0.5, 0.5], [0.4375, 0.5625], [0.25, 0.75]])"
    honest = certify(text, 20, target_epsilon=0.3, bound="blanket")
    monkeypatch.setattr(type(parse(text)), "neighbours", lambda self: (Pair(0, 1), Pair(1, 0)))
    found = certify(text, 20, target_epsilon=0.3, bound="blanket")
    assert float(found.guarantee.delta) >= 0.99 * float(honest.guarantee.delta)


def test_inputs_are_those_of_the_mechanisms() -> None:
    """Derived twice: which inputs there are, and which of them are neighbours."""
    for text in Tangled(521).texts(60):
        randomizer = parse(text)
        own, domain = inputs_of(randomizer), randomizer.input_domain
        inputs = list(domain.inputs())
        pairs = [Pair(x, y) for x in inputs for y in inputs if x != y]
        assert [p for p in pairs if own.are_neighbours(p)] == [
            p for p in pairs if domain.are_neighbours(p.first, p.second)
        ]
        assert own.relation == randomizer.relation
        assert not own.knows(-1)
        assert not own.knows((*inputs, 0))
        for case in cases_to_swap(randomizer, 1000, 1000):
            assert all(map(own.knows, (case.pair.first, case.pair.second, *case.others)))


@pytest.mark.parametrize(
    ("text", "pairs", "how"),
    [
        ("krr(k=10, epsilon0=1)", [((0), (1))], "proved"),
        ("gaussian(sigma=1)", [(0, 1)], "proved"),
        ("discrete_laplace(epsilon0=1, bound=4)", [(0, 4)], "proved"),
        ("joint(krr(3, 1), laplace(1))", [((0, 0), (1, 1))], "proved"),
        ("joint(krr(3, 1), krr(3, 1), at_most=1)", [((0, 0), (1, 0))], "compared 1 pair"),
        ("joint(krr(2, 1), krr(2, 2), exactly=1)", [((0, 0), (1, 0)), ((0, 0), (0, 1))], None),
        ("matrix([[0.5, 0.5], [0.25, 0.75], [0.5, 0.5]])", [(0, 1), (1, 0), (0, 2)], None),
        ("matrix([[0.5, 0.5]])", [], "compared 0 pairs"),
        ("parallel(0.5*discrete_laplace(1, 2), 0.5*krr(3, 1))", [(0, 2)], "proved"),
    ],
)
def test_pairs(text: str, pairs: list[tuple[object, object]], how: str | None) -> None:
    randomizer = parse(text)
    found = pairs_to_prove(randomizer)
    assert [(pair.first, pair.second) for pair in found] == pairs
    assert how_compared(randomizer) == (how or f"compared {len(pairs)} pairs")


def test_equal_laws_are_looked_at_once() -> None:
    """Exchanged attributes, equal rows, and types of others that differ in order only."""
    (case,) = cases_to_swap(parse("joint(krr(3, 1), krr(3, 1))"), 9, 99)
    assert len(case.others) == 6
    cases = cases_to_swap(parse("joint(krr(2, 1), krr(2, 1))"), 9, 99)
    assert [(len(case.others), case.pair) for case in cases] == [
        (4, Pair((0, 0), (1, 0))),
        (3, Pair((0, 0), (1, 1))),
    ]
    (case,) = cases_to_swap(parse("hadamard(1, domain_size=7)"), 9, 99)
    assert case.others == (0, 1, 2, 3)
    case, *_ = cases_to_swap(parse(PERMUTED), 99, 99)
    assert case.others == (0, 1, 2, 3, 4)
