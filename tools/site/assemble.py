"""Assembles the sources of the documentation site from the repository's documents.

    python tools/site/assemble.py DIR    # a folder of Markdown for the site generator; made again from nothing

Documents link to files by their places in the repository, so that they can be read there. In the assembled folder such
a link goes to the page made of that file: a document, an executed notebook, or a listing of a source file. What is none
of these (a directory) is linked at the project's address. The folder is plain Markdown, so the generator can be
replaced.
"""

from __future__ import annotations

import argparse
import posixpath
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(__file__).resolve().parents[2]

OUTSIDE: Final = {
    "README.md": "why.md",
    "ARCHITECTURE.md": "project/architecture.md",
    "CHANGELOG.md": "project/changes.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "bench/README.md": "project/benchmark.md",
    "validation/README.md": "project/adding-networks.md",
    "crates/live/bpf/README.md": "project/bpf.md",
    "tools/kernel_qdiscs/README.md": "project/kernel-qdiscs.md",
    "tools/wireshark/README.md": "project/dissector.md",
    "experiments/acns/README.md": "papers/acns.md",
    "experiments/acns/ns2/README.md": "papers/acns-ns2.md",
    "experiments/agile-sd/README.md": "papers/agile-sd.md",
    "experiments/contest/README.md": "papers/contest.md",
    "experiments/ngwa/README.md": "papers/ngwa.md",
}
"""Documents outside `docs/`, and their pages on the site."""

LABORATORY: Final = "python/narrows/laboratory"
"""Where `make setup` builds the laboratory's page; it goes into `laboratory` on the site."""

LESSON_LINK: Final = re.compile(r'(href="[^"]*/blob/main/docs/)([^".#]+)\.md')
"""A lesson's link to a document; the site has the page at its top."""

NOTEBOOKS: Final = "examples"
"""Where the notebooks are that the site executes."""

DIRECTORIES: Final = {
    "docs/algorithms": "algorithms.md",
    "docs/queues": "algorithms.md",
    "examples": "gallery.md",
    "experiments": "gallery.md",
}
"""Directories that a page of the site describes."""

RUST: Final = re.compile(r"crates/([a-z]+)/src/(.+\.rs)")
FIGURES: Final = {".png", ".svg"}
LISTED: Final = {".c": "c", ".h": "c", ".lua": "lua", ".py": "python", ".rs": "rust", ".sh": "bash", ".toml": "toml"}
"""Files that get a listing on the site when a document links to them, and the language of each."""

_LINK: Final = re.compile(r"(?P<before>\]\()(?P<target>[^)\s#]+)(?P<anchor>#[^)\s]*)?(?P<after>(?:\s+\"[^\"]*\")?\))")
_CODE: Final = re.compile(
    r"^ {0,3}(?P<fence>```+|~~~+).*?^ {0,3}(?P=fence)\s*$|(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)", re.M | re.S
)


class Site:
    """The pages of the site: by source in the repository, and by place on the site."""

    def __init__(self) -> None:
        docs = {f"docs/{name}": name for name in _below("docs")}
        notebooks = {
            f"{NOTEBOOKS}/{name}": f"notebooks/{Path(name).with_suffix('.md')}"
            for name in _below(NOTEBOOKS)
            if name.endswith(".ipynb")
        }
        self.pages: dict[str, str] = docs | OUTSIDE | notebooks
        """Place on the site by place in the repository."""
        for source in [one for one in self.pages if one.endswith(".md")]:
            for path in sorted(_linked(source)):
                if path in self.pages or not (ROOT / path).is_file():
                    continue
                if Path(path).suffix in LISTED:
                    self.pages[path] = f"source/{path}.md"
                elif Path(path).suffix in FIGURES:
                    self.pages[path] = f"papers/{path.replace('/', '-')}"

    def text(self, source: str) -> str:
        """Return the Markdown of a page."""
        path = ROOT / source
        if source.startswith("docs/") or source in OUTSIDE:
            return self.fitted(path.read_text(encoding="utf-8"), source)
        return _listed(source)

    def fitted(self, markdown: str, source: str) -> str:
        """Turn links to places in the repository into links of the site."""
        here = posixpath.dirname(self.pages[source])

        def linked(match: re.Match[str]) -> str:
            target = match["target"]
            if _elsewhere(target):
                return match[0]
            path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
            page = self.pages.get(path) or DIRECTORIES.get(path)
            new = posixpath.relpath(page, here or ".") if page else target
            if page is None and (ROOT / path).exists():
                new = f"{address()}/blob/main/{path}"
            return f"{match['before']}{new}{match['anchor'] or ''}{match['after']}"

        return _outside_code(markdown, lambda text: _LINK.sub(linked, text))


def _below(folder: str) -> list[str]:
    """List the files below a folder, by their places in it."""
    files = (path for path in (ROOT / folder).rglob("*") if path.is_file() and not path.name.startswith("."))
    return sorted(path.relative_to(ROOT / folder).as_posix() for path in files)


def _elsewhere(target: str) -> bool:
    """Return whether a link leaves the repository: to another host, to an anchor, or to what the build adds."""
    return re.match(r"[a-z]+:|/", target) is not None


def address() -> str:
    """Return the address of the project's repository."""
    with (ROOT / "Cargo.toml").open("rb") as file:
        return str(tomllib.load(file)["workspace"]["package"]["repository"])


def _outside_code(markdown: str, change: Callable[[str], str]) -> str:
    """Apply a change to what is neither in a code block nor in a code span."""
    parts = []
    at = 0
    for code in _CODE.finditer(markdown):
        parts += [change(markdown[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*parts, change(markdown[at:])])


def _listed(path: str) -> str:
    """Write the page that lists a source file."""
    text = (ROOT / path).read_text(encoding="utf-8")
    fence = "`" * (1 + max([2, *map(len, re.findall("`+", text))]))
    rust = RUST.fullmatch(path)
    depth = "../" * (path.count("/") + 1)
    api = f"[Its items in the Rust API]({depth}rust/src/narrows_{rust[1]}/{rust[2]}.html)\n\n" if rust else ""
    code = f"{fence}{LISTED[Path(path).suffix]}\n{text.rstrip()}\n{fence}\n"
    return f"---\nsearch:\n  exclude: true\n---\n\n# {path}\n\n{api}{code}"


def _linked(source: str) -> set[str]:
    """Return the places in the repository to which a document links."""
    text = _CODE.sub("", (ROOT / source).read_text(encoding="utf-8"))
    return {
        posixpath.normpath(posixpath.join(posixpath.dirname(source), match["target"]))
        for match in _LINK.finditer(text)
        if not _elsewhere(match["target"])
    }


def executed(notebook: Path, page: Path) -> None:
    """Execute a notebook, and write it with its outputs as Markdown; figures go beside the page."""
    run = [sys.executable, "-m", "nbconvert", "--to", "markdown", "--execute", "--log-level=ERROR"]
    place = [f"--output-dir={page.parent}", f"--output={page.stem}"]
    subprocess.run([*run, *place, str(notebook)], cwd=ROOT, check=True)


def assemble(directory: Path) -> None:
    """Write all pages into a directory, which is removed first if an earlier call has made it."""
    mark = directory / ".assembled"
    if directory.exists():
        if not mark.is_file():
            message = f"{directory}: is no folder that this program has made"
            raise FileExistsError(message)
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    mark.touch()
    site = Site()
    for source, place in site.pages.items():
        page = directory / place
        page.parent.mkdir(parents=True, exist_ok=True)
        if source.endswith(".ipynb"):
            executed(ROOT / source, page)
        elif place.endswith(".md"):
            page.write_text(site.text(source), encoding="utf-8")
        else:
            shutil.copyfile(ROOT / source, page)
    with_laboratory(ROOT / LABORATORY, directory)


def with_laboratory(page: Path, directory: Path) -> None:
    """Copy the laboratory's page into the site, its links leading to pages of the site; or say how it is built."""
    if (page / "index.html").is_file():
        shutil.copytree(page, directory / "laboratory")
        for lesson in (directory / "laboratory" / "lessons").glob("*/index.html"):
            text = LESSON_LINK.sub(r'href="../../../\2.html', lesson.read_text(encoding="utf-8"))
            lesson.write_text(text, encoding="utf-8")
    else:
        sys.stderr.write(f"   the site has no laboratory: {page} is not built; `make setup` says why\n")


def main() -> None:
    """Assemble the site's sources."""
    parser = argparse.ArgumentParser(description="Assemble the sources of the documentation site.")
    parser.add_argument("directory", type=Path)
    assemble(parser.parse_args().directory.resolve())


if __name__ == "__main__":
    main()
