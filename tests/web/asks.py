"""Answers of other kinds, for workers to run; a worker imports this module."""

from __future__ import annotations

import os
import time
from pathlib import Path

from shuffledp.web import Parameter, Reply, Served

SERVED = [Served("wait", "Wait.", [Parameter("seconds", "--seconds", "How long.")], fixed=())]


def wait(arguments: tuple[str, ...]) -> Reply:
    """Wait so many ``--seconds``, or until a file is there, and tell which process did.

    "die" ends it.
    """
    seconds = arguments[1].removeprefix("--seconds=")
    if seconds == "die":
        os._exit(1)
    if seconds.startswith("until "):
        while not Path(seconds.removeprefix("until ")).exists():
            time.sleep(0.01)
    else:
        time.sleep(float(seconds))
    return Reply(0, f'{{"process": {os.getpid()}}}')
