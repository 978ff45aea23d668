"""Whatever the command line: an answer or one clear error, no traceback, and whole files only."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from command_line import ask
from hypothesis import given, settings
from hypothesis import strategies as st
from lines import lines
from stopwatch import at_most
from tiers import examples

from shuffledp.cli import main
from shuffledp.deployment.files import Ledger

#: Far more than any of these lines needs, and far less than forever.
SECONDS = 120

#: How many lines of each command are tried; the others, and new commands, get the last number.
EXAMPLES = {
    "plan": 5,
    "report": 5,
    "calibrate": 8,
    "users": 8,
    "rounds": 10,
    "certify": 15,
    "compare": 30,
    "verify": 30,
    "mechanisms": 15,
}
COMMON = 40

#: All commands but the one that only a signal ends.
ENDING = [name for name in main.commands if name != "explore"]

PEOPLE = "".join(f"{i},{['red', 'green', 'blue'][i % 3]},{i % 3}\n" for i in range(30))
RANDOMIZE = ["randomize", "people.csv", "--column=age", "--mechanism=krr(3, 2)", "--delta=1e-6"]


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of files to read, right and wrong ones; lines run in it."""
    path = tmp_path_factory.mktemp("fuzz")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        (path / "folder.csv").mkdir()
        (path / "empty.csv").write_bytes(b"")
        (path / "binary.csv").write_bytes(bytes(range(256)))
        (path / "people.csv").write_text(f"id,colour,age\n{PEOPLE}")
        made = CliRunner().invoke(main, [*RANDOMIZE, "--out=reports.csv", "--seed=1"])
        assert made.exit_code == 0
        certificate = ask("certify", "krr(k=3, epsilon0=1)", "-n", "100", "--delta", "1e-3")
        (path / "certificate.json").write_text(certificate)
        ledger = Ledger.create(path / "spent.jsonl", epsilon=1.0, delta=1e-6)
        ledger.add("krr(k=3, epsilon0=1)", 1000)
        yield path


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(folder: Path, arguments: list[str]) -> Result:
    """Run a line, check what must hold for every line, and tidy up."""
    known, before = set(folder.iterdir()), files(folder)
    with at_most(SECONDS):
        result = CliRunner().invoke(main, arguments, prog_name="shuffledp")
    after = files(folder)
    for path in set(folder.iterdir()) - known:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path, content in before.items():
        if after.get(path) != content:
            path.write_bytes(content)
    assert result.exit_code in (0, 1, 2)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert "please report" not in result.output
    if result.exit_code == 0:
        check_answer(arguments, result.stdout)
        check_whole({path: after[path] for path in after if path not in before})
    else:
        assert result.stdout == ""
        assert result.stderr.partition("Error: ")[2].strip()
        assert len(result.stderr) < 4000 + sum(map(len, arguments))  # a wrong value is named
        assert after == before
    return result


def check_answer(arguments: list[str], text: str) -> None:
    assert text.strip()
    if "--json" in arguments and not text.startswith("Usage: "):
        check_finite(json.loads(text))


def check_finite(value: object) -> None:
    """JSON has no infinity, and a number too large for a double would be read as one."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            check_finite(inner)
    elif isinstance(value, float):
        assert math.isfinite(value)


def check_whole(written: dict[Path, bytes]) -> None:
    for path, content in written.items():
        assert not path.name.startswith(".")  # the name of a file that is not finished
        assert content
        if path.suffix == ".json":
            check_finite(json.loads(content))
        if path.suffix == ".csv":
            assert content.endswith(b"\n")


@pytest.mark.heavy
@pytest.mark.parametrize("command", [name for name in ENDING if name != "plan"])
def test_lines(command: str, folder: Path) -> None:
    @settings(max_examples=examples(EXAMPLES.get(command, COMMON)))
    @given(lines(command))
    def check(arguments: list[str]) -> None:
        run(folder, arguments)

    check()


@pytest.mark.heavy
def test_lines_of_plan(folder: Path) -> None:
    test_lines("plan", folder)


@pytest.mark.slow
@pytest.mark.parametrize("command", ENDING)
def test_lines_at_length(command: str, folder: Path) -> None:
    @settings(max_examples=20 * EXAMPLES.get(command, COMMON))
    @given(lines(command))
    def check(arguments: list[str]) -> None:
        run(folder, arguments)

    check()


@pytest.mark.heavy
@settings(max_examples=60)
@given(st.data())
def test_damaged_files(folder: Path, data: st.DataObject) -> None:
    """One byte, or a few, of a file that a command reads are others."""
    name, line = data.draw(
        st.sampled_from(
            [
                ("certificate.json", ["verify", "certificate.json"]),
                ("reports.csv", ["estimate", "reports.csv"]),
                ("reports.csv.json", ["estimate", "reports.csv"]),
                ("spent.jsonl", ["ledger", "show", "spent.jsonl"]),
                ("people.csv", [*RANDOMIZE, "--out=out.csv"]),
            ]
        )
    )
    file = folder / name
    content = file.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    end = start + data.draw(st.integers(0, 20))
    piece = data.draw(
        st.binary(max_size=3) | st.sampled_from([b"-1", b"1e999", b"NaN", b"[" * 9999])
    )
    file.write_bytes(content[:start] + piece + content[end:])
    try:
        result = run(folder, [*line, *data.draw(st.sampled_from([[], ["--json"]]))])
    finally:
        file.write_bytes(content)
    if line[0] == "verify" and result.exit_code == 0:
        # Only what does not matter may have changed: white space.
        changed = content[:start] + piece + content[end:]
        assert json.loads(changed) == json.loads(content)
    if line[0] == "ledger" and result.exit_code == 0:
        changed = content[:start] + piece + content[end:]
        assert content.startswith(changed)  # only whole lines at the end may be missing
