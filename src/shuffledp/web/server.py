"""The server on this machine: a port of its own, and a clean end."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from shuffledp.basics.extras import import_extra

_HOST = "127.0.0.1"
_LAST_WORDS = 1  # seconds for answers under way when the server is stopped


def listen(port: int = 0) -> socket.socket:
    """Return a socket of this machine alone; port 0 takes any that is free.

    Raises:
        OSError: if the port is in use, or may not be used.
    """
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((_HOST, port))
        found.listen()  # from now on the port is taken
    except OSError:
        found.close()
        raise
    return found


def serve(app: Any, door: socket.socket, on_ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C, or until the process is asked to end.

    Args:
        app: what :func:`shuffledp.web.create_app` returned for the port of ``door``.
        door: what :func:`listen` returned.
        on_ready: called with the address once it can be opened.

    Raises:
        MissingExtraError: an ImportError, if uvicorn is not installed.
    """
    uvicorn = import_extra("uvicorn")
    config = uvicorn.Config(
        app, log_level="error", access_log=False, timeout_graceful_shutdown=_LAST_WORDS
    )
    server = uvicorn.Server(config)
    startup, shutdown = server.startup, server.shutdown

    async def start(sockets: list[socket.socket] | None = None) -> None:
        await startup(sockets)
        if server.started:
            on_ready(f"http://{_HOST}:{door.getsockname()[1]}/")

    async def end(sockets: list[socket.socket] | None = None) -> None:
        app.state.pool.stop()  # answers under way come at once, without a number
        await shutdown(sockets)

    server.startup, server.shutdown = start, end
    try:
        server.run([door])
    except KeyboardInterrupt:  # uvicorn passes the signal on when all is tidy
        pass
    finally:
        door.close()
