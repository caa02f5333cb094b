"""The ASGI application: the page's files, what was opened, files of results, and the page's connection."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from starlette.applications import Starlette
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute

from narrows import _core
from narrows.base.errors import UnavailableError
from narrows.ui.access import Guard
from narrows.ui.bench import Bench
from narrows.ui.session import Session

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp
    from starlette.websockets import WebSocket

    from narrows.ui.listing import Listing
    from narrows.ui.opened import Opened

PAGE: Final = Path(__file__).resolve().parents[1] / "laboratory"
"""The built page, which `make setup` builds from `web`."""

_MARK: Final = '<meta name="narrows-server" content="{root}">'
"""Tells a page that a server is behind it, and where."""

_SCRIPT: Final = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL)

_TYPES: Final = {".wasm": "application/wasm", ".js": "text/javascript", ".webmanifest": "application/manifest+json"}
"""Types that this machine's list may lack."""

_WORKER: Final = {"Content-Security-Policy": "default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval'"}
"""Headers of scripts. A worker has the policy of its own script: a user's control in it then reaches no server."""

_COMMON: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def check_page(directory: Path = PAGE) -> None:
    """Check that the page has been built.

    Parameters
    ----------
    directory : pathlib.Path

    Raises
    ------
    UnavailableError
        If it has not.
    """
    if not (directory / "index.html").is_file():
        message = (
            f"{directory}: has no page of the laboratory; in a checkout, `make setup` builds it where npm is installed "
            "(Debian packages nodejs and npm)"
        )
        raise UnavailableError(message)


class Laboratory:
    """The application.

    Parameters
    ----------
    found : Opened
        What the page shows first.
    listing : Listing
        Results that can be opened.
    page : pathlib.Path
        Directory of the built page.
    """

    def __init__(self, found: Opened, listing: Listing, page: Path = PAGE) -> None:
        self._found = found
        self._listing = listing
        self._page = page
        self._sessions: set[Session] = set()
        self._root = "/"
        if found.results is not None:
            listing.add(found.results)

    def app(self, key: str, port: int) -> ASGIApp:
        """Return the application behind its guard.

        Parameters
        ----------
        key : str
            The token.
        port : int

        Returns
        -------
        ASGI application
        """
        self._root = f"/{key}/"
        routes = [
            Route("/session.json", self._session),
            Route("/results.json", self._results),
            Route("/files/{number:int}", self._file),
            Route("/result/{number:int}/{path:path}", self._result),
            WebSocketRoute("/socket", self._socket),
            Route("/{path:path}", self._asset),
        ]
        return Guard(Starlette(routes=[Mount(f"/{key}", routes=routes)]), key, port)

    def stop(self) -> None:
        """Stop the work of all connections, from any thread."""
        for session in list(self._sessions):
            session.stop()

    def _marked(self, request: Request, path: Path) -> Response:
        """Send a page of the laboratory with its mark."""
        text = path.read_text(encoding="utf-8")
        host = request.headers["host"]
        own = " ".join(f"'sha256-{digest}'" for digest in _digests(text))
        policy = (
            f"default-src 'none'; script-src 'self' blob: 'wasm-unsafe-eval' {own}; style-src 'self' 'unsafe-inline'; "
            f"img-src 'self' data: blob:; font-src 'self'; connect-src 'self' ws://{host}; worker-src 'self' blob:; "
            "frame-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
        return HTMLResponse(
            text.replace("<head>", f"<head>{_MARK.format(root=self._root)}", 1),
            headers=_COMMON | {"Content-Security-Policy": policy},
        )

    def _session(self, _request: Request) -> Response:
        told = {"version": _core.version(), "folder": self._listing.top.absolute().name}
        shown, results = self._found.to_dict(), self._found.results
        if shown is not None and results is not None:
            shown["number"] = self._listing.number(results.name)
        return _json(told | {"opened": shown})

    def _results(self, _request: Request) -> Response:
        entries, complete = self._listing.walk()
        rows = [one.to_dict() | {"number": self._listing.number(one.name)} for one in entries]
        return _json({"results": rows, "complete": complete})

    def _file(self, request: Request) -> Response:
        number, names = request.path_params["number"], self._found.files.names
        if number >= len(names):
            return _missing()
        # As bytes: a scenario may name a file of any kind, and a document would have the rights of the page.
        return FileResponse(
            self._found.files.path(names[number]), media_type="application/octet-stream", headers=_COMMON
        )

    def _result(self, request: Request) -> Response:
        """Send a file of a directory of results: as of another origin, so that its scripts reach nothing here."""
        one = self._listing.numbered(request.path_params["number"])
        path = None if one is None else _inside(one.directory, request.path_params["path"])
        if path is None:
            return _missing()
        here = f"http://{request.headers['host']}"
        policy = (
            f"sandbox allow-scripts allow-popups allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
            f"style-src 'unsafe-inline'; img-src {here} data: blob:; font-src data:; frame-ancestors {here}"
        )
        # The page's own figures come from another origin, as far as a browser can tell.
        return _sent(
            path, _COMMON | {"Content-Security-Policy": policy, "Cross-Origin-Resource-Policy": "cross-origin"}
        )

    def _asset(self, request: Request) -> Response:
        path = _inside(self._page, request.path_params["path"] or "index.html")
        if path is None:
            return _missing()
        if path.suffix == ".html":
            return self._marked(request, path)
        return _sent(path, _COMMON | _WORKER if path.suffix == ".js" else _COMMON)

    async def _socket(self, socket: WebSocket) -> None:
        session = Session(socket, Bench(self._found, self._listing))
        self._sessions.add(session)
        try:
            await session.serve()
        finally:
            self._sessions.discard(session)


def _digests(page: str) -> list[str]:
    """Return the digests of the scripts within a page, by which its policy allows them and no others."""
    return [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in _SCRIPT.findall(page)]


def _inside(directory: Path, name: str) -> Path | None:
    """Return a file below a directory; ``None`` for anything else, also behind links that lead out of it."""
    top = directory.resolve()
    try:
        path = (top / name).resolve()
        return path if path.is_file() and path.is_relative_to(top) else None
    except (OSError, ValueError):
        return None


def _json(content: dict[str, Any]) -> Response:
    """Send JSON in ASCII: names of files need not be UTF-8."""
    return Response(json.dumps(content), media_type="application/json", headers=_COMMON)


def _sent(path: Path, headers: dict[str, str]) -> Response:
    return FileResponse(path, media_type=_TYPES.get(path.suffix), headers=headers)


def _missing() -> Response:
    return PlainTextResponse("there is no such file\n", status_code=404)
