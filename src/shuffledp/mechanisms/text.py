"""The text form of randomizers: ``krr(k=10, epsilon0=2.0)``.

Text is read through Python's syntax tree with a whitelist; nothing is evaluated.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Mapping
from keyword import iskeyword
from types import MappingProxyType
from typing import TypeVar

import numpy as np

from shuffledp.basics.wording import counted, did_you_mean, shorten
from shuffledp.mechanisms.aliases import guess
from shuffledp.mechanisms.base import LocalRandomizer
from shuffledp.mechanisms.composed.joint import Joint
from shuffledp.mechanisms.composed.one_of import OneOf
from shuffledp.mechanisms.composed.parallel import Parallel
from shuffledp.mechanisms.composed.subsample import Subsample
from shuffledp.mechanisms.finite.any_pure_ldp import AnyPureLDP
from shuffledp.mechanisms.finite.identity import check_identity
from shuffledp.mechanisms.finite.matrix import MatrixRandomizer
from shuffledp.mechanisms.noise.discrete_laplace import DiscreteLaplace
from shuffledp.mechanisms.noise.gaussian import Gaussian
from shuffledp.mechanisms.noise.laplace import Laplace
from shuffledp.mechanisms.support.hadamard import HadamardResponse
from shuffledp.mechanisms.support.krr import KRR
from shuffledp.mechanisms.support.local_hash import BinaryLocalHash, LocalHash
from shuffledp.mechanisms.support.subset import SubsetSelection
from shuffledp.mechanisms.support.unary import OUE, RAPPOR, UnaryEncoding

_mechanisms: dict[str, type[LocalRandomizer]] = {
    cls.name: cls
    for cls in (
        KRR,
        BinaryLocalHash,
        LocalHash,
        RAPPOR,
        OUE,
        UnaryEncoding,
        HadamardResponse,
        SubsetSelection,
        Laplace,
        Gaussian,
        DiscreteLaplace,
        MatrixRandomizer,
        AnyPureLDP,
    )
}

#: All mechanisms by name, in the order in which they are listed; :func:`register` adds to them.
MECHANISMS: Mapping[str, type[LocalRandomizer]] = MappingProxyType(_mechanisms)

#: Compositions by name.
COMPOSITIONS: Mapping[str, type[LocalRandomizer]] = {
    cls.name: cls for cls in (Joint, Parallel, OneOf, Subsample)
}

#: A file name without quotes, which need not be readable at all: matrix(./m.csv).
_BARE_PATH = re.compile(r"\bmatrix\(\s*(path\s*=\s*)?[^'\"\[\s)]")

_NAME = re.compile(r"[a-z][a-z0-9_]*")

_Mechanism = TypeVar("_Mechanism", bound=type[LocalRandomizer])

_MAX_LENGTH = 1_000_000  # characters, some matrix of 200 rows
_MAX_MESSAGE = 400  # characters of an error inside the text
_MAX_ECHO = 80


def parse(text: str, *, files: bool = True) -> LocalRandomizer:
    """Read a randomizer from its text form; the inverse of ``str``.

    Args:
        text: the mechanism with its parameters.
        files: whether a matrix may be read from the file that is named instead of it.

    >>> parse("krr(k=10, epsilon0=2)")
    KRR(k=10, epsilon0=2.0)
    >>> str(parse("subsample(joint(krr(k=10, epsilon0=1), oue(epsilon0=1)), rate=0.5)"))
    'subsample(joint(krr(k=10, epsilon0=1.0), oue(epsilon0=1.0)), rate=0.5)'

    Raises:
        ValueError: if the text is not a known mechanism with valid parameters.
    """
    return _Reader(text, None, files=files).read()


def register(mechanism: _Mechanism) -> _Mechanism:
    """Give a mechanism of one's own a text form; every function and command then knows it.

    It may stand above the class as a decorator.

    Args:
        mechanism: a class derived from :class:`LocalRandomizer`, a frozen dataclass whose fields
            are its parameters. It has a ``name`` of its own, and may have an ``example``.

    Raises:
        TypeError: if it is no such class.
        ValueError: if its name is not valid or is taken, or if its example does not describe it.
    """
    kind: object = mechanism
    if not isinstance(kind, type) or not issubclass(kind, LocalRandomizer):
        raise TypeError(
            f"mechanism must be a class derived from LocalRandomizer, got {mechanism!r}"
        )
    title = mechanism.__name__
    if missing := sorted(getattr(mechanism, "__abstractmethods__", ())):
        raise TypeError(f"mechanism must be complete, but {title} lacks {', '.join(missing)}")
    if not getattr(getattr(mechanism, "__dataclass_params__", None), "frozen", False):
        raise TypeError(f"mechanism must be a frozen dataclass, which {title} is not")
    name = getattr(mechanism, "name", None)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or iskeyword(name):
        raise ValueError(
            f"name of {title} must consist of small letters, digits and underscores, got {name!r}"
        )
    if name in MECHANISMS or name in COMPOSITIONS:
        taken = {**MECHANISMS, **COMPOSITIONS}[name].__name__
        raise ValueError(f"name of {title} must be new, but {name!r} is that of {taken}")
    for key, parameter in parameters(mechanism).items():
        default = parameter.default
        required = default is inspect.Parameter.empty
        if not required and not isinstance(default, int | float | str | None):
            raise TypeError(
                f"default of {key} of {title} must be a number, a text or None, got {default!r}"
            )
    _mechanisms[name] = mechanism
    try:
        if mechanism.example is not None and type(parse(mechanism.example)) is not mechanism:
            raise ValueError(f"{mechanism.example!r} does not; leave it None")
    except ValueError as error:
        del _mechanisms[name]
        raise ValueError(f"example of {title} must describe a {title}: {error}") from None
    return mechanism


def parse_family(text: str) -> Callable[[float], LocalRandomizer]:
    """Read a mechanism without epsilon0, such as ``krr(k=10)``, as a function of epsilon0.

    In a composition every part without an epsilon0 gets it.

    >>> parse_family("krr(k=10)")(2.0)
    KRR(k=10, epsilon0=2.0)

    Raises:
        ValueError: as for :func:`parse`; also if no part lacks its epsilon0.
    """
    trial = _Reader(text, 1.0)
    trial.read()  # reports bad parameters now
    if not trial.filled_in:
        raise ValueError(
            f"epsilon0 is what is looked for; leave it out of a mechanism that has it in "
            f"{_shorten(text)}"
        )
    return lambda epsilon0: _Reader(text, epsilon0).read()


def as_randomizer(value: object, name: str = "randomizer") -> LocalRandomizer:
    """Return a local randomizer, given as it is or as its text; for arguments that take both.

    >>> as_randomizer("krr(k=10, epsilon0=2)") == as_randomizer(KRR(k=10, epsilon0=2.0))
    True

    Raises:
        ValueError: as for :func:`parse`.
        TypeError: if it is neither, or a mechanism that could be taken for another one.
    """
    if isinstance(value, LocalRandomizer):
        check_identity(value, name)
        return value
    if isinstance(value, str):
        return parse(value)
    raise TypeError(
        f"{name} must be a local randomizer such as KRR(k=10, epsilon0=2.0), or a text such as "
        f"'krr(k=10, epsilon0=2)', got {_way_in(value)}"
    )


def _way_in(value: object) -> str:
    """Name what was given instead of a mechanism, and how to make it one."""
    if inspect.isclass(value) and issubclass(value, LocalRandomizer):
        return f"the class {value.__name__}; call it with its parameters"
    if inspect.isroutine(value):
        return (
            f"the function {getattr(value, '__name__', value)!s}; if it returns probabilities, "
            "give MatrixRandomizer.from_function(function, inputs, outputs)"
        )
    if isinstance(value, np.ndarray | list | tuple):
        shown = f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
        return (
            f"{shorten(shown, _MAX_ECHO)}; if it is a table of probabilities with one row per "
            "input, give MatrixRandomizer(table)"
        )
    return shorten(repr(value), _MAX_ECHO)


def as_family(value: object, name: str = "family") -> Callable[[float], LocalRandomizer]:
    """Return a function from epsilon0 to a randomizer, given as one or as a text without it.

    >>> as_family("krr(k=10)")(2.0) == as_family(lambda epsilon0: KRR(10, epsilon0))(2.0)
    True

    Raises:
        ValueError: as for :func:`parse_family`.
        TypeError: if it is neither, or once the function returns something else.
    """
    if isinstance(value, str):
        return parse_family(value)
    if not callable(value):
        raise TypeError(
            f"{name} must be a callable from epsilon0 to a randomizer or a text such as "
            f"'krr(k=10)', got {value!r}"
        )

    def make(epsilon0: float) -> LocalRandomizer:
        randomizer = value(epsilon0)
        if not isinstance(randomizer, LocalRandomizer):
            raise TypeError(f"{name} must return a local randomizer, got {randomizer!r}")
        return randomizer

    return make


def parameters(mechanism: type[LocalRandomizer]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters a mechanism takes in text form, by name."""
    if mechanism is MatrixRandomizer:
        return {"path": inspect.Parameter("path", inspect.Parameter.POSITIONAL_OR_KEYWORD)}
    signature = inspect.signature(mechanism).parameters
    fields = dataclasses.fields(mechanism)  # type: ignore[arg-type]
    return {field.name: signature[field.name] for field in fields if field.init}


class _Reader:
    """Reads one text; ``epsilon0`` stands in wherever a mechanism lacks its own."""

    def __init__(self, text: str, epsilon0: float | None, *, files: bool = True) -> None:
        if not isinstance(text, str):
            raise TypeError(
                f"mechanism must be a text such as 'krr(k=10, epsilon0=2)', got {text!r}"
            )
        if len(text) > _MAX_LENGTH:
            raise ValueError(f"mechanism text must have at most {_MAX_LENGTH} characters")
        self.text, self.epsilon0, self.filled_in, self.files = text, epsilon0, False, files

    def read(self) -> LocalRandomizer:
        malformed = f"mechanism must look like 'krr(k=10, epsilon0=2)', got {_shorten(self.text)}"
        if _BARE_PATH.search(self.text):
            malformed += "; quote the name of a file: matrix('m.csv')"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about Python code, which this is not
                tree = ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise ValueError(malformed) from None
        try:
            return self._randomizer(tree)
        except RecursionError:
            raise ValueError(malformed) from None

    def _randomizer(self, node: ast.expr) -> LocalRandomizer:
        if isinstance(node, ast.Name):
            if node.id not in MECHANISMS and node.id not in COMPOSITIONS:
                raise ValueError(_unknown(node.id))
            raise ValueError(f"{node.id} needs its parameters in parentheses")
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise ValueError(
                f"mechanism must look like 'krr(k=10, epsilon0=2)', got {_shorten(self.text)}"
            )
        name = node.func.id
        if name in COMPOSITIONS:
            read = {"joint": self._joint, "subsample": self._subsample}
            return self._build(name, read.get(name, self._mixture), node)
        if name not in MECHANISMS:
            raise ValueError(_unknown(name))
        return self._build(name, self._mechanism, node)

    def _build(
        self, name: str, make: Callable[[ast.Call], LocalRandomizer], node: ast.Call
    ) -> LocalRandomizer:
        """Call a constructor; report what it objects to as ValueError with the name in front."""
        try:
            return make(node)
        except (TypeError, ValueError) as error:
            message = shorten(str(error), _MAX_MESSAGE)
            prefix = "" if message.startswith((f"{name}:", f"{name} ", "unknown")) else f"{name}: "
            raise ValueError(f"{prefix}{message}") from None

    def _mechanism(self, node: ast.Call) -> LocalRandomizer:
        name = node.func.id  # type: ignore[attr-defined]
        mechanism = MECHANISMS[name]
        known = parameters(mechanism)
        arguments: dict[str, object] = {}
        if len(node.args) > len(known):
            most = counted(len(known), "parameter")
            raise ValueError(f"{name} takes at most {most}, got {len(node.args)}")
        for key, value in zip(known, node.args, strict=False):
            arguments[key] = self._literal(value)
        for key, value in self._keywords(node, known):
            if key in arguments:
                raise ValueError(f"{name} got {key} twice in {_shorten(self.text)}")
            arguments[key] = self._literal(value)
        if self.epsilon0 is not None and "epsilon0" in known and "epsilon0" not in arguments:
            arguments["epsilon0"] = self.epsilon0
            self.filled_in = True
        for key, parameter in known.items():
            if key not in arguments and parameter.default is inspect.Parameter.empty:
                raise ValueError(f"{name} needs {key}, missing in {_shorten(self.text)}")
        if mechanism is not MatrixRandomizer:
            return mechanism(**arguments)
        source = arguments["path"]
        if isinstance(source, str):
            if not self.files:
                raise ValueError("it must hold its rows here, not name their file")
            return MatrixRandomizer.from_file(source)
        return MatrixRandomizer(source)  # type: ignore[arg-type]

    def _joint(self, node: ast.Call) -> LocalRandomizer:
        limits = {k: self._literal(v) for k, v in self._keywords(node, ("at_most", "exactly"))}
        return Joint(tuple(map(self._randomizer, node.args)), **limits)  # type: ignore[arg-type]

    def _mixture(self, node: ast.Call) -> LocalRandomizer:
        name = node.func.id  # type: ignore[attr-defined]
        self._keywords(node, ())
        parts, weights = [], []
        for term in node.args:
            if not isinstance(term, ast.BinOp) or not isinstance(term.op, ast.Mult):
                raise ValueError(f"{name} takes terms such as 0.5*krr(k=10, epsilon0=1)")
            weights.append(self._literal(term.left))
            parts.append(self._randomizer(term.right))
        return COMPOSITIONS[name](tuple(parts), tuple(weights))  # type: ignore[call-arg]

    def _subsample(self, node: ast.Call) -> LocalRandomizer:
        keywords = {k: self._literal(v) for k, v in self._keywords(node, ("rate",))}
        rates = [*map(self._literal, node.args[1:]), *keywords.values()]
        if not node.args or len(rates) != 1:
            raise ValueError(
                "subsample takes one mechanism and its rate, as in "
                "subsample(krr(k=10, epsilon0=1), rate=0.1)"
            )
        return Subsample(self._randomizer(node.args[0]), rates[0])  # type: ignore[arg-type]

    def _keywords(self, node: ast.Call, known: Iterable[str]) -> list[tuple[str, ast.expr]]:
        """Return the keyword arguments of a call; reject unknown ones."""
        name, allowed = node.func.id, tuple(known)  # type: ignore[attr-defined]
        found: dict[str, ast.expr] = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in allowed:
                takes = f"it takes {', '.join(allowed)}" if allowed else "it takes none"
                raise ValueError(f"{name} has no parameter {_shorten(str(keyword.arg))}; {takes}")
            if keyword.arg in found:
                raise ValueError(f"{name} got {keyword.arg} twice in {_shorten(self.text)}")
            found[keyword.arg] = keyword.value
        return list(found.items())

    def _literal(self, node: ast.expr) -> object:
        """Return a number, text, None, or nested list of numbers."""
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str | None):
            return node.value
        if isinstance(node, ast.List):
            return [self._literal(item) for item in node.elts]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            value = self._literal(node.operand)
            if isinstance(value, int | float) and not isinstance(value, bool):
                return -value if isinstance(node.op, ast.USub) else value
        given = shorten(ast.get_source_segment(self.text.strip(), node) or "", _MAX_ECHO)
        quote = f"; quote it if it is a text: {given!r}" if _is_bare(node) else ""
        raise ValueError(
            f"parameters must be numbers, texts, None or lists of numbers in "
            f"{_shorten(self.text)}, got {given}{quote}"
        )


def _unknown(name: str) -> str:
    known = {**MECHANISMS, **COMPOSITIONS}
    return (
        f"unknown mechanism {_shorten(name)}; known: {', '.join(known)}"
        f"{did_you_mean(guess(name, known))}"
    )


def _is_bare(node: ast.expr) -> bool:
    """Tell whether this reads like a text without its quotes: a name, m.csv, data/m.csv."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Sub):
        return _is_bare(node.left) and _is_bare(node.right)
    if isinstance(node, ast.Attribute):
        return _is_bare(node.value)
    return isinstance(node, ast.Name)


def _shorten(text: str) -> str:
    return repr(shorten(text, _MAX_ECHO))
