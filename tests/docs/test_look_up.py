"""The tables of mechanisms and of JSON fields say what there is."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from click.testing import CliRunner

from shuffledp.cli import main
from shuffledp.mechanisms import COMPOSITIONS, MECHANISMS, parameters, parse

DOCS = Path(__file__).parent.parent.parent / "docs"


def section(page: str, title: str) -> str:
    """The text below a heading."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return text.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def table(page: str, title: str) -> list[list[str]]:
    """The cells below the header of the first table after a heading."""
    found = re.search(r"(?:^\|.*\n)+", section(page, title), flags=re.MULTILINE)
    lines = found.group().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_fields_of_answers():
    documented = {re.fullmatch(r"`(\w+)`", name).group(1) for name, _ in table("json", "Answers")}
    answered: set[str] = set()
    for line in (
        'epsilon "krr(k=10, epsilon0=2)" -n 100 --delta 1e-6',
        'delta "krr(k=10, epsilon0=2)" -n 100 --epsilon 0.5',
        'calibrate "krr(k=10)" -n 100 --epsilon 1 --delta 1e-6',
        'users "krr(k=10, epsilon0=2)" --epsilon 0.5 --delta 1e-6',
    ):
        answered |= set(json.loads(CliRunner().invoke(main, [*shlex.split(line), "--json"]).stdout))
    assert documented == answered


def test_every_command_with_json_is_on_the_page():
    page = (DOCS / "json.md").read_text(encoding="utf-8")
    for name, command in main.commands.items():
        if any("--json" in parameter.opts for parameter in command.params):
            assert re.search(rf"`(shuffledp )?{name}( --json)?`", page), name


def test_fields_of_mechanisms():
    document = json.loads(CliRunner().invoke(main, ["mechanisms", "--json"]).stdout)
    text = section("json", "Mechanisms")
    for names in (document, document["mechanisms"][0], document["mechanisms"][0]["parameters"][0]):
        assert all(f"`{name}`" in text for name in names)


def test_mechanisms():
    rows = table("mechanisms", "At a glance")
    calls = [re.fullmatch(r"`(\w+)\((.*)\)`", text) for text, _ in rows]
    assert [call.group(1) for call in calls] == list(MECHANISMS)
    for call in calls:
        names = [argument.partition("=")[0] for argument in call.group(2).split(", ")]
        assert names == list(parameters(MECHANISMS[call.group(1)]))


def test_compositions():
    text = section("mechanisms", "At a glance")
    for name in COMPOSITIONS:
        example = re.search(rf"^\| `({name}\(.*?\))` \|", text, flags=re.MULTILINE).group(1)
        assert parse(example).name == name
