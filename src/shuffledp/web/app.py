"""The addresses of the server: the page, its files, and one for every question."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from shuffledp._version import __version__
from shuffledp.basics.extras import import_extra
from shuffledp.web.reply import Reply
from shuffledp.web.served import Served
from shuffledp.web.workers import Ask, BusyError, Workers

STATIC = Path(__file__).parent / "static"

_STATUS = {0: 200, 1: 422, 2: 400}
_TOO_LARGE, _INTERNAL, _BUSY, _TOO_LONG = 413, 500, 503, 504

_NO_CACHE = {"Cache-Control": "no-cache"}

#: By type of answer the name under which it is saved.
_FILES = {"text/html": "report.html", "application/toml": "setting.toml"}

#: Where a file is sent to be opened, and how long it may be.
OPEN, MAX_BYTES = "/api/open", 8_000_000


def create_app(
    ask: Ask, served: Sequence[Served], *, port: int, seconds: float = 180.0, workers: int = 2
) -> Any:
    """Return the application: the page at ``/``, one question each at ``/api/NAME``.

    Args:
        ask: answers a command line, in another process.
        served: the commands that may be asked.
        port: where it will be reached.
        seconds: how long a question may take.
        workers: how many processes compute.

    Raises:
        MissingExtraError: an ImportError, if FastAPI or plotly is not installed.
    """
    fastapi = import_extra("fastapi")
    plotly = Path(import_extra("plotly").__file__).parent / "package_data" / "plotly.min.js"
    from starlette.responses import FileResponse
    from starlette.staticfiles import StaticFiles

    from shuffledp.web.guard import Guard

    pool = Workers(ask, size=workers, seconds=seconds)

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        pool.start()
        try:
            yield
        finally:
            pool.stop()

    app = fastapi.FastAPI(
        title="shuffledp",
        version=__version__,
        description="Certified privacy behind a shuffler; the answers are those of the commands.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
        lifespan=lifespan,
    )
    app.add_middleware(Guard, hosts=(f"127.0.0.1:{port}", f"localhost:{port}"), sent=OPEN)
    app.state.pool = pool
    for command in served:
        app.add_api_route(
            f"/api/{command.name}",
            _endpoint(pool, command),
            methods=["GET"],
            summary=command.meaning,
            openapi_extra={"parameters": [_described(p) for p in command.parameters]},
        )

    async def script(request: Any) -> FileResponse:
        return FileResponse(plotly, media_type="text/javascript", headers=_NO_CACHE)

    app.add_route(OPEN, _opening(pool), methods=["POST"], include_in_schema=False)
    app.add_route("/plotly.js", script, include_in_schema=False)
    app.mount("/", StaticFiles(directory=STATIC, html=True))
    return app


def _endpoint(pool: Workers, command: Served) -> Callable[[Any], Awaitable[Any]]:
    """Return what answers the question of a command."""
    from starlette.requests import Request

    async def answer(request: Request) -> Any:
        arguments = command.arguments(request.query_params.multi_items())
        if isinstance(arguments, Reply):
            return _problem(arguments)
        return await _answer(pool, request, arguments, command.media_type)

    answer.__annotations__ = {"request": Request, "return": Any}
    return answer


def _opening(pool: Workers) -> Callable[[Any], Awaitable[Any]]:
    """Return what tells what a file says; it is neither kept nor written."""

    async def answer(request: Any) -> Any:
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > MAX_BYTES:
                return _said(_TOO_LARGE, f"a file must have at most {MAX_BYTES:,} bytes")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            return _problem(Reply(2, "the file is no text in UTF-8"))
        return await _answer(pool, request, ("open", "--json", "--", text), "application/json")

    return answer


async def _answer(pool: Workers, request: Any, arguments: tuple[str, ...], media_type: str) -> Any:
    """Run a command line, and stop when nobody listens any more."""
    from starlette.responses import Response

    work = asyncio.create_task(pool.answer(arguments))
    gone = asyncio.create_task(_wait_until_gone(request))
    await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
        return Response(status_code=499)
    gone.cancel()
    try:
        reply = work.result()
    except BusyError:
        return _said(_BUSY, "too many questions wait already; try again in a moment")
    except TimeoutError:
        return _said(_TOO_LONG, f"no answer within {pool.seconds:g} s, so the work was stopped")
    if reply.code:
        return _problem(reply)
    headers = {"Cache-Control": "no-store"}
    if name := _FILES.get(media_type):
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return Response(reply.text, media_type=media_type, headers=headers)


def _problem(reply: Reply) -> Any:
    return _said(_STATUS.get(reply.code, _INTERNAL), reply.text, reply.field)


def _said(status: int, text: str, field: str | None = None) -> Any:
    from starlette.responses import JSONResponse

    return JSONResponse({"error": text, "field": field}, status)


async def _wait_until_gone(request: Any) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _described(parameter: Any) -> dict[str, object]:
    kind = {"type": "string"}
    return {
        "name": parameter.name,
        "in": "query",
        "description": parameter.meaning,
        "required": parameter.required,
        "schema": {"type": "array", "items": kind} if parameter.multiple else kind,
    }
