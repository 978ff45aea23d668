"""Channels from the text form of mechanisms."""

from __future__ import annotations

import ast
from typing import Any

from oracle import nested
from oracle.channel import Channel
from oracle.mechanisms import DEFINITIONS

#: Parameters that texts may give by position.
_POSITIONS = {"matrix": ("rows",), "krr": ("k", "epsilon0")}


def read(text: str) -> Channel:
    """The channel of a mechanism in text form.

    >>> read("subsample(krr(k=3, epsilon0=1), rate=0.5)").inputs
    (0, 1, 2)
    """
    tree = ast.parse(text, mode="eval").body
    return _channel(tree)


def _channel(node: ast.expr) -> Channel:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise ValueError(f"not a mechanism: {ast.unparse(node)}")
    name = node.func.id
    parameters: dict[str, Any] = {
        str(keyword.arg): ast.literal_eval(keyword.value) for keyword in node.keywords
    }
    if name == "joint":
        return nested.joint([_channel(part) for part in node.args], **parameters)
    if name == "subsample":
        return nested.subsample(_channel(node.args[0]), **parameters)
    if name in ("parallel", "one_of"):
        terms = [term for term in node.args if isinstance(term, ast.BinOp)]
        weights = [ast.literal_eval(term.left) for term in terms]
        parts = [_channel(term.right) for term in terms]
        return (nested.parallel if name == "parallel" else nested.one_of)(weights, parts)
    given = zip(_POSITIONS.get(name, ()), node.args, strict=False)
    parameters |= {key: ast.literal_eval(value) for key, value in given}
    return DEFINITIONS[name](**parameters)
