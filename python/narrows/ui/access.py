"""Who may use the server: programs on this machine that know the token.

Another page in the same browser can send requests to any port of this machine. So the token is the first part of every
path, the host must be a name of this machine (a foreign name that was bound to 127.0.0.1 is not), and a request that
says where it comes from must come from this server's own page. A WebSocket must say so.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

_REFUSED: Final = 4403
"""Code with which a WebSocket is closed before it is accepted; browsers see a failed handshake."""

_BYTES: Final = 24


def token() -> str:
    """Make a token: 192 random bits as text for addresses.

    Returns
    -------
    str
    """
    return secrets.token_urlsafe(_BYTES)


class Guard:
    """An ASGI application in front of another one, which it hands only requests that are allowed.

    Parameters
    ----------
    app : ASGI application
    key : str
        The token.
    port : int
        Port of the server.
    """

    def __init__(self, app: ASGIApp, key: str, port: int) -> None:
        self._app = app
        self._key = key
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request or a WebSocket."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        why = self._refusal(scope)
        if why is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": _REFUSED, "reason": why})
        else:
            from starlette.responses import PlainTextResponse

            await PlainTextResponse(f"{why}\n", status_code=403)(scope, receive, send)

    def _refusal(self, scope: Scope) -> str | None:
        """Return why something is refused; ``None`` if it is allowed."""
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == "host"]
        origins = [value for name, value in headers if name == "origin"]
        key = scope["path"].lstrip("/").partition("/")[0]
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return "the host is not this machine"
        if not secrets.compare_digest(key.encode(), self._key.encode()):
            return "the token is missing or wrong: open the address that `narrows ui` printed"
        if any(origin not in self._origins for origin in origins):
            return "the request comes from another page"
        if scope["type"] == "websocket" and len(origins) != 1:
            return "the connection does not say which page it comes from"
        return None
