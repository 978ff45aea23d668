"""Layers import in one direction: docs/layers.py holds the list, the sources are what counts."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"


def load(name: str):
    """Import a script of the documentation, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


layers = load("layers")
PARTS = [name for row in layers.LAYERS for name in row]
IMPORTS = tuple(layers.imports())


def test_every_part_is_in_one_layer():
    assert sorted(PARTS) == sorted(layers.parts())


def test_every_part_has_a_purpose():
    assert sorted(layers.PURPOSE) == sorted(PARTS)


@pytest.mark.parametrize("part", PARTS)
def test_imports_go_down(part):
    wrong = [
        f"{found.file.relative_to(layers.SOURCE)}:{found.line} imports {found.imported}"
        for found in IMPORTS
        if found.importer == part
        and (part, found.imported) not in layers.UPWARDS
        and (found.imported not in PARTS or layers.rank(found.imported) >= layers.rank(part))
    ]
    assert not wrong


def test_calls_upwards_are_made():
    assert set(layers.UPWARDS) <= {(found.importer, found.imported) for found in IMPORTS}


def test_imports_are_found():
    found = {(i.importer, i.imported) for i in IMPORTS}
    assert {("bounds", "engine"), ("cli", "planning")} <= found
    assert {importer for importer, _ in found} == set(PARTS) - set(layers.LAYERS[0])


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("import shuffledp.basics.errors", ["basics"]),
        ("import shuffledp.cli.group as g, numpy", ["cli"]),
        ("from shuffledp.mechanisms.support.krr import KRR", ["mechanisms"]),
        ("from shuffledp import __version__", ["__version__"]),
        ("from shuffledp._version import __version__", ["_version"]),
        ("from shuffledp import errors, KRR", ["errors", "KRR"]),
        ("import shuffledp", ["(the whole package)"]),
        ("from . import errors", ["(relative import)"]),
        ("from numpy import array", []),
    ],
)
def test_statements_are_read(statement, expected):
    (node,) = ast.parse(statement).body
    assert list(layers._imported(node)) == expected


def test_files_are_short():
    long = {
        file.relative_to(layers.SOURCE).as_posix(): lines
        for file in layers.SOURCE.rglob("*.py")
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert not long, long


@pytest.mark.heavy
def test_modules_import_each_other_in_one_direction():
    """Not only the parts: also the modules of one part, by what they import when loaded."""
    graph = layers.modules()
    assert "shuffledp._version" in graph["shuffledp.accounting.report"]
    assert "shuffledp.cli.group" in graph["shuffledp.cli"]
    tuple(TopologicalSorter(graph).static_order())  # raises CycleError, which names the cycle


def test_the_page_names_every_part():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    named = re.findall(r"\w+", " ".join(re.findall(r"^\*\*(.*)\*\*$", page, flags=re.MULTILINE)))
    assert sorted(named) == sorted(PARTS)


@pytest.mark.parametrize("part", ["basics", "engine"])
def test_the_page_names_modules_that_exist(part):
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    about = page.partition(f"\n**{part}**\n")[2].partition("\n\n")[0]
    named = re.findall(r"`([a-z_]+)`", about)
    assert len(named) > 4
    assert set(named) <= {file.stem for file in (layers.SOURCE / part).glob("*.py")}


def test_the_picture_shows_every_part():
    picture = (DOCS / "pictures" / "layers.svg").read_text(encoding="utf-8")
    bold = re.findall(r'font-weight="bold">(\w+)</text>', picture)
    assert bold == PARTS
    for purpose in layers.PURPOSE.values():
        assert f">{purpose}</text>" in picture


def test_the_page_shows_the_way_of_an_epsilon():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    shown = page.partition("make_trace.py`):\n\n```text\n")[2].partition("```")[0].splitlines()
    done = subprocess.run(
        [sys.executable, DOCS / "make_trace.py"], capture_output=True, text=True, check=True
    )
    assert {line.split()[0] for line in shown} == {
        line.split()[0] for line in done.stdout.splitlines()
    }
    assert len(shown) < 50


def test_the_page_shows_the_tree():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    tree = page.partition("## The tree\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"(\w+)/", tree)) - {"src", "shuffledp", "paper"}
    folders = {file.parent.name for file in layers.SOURCE.rglob("__init__.py")} - {"shuffledp"}
    assert named == folders


def test_the_page_names_files_of_facts():
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| Where is it said")[2].partition("\n\n")[0]
    facts = re.findall(r"\| `([a-z_/]+\.py)` \| `(\w+)` \|$", table, flags=re.MULTILINE)
    assert len(facts) == 10
    for file, name in facts:
        body = ast.parse((layers.SOURCE / file).read_text(encoding="utf-8")).body
        assert name in {getattr(node, "name", None) for node in body}, file
