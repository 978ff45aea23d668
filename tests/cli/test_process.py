"""The installed command, as its own process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shuffledp import __version__

COMMAND = str(Path(sys.executable).with_name("shuffledp"))
EPSILON = ("epsilon", "krr(k=10, epsilon0=2)", "-n", "10000", "--delta", "1e-6")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False
    )


def test_answer():
    result = run(*EPSILON)
    assert result.returncode == 0
    assert result.stderr == ""
    assert "With 10,000 users" in result.stdout


@pytest.mark.heavy
def test_version():
    assert run("--version").stdout == f"shuffledp {__version__}\n"


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("epsilon", "nosuch(1)", "-n", "1", "--delta", "0"), 2),
        (("users", "krr(3, 1)", "--epsilon", "0", "--delta", "0"), 1),
    ],
)
def test_exit_codes(arguments, code):
    result = run(*arguments)
    assert result.returncode == code
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "Error: " in result.stderr


@pytest.mark.heavy
def test_warnings_are_not_shown_even_when_all_are_asked_for():
    arguments = ("delta", "krr(k=3, epsilon0=1)", "-n", "1e15", "--epsilon", "0.1")
    result = subprocess.run(
        [sys.executable, "-W", "always::UserWarning", COMMAND, *arguments, "--rtol", "1e-10"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert result.returncode == 0
    assert result.stderr == ""
    assert "Note:" in result.stdout


@pytest.mark.heavy
def test_a_closed_pipe_is_no_error():
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as pipe:
        result = subprocess.run(
            [COMMAND, "mechanisms"], stdout=pipe, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert result.stderr == b""


@pytest.mark.heavy
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk_is_said():
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [COMMAND, *EPSILON], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert result.returncode == 1
    assert result.stderr.startswith(b"Error: cannot write the answer: ")
    assert result.stderr.count(b"\n") == 1


WAIT_FOREVER = """
import sys, threading
from shuffledp import ShuffleAccountant
from shuffledp.cli import main

def wait(self, target_delta):
    print("ready", file=sys.stderr, flush=True)
    threading.Event().wait()

ShuffleAccountant.epsilon_report = wait
main()
"""


@pytest.mark.heavy
def test_interrupt_ends_quietly():
    with subprocess.Popen(
        [sys.executable, "-c", WAIT_FOREVER, *EPSILON],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr.readline() == "ready\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert (output, errors) == ("", "")


@pytest.mark.heavy
def test_start_up_leaves_heavy_packages_out():
    code = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from shuffledp.cli import main\n"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0\n"
        "print(*{name.partition('.')[0] for name in sys.modules})\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert not {"scipy", "matplotlib", "pytest", "hypothesis"} & set(result.stdout.split())


@pytest.mark.heavy
def test_the_shell_can_complete():
    environment = {
        **os.environ,
        "_SHUFFLEDP_COMPLETE": "bash_complete",
        "COMP_WORDS": "shuffledp users --",
        "COMP_CWORD": "2",
    }
    result = subprocess.run(
        [COMMAND], env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert "plain,--epsilon" in result.stdout
    assert result.stderr == ""
