"""A page in headless Chromium: what a script sees in it, without a driver."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")

MARK = "narrows-result"

ATTEMPTS = 3
"""How often a page is opened. A run on a busy machine ended without a result and without an error in the page;
why is not isolated. An error in the page, or a wrong result, is never tried again."""


def needed() -> str:
    """Return the browser's path, or skip the test with the reason."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("Chromium is not installed (Debian package chromium)")
    return found


def evaluated(page: Path, script: str, *, width: int = 1280, height: int = 800, libraries: tuple[str, ...] = ()) -> Any:
    """Open a copy of a page, and return what a script's promise gives, as JSON.

    Parameters
    ----------
    page : Path
        The page.
    script : str
        The body of an asynchronous function, ending in `return`.
    width, height : int
        Of the window, px. Chromium's windows are at least 500 px wide; a narrower page goes into a frame.
    libraries : tuple of str
        Scripts that are run before it.

    Returns
    -------
    Any
        The value; an error in the page fails the test.
    """
    report = (
        "const errors = []; addEventListener('error', (event) => errors.push(String(event.message)));"
        "addEventListener('load', async () => {"
        "let value = null;"
        f"try {{ value = await (async () => {{ {script} }})(); }} catch (error) {{ errors.push(String(error)); }}"
        f"const out = document.createElement('pre'); out.id = '{MARK}';"
        "out.textContent = JSON.stringify({ value, errors }); document.documentElement.append(out); });"
    )
    text = page.read_text(encoding="utf-8")
    head = "".join(f"<script>{library}</script>" for library in libraries) + f"<script>{report}</script>"
    copy = page.with_name(f"{page.stem}-tested.html")
    copy.write_text(text.replace("</head>", f"{head}</head>", 1), encoding="utf-8")
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--allow-file-access-from-files",  # a page in a frame
        f"--window-size={width},{height}",
        "--virtual-time-budget=20000",
    ]
    command = [needed(), *options, "--dump-dom", copy.as_uri()]
    try:
        for _ in range(ATTEMPTS):
            done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
            found = re.search(rf'<pre id="{MARK}">(.*?)</pre>', done.stdout, re.DOTALL)
            if found is not None:
                break
    finally:
        copy.unlink()
    assert found is not None, done.stderr[-2000:]
    result = json.loads(unescape(found[1]))
    assert not result["errors"], result["errors"]
    return result["value"]


def serious(page: Path) -> list[Any]:
    """Return the serious and critical findings of axe-core on a page, or skip the test without it."""
    axe = pytest.importorskip("axe_core_python", reason="axe-core-python is not installed")
    from importlib.resources import files

    library = next(path for path in files(axe).iterdir() if path.name.startswith("axe") and path.name.endswith(".js"))
    found = evaluated(
        page,
        """
        const result = await axe.run();
        const places = (one) => one.nodes.slice(0, 3).map((node) => node.html.slice(0, 200));
        return result.violations.map((one) => [one.impact, one.id, places(one)]);
        """,
        libraries=(library.read_text(encoding="utf-8"),),
    )
    return [one for one in found if one[0] in {"serious", "critical"}]
