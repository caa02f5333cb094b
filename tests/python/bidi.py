"""A page in headless Firefox, driven over WebDriver BiDi without a driver program."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import tempfile
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

NAMES = ("firefox-esr", "firefox")

PATIENCE = 120
"""Seconds for one command: a scenario takes less than one, on a busy machine ten."""


class Firefox:
    """A session with one page."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self._number = 0
        self.call("session.new", capabilities={})
        self._page = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method: str, **params: Any) -> Any:
        """Send a command, and return its result; an error fails the test."""
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": params}))
        while True:
            heard = json.loads(self._socket.recv(timeout=PATIENCE))
            if heard.get("id") == self._number:
                assert heard["type"] == "success", heard
                return heard["result"]

    def open(self, address: str) -> None:
        """Open a page, and wait until it is loaded."""
        self.call("browsingContext.navigate", context=self._page, url=address, wait="complete")

    def evaluate(self, script: str) -> Any:
        """Return the string that a script's promise gives."""
        found = self.call("script.evaluate", expression=script, target={"context": self._page}, awaitPromise=True)
        assert found["type"] == "success", found
        return found["result"]["value"]


@contextlib.contextmanager
def firefox() -> Iterator[Firefox]:
    """Start Firefox with a profile of its own, or skip the test with the reason."""
    program = next((path for name in NAMES if (path := shutil.which(name))), None)
    if program is None:
        pytest.skip("Firefox is not installed (Debian package firefox-esr)")
    client = pytest.importorskip("websockets.sync.client", reason="the Python package websockets is not installed")
    with tempfile.TemporaryDirectory() as profile:
        command = [program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"]
        started = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        try:
            assert started.stderr is not None
            address = None
            for line in started.stderr:
                if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", line):
                    address = found[1]
                    break
            assert address is not None, "Firefox ended before it listened"
            with client.connect(f"{address}/session", max_size=None) as socket:
                yield Firefox(socket)
        finally:
            started.terminate()
            started.wait(30)
            if started.stderr is not None:
                started.stderr.close()
