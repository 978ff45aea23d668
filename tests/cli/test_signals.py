"""Signals end a block by an exception, once."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from shuffledp.cli.signals import ending_tidily

NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(autouse=True)
def usual_handlers():
    """Whoever runs the tests may have arranged to ignore some: a shell does, in the background."""
    before = {number: signal.getsignal(number) for number in NUMBERS}
    for number in NUMBERS:
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, usual)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_first_signal_ends_and_others_do_not_disturb(number):
    before = [signal.getsignal(one) for one in NUMBERS]
    tidied = []

    def work():
        try:
            os.kill(os.getpid(), number)
            for _ in range(6000):  # another thread may have received it: it takes a moment
                time.sleep(0.01)
        finally:
            for one in NUMBERS:
                os.kill(os.getpid(), one)
            tidied.append(True)

    with pytest.raises(SystemExit) as ended, ending_tidily():
        work()
    assert ended.value.code == 128 + number
    assert tidied == [True]
    assert [signal.getsignal(one) for one in NUMBERS] == before


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda number, frame: None])
def test_what_was_arranged_before_stays(handler):
    before = signal.signal(signal.SIGHUP, handler)
    try:
        with ending_tidily():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is handler
        assert signal.getsignal(signal.SIGHUP) is handler
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_leave_signals_alone():
    found = []

    def look():
        with ending_tidily():
            found.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert found == [signal.getsignal(signal.SIGTERM)]
