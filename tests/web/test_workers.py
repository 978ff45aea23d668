"""Workers: what nobody waits for is stopped, what is nearly done is not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest
from asks import wait

from shuffledp.web.workers import Workers


def run(test: Callable[[Workers], Awaitable[None]], **settings: float) -> None:
    async def inside() -> None:
        workers = Workers(wait, size=1, **settings)
        workers.start()
        try:
            await workers.answer(("wait", "--seconds=0"))  # it is ready
            await test(workers)
        finally:
            workers.stop()
            assert not any(worker.process.is_alive() for worker in workers._all)

    asyncio.run(inside())


async def process(workers: Workers) -> int:
    return json.loads((await workers.answer(("wait", "--seconds=0"))).text)["process"]


async def given_up(workers: Workers, seconds: float) -> None:
    asked = asyncio.create_task(workers.answer(("wait", f"--seconds={seconds}")))
    await asyncio.sleep(0.05)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked


@pytest.mark.heavy
def test_who_is_stopped_at_work_is_not_replaced():
    async def test(workers: Workers) -> None:
        before = set(workers._all)
        asked = [asyncio.create_task(workers.answer(("wait", "--seconds=60"))) for _ in range(4)]
        await asyncio.sleep(0.05)
        workers.stop()
        first, *waiting = [(await one).text for one in asked]
        assert first == "the computation ended without an answer"
        assert waiting == ["the server was stopped"] * 3
        assert workers._all == before

    run(test)


@pytest.mark.heavy
def test_long_work_that_nobody_waits_for_is_stopped():
    async def test(workers: Workers) -> None:
        before = await process(workers)
        await given_up(workers, 60)
        assert await process(workers) != before

    run(test)


@pytest.mark.heavy
def test_short_work_is_finished():
    async def test(workers: Workers) -> None:
        before = await process(workers)
        await given_up(workers, 0.1)
        assert await process(workers) == before

    run(test)


@pytest.mark.heavy
def test_who_gives_up_while_waiting_leaves_the_queue():
    async def test(workers: Workers) -> None:
        first = asyncio.create_task(workers.answer(("wait", "--seconds=0.3")))
        await asyncio.sleep(0.05)
        await given_up(workers, 60)
        assert workers.waiting == 0
        assert (await first).code == 0
        assert await process(workers)

    run(test)


@pytest.mark.heavy
def test_the_time_limit_stops_the_work():
    async def test(workers: Workers) -> None:
        before = await process(workers)
        workers.seconds = 0.2
        with pytest.raises(TimeoutError):
            await workers.answer(("wait", "--seconds=60"))
        workers.seconds = 60.0
        assert await process(workers) != before

    run(test)
