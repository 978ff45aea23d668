"""The command line, run in this process and checked for what holds of every run."""

from __future__ import annotations

from functools import cache

from click.testing import CliRunner, Result

from shuffledp.cli import main


def run(*arguments: str) -> Result:
    """Run ``shuffledp`` with these arguments."""
    result = CliRunner().invoke(main, arguments, prog_name="shuffledp")
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    if result.exit_code == 0:
        assert result.stderr == ""
    else:
        assert result.stdout == ""
    return result


@cache
def ask(*arguments: str) -> str:
    """Return what ``shuffledp`` prints for a question that has an answer."""
    result = run(*arguments)
    assert result.exit_code == 0, result.stderr
    return result.stdout


def refused(*arguments: str) -> str:
    """Return what ``shuffledp`` says to a line that is wrong, on one line."""
    result = run(*arguments)
    assert result.exit_code == 2
    return " ".join(result.stderr.split())
