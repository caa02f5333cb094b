"""The WebAssembly engine gives the digests that the native one gives: in Node, Chromium and Firefox."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.python import bidi, browser

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

MODULE = ROOT / "web/engine/narrows_web_bg.wasm"

MOST_BYTES = 2_000_000
"""Allowed size of the compressed module."""


def expected() -> dict[str, str]:
    """Return the native digests of the bundled scenarios of this version."""
    (listed,) = (ROOT / "scenarios/digests").glob("*.txt")
    return dict(line.split() for line in listed.read_text(encoding="utf-8").splitlines())


def script(names: list[str]) -> str:
    """Return a script for a page that gives the digests of scenarios as JSON."""
    traces = [f"traces/{path.name}" for path in sorted((ROOT / "scenarios/traces").iterdir())]
    return f"""
    (async () => {{
        const made = await import('/web/tests/digests.mjs');
        const engine = await made.engine('/web/engine/narrows_web.js', '/web/engine/narrows_web_bg.wasm');
        const get = async (path) => (await fetch(`/scenarios/${{path}}`));
        const files = {{}};
        for (const name of {json.dumps(traces)}) files[name] = new Uint8Array(await (await get(name)).arrayBuffer());
        const found = {{}};
        for (const name of {json.dumps(names)})
            found[name] = made.digest(engine, await (await get(`${{name}}.toml`)).text(), name, files);
        return JSON.stringify(found);
    }})()
    """


class _Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = {  # noqa: RUF012  # of the base class
        **http.server.SimpleHTTPRequestHandler.extensions_map,
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def end_headers(self) -> None:
        self.send_header("Access-Control-Allow-Origin", "*")  # for a page that comes from a file
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    """Serve the repository on the loopback interface."""
    handler = functools.partial(_Quiet, directory=str(ROOT))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_the_module_is_small_enough_to_load() -> None:
    import gzip

    assert len(gzip.compress(MODULE.read_bytes(), 9)) < MOST_BYTES


def test_node_gives_the_native_digests() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed (Debian package nodejs)")
    want = expected()
    done = subprocess.run(
        [node, str(ROOT / "web/tests/digests.mjs"), *want], capture_output=True, text=True, check=True, timeout=600
    )
    assert {line.split("\t")[0]: line.split("\t")[1] for line in done.stdout.splitlines()} == want


def test_chromium_gives_the_native_digests(address: str, tmp_path: Path) -> None:
    want = expected()
    page = tmp_path / "page.html"
    inner = script(list(want)).replace("'/web", f"'{address}/web").replace("`/scenarios", f"`{address}/scenarios")
    page.write_text("<!doctype html><html><head></head><body></body></html>", encoding="utf-8")
    found = browser.evaluated(page, f"return JSON.parse(await {inner.strip()});")
    assert found == want


def test_firefox_gives_the_native_digests(address: str) -> None:
    want = expected()
    with bidi.firefox() as firefox:
        firefox.open(f"{address}/web/tests/")
        assert json.loads(firefox.evaluate(script(list(want)))) == want
