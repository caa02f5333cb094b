"""Statements in documents about the project itself: verbs, requirements, licence."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from narrows.cli import app

ROOT = Path(__file__).resolve().parents[2]


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def toml(path: str) -> dict[str, Any]:
    return tomllib.loads(text(path))


def test_the_table_of_verbs_has_every_verb() -> None:
    named = re.findall(r"^\| `narrows (\w+)[^`]*` \| \S", text("docs/cli.md"), re.MULTILINE)
    assert sorted(named) == sorted(str(verb.name) for verb in app.registered_commands)


def test_readme_names_what_setup_needs() -> None:
    needed = {name for names in re.findall(r"packages\+=\(([^)]+)\)", text(".ci/system")) for name in names.split()}
    assert {"gcc", "pkg-config", "libelf-dev", "zlib1g-dev", "python3-venv"} <= needed
    installed = re.search(r"^apt-get install ([^#\n]+)", text("README.md"), re.MULTILINE)
    assert installed is not None
    assert set(installed[1].split()) == needed | {"make"}


def test_readme_names_the_versions_that_are_needed() -> None:
    rust = toml("Cargo.toml")["workspace"]["package"]["rust-version"]
    python = toml("pyproject.toml")["project"]["requires-python"].removeprefix(">=")
    assert f"Rust {rust} or later, Python {python} or later" in text("README.md")
    assert f"Rust {rust} or later" in text(".ci/system")
    assert f"Python {python} or later" in text(".ci/system")
