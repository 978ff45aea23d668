"""Every field of real certificates altered: refused, unless what it says follows all the same."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import pytest

from shuffledp import ShuffleAccountant, certify, parse, verify
from shuffledp.certificates import Certificate, CertificateError
from shuffledp.certificates.certificate import Statement
from shuffledp.certificates.check import named_datasets
from shuffledp.certificates.proof import _PROVED, Claim, prove_guarantee, prove_leak
from shuffledp.engine.progress import silent

#: Where what is refused must not hang on the versions.
NUMBERS = ("guarantee", "lower_bound")

#: One of each kind: bound, view, family and composition.
KINDS = [
    ("krr(k=3, epsilon0=1)", 1, "blanket", "multiset"),
    ("discrete_laplace(epsilon0=1, bound=2)", 10, "best", "sum"),
    (
        "matrix([[0.5, 0.25, 0.25], [0.125, 0.5, 0.375], [0.25, 0.25, 0.5]])",
        4,
        "blanket",
        "multiset",
    ),
    ("oue(epsilon0=2)", 8, "best", "sum"),
    ("krr(k=10, epsilon0=2)", 3, "blanket", "multiset"),
    ("any_pure_ldp(epsilon0=1)", 4, "best", "multiset"),
    ("discrete_laplace(epsilon0=1, bound=2)", 3, "best", "multiset"),
    ("joint(krr(k=2, epsilon0=1), krr(k=3, epsilon0=0.5))", 2, "blanket", "multiset"),
    ("parallel(0.5*krr(k=3, epsilon0=1), 0.5*blh(epsilon0=1))", 2, "blanket", "multiset"),
    ("subsample(krr(k=3, epsilon0=1), rate=0.25)", 3, "best", "multiset"),
    ("gaussian(sigma=1.5)", 10, "best", "sum"),
    ("laplace(epsilon0=1)", 10, "best", "sum"),
]


@cache
def issued(text: str, n: int, bound: Any, view: Any) -> Certificate:
    accountant = ShuffleAccountant(text, n, bound=bound, view=view)
    return certify(accountant, target_delta=1e-2)


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to everything inside, objects and lists included."""
    yield path
    entries = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in entries:
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def other_digits(text: str) -> str:
    """The same number in digits of another script."""
    return "".join(chr(0x0660 + int(c)) if c in "0123456789" else c for c in text)


def forgeries(value: Any) -> Iterator[Any]:
    """Yield other values that a field may be given."""
    yield from (None, True, 1.5, [], {}, {"name": "oracle"})
    if isinstance(value, int):
        yield from (value - 1, value + 1, 2 * value, -value, str(value), float(value), 2**53 + 1)
    if isinstance(value, str):
        yield from ("", "0", "1", "NaN", value + " ", "(" + value + ")", value.upper(), [value])
        yield from (other_digits(value), value.replace("1", "2", 1), value[:-1], value + "0")
        yield from (value + "\n", "\u200b" + value, "best", "swap", "exact", "9.9.9")
    if isinstance(value, str) and re.fullmatch(r"[0-9]+(\.[0-9]+)?(E[+-]?[0-9]+)?", value):
        for factor in ("0", "0.5", "0.999999", "1.000001", "2"):
            yield str(Decimal(value) * Decimal(factor))
        yield from ("1_0" + value, "-" + value, "+" + value, " " + value, value.replace(".", ","))
    if isinstance(value, list):
        yield from (value[:-1], value[1:], [*value, "all users are honest"], [*value, 1])
    if isinstance(value, dict):
        yield {**value, "method": {"name": "oracle"}}
        yield {key: value[key] for key in list(value)[1:]}


def altered(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The content with another value there."""
    if not path:
        return value
    inside = content.copy()
    inside[path[0]] = altered(content[path[0]], path[1:], value)
    return inside


def sealed(content: Any) -> Certificate:
    read = Certificate.from_json(json.dumps(content))
    return replace(read, digest=read.computed_digest())


def sharpest(certificate: Certificate) -> Certificate:
    """The same with the narrowest enclosures that are proved of its statements."""
    randomizer = parse(certificate.mechanism)
    found = {}
    for name, prove in (("guarantee", prove_guarantee), ("lower_bound", prove_leak)):
        said = getattr(certificate, name)
        if said is None:
            continue
        claim = Claim(
            randomizer,
            certificate.n,
            Decimal(said.epsilon),
            Decimal(said.delta),
            certificate.bound,
        )
        given = [claim] if name == "guarantee" else [claim, named_datasets(randomizer, said.where)]
        proof = prove(*given, silent, _PROVED[-1:])
        found[name] = replace(said, lower=str(proof.lower), upper=str(proof.upper))
    return replace(certificate, **found)


def follows(claimed: Certificate, proved: Certificate) -> bool:
    """Whether a certificate says nothing that does not follow from the other one."""
    if claimed.lower_bound is not None:
        assert proved.lower_bound is not None
        if not says_no_more(claimed.lower_bound, proved.lower_bound):
            return False
    kept = {"lower_bound": None, "versions": {}, "digest": ""}
    same = replace(claimed, guarantee=proved.guarantee, **kept) == replace(proved, **kept)
    return same and says_no_more(claimed.guarantee, proved.guarantee)


def says_no_more(claimed: Statement, proved: Statement) -> bool:
    """Whether the ends hold the proved ones, or the others hold another input like theirs."""
    where = re.sub("hold [2-9][0-9]*$", "hold 2", claimed.where)
    kept = {"lower": "", "upper": "", "where": ""}
    return (
        replace(claimed, **kept) == replace(proved, **kept)
        and where == proved.where
        and Decimal(claimed.lower) <= Decimal(proved.lower)
        and Decimal(claimed.upper) >= Decimal(proved.upper)
    )


@pytest.mark.heavy(keep=3)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]}-{kind[2]}-{kind[3]}")
def test_every_field(kind):
    """Under the versions that issued it, and under others."""
    certificate = issued(*kind)
    proved = sharpest(certificate)
    content = json.loads(certificate.to_json())
    elsewhere = altered(content, ("versions", "shuffledp"), "0.0.1")
    tried = accepted = 0
    for path in [way for way in leaves(content) if way]:
        value = content
        for key in path:
            value = value[key]
        for forged in forgeries(value):
            for whole in (content, elsewhere) if path[0] in NUMBERS else (content,):
                tried += 1
                try:
                    claimed = sealed(altered(whole, path, forged))
                    verify(claimed)
                except CertificateError:
                    continue
                accepted += 1
                assert follows(claimed, proved), (path, forged)
    assert tried > 500
    assert accepted > 4  # versions, and ends that are farther apart


@pytest.mark.parametrize("part", NUMBERS)
def test_numbers_altered_with_their_words(part):
    """One user of krr(3, 1) has delta = (e - e^epsilon)/(e + 2): what is accepted is true."""
    content = json.loads(issued("krr(k=3, epsilon0=1)", 1, "blanket", "multiset").to_json())
    accepted = refused = 0
    for name in ("epsilon", "delta"):
        for factor in ("0.9", "0.999", "0.999999", "1.000001", "1.001", "1.1"):
            value = str(Decimal(content[part][name]) * Decimal(factor))
            words = content[part]["statement"].replace(content[part][name], value)
            forged = altered(content, (part, name), value)
            try:
                certificate = sealed(altered(forged, (part, "statement"), words))
                verify(certificate)
            except CertificateError:
                refused += 1
                continue
            accepted += 1
            said = getattr(certificate, part)
            truth = (math.e - math.exp(float(said.epsilon))) / (math.e + 2)
            assert (float(said.delta) > truth) == (part == "guarantee")
    assert accepted >= 2
    assert refused >= 6


def test_an_object_that_no_text_describes():
    certificate = issued("krr(k=3, epsilon0=1)", 1, "blanket", "multiset")
    for changes in (
        {"n": 1.0},
        {"n": object()},
        {"bound": ["blanket"]},
        {"guarantee": None},
        {"guarantee": replace(certificate.guarantee, delta="NaN")},
        {"guarantee": replace(certificate.guarantee, epsilon=0.5)},
        {"versions": {"shuffledp": float("nan"), "python-flint": "1"}},
    ):
        with pytest.raises(CertificateError):
            verify(replace(certificate, **changes))


@pytest.mark.parametrize("name", ["(matrix)", "\uff4datrix", "matrix\\\n"])
def test_no_file_is_read(name, tmp_path):
    """However its mechanism spells it, a certificate makes nobody open a file."""
    path = tmp_path / "rows.csv"
    path.write_text("0.75, 0.25\n0.25, 0.75\n")
    content = json.loads(issued("krr(k=3, epsilon0=1)", 1, "blanket", "multiset").to_json())
    for text in (f"{name}('{path}')", f"subsample({name}(path='{path}'), rate=0.5)"):
        with pytest.raises(CertificateError, match="must hold its rows here, not name their file"):
            verify(sealed({**content, "mechanism": text}))
