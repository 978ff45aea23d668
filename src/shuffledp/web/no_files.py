"""Texts of mechanisms that would make the reader open a file."""

from __future__ import annotations

import ast
import warnings


def names_a_file(text: str) -> bool:
    """Whether a mechanism, or a part of it, is to be read from a file.

    It is read as the mechanisms read it; what cannot be read opens no file.

    >>> names_a_file("matrix('m.csv')"), names_a_file("joint(krr(2, 1), matrix(path='m.csv'))")
    (True, True)
    >>> names_a_file("matrix([[0.5, 0.5], [0.25, 0.75]])"), names_a_file("matrix(")
    (False, False)
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "matrix"
        and any(_is_text(value) for value in (*node.args, *(k.value for k in node.keywords)))
        for node in ast.walk(tree)
    )


def _is_text(node: ast.expr) -> bool:
    """Whether a text stands anywhere inside, as in 'a' or -'a' or ['a']."""
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str | bytes))
        for part in ast.walk(node)
    )
