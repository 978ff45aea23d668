"""Who may talk to the server: pages that it served itself, on this machine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Nothing is loaded from elsewhere, and no script stands in a page. Plotly writes style elements
#: and style attributes, so styles may; they can neither run nor load anything under the rest.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


class Guard:
    """Refuses foreign hosts, other origins and anything but questions; adds the headers above.

    A page elsewhere can make a browser send requests to this machine. The name in ``Host`` tells
    those apart that reached it under another name, ``Origin`` and ``Sec-Fetch-Site`` those that
    another page makes.

    Args:
        app: what is guarded.
        hosts: the names under which it may be reached, with their port.
        sent: the one address that may be sent a text, by pages of this server alone.
    """

    def __init__(self, app: ASGIApp, hosts: Iterable[str], sent: str = "") -> None:
        self.app, self.hosts, self.sent = app, frozenset(hosts), sent
        self.origins = frozenset(f"http://{host}" for host in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope["method"], scope["path"], Headers(scope=scope))
        if refusal is None:
            await self.app(scope, receive, with_headers)
        else:
            code, why = refusal
            await PlainTextResponse(why, code)(scope, receive, with_headers)

    def _refusal(self, method: str, path: str, headers: Any) -> tuple[int, str] | None:
        is_sent = method == "POST" and path == self.sent
        if method not in ("GET", "HEAD") and not is_sent:
            return 405, "this server only answers questions"
        if headers.getlist("host") not in [[host] for host in self.hosts]:
            return 421, "this server answers under its own address only"
        origins = headers.getlist("origin")  # browsers name it with whatever is sent
        if not set(origins) <= self.origins or (is_sent and not origins):
            return 403, "this server answers its own page only"
        if not set(headers.getlist("sec-fetch-site")) <= {"same-origin", "none"}:
            return 403, "this server answers its own page only"
        return None
