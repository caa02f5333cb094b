"""The documentation site: every document is in its navigation, and links lead to pages of the site."""

from __future__ import annotations

import importlib.util
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

BUILT = ("rust/", "gallery/")
"""What the build adds beside the assembled pages: the Rust API, and pages of the gallery."""


def tool(name: str) -> Any:
    path = ROOT / "tools" / "site" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


assemble = tool("assemble")
gallery = tool("gallery")
SITE = assemble.Site()
DOCUMENTS = sorted(
    source
    for source in SITE.pages
    if source.endswith(".md") and (source.startswith("docs/") or source in assemble.OUTSIDE)
)


def navigation() -> set[str]:
    return set(
        re.findall(r"^\s+- (?:.*: )?([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    )


def test_every_document_is_in_the_navigation() -> None:
    pages = {page for source, page in SITE.pages.items() if source in DOCUMENTS or source.endswith(".ipynb")}
    reached_by_links = {"project/bpf.md", "project/dissector.md", "project/kernel-qdiscs.md"}
    assert navigation() == pages - reached_by_links


@pytest.mark.parametrize("source", DOCUMENTS)
def test_links_of_a_document_lead_to_pages_of_the_site(source: str) -> None:
    here = posixpath.dirname(SITE.pages[source])
    text = assemble._CODE.sub("", SITE.text(source))
    for match in assemble._LINK.finditer(text):
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            if target.startswith(f"{assemble.address()}/blob/main/"):
                assert (ROOT / target.partition("/blob/main/")[2]).exists(), target
            continue
        page = posixpath.normpath(posixpath.join(here, target))
        assert page in SITE.pages.values() or page.startswith(BUILT), f"{source}: {target}"


def test_links_in_code_stay_as_they_are() -> None:
    text = "[a](live.md) and `[b](live.md)`\n\n```\n[c](live.md)\n```\n[d](../README.md#start)\n"
    fitted = SITE.fitted(text, "docs/cli.md")
    assert fitted == "[a](live.md) and `[b](live.md)`\n\n```\n[c](live.md)\n```\n[d](why.md#start)\n"


def test_sources_are_listed_with_their_text() -> None:
    listed = SITE.text("examples/buffer_sweep.toml")
    assert (ROOT / "examples/buffer_sweep.toml").read_text(encoding="utf-8").rstrip() in listed
    assert SITE.pages["examples/buffer_sweep.toml"] == "source/examples/buffer_sweep.toml.md"


def test_the_laboratory_goes_into_the_site_where_its_document_expects_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page"
    assemble.with_laboratory(page, tmp_path / "without")
    assert "is not built; `make setup` says why" in capsys.readouterr().err
    (page / "lessons").mkdir(parents=True)
    for name in ("index.html", "lessons/index.html"):
        (page / name).write_text("<title>", encoding="utf-8")
    assemble.with_laboratory(page, tmp_path / "site")
    linked = re.findall(r'(?:href|src)="([^"?#]+)', (ROOT / "docs" / "laboratory.md").read_text(encoding="utf-8"))
    assert set(linked) == {"laboratory/index.html", "laboratory/lessons/index.html"}
    assert all((tmp_path / "site" / name).is_file() for name in linked)


def test_lessons_link_to_pages_of_the_site(tmp_path: Path) -> None:
    sources = (ROOT / "web" / "src" / "lessons" / "content").glob("*.ts")
    documents = {found for source in sources for found in re.findall(r'"(docs/[^"#]+)', source.read_text("utf-8"))}
    assert "docs/algorithms/cubic.md" in documents
    site = SITE.pages
    assert {document for document in documents if site.get(document) != document.removeprefix("docs/")} == set()
    base = re.search(r'DOCUMENTS = "([^"]+)"', (ROOT / "web/src/lessons/pages.ts").read_text("utf-8"))
    assert base is not None
    lesson = tmp_path / "page" / "lessons" / "cubic" / "index.html"
    lesson.parent.mkdir(parents=True)
    (tmp_path / "page" / "index.html").touch()
    lesson.write_text(f'<a href="{base[1]}algorithms/cubic.md#idea"> <a href="https://example.org/a.md">', "utf-8")
    assemble.with_laboratory(tmp_path / "page", tmp_path / "site")
    text = (tmp_path / "site" / "laboratory" / "lessons" / "cubic" / "index.html").read_text("utf-8")
    assert text == '<a href="../../../algorithms/cubic.html#idea"> <a href="https://example.org/a.md">'


def test_a_folder_of_the_users_is_not_assembled_into(tmp_path: Path) -> None:
    kept = tmp_path / "mine.md"
    kept.write_text("mine", encoding="utf-8")
    with pytest.raises(FileExistsError, match="no folder that this program has made"):
        assemble.assemble(tmp_path)
    assert kept.read_text(encoding="utf-8") == "mine"


def test_the_gallery_shows_each_page_that_is_made_and_names_its_command() -> None:
    shown = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert set(re.findall(r'href="gallery/([\w-]+)/report\.html"', shown)) == {page.name for page in gallery.PAGES}
    for page in gallery.PAGES:
        command = page.commands[0].replace(" -o OUT", "").replace("IN/", "results/")
        assert f"<code>{command}</code>" in shown, command
        assert f'src="gallery/{page.name}.svg"' in shown


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 600
