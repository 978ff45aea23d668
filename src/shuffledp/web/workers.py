"""Other processes that compute, one question each, and can be stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection

from shuffledp.basics.cluster import interrupts_later
from shuffledp.comparison.pool import prepare_worker
from shuffledp.web.reply import Reply

#: Answers a command line; a function at the top level of a module.
Ask = Callable[[tuple[str, ...]], Reply]

_GRACE = 0.5  # seconds: who is nearly done need not be stopped
_ENDED = 70  # as for any other mistake of the package


class BusyError(Exception):
    """Too many questions wait already."""


class _Worker:
    """One process and the line to it."""

    def __init__(self, ask: Ask) -> None:
        context = get_context("spawn")
        self.line, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, ask))
        with interrupts_later():  # Ctrl-C is for the server, while they start, too
            self.process.start()
        self.ended = False
        theirs.close()

    def get_ready(self) -> None:
        """Wait until the process can answer, or has ended."""
        try:
            self.line.recv()
        except (EOFError, OSError):
            self.ended = True

    def answer(self, arguments: tuple[str, ...]) -> Reply:
        """Wait for the reply; a process that ended leaves none."""
        try:
            self.line.send(arguments)
            reply: Reply = self.line.recv()
        except (EOFError, OSError):
            self.ended = True
            return Reply(_ENDED, "the computation ended without an answer")
        return reply

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.line.close()


class Workers:
    """A few processes that answer questions, each within a time limit.

    Args:
        ask: what they run.
        size: how many there are.
        seconds: how long a question may take.
        most: how many questions may wait.
    """

    def __init__(self, ask: Ask, *, size: int = 2, seconds: float = 60.0, most: int = 64) -> None:
        self.ask, self.size, self.seconds, self.most = ask, size, seconds, most
        self.waiting = 0
        self.stopped = False
        self._all: set[_Worker] = set()
        self._idle: asyncio.Queue[_Worker] = asyncio.Queue()
        self._threads = ThreadPoolExecutor(4 * size)
        self._tidying: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Start the processes; they get ready while the page loads."""
        for _ in range(self.size):
            self._add()

    def stop(self) -> None:
        """End all of them, whatever they are doing; whoever waits is told so."""
        if self.stopped:
            return
        self.stopped = True
        for worker in tuple(self._all):
            worker.stop()
            self._idle.put_nowait(worker)
        self._threads.shutdown(wait=False)

    async def answer(self, arguments: tuple[str, ...]) -> Reply:
        """Return the reply to a command line.

        Whoever is cancelled while waiting leaves the queue; a computation that nobody waits for is
        stopped unless it ends at once.

        Raises:
            BusyError: if too many questions wait.
            TimeoutError: if the time limit is over.
        """
        if self.waiting >= self.most:
            raise BusyError
        self.waiting += 1
        try:
            worker = await self._idle.get()
        finally:
            self.waiting -= 1
        if self.stopped:
            self._idle.put_nowait(worker)  # for the next who waits
            return Reply(_ENDED, "the server was stopped")
        work = asyncio.get_running_loop().run_in_executor(self._threads, worker.answer, arguments)
        try:
            reply = await asyncio.wait_for(asyncio.shield(work), self.seconds)
        except TimeoutError:
            self._renew(worker)
            raise
        except asyncio.CancelledError:
            self._keep(self._let_finish(worker, work))
            raise
        self._give_back(worker)
        return reply

    async def _let_finish(self, worker: _Worker, work: asyncio.Future[Reply]) -> None:
        try:
            await asyncio.wait_for(asyncio.shield(work), _GRACE)
        except TimeoutError:
            if not self.stopped:
                self._renew(worker)
        else:
            self._give_back(worker)

    def _give_back(self, worker: _Worker) -> None:
        if worker.ended and not self.stopped:
            self._renew(worker)
        else:
            self._idle.put_nowait(worker)

    def _renew(self, worker: _Worker) -> None:
        worker.stop()
        self._all.discard(worker)
        self._add()

    def _add(self) -> None:
        worker = _Worker(self.ask)
        self._all.add(worker)
        self._keep(self._when_ready(worker))

    async def _when_ready(self, worker: _Worker) -> None:
        """Offer a worker once it can answer: a time limit is for the work alone."""
        await asyncio.get_running_loop().run_in_executor(self._threads, worker.get_ready)
        self._idle.put_nowait(worker)

    def _keep(self, tidying: Coroutine[object, object, None]) -> None:
        """Let something run to its end; a task that nobody holds may be collected."""
        task = asyncio.create_task(tidying)
        self._tidying.add(task)
        task.add_done_callback(self._tidying.discard)


def _work(line: Connection, ask: Ask) -> None:
    """Answer questions until the line is closed."""
    prepare_worker()
    line.send(None)  # ready
    while True:
        try:
            arguments = line.recv()
        except EOFError:
            return
        line.send(ask(arguments))
