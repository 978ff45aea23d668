"""Mutants: copies of a source text that differ from it in one small place.

One sign, rounding direction, factor or comparison is changed:

* ``+`` and ``-``, ``*`` and ``/`` are exchanged, also in ``+=`` and its relatives;
* a minus sign is dropped;
* names of opposite directions are exchanged: lower and upper, min and max, floor and ceil, ...,
  and so are the directions of ``nextafter``;
* a number k becomes k + 1 if it is whole and 2 k if it is not;
* ``<`` and ``>``, ``<=`` and ``>=`` are exchanged.

What is no formula is left out: text, annotations, ``raise`` statements, default arguments, and code
outside of functions, such as the constants that decide how much work is done. Numbers that are no
factors stay as they are: zeros, those that count positions (subscripts, ``axis``, ``range``), and
lists, which hold points to try. So do the sizes of allowances for rounding, which are numbers
multiplied by ``UNIT`` and numbers below 1e-6: they are generous, and a larger one only makes an
enclosure wider. The signs of allowances are changed. Lines with a comment ``# mutation: REASON``
stay as they are: the reason says why no test needs to notice a change.
"""

from __future__ import annotations

import ast
import builtins
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

_OPERATORS = {ast.Add: "+-", ast.Sub: "-+", ast.Mult: "*/", ast.Div: "/*"}
_COMPARISONS = {
    ast.Lt: ("<", ">"),
    ast.Gt: (">", "<"),
    ast.LtE: ("<=", ">="),
    ast.GtE: (">=", "<="),
}
_PAIRS = [
    ("lower", "upper"),
    ("singular_lower", "singular_upper"),
    ("low", "high"),
    ("below", "above"),
    ("min", "max"),
    ("nanmin", "nanmax"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("floor", "ceil"),
    ("exp_down", "exp_up"),
    ("left", "right"),
]
_OPPOSITE = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}
_TURNED = {"0.0": "math.inf", "math.inf": "0.0", "np.inf": "-np.inf"}  # ends of nextafter
_COUNTS = {"range", "arange", "reshape", "tile", "zeros", "ones", "isqrt"}
_ALLOWANCE = 1e-6
_EXEMPT = re.compile(r"# mutation: \w")


@dataclass(frozen=True)
class Mutant:
    """A replacement of the characters ``start`` to ``stop`` of a source text.

    ``before`` and ``after`` are the changed line, without its indentation; with ``function`` they
    name the mutant also when lines elsewhere are added or removed.
    """

    function: str
    line: int
    start: int
    stop: int
    replacement: str
    before: str
    after: str

    @property
    def change(self) -> str:
        return f"{self.before}  =>  {self.after}"

    def apply(self, source: str) -> str:
        return source[: self.start] + self.replacement + source[self.stop :]


def mutants(source: str) -> list[Mutant]:
    """Return all mutants of a source text, in the order of their places."""
    text = _Text(source)
    found = []
    for name, function in _functions(ast.parse(source)):
        for start, stop, replacement in _Changes(text, function):
            found.append(text.mutant(name, start, stop, replacement))
    watched = (mutant for mutant in found if not _EXEMPT.search(mutant.before))
    return sorted(watched, key=lambda mutant: mutant.start)


def _functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Yield functions and methods with their qualified names; inner functions belong to them."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node, f"{prefix}{node.name}.")


class _Text:
    """A source text: where its lines begin and where its operators are."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self.begins = [0]
        for line in self.lines:
            self.begins.append(self.begins[-1] + len(line))
        self.operators = [
            (self.begins[token.start[0] - 1] + token.start[1], token.string)
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.OP
        ]

    def begin(self, node: ast.AST) -> int:
        return self._offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]

    def end(self, node: ast.AST) -> int:
        return self._offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]

    def _offset(self, line: int, column: int) -> int:
        """Return the place of a column that is counted in bytes."""
        return self.begins[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def operator(self, symbol: str, begin: int, end: int) -> int:
        """Return the place of the first operator ``symbol`` between two places."""
        return next(at for at, text in self.operators if begin <= at < end and text == symbol)

    def mutant(self, function: str, start: int, stop: int, replacement: str) -> Mutant:
        line = next(i for i, begin in enumerate(self.begins) if begin > start)
        begin, old = self.begins[line - 1], self.lines[line - 1]
        new = old[: start - begin] + replacement + old[stop - begin :]
        return Mutant(function, line, start, stop, replacement, old.strip(), new.strip())


class _Changes(ast.NodeVisitor):
    """Collects the changes of one function as (start, stop, replacement)."""

    def __init__(self, text: _Text, function: ast.FunctionDef) -> None:
        self.text = text
        self.found: list[tuple[int, int, str]] = []
        self.names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        self.names.update(dir(builtins))
        self.factors = True  # whether numbers are factors here
        for statement in function.body:
            self.visit(statement)

    def __iter__(self) -> Iterator[tuple[int, int, str]]:
        return iter(self.found)

    def _replace(self, start: int, old: str, new: str) -> None:
        self.found.append((start, start + len(old), new))

    def _visit(self, node: ast.AST, *, factors: bool) -> None:
        """Visit a node whose numbers may be no factors."""
        before, self.factors = self.factors, self.factors and factors
        self.visit(node)
        self.factors = before

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Error messages are tested where they are raised."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in _OPERATORS:
            old, new = _OPERATORS[type(node.op)]
            begin, end = self.text.end(node.left), self.text.begin(node.right)
            self._replace(self.text.operator(old, begin, end), old, new)
        allowance = isinstance(node.op, ast.Mult) and _mentions(node, "UNIT")
        self._visit(node.left, factors=not allowance)
        self._visit(node.right, factors=not allowance)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in _OPERATORS:
            old, new = (symbol + "=" for symbol in _OPERATORS[type(node.op)])
            begin, end = self.text.end(node.target), self.text.begin(node.value)
            self._replace(self.text.operator(old, begin, end), old, new)
        self.visit(node.value)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub):
            self._replace(self.text.begin(node), "-", "")
        self.visit(node.operand)

    def visit_Compare(self, node: ast.Compare) -> None:
        ends = [node.left, *node.comparators]
        for i, op in enumerate(node.ops):
            if type(op) in _COMPARISONS:
                old, new = _COMPARISONS[type(op)]
                begin, end = self.text.end(ends[i]), self.text.begin(ends[i + 1])
                self._replace(self.text.operator(old, begin, end), old, new)
        self.generic_visit(node)

    def visit_List(self, node: ast.List) -> None:
        for element in node.elts:
            self._visit(element, factors=False)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        self._visit(node.slice, factors=False)

    def visit_Call(self, node: ast.Call) -> None:
        self.visit(node.func)
        if _name(node.func) == "nextafter" and not isinstance(node.args[1], ast.UnaryOp):
            end = self.text.source[self.text.begin(node.args[1]) : self.text.end(node.args[1])]
            if end in _TURNED:  # else it is named, and the name is changed where it is given
                self._replace(self.text.begin(node.args[1]), end, _TURNED[end])
        for argument in node.args:
            self._visit(argument, factors=_name(node.func) not in _COUNTS)
        for keyword in node.keywords:
            self._visit(keyword.value, factors=keyword.arg != "axis")

    def visit_Name(self, node: ast.Name) -> None:
        new = _OPPOSITE.get(node.id)
        if new in self.names and isinstance(node.ctx, ast.Load):
            self._replace(self.text.begin(node), node.id, new)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in _OPPOSITE and isinstance(node.ctx, ast.Load):
            place = self.text.end(node) - len(node.attr)
            self._replace(place, node.attr, _OPPOSITE[node.attr])
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        old = self.text.source[self.text.begin(node) : self.text.end(node)]
        if isinstance(node.value, str) and node.value in _OPPOSITE:
            self._replace(self.text.begin(node) + 1, node.value, _OPPOSITE[node.value])
        elif self.factors and type(node.value) in (int, float) and node.value > _ALLOWANCE:
            whole = isinstance(node.value, int)
            self._replace(
                self.text.begin(node), old, repr(node.value + 1 if whole else 2 * node.value)
            )


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def _name(node: ast.AST) -> str:
    """Return the last part of a dotted name, or nothing."""
    return getattr(node, "attr", getattr(node, "id", ""))
