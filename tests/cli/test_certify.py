"""The commands ``certify`` and ``verify``."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_line import ask, run

from shuffledp.cli import main
from shuffledp.cli.terminal import step

QUESTION = ("certify", "krr(k=10, epsilon0=2)", "-n", "1000")


@cache
def issued() -> str:
    return ask(*QUESTION, "--delta", "1e-6")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "certificate.json"
    path.write_text(issued(), encoding="utf-8")
    return path


def test_a_certificate_is_json() -> None:
    fields = json.loads(issued())
    assert fields["mechanism"] == "krr(k=10, epsilon0=2.0)"
    assert fields["n"] == 1000
    assert fields["guarantee"]["delta"] == "0.000001"
    assert float(fields["lower_bound"]["epsilon"]) <= float(fields["guarantee"]["epsilon"])


def test_epsilon_is_given() -> None:
    fields = json.loads(ask(*QUESTION, "--epsilon", "0.3"))
    assert fields["guarantee"]["epsilon"] == "0.3"
    assert float(fields["guarantee"]["delta"]) == pytest.approx(2e-7, rel=1)


def test_verified(file: Path) -> None:
    text = ask("verify", str(file))
    assert text.startswith("verified")
    assert "the shuffled reports of 1000 users are (" in text
    assert "two datasets of 1000 users" in text
    assert "\ncovers       1 round\n" in text


def test_verified_as_json(file: Path) -> None:
    fields = json.loads(ask("verify", str(file), "--json"))
    assert fields["verified"] is True
    assert fields["rounds"] == 1
    assert fields["mechanism"] == "krr(k=10, epsilon0=2.0)"


def test_the_best_bound(tmp_path: Path) -> None:
    text = ask("certify", "blh(epsilon0=1)", "-n", "1000", "--delta", "1e-6", "--bound", "best")
    assert json.loads(text)["bound"] == "swap"
    path = tmp_path / "certificate.json"
    path.write_text(text, encoding="utf-8")
    assert "\nbound        swap, over everything that others may hold\n" in ask("verify", str(path))
    assert json.loads(ask("verify", str(path), "--json"))["bound"] == "swap"


def test_the_blanket_bound(tmp_path: Path) -> None:
    text = ask(*QUESTION, "--delta", "1e-6", "--bound", "blanket")
    assert json.loads(text)["bound"] == "blanket"
    path = tmp_path / "certificate.json"
    path.write_text(text, encoding="utf-8")
    assert "\nbound        blanket, the optimal decomposition\n" in ask("verify", str(path))


def test_verified_from_standard_input() -> None:
    result = CliRunner().invoke(main, ["verify", "-"], input=issued())
    assert result.exit_code == 0
    assert result.stdout.startswith("verified")


def refused(*arguments: str, code: int) -> str:
    """The one line that says what is wrong."""
    result = run(*arguments)
    assert result.exit_code == code
    message = result.stderr.splitlines()[-1]
    assert message.startswith("Error: ")
    return message


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((*QUESTION,), "give one of --delta and --epsilon"),
        ((*QUESTION, "--delta", "0.1", "--epsilon", "1"), "give one of --delta and --epsilon"),
        ((*QUESTION, "--delta", "2"), "delta must be between 0 and 1"),
        ((*QUESTION, "--delta", "x"), "delta must be a number"),
        ((*QUESTION, "--epsilon", "-1"), "epsilon must be between 0 and 300"),
        ((*QUESTION, "--delta", "0.1", "--bound", "swap"), "'swap' is not one of"),
        (("certify", "krr(3, 1)", "--delta", "0.1"), "Missing option"),
        (("certify", "krr(3, 1)", "-n", "1e300", "--delta", "0.1"), "n must be at least 1"),
        (("certify", "krr(3)", "-n", "10", "--delta", "0.1"), "krr needs epsilon0"),
        (("verify", "no/such/file.json"), "No such file"),
        (("verify",), "Missing argument"),
    ],
)
def test_wrong_command_lines(arguments: tuple[str, ...], reason: str) -> None:
    assert reason in refused(*arguments, code=2)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "not JSON"),
        (b"hello", "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"{}", "lacks the field"),
        (b"[1]", "must be an object"),
        (b" " * 5_000_000, "at most 4000000 characters"),
    ],
    ids=["empty", "text", "binary", "nothing", "list", "huge"],
)
def test_files_that_are_no_certificates(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "file.json"
    path.write_bytes(content)
    assert reason in refused("verify", str(path), code=1)


def test_a_folder_is_no_certificate(tmp_path: Path) -> None:
    assert "Is a directory" in refused("verify", str(tmp_path), code=2)


def test_altered(file: Path) -> None:
    file.write_text(issued().replace('"n": 1000', '"n": 2000'), encoding="utf-8")
    assert "not verified: digest does not match" in refused("verify", str(file), code=1)


def test_no_answer() -> None:
    message = refused("certify", "matrix([[1, 0], [0, 1]])", "-n", "10", "--delta", "1e-3", code=1)
    assert "no epsilon" in message


def test_progress_says_how_long() -> None:
    assert step(30.0, "contour", 0.5, 10.0) == "proving for 30 s; contour: 50%, about 10 s left"
