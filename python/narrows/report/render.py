"""Pages from templates: one file with style, scripts and figures that needs no network."""

from __future__ import annotations

import json
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

if TYPE_CHECKING:
    from collections.abc import Sequence

_HERE = Path(__file__).resolve().parent
_TEMPLATES = _HERE / "templates"


@cache
def _environment(*more: str) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([str(_TEMPLATES), *more]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["script_json"] = script_json
    return environment


def script_json(value: Any) -> Markup:
    r"""Return JSON that is safe inside a `<script>` element: nothing in it can end the element.

    >>> script_json({"a": "</script>"})
    Markup('{"a":"\\u003c/script>"}')
    """
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))  # noqa: S704 - escaped on this line


@cache
def _scripts(*more: str) -> Markup:
    """Return the library, and our drawing on top of it; `more` are further files of ours."""
    own = ("basics.js", "chart-canvas.js", "chart-data.js", *more, "charts.js")
    files = [_HERE / "vendor" / "uPlot.iife.min.js", *(_TEMPLATES / name for name in own)]
    texts = [path.read_text(encoding="utf-8") for path in files]
    return Markup("\n".join(texts))  # noqa: S704 - our own files, and the library's


@cache
def _styles() -> Markup:
    texts = [(_HERE / "vendor" / "uPlot.min.css"), _TEMPLATES / "style.css", _TEMPLATES / "charts.css"]
    return Markup("\n".join(path.read_text(encoding="utf-8") for path in texts))  # noqa: S704 - likewise


def text(name: str) -> str:
    """Return one of the scripts or styles beside the templates.

    Parameters
    ----------
    name : str

    Returns
    -------
    str
    """
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def page(template: str | Path, *, scripts: Sequence[str] = (), **context: Any) -> str:
    """Render a template with the common style and scripts.

    Parameters
    ----------
    template : str or Path
        A template that extends `base.html.j2`: the name of one of ours, or the path of another package's, which may
        use the templates beside it.
    scripts : sequence of str
        Further scripts of ours that the page's figures need.
    **context
        Values for the template.

    Returns
    -------
    str
        The page, self-contained.
    """
    shared = {
        "css": _styles(),
        "page_js": Markup((_TEMPLATES / "page.js").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        "charts_js": _scripts(*scripts),
    }
    more = [str(template.parent)] if isinstance(template, Path) else []
    return _environment(*more).get_template(Path(template).name).render(**shared, **context)


def part(template: str, **context: Any) -> str:
    """Render a template that is no page: a notebook's view or a drawing.

    Parameters
    ----------
    template : str
        Name of a template.
    **context
        Values for the template.

    Returns
    -------
    str
        HTML or SVG.
    """
    return _environment().get_template(template).render(**context)


def write_text(path: Path, text: str) -> Path:
    """Write a file whole or not at all: under a temporary name first, then renamed.

    Raises
    ------
    OSError
        If it cannot be written; nothing is left behind then.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path
