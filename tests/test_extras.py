"""A missing extra is one kind of error, which says what to install, behind every door."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp import KRR, ShuffleAccountant, parse
from shuffledp.basics.cluster import spread
from shuffledp.basics.extras import _PACKAGES, MissingExtraError, import_extra
from shuffledp.basics.figures import Chart, Line, draw
from shuffledp.cli import main
from shuffledp.deployment.files import Column, Randomization, estimate_files
from shuffledp.outputs.pld import to_pld

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
INSTALL = {
    "distributed": 'clusters need distributed: pip install "shuffledp[cluster]"',
    "matplotlib": 'pictures need matplotlib: pip install "shuffledp[plot]"',
    "pyarrow": 'Parquet files need pyarrow: pip install "shuffledp[parquet]"',
    "pandas": 'data frames need pandas: pip install "shuffledp[pandas]"',
    "polars": 'data frames of polars need polars: pip install "shuffledp[polars]"',
    "dp_accounting": 'privacy loss distributions need dp-accounting: pip install "shuffledp[pld]"',
    "fastapi": 'local pages need fastapi: pip install "shuffledp[web]"',
    "plotly": 'local pages need plotly: pip install "shuffledp[web]"',
    "starlette": 'local pages need fastapi: pip install "shuffledp[web]"',
    "uvicorn": 'local pages need uvicorn: pip install "shuffledp[web]"',
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "answers.csv").write_text("answer\n0\n1\n")
    (tmp_path / "answers.parquet").write_bytes(b"")
    make("answers.csv", "reports.parquet")
    return tmp_path


def make(source, out):
    randomization = Randomization(parse("krr(k=3, epsilon0=2)"), [Column("answer")])
    randomization.run(Path(source), Path(out), target_delta=1e-6, assumptions=())


CHART = Chart("title", "x", "y", (Line("a", (1.0,), (1.0,), "upper", "a"),), x_log=True, y_log=True)

#: What needs a package, in Python.
CALLS = [
    ("matplotlib", lambda: draw(CHART, Path("a.png"))),
    ("pyarrow", lambda: make("answers.parquet", "more.csv")),
    ("pyarrow", lambda: make("answers.csv", "more.parquet")),
    ("pyarrow", lambda: estimate_files([Path("reports.parquet")])),
    ("dp_accounting", lambda: to_pld(ShuffleAccountant(KRR(k=3, epsilon0=1.0), 10))),
    ("distributed", lambda: spread(abs, [1], object())),
]

ANSWERS = ("--column", "answer", "--mechanism", "krr(k=3, epsilon0=2)", "--delta", "1e-6")

#: What needs it on the command line.
COMMANDS = [
    ("pyarrow", ("randomize", "answers.parquet", *ANSWERS, "-o", "more.csv")),
    ("pyarrow", ("randomize", "answers.csv", *ANSWERS, "-o", "more.parquet")),
    ("pyarrow", ("estimate", "reports.parquet")),
    ("distributed", ("curve", "krr(3, 1)", "--delta", "0.1", "--cluster", "local:1")),
    ("matplotlib", ("report", "krr(k=3, epsilon0=1)", "-n", "10", "--delta", "0.1")),
    ("fastapi", ("explore", "--no-browser")),
    ("plotly", ("explore", "--no-browser")),
    ("uvicorn", ("explore", "--no-browser")),
]


@pytest.mark.parametrize(("package", "call"), CALLS)
def test_in_python(folder, monkeypatch, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError) as caught:
        call()
    assert isinstance(caught.value, ImportError)
    assert str(caught.value) == INSTALL[package]


@pytest.mark.heavy(keep=6)
@pytest.mark.parametrize(("package", "arguments"), COMMANDS, ids=lambda value: value[0])
def test_on_the_command_line(folder, monkeypatch, package, arguments):
    monkeypatch.setitem(sys.modules, package, None)
    result = CliRunner().invoke(main, arguments, prog_name="shuffledp")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {INSTALL[package]}")
    assert result.stderr.count("\n") == 1


def test_a_broken_package_is_not_hidden(monkeypatch, tmp_path):
    (tmp_path / "pyarrow.py").write_text("import no_such_module_of_pyarrow")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pyarrow")
    with pytest.raises(MissingExtraError) as caught:
        import_extra("pyarrow")
    assert "no_such_module_of_pyarrow" in str(caught.value.__cause__)


@pytest.mark.parametrize("module", INSTALL)
def test_the_extra_brings_the_package(module):
    package = _PACKAGES[module]
    brought = PROJECT["optional-dependencies"][package.extra]
    assert any(requirement.startswith(f"{package.name}>=") for requirement in brought)


@pytest.mark.heavy
def test_every_optional_import_is_known():
    found = set()
    for file in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            found |= {name.partition(".")[0] for name in names}
    needed = {requirement.partition(">")[0] for requirement in PROJECT["dependencies"]}
    assert found - set(sys.stdlib_module_names) - needed - {"shuffledp"} <= _PACKAGES.keys()
    assert _PACKAGES.keys() == INSTALL.keys()


def test_every_extra_is_needed_by_something():
    needed = {package.extra for package in _PACKAGES.values()}
    assert set(PROJECT["optional-dependencies"]) == needed | {"dev", "docs"}


@pytest.mark.parametrize("module", INSTALL)
def test_it_travels_from_a_worker(module):
    error = pickle.loads(pickle.dumps(MissingExtraError(module)))  # noqa: S301
    assert (str(error), error.name) == (INSTALL[module], module)


def test_a_first_answer_needs_no_heavy_package() -> None:
    """They would double the time that a cold command line takes."""
    code = (
        "import sys, shuffledp.cli\n"
        "shuffledp.ShuffleAccountant('krr(k=10, epsilon0=2)', 10_000).get_epsilon(1e-6)\n"
        "print(*{'scipy', 'pandas', 'matplotlib', 'dask', 'fastapi'} & set(sys.modules))\n"
    )
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert found.stdout.split() == []
