"""What README.md shows is what happens."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp.cli import main
from shuffledp.randomizers import COMPOSITIONS, MECHANISMS, parameters, parse

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")

#: Commands that take seconds.
LONG = ("plan", "reproduce", "curve")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def commands() -> dict[str, str]:
    """Every command line of the console blocks with the output shown below it."""
    shown = {}
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, _, output = part.partition("\n")
            shown[line] = output
    return shown


def table(title: str) -> list[list[str]]:
    """The cells below the header of the first table after a heading."""
    text = README.partition(f"## {title}\n")[2]
    lines = re.search(r"(?:^\|.*\n)+", text, flags=re.MULTILINE).group().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_two_commands_stand_at_the_top():
    first = blocks("sh")[0]
    assert README.index(first) < README.index("\n## ")
    assert [line.split("#")[0].split() for line in first.splitlines()] == [
        ["make", "run"],
        ["make", "test"],
    ]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"^run:.*##", makefile, flags=re.MULTILINE)
    assert re.search(r"^test:.*##", makefile, flags=re.MULTILINE)


@pytest.mark.parametrize("block", blocks("python"), ids=lambda block: block.splitlines()[0])
def test_python(block, capsys):
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102
    printed = capsys.readouterr().out.splitlines()
    assert len(printed) == len(re.findall(r"^print\(", block, flags=re.MULTILINE))
    shown = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
    assert shown == printed


@pytest.mark.parametrize("line", commands())
def test_console(line):
    program, *arguments = shlex.split(line)
    assert program == "shuffledp"
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert result.stdout.strip() == commands()[line].strip()


def shell_lines() -> list[object]:
    """The lines of the other blocks; those that compare many mechanisms take long."""
    return [
        pytest.param(line, marks=[pytest.mark.heavy] if line.split()[1] in LONG else [])
        for line in "".join(blocks("sh")[1:]).splitlines()
    ]


@pytest.mark.parametrize("line", shell_lines())
def test_shell(line, tmp_path, monkeypatch):
    program, *arguments = shlex.split(line)
    assert program == "shuffledp"
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    for name in arguments[arguments.index("--out") + 1 :] if "--out" in arguments else ():
        assert (tmp_path / name).exists()


def test_the_worked_example_is_that_of_make_run():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    examples = re.findall(r"^EXAMPLE_\w+ := (.*)$", makefile, flags=re.MULTILINE)
    assert [f"shuffledp {example}" for example in examples] == list(commands())


def test_json_fields():
    documented = {re.fullmatch(r"`(\w+)`", name).group(1) for name, _ in table("JSON fields")}
    answered: set[str] = set()
    for line in commands():
        arguments = [*shlex.split(line)[1:], "--json"]
        answered |= set(json.loads(CliRunner().invoke(main, arguments).stdout))
    assert documented == answered


def test_mechanisms():
    calls = [re.fullmatch(r"`(\w+)\((.*)\)`", text) for text, _ in table("Mechanisms")]
    assert [call.group(1) for call in calls] == list(MECHANISMS)
    for call in calls:
        names = [argument.partition("=")[0] for argument in call.group(2).split(", ")]
        assert names == list(parameters(MECHANISMS[call.group(1)]))


def test_compositions():
    text = README.partition("## Mechanisms\n")[2].partition("\n## ")[0]
    for name in COMPOSITIONS:
        example = re.search(rf"^\| `({name}\(.*?\))` \|", text, flags=re.MULTILINE).group(1)
        assert parse(example).name == name


def test_links_lead_to_files():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists()
