"""The text form of randomizers: ``krr(k=10, epsilon0=2.0)``.

Text is read through Python's syntax tree with a whitelist; nothing is evaluated.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Callable, Mapping

from shuffledp.randomizers.any_pure_ldp import AnyPureLDP
from shuffledp.randomizers.base import LocalRandomizer
from shuffledp.randomizers.discrete_laplace import DiscreteLaplace
from shuffledp.randomizers.gaussian import Gaussian
from shuffledp.randomizers.hadamard import HadamardResponse
from shuffledp.randomizers.krr import KRR
from shuffledp.randomizers.laplace import Laplace
from shuffledp.randomizers.local_hash import BinaryLocalHash, LocalHash
from shuffledp.randomizers.matrix import MatrixRandomizer
from shuffledp.randomizers.subset import SubsetSelection
from shuffledp.randomizers.unary import OUE, RAPPOR, UnaryEncoding

#: All mechanisms by name, in the order in which they are listed.
MECHANISMS: Mapping[str, type[LocalRandomizer]] = {
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

_MAX_LENGTH = 1_000_000


def parse(text: str) -> LocalRandomizer:
    """Read a randomizer from its text form; the inverse of ``str``.

    >>> parse("krr(k=10, epsilon0=2)")
    KRR(k=10, epsilon0=2.0)

    Raises:
        ValueError: if the text is not a known mechanism with valid parameters.
    """
    name, arguments = _read(text)
    return _build(text, name, arguments)


def parse_family(text: str) -> Callable[[float], LocalRandomizer]:
    """Read a mechanism without epsilon0, such as ``krr(k=10)``, as a function of epsilon0.

    >>> parse_family("krr(k=10)")(2.0)
    KRR(k=10, epsilon0=2.0)

    Raises:
        ValueError: as for :func:`parse`; also if the mechanism has no epsilon0 or it is given.
    """
    name, arguments = _read(text)
    if "epsilon0" not in parameters(MECHANISMS[name]):
        raise ValueError(f"{name} has no parameter epsilon0 to choose, got {_shorten(text)}")
    if "epsilon0" in arguments:
        raise ValueError(f"epsilon0 is what is looked for; leave it out of {_shorten(text)}")
    _build(text, name, {**arguments, "epsilon0": 1.0})  # reports bad parameters now
    return lambda epsilon0: _build(text, name, {**arguments, "epsilon0": epsilon0})


def parameters(mechanism: type[LocalRandomizer]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters a mechanism takes in text form, by name."""
    if mechanism is MatrixRandomizer:
        return {"path": inspect.Parameter("path", inspect.Parameter.POSITIONAL_OR_KEYWORD)}
    signature = inspect.signature(mechanism).parameters
    return {field.name: signature[field.name] for field in dataclasses.fields(mechanism)}  # type: ignore[arg-type]


def _read(text: str) -> tuple[str, dict[str, object]]:
    """Return the name and the arguments of the call that ``text`` spells."""
    if not isinstance(text, str):
        raise TypeError(f"mechanism must be a text such as 'krr(k=10, epsilon0=2)', got {text!r}")
    if len(text) > _MAX_LENGTH:
        raise ValueError(f"mechanism text must have at most {_MAX_LENGTH} characters")
    malformed = f"mechanism must look like 'krr(k=10, epsilon0=2)', got {_shorten(text)}"
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(malformed) from None
    try:
        return _read_call(text, call)
    except RecursionError:
        raise ValueError(malformed) from None


def _read_call(text: str, call: ast.expr) -> tuple[str, dict[str, object]]:
    if isinstance(call, ast.Name):
        raise ValueError(f"mechanism {_shorten(text)} needs its parameters in parentheses")
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(f"mechanism must look like 'krr(k=10, epsilon0=2)', got {_shorten(text)}")
    name = call.func.id
    if name not in MECHANISMS:
        raise ValueError(f"unknown mechanism {_shorten(name)}; known: {', '.join(MECHANISMS)}")
    known = parameters(MECHANISMS[name])
    arguments: dict[str, object] = {}
    if len(call.args) > len(known):
        raise ValueError(f"{name} takes at most {len(known)} parameters, got {len(call.args)}")
    for key, node in zip(known, call.args, strict=False):
        arguments[key] = _literal(node, text)
    for keyword in call.keywords:
        if keyword.arg is None or keyword.arg not in known:
            raise ValueError(
                f"{name} has no parameter {_shorten(str(keyword.arg))}; it takes {', '.join(known)}"
            )
        if keyword.arg in arguments:
            raise ValueError(f"{name} got {keyword.arg} twice in {_shorten(text)}")
        arguments[keyword.arg] = _literal(keyword.value, text)
    return name, arguments


def _build(text: str, name: str, arguments: Mapping[str, object]) -> LocalRandomizer:
    """Call the constructor; report missing or wrong parameters as ValueError."""
    mechanism = MECHANISMS[name]
    for key, parameter in parameters(mechanism).items():
        if key not in arguments and parameter.default is inspect.Parameter.empty:
            raise ValueError(f"{name} needs {key}, missing in {_shorten(text)}")
    try:
        if mechanism is MatrixRandomizer:
            source = arguments["path"]
            if isinstance(source, str):
                return MatrixRandomizer.from_file(source)
            return MatrixRandomizer(source)  # type: ignore[arg-type]
        return mechanism(**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None


def _literal(node: ast.expr, text: str) -> object:
    """Return a number, text, None, or nested list of numbers."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float | str | None):
        return node.value
    if isinstance(node, ast.List):
        return [_literal(item, text) for item in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        value = _literal(node.operand, text)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return -value if isinstance(node.op, ast.USub) else value
    raise ValueError(
        f"parameters must be numbers, texts, None or lists of numbers in {_shorten(text)}, got "
        f"{type(node).__name__}"
    )


def _shorten(text: str, limit: int = 80) -> str:
    return repr(text if len(text) <= limit else text[: limit - 3] + "...")
