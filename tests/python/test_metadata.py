"""Licence, authors, version and addresses agree everywhere; issue forms and man page are well formed."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
import yaml

from narrows import _core
from narrows.cli import app
from narrows.cli.verify import REPORTS

if TYPE_CHECKING:
    from types import ModuleType

ROOT: Final = Path(__file__).resolve().parents[2]
EXPRESSION: Final = "(MIT OR Apache-2.0) AND GPL-2.0-only"
GPL: Final = ("crates/live/bpf", "tools/kernel_qdiscs")

PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKSPACE: Final[dict[str, Any]] = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
CITATION: Final[dict[str, Any]] = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
FORMS: Final = sorted(path for path in (ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")


def text(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def manpage() -> Any:
    spec = importlib.util.spec_from_file_location("manpage", ROOT / "tools" / "manpage.py")
    assert spec is not None
    assert spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_licence_is_the_same_everywhere() -> None:
    assert PROJECT["license"] == EXPRESSION
    assert f"SPDX-License-Identifier: {EXPRESSION}\n" in text("LICENSE")
    for page in ("README.md", "CONTRIBUTING.md", "docs/index.md", "CITATION.cff"):
        assert EXPRESSION in text(page), page
    for page in ("README.md", "CONTRIBUTING.md", "LICENSE"):
        for folder in GPL:
            assert folder in text(page), page
    assert all((ROOT / name).is_file() for name in PROJECT["license-files"])


def test_crates_have_the_workspaces_licence_but_for_the_one_with_ebpf_programs() -> None:
    for path in sorted((*ROOT.glob("crates/*/Cargo.toml"), ROOT / "xtask/Cargo.toml", ROOT / "fuzz/Cargo.toml")):
        licence = tomllib.loads(path.read_text("utf-8"))["package"]["license"]
        gpl = any((ROOT / folder).is_relative_to(path.parent) for folder in GPL)
        assert licence in ((EXPRESSION,) if gpl else ({"workspace": True}, WORKSPACE["license"])), path
    assert WORKSPACE["license"] == "MIT OR Apache-2.0"


def test_only_files_of_the_folders_that_the_licence_names_are_gpl() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("this is not a checkout")
    mark = re.compile(rb"SPDX-License-Identifier: GPL|MODULE_LICENSE\(\"GPL|\"license\"\) = \"GPL")
    sources = [name for name in listed.stdout.splitlines() if name.endswith((".c", ".h", ".rs", ".py"))]
    found = {name for name in sources if mark.search((ROOT / name).read_bytes())}
    found = {name for name in found if "tests/" not in name}  # tests look for such words
    assert found
    assert {name for name in found if not name.startswith(GPL)} == set()
    bpf = {name for name in sources if name.startswith("crates/live/bpf/") and "/objects/" not in name}
    assert bpf - found == set()


def test_authors_version_and_addresses_agree() -> None:
    (author,) = PROJECT["authors"]
    assert [author] == CITATION["authors"] == [{"name": name} for name in WORKSPACE["authors"]]
    assert f"Copyright (c) 2026 {author['name']}" in text("LICENSE-MIT")
    assert CITATION["version"] == WORKSPACE["version"] == _core.release()
    address = WORKSPACE["repository"]
    assert PROJECT["urls"]["Repository"] == CITATION["repository-code"] == address
    assert REPORTS == PROJECT["urls"]["Issues"] == f"{address}/issues"
    known = re.compile(r"https://github\.com/narrows/narrows/blob/main/([\w./-]+)")
    for name in ("pyproject.toml", "CITATION.cff", "README.md", "SECURITY.md"):
        for target in known.findall(text(name)):
            assert (ROOT / target).is_file(), f"{name}: {target}"


def test_the_citation_has_what_its_format_requires() -> None:
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "type", "license-url", "keywords"} <= set(CITATION)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_an_issue_form_is_one(path: Path) -> None:
    form = yaml.safe_load(path.read_text("utf-8"))
    assert {"name", "description", "body"} <= set(form) <= {"name", "description", "body", "labels", "title"}
    names = []
    for part in form["body"]:
        assert part["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        assert part["attributes"]["label"]
        names.append(part["id"])
        options = part["attributes"].get("options")
        assert (options is not None) == (part["type"] in {"dropdown", "checkboxes"})
        if part["type"] == "dropdown":
            assert all(isinstance(option, str) for option in options)  # a bare yes would be a truth value
    assert len(set(names)) == len(names)
    assert any(part.get("validations", {}).get("required") for part in form["body"])


def test_commands_in_issue_forms_exist() -> None:
    verbs = {str(one.name) for one in app.registered_commands}
    named = {verb for path in FORMS for verb in re.findall(r"`narrows ([a-z]+)", path.read_text("utf-8"))}
    assert named
    assert named <= verbs


def test_the_man_page_is_that_of_the_present_commands() -> None:
    tool = manpage()
    assert tool.PAGE.read_text("utf-8") == tool.page(), "`python tools/manpage.py --write` writes it again"
    sections = set(re.findall(r"(?m)^\.SS (\w+)", tool.page()))
    assert sections == {str(one.name) for one in app.registered_commands if not one.hidden}


def test_the_man_page_is_clean_roff() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    ended = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-k", str(manpage().PAGE)], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    plain = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", ended.stdout)
    assert "narrows run dumbbell-cubic --runs 20 --set 'duration=90 s' -o out" in " ".join(plain.split())
    assert re.search(r"\\f[BIR]|\\\(|\\[-&]|`", plain) is None
