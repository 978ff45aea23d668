"""The layers of shuffledp, lowest first: the one list that the picture and the test read."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "shuffledp"

#: A package or module may import from the rows above its own in this list, from no other.
LAYERS: Sequence[Sequence[str]] = (
    ("_version",),
    ("basics",),
    ("engine",),
    ("decomposition",),
    ("mechanisms",),
    ("bounds",),
    ("accounting", "collection"),
    ("comparison",),
    ("certificates", "planning"),
    ("outputs",),
    ("deployment",),
    ("web",),
    ("cli",),
)

#: What a part may call in a part above it, imported in the function that does; each with a reason.
UPWARDS = {
    ("accounting", "outputs"): "Report.to_html makes a document of what all other parts know",
}

#: What each one is for, in a few words.
PURPOSE = {
    "_version": "the version",
    "basics": "balls, intervals, errors, words, files",
    "engine": "encloses E f(sum of G): doubles propose, balls prove",
    "decomposition": "what reports of two inputs have in common",
    "mechanisms": "state their law, draw from it, have a text form",
    "bounds": "certified curves of delta against epsilon",
    "accounting": "a setting and its curves",
    "collection": "shuffle, add up, estimate",
    "comparison": "beside published analyses, along an axis",
    "certificates": "proved, and proved again",
    "outputs": "documents and loss laws",
    "planning": "which mechanism errs least",
    "deployment": "files, ledgers, studies, audits",
    "web": "the local page and its server",
    "cli": "the command shuffledp",
}

#: Files of the package itself, which stand above all layers: they only pass names on.
ENTRANCES = ("__init__", "__main__")


@dataclass(frozen=True)
class Import:
    """One import of a part of shuffledp: which part imports which, and where."""

    importer: str
    imported: str
    file: Path
    line: int


def parts() -> set[str]:
    """Return the packages and modules that src/shuffledp holds."""
    found = {path.stem for path in SOURCE.glob("*.py")}
    found |= {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    return found - set(ENTRANCES)


def imports() -> Iterator[Import]:
    """Yield every import from one part of shuffledp to another."""
    for file in sorted(SOURCE.rglob("*.py")):
        importer = file.relative_to(SOURCE).with_suffix("").parts[0]
        if importer in ENTRANCES:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            for imported in _imported(node):
                if imported != importer:
                    yield Import(importer, imported, file, node.lineno)


def _imported(node: ast.AST) -> Iterator[str]:
    """Yield the parts of shuffledp that a statement imports; relative imports are not used."""
    for name in _names(node):
        package, _, rest = name.partition(".")
        if package == "shuffledp":
            yield rest.partition(".")[0] or "(the whole package)"


def _names(node: ast.AST) -> list[str]:
    """Return the full names of all that a statement imports."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.level == 0:
        return [f"{node.module}.{alias.name}" for alias in node.names]
    return ["shuffledp.(relative import)"] if isinstance(node, ast.ImportFrom) else []


def modules() -> dict[str, set[str]]:
    """Return the modules of shuffledp, each with those that it imports when it is loaded.

    What only types need, or what a function imports when it is called, is not among them.
    """
    files = {_module(file): file for file in SOURCE.rglob("*.py")}
    graph = {}
    for name, file in files.items():
        body = ast.parse(file.read_text(encoding="utf-8")).body
        names = {imported for node in body for imported in _names(node)}
        graph[name] = {part for part in names if part in files}
        graph[name] |= {part.rpartition(".")[0] for part in names - files.keys()} & files.keys()
    return graph


def _module(file: Path) -> str:
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def rank(part: str) -> int:
    """Return the row of a part, counted from the bottom.

    >>> rank("basics"), rank("accounting")
    (1, 6)
    """
    return next(row for row, names in enumerate(LAYERS) if part in names)
