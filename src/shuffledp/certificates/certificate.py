"""A certificate: what was proved, in a form that can be kept, read and checked again."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import Any, NoReturn

from shuffledp._version import __version__
from shuffledp.basics.wording import shorten
from shuffledp.bounds.curve import Proof as Bound

#: The bounds that can be proved in ball arithmetic.
PROOFS = ("blanket", "swap", "exact", "composition")

#: Version of the fields below.
FORMAT = "shuffledp certificate 3"

#: Longer files are not read.
MAX_CHARACTERS = 4_000_000

_DECIMAL = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?(E[+-]?[0-9]{1,12})?")
_CLAIM = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?(E[+-]?[0-9]{1,3})?")
_VERSION = re.compile(r"[0-9A-Za-z.+-]{1,40}")
_MAX_ECHO, _MAX_REASON = 60, 80


class CertificateError(ValueError):
    """A certificate that cannot be read, or that claims what is not proved."""


@dataclass(frozen=True)
class Statement:
    """One proved statement about delta at one epsilon.

    Attributes:
        statement: what is claimed, in words.
        epsilon: the epsilon of the claim, an exact decimal.
        delta: the delta of the claim, an exact decimal.
        where: the pair of inputs, or the datasets, that attain the bound.
        lower: at ``epsilon`` the bound is at least this; 0 if that was not asked, as for the swap
            bound.
        upper: at ``epsilon`` the bound is at most this.
    """

    statement: str
    epsilon: str
    delta: str
    where: str
    lower: str
    upper: str


@dataclass(frozen=True)
class ProvedPoint:
    """A delta of one round, of which several are composed.

    Attributes:
        epsilon: an exact decimal.
        delta: one round has at most this delta there, an exact decimal.
        bound: what proves it, "blanket", "swap" or "exact".
    """

    epsilon: str
    delta: str
    bound: Bound


@dataclass(frozen=True)
class Certificate:
    """A proof that n users of a mechanism are (epsilon, delta)-differentially private.

    Attributes:
        format: version of these fields.
        mechanism: what each user runs.
        n: number of users.
        corrupted: how many of them the analyst controls, fixed before the reports are drawn.
        rounds: how often they report.
        at_most: in how many of the rounds each of them takes part; None for all.
        relation: what neighbouring datasets do, such as "replace the input of one user": what the
            guarantee protects.
        bound: which bound proves the guarantee, "blanket" or "swap"; "exact" for what the sum of
            the reports reveals, and nothing but that; "composition" for several rounds.
        guarantee: the bound over all pairs of inputs is at most delta.
        one_round: of several rounds, the deltas of one of them that are composed.
        pairs: how it is known that no other pair is worse.
        lower_bound: two datasets whose delta is at least that, if any are known.
        assumptions: what the numbers are based on.
        versions: the software that issued the certificate; a note, on which no proof depends.
        digest: SHA-256 of all other fields as canonical JSON.
    """

    format: str
    mechanism: str
    n: int
    corrupted: int
    rounds: int
    at_most: int | None
    relation: str
    bound: Bound
    guarantee: Statement
    one_round: tuple[ProvedPoint, ...]
    pairs: str
    lower_bound: Statement | None
    assumptions: tuple[str, ...]
    versions: Mapping[str, str]
    digest: str

    @property
    def honest(self) -> int:
        """How many users hide each other."""
        return self.n - self.corrupted

    @property
    def times(self) -> int:
        """In how many rounds a user takes part, at most."""
        return self.rounds if self.at_most is None else min(self.rounds, self.at_most)

    @property
    def is_of_sums(self) -> bool:
        """Whether it is about the sums of the reports and nothing else."""
        return "exact" in (self.bound, *(point.bound for point in self.one_round))

    def to_json(self) -> str:
        """Return the certificate as JSON."""
        return json.dumps(asdict(self), indent=2)

    @staticmethod
    def from_json(text: str) -> Certificate:
        """Read a certificate; every field must be there, and no other.

        Raises:
            CertificateError: if the text is not such a certificate.
        """
        if len(text) > MAX_CHARACTERS:
            raise CertificateError(f"a certificate has at most {MAX_CHARACTERS} characters")
        try:
            found = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant)
        except CertificateError:
            raise
        except (ValueError, RecursionError) as error:
            raise CertificateError(f"not JSON: {shorten(str(error), _MAX_REASON)}") from None
        return _read(found)

    def computed_digest(self) -> str:
        """Return the digest that the other fields have."""
        content = {name: value for name, value in asdict(self).items() if name != "digest"}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()


def read_again(certificate: Certificate) -> Certificate:
    """Return a certificate as it is read from its text, however this one was made.

    Raises:
        CertificateError: if its fields are not those of a certificate.
    """
    try:
        text = certificate.to_json()
    except (TypeError, ValueError, RecursionError) as error:
        raise CertificateError(f"not JSON: {shorten(str(error), _MAX_REASON)}") from None
    return Certificate.from_json(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise CertificateError("a field is there twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise CertificateError(f"not JSON: {name} is not a number")


def current_versions() -> dict[str, str]:
    """Return the versions that a certificate issued now names."""
    import flint

    return {"shuffledp": __version__, "python-flint": flint.__version__}


def _read(found: object) -> Certificate:
    """Check names and types of all fields, and that the numbers agree with each other."""
    values = _fields("the certificate", found, Certificate)
    if values["format"] != FORMAT:
        raise CertificateError(f"format must be {FORMAT!r}, got {_show(values['format'])}")
    for name in ("mechanism", "relation", "pairs", "digest"):
        _check(isinstance(values[name], str), name, "a text", values[name])
    bound = values["bound"]
    _check(
        isinstance(bound, str) and bound in PROOFS, "bound", f"one of {', '.join(PROOFS)}", bound
    )
    n, at_most = values["n"], values["at_most"]
    for name, least in (("n", 1), ("corrupted", 0), ("rounds", 1)):
        _check_count(name, values[name], least)
    _check(values["corrupted"] < n, "corrupted", f"below n = {n}", values["corrupted"])
    if at_most is not None:
        _check_count("at_most", at_most, 1)
    points = _read_points(values["one_round"], several=bound == "composition")
    several = values["rounds"] > 1
    _check(several == bool(points), "one_round", "empty for one round, and only then", points)
    _check(several or at_most is None, "at_most", "null for one round", at_most)
    assumptions, versions = values["assumptions"], values["versions"]
    _check(_is_texts(assumptions), "assumptions", "a list of texts", assumptions)
    names = {"shuffledp", "python-flint"}
    valid = isinstance(versions, dict) and versions.keys() == names
    valid = valid and all(_is_text(number, _VERSION) for number in versions.values())
    _check(valid, "versions", f"those of {' and '.join(sorted(names))}", versions)
    guarantee = _read_statement("guarantee", values["guarantee"])
    lower = values["lower_bound"]
    leak = None if lower is None else _read_statement("lower_bound", lower)
    valid = Decimal(guarantee.upper) <= Decimal(guarantee.delta)
    allowed = f"at most guarantee.delta = {guarantee.delta}"
    _check(valid, "guarantee.upper", allowed, guarantee.upper)
    if leak is not None:
        valid = Decimal(leak.lower) >= Decimal(leak.delta)
        _check(valid, "lower_bound.lower", f"at least its delta = {leak.delta}", leak.lower)
    return Certificate(
        format=values["format"],
        mechanism=values["mechanism"],
        n=n,
        corrupted=values["corrupted"],
        rounds=values["rounds"],
        at_most=at_most,
        relation=values["relation"],
        bound=bound,
        guarantee=guarantee,
        one_round=points,
        pairs=values["pairs"],
        lower_bound=leak,
        assumptions=tuple(assumptions),
        versions=versions,
        digest=values["digest"],
    )


def _check_count(name: str, value: object, least: int) -> None:
    valid = isinstance(value, int) and not isinstance(value, bool) and value >= least
    _check(valid, name, f"an integer >= {least}", value)


def _read_points(found: object, *, several: bool) -> tuple[ProvedPoint, ...]:
    """Return the deltas of one round, increasing in epsilon; some if there are several rounds."""
    valid = isinstance(found, list) and bool(found) == several
    _check(valid, "one_round", "points if the bound is composition, else empty", found)
    points = []
    for place, value in enumerate(found if isinstance(found, list) else []):
        name = f"one_round[{place}]"
        fields_of_point = _fields(name, value, ProvedPoint)
        for key in ("epsilon", "delta"):
            text = fields_of_point[key]
            valid = _is_text(text, _CLAIM)
            _check(valid, f"{name}.{key}", "a text with a decimal such as 1.5E-9", text)
        bound = fields_of_point["bound"]
        allowed = PROOFS[:-1]
        valid = isinstance(bound, str) and bound in allowed
        _check(valid, f"{name}.bound", f"one of {', '.join(allowed)}", bound)
        points.append(ProvedPoint(**fields_of_point))
    places = [Decimal(point.epsilon) for point in points]
    _check(places == sorted(set(places)), "one_round", "increasing in epsilon", found)
    sums = {point.bound == "exact" for point in points}
    _check(len(sums) <= 1, "one_round", "about sums at all points or at none", found)
    return tuple(points)


def _read_statement(name: str, found: object) -> Statement:
    values = _fields(name, found, Statement)
    for key in ("statement", "where"):
        _check(isinstance(values[key], str), f"{name}.{key}", "a text", values[key])
    for key, pattern in (
        ("epsilon", _CLAIM),
        ("delta", _CLAIM),
        ("lower", _DECIMAL),
        ("upper", _DECIMAL),
    ):
        valid = _is_text(values[key], pattern)
        _check(valid, f"{name}.{key}", "a text with a decimal such as 1.5E-9", values[key])
    lower, upper = values["lower"], values["upper"]
    valid = Decimal(lower) <= Decimal(upper)
    _check(valid, f"{name}.upper", f"at least {name}.lower = {lower}", upper)
    return Statement(**values)


def _fields(name: str, found: object, cls: type) -> dict[str, Any]:
    """Return the fields of an object if they are exactly those of a class."""
    if not isinstance(found, dict):
        raise CertificateError(f"{name} must be an object, got {_show(found)}")
    wanted = {field.name for field in fields(cls)}
    if missing := wanted - found.keys():
        raise CertificateError(f"{name} lacks the field {min(missing)}")
    if unknown := found.keys() - wanted:
        raise CertificateError(f"{name} has an unknown field {_show(min(unknown))}")
    return found


def _is_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _is_text(value: object, pattern: re.Pattern[str]) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _check(valid: bool, name: str, allowed: str, value: object) -> None:
    if not valid:
        raise CertificateError(f"{name} must be {allowed}, got {_show(value)}")


def _show(value: object) -> str:
    return shorten(repr(value), _MAX_ECHO)
