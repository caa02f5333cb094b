"""Serving the laboratory on a port of this machine, until a signal comes."""

from __future__ import annotations

import socket
import threading
import webbrowser
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows.base import interruption
from narrows.base.errors import InputError, RunError, UnavailableError

if TYPE_CHECKING:
    from narrows.ui.app import Laboratory
    from narrows.ui.opened import Opened

NEEDED: Final = ("starlette", "uvicorn", "websockets")
"""Packages of the extra ``ui``."""

_HOST: Final = "127.0.0.1"
_MOST_MESSAGE: Final = 80_000_000
"""Largest message from the page, bytes: a scenario file of the largest size, as JSON."""

_TICK_S: Final = 0.2
_LAST_S: Final = 0.5
"""Time that the server gets to close its connections, s."""


def check() -> None:
    """Check that the packages of the extra ``ui`` are installed.

    Raises
    ------
    UnavailableError
        With the command that installs them.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        message = f"narrows ui needs {', '.join(missing)}: pip install 'narrows[ui]'"
        raise UnavailableError(message)


@dataclass
class Server:
    """A running server.

    Attributes
    ----------
    address : str
        With the token; ends in a slash.
    """

    address: str
    _laboratory: Laboratory
    _uvicorn: Any
    _thread: threading.Thread

    def wait(self) -> None:
        """Wait until the server ends, or a signal comes.

        Raises
        ------
        KeyboardInterrupt
            On a signal.
        RunError
            If the server failed.
        """
        while self._thread.is_alive():
            self._thread.join(_TICK_S)
            interruption.check()
        message = "the server ended unexpectedly"
        raise RunError(message)

    def stop(self) -> None:
        """Stop all runs, close all connections, and end the server."""
        self._laboratory.stop()
        self._uvicorn.should_exit = True
        self._uvicorn.force_exit = True
        self._thread.join(_LAST_S)


def start(found: Opened, port: int = 0, page: Path | None = None, top: Path | None = None) -> Server:
    """Start serving.

    Parameters
    ----------
    found : Opened
        What the page shows first.
    port : int
        0 takes a free one.
    page : pathlib.Path, optional
        Directory of the built page; by default the package's.
    top : pathlib.Path, optional
        Directory below which results are listed; by default the working directory.

    Returns
    -------
    Server

    Raises
    ------
    UnavailableError
        If a package is missing, or the page has not been built.
    InputError
        If the port cannot be used.
    """
    check()
    import uvicorn

    from narrows.ui import access
    from narrows.ui.app import PAGE, Laboratory, check_page
    from narrows.ui.listing import Listing

    check_page(page or PAGE)
    listener = _listener(port)
    taken = listener.getsockname()[1]
    key = access.token()
    laboratory = Laboratory(found, Listing(Path() if top is None else top), page or PAGE)
    config = uvicorn.Config(
        laboratory.app(key, taken),
        log_level="critical",
        access_log=False,
        lifespan="off",
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=_MOST_MESSAGE,
        ws_per_message_deflate=False,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    return Server(f"http://{_HOST}:{taken}/{key}/", laboratory, server, thread)


def _listener(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen()
    except OSError as error:
        listener.close()
        message = (
            f"--port {port}: cannot be used: {error.strerror or error}; allowed: another port, or 0 for a free one"
        )
        raise InputError(message) from None
    return listener


def show(address: str) -> bool:
    """Open a page in the user's browser.

    Parameters
    ----------
    address : str

    Returns
    -------
    bool
        Whether there is a browser with windows; one in the terminal would take this command's place.
    """
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    if isinstance(browser, webbrowser.GenericBrowser) and not isinstance(browser, webbrowser.BackgroundBrowser):
        return False
    return browser.open(address)
