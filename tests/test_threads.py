"""Products of small matrices use one thread, and leave other programs' settings alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from shuffledp import ShuffleAccountant
from shuffledp.divergence import characteristic, rough_bound
from shuffledp.threads import OneThread, one_thread


def threads() -> set[int]:
    return {own["num_threads"] for own in threadpool_info() if own["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def _two_threads() -> object:
    with threadpool_limits(limits=2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this numpy multiplies on one thread only")
        yield


def test_one_thread_while_anybody_asks_for_it() -> None:
    with one_thread:
        assert threads() == {1}
        with one_thread:
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}


def test_errors_end_it() -> None:
    with pytest.raises(ZeroDivisionError), one_thread:
        assert 1 / 0
    assert threads() == {2}


def test_callers_that_overlap() -> None:
    """Who comes first, leaves first: the number of threads is what it was before, for good."""
    limit = OneThread()
    begun, ended = threading.Event(), threading.Event()
    seen: list[set[int]] = []

    def other() -> None:
        with limit:
            seen.append(threads())
            begun.set()
            ended.wait(60)
            with limit:  # now the first here
                pass

    with limit:
        thread = threading.Thread(target=other)
        thread.start()
        assert begun.wait(60)
    ended.set()
    thread.join(60)
    assert seen == [{1}]
    assert threads() == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_somebody_else_is_about_to_begin_does_not_hang() -> None:
    with one_thread._lock:
        child = os.fork()
        if child == 0:
            with one_thread:
                os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


@pytest.mark.parametrize("bound", ["blanket", "best"])
@pytest.mark.parametrize("mechanism", ["laplace(epsilon0=4)", "gaussian(sigma=1)"])
def test_answers_multiply_on_one_thread(
    mechanism: str, bound: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[set[int]] = []

    def watched(own: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            found.append(threads())
            return own(*arguments)

        return call

    for module in (characteristic, rough_bound):
        monkeypatch.setattr(module, "_mean", watched(module._mean))
    accountant = ShuffleAccountant(mechanism, 1000, bound=bound)
    accountant.get_epsilon(1e-6)
    accountant.profile(np.linspace(0.1, 0.5, 5))
    assert found
    assert all(own == {1} for own in found)
    assert threads() == {2}
