"""What README.md shows is what happens."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from shuffledp import __version__
from shuffledp.cli import main

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


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


def test_it_is_short():
    assert len(README.splitlines()) <= 125


def test_the_two_commands_come_before_all_questions():
    first = blocks("sh")[0]
    assert README.index(first) < README.index("\n## What it answers")
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


def test_make_run_shows_the_answer_and_the_older_bounds():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    examples = re.findall(r"^EXAMPLE_\w+ := (.*)$", makefile, flags=re.MULTILINE)
    assert [f"shuffledp {examples[0]}"] == list(commands())
    answer, comparison = map(shlex.split, examples)
    assert (answer[0], comparison[0]) == ("epsilon", "compare")
    assert answer[1:] == comparison[1:]
    assert CliRunner().invoke(main, comparison).exit_code == 0
    for page in re.findall(r"^  (docs/\S+)", makefile, flags=re.MULTILINE):
        assert (ROOT / page).exists()


def test_every_command_answers_a_question():
    questions = README.partition("## What it answers\n")[2].partition("\n## ")[0]
    named = re.findall(r"`(?:shuffledp )?(\w+)`", questions)
    assert set(main.commands) - set(named) == {"mechanisms"}  # which is looked up


def test_links_lead_to_files():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", README):
        assert (ROOT / target).exists()


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.*)$", citation, flags=re.MULTILINE).group(1) == __version__
    paper = "Decomposition-Based Optimal Bounds for Privacy Amplification via Shuffling"
    assert f"title: {paper}\n" in citation
    assert paper in " ".join(README.split())
