"""Every help text says what n, neighbours, the view and epsilon0 mean."""

from __future__ import annotations

import subprocess
import sys

import pytest
from command_line import ask

from shuffledp import __version__
from shuffledp.cli import main

COMMANDS = [
    "epsilon",
    "delta",
    "calibrate",
    "users",
    "rounds",
    "tiers",
    "messages",
    "ledger",
    "plan",
    "compare",
    "curve",
    "report",
    "explore",
    "certify",
    "verify",
    "audit",
    "randomize",
    "estimate",
    "mechanisms",
]


def test_commands_are_listed_in_order():
    assert list(main.commands) == COMMANDS
    listed = ask("--help").partition("Commands:\n")[2].splitlines()
    assert [line.split()[0] for line in listed[: len(COMMANDS)]] == COMMANDS
    assert not any(line.endswith("...") for line in listed)


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_facts(command, option):
    text = ask(*command, option)
    for fact in (
        "n counts all users, the one whose data changes included",
        "neighbouring datasets replace the input of one user",
        "the analyst sees the shuffled multiset of whole reports",
        "epsilon0 is the replace-one LDP level",
        "guarantees are rounded up, lower bounds are rounded down",
        "Exit codes:",
    ):
        assert fact in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_meaning(command):
    text = ask(command, "--help")
    # A certificate is JSON; a report and the local page are for people.
    assert "--json" in text or command in ("certify", "explore", "report")
    for parameter in main.commands[command].params:
        if parameter.param_type_name == "option":
            assert parameter.help
        else:
            assert f"{(parameter.metavar or parameter.name).strip('.').upper()} is " in text


def test_version():
    assert ask("--version") == f"shuffledp {__version__}\n"


def test_a_command_waits_for_no_other():
    """Studies, the paper and the page are imported by those who ask for them."""
    code = (
        "import sys; from shuffledp.cli import main; "
        "main(['epsilon', 'krr(k=2, epsilon0=1)', '-n', '10', '--delta', '0.1'], "
        "standalone_mode=False); print(*sorted(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    modules = ran.stdout.splitlines()[-1].split()
    assert "shuffledp.cli.commands.epsilon" in modules
    for absent in ("shuffledp.deployment.study", "shuffledp.web", "matplotlib"):
        assert absent not in modules
