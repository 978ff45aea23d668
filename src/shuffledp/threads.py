"""How many threads multiply matrices.

Those of the engine are small. Several threads gain nothing there, and where other programs keep
the cores busy they wait for each other a hundred times longer than the product takes.
"""

from __future__ import annotations

import os
from contextlib import ContextDecorator
from functools import cached_property
from threading import Lock, get_ident
from typing import Any


class OneThread(ContextDecorator):
    """Lets products of matrices use one thread, in this process, while one of its users is inside.

    The number of threads belongs to the process. Who comes first limits it, and allows as many as
    before when leaving; whoever came in between changes nothing.

    >>> with one_thread:
    ...     pass
    """

    def __init__(self) -> None:
        """Change nothing yet."""
        self.forget()

    def forget(self) -> None:
        """Forget who limits the threads: in a process that was forked, nobody does."""
        self._lock = Lock()
        self._owner: int | None = None
        self._depth = 0
        self._limit: Any = None

    @cached_property
    def _libraries(self) -> Any:
        from threadpoolctl import ThreadpoolController

        return ThreadpoolController().select(user_api="blas")

    def __enter__(self) -> None:
        """Limit the threads, unless that is done."""
        own = get_ident()
        if self._owner != own:  # nobody but the owner itself makes this false
            with self._lock:
                if self._owner is not None:
                    return
                self._limit = self._libraries.limit(limits=1)
                self._limit.__enter__()
                self._owner = own
        self._depth += 1

    def __exit__(self, *error: object) -> None:
        """Allow as many as before, if this is who limited them."""
        if self._owner != get_ident():
            return
        self._depth -= 1
        if self._depth == 0:
            with self._lock:
                self._owner = None
                self._limit.__exit__(*error)


#: Around a block, or above a function.
one_thread = OneThread()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=one_thread.forget)
