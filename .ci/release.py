"""Whether the sources are those of a release, and its notes.

Usage: release.py vX.Y.Z [--notes]. Checks that Cargo.toml, CITATION.cff, CHANGELOG.md, the man page and the list of
digests are those of version X.Y.Z; exits with 1 and what is not. `--notes` prints the section of CHANGELOG.md.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


def notes(version: str, root: Path = ROOT) -> str | None:
    """Return the changelog's section of a version; None if there is none."""
    parts = re.split(r"(?m)^## (?=\[)", (root / "CHANGELOG.md").read_text("utf-8"))
    for part in parts[1:]:
        heading, _, body = part.partition("\n")
        if heading.startswith(f"[{version}]"):
            return body.strip() + "\n"
    return None


def problems(tag: str, root: Path = ROOT) -> list[str]:
    """Return what keeps the sources from being those of the tag."""
    if re.fullmatch(r"v\d+\.\d+\.\d+", tag) is None:
        return [f"{tag}: is no tag of a release; allowed: vX.Y.Z"]
    version = tag.removeprefix("v")
    found = []
    cargo = tomllib.loads((root / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    if cargo != version:
        found.append(f"Cargo.toml: workspace.package.version is {cargo}; allowed: {version}")
    citation = re.search(r"(?m)^version: (.+)$", (root / "CITATION.cff").read_text("utf-8"))
    if citation is None or citation[1].strip('"') != version:
        found.append(f"CITATION.cff: version is {citation[1] if citation else 'missing'}; allowed: {version}")
    if not notes(version, root):
        found.append(f"CHANGELOG.md: has no section ## [{version}], or an empty one")
    if f'"narrows {version}"' not in (root / "packaging/data/share/man/man1/narrows.1").read_text("utf-8"):
        found.append("narrows.1: is of another version; python tools/manpage.py --write")
    if not (root / "scenarios" / "digests" / f"{version}.txt").is_file():
        found.append(
            f"scenarios/digests/{version}.txt: is missing; "
            "NARROWS_WRITE_DIGESTS=1 cargo test -p narrows-sim --test digests"
        )
    return found


def main(tag: str, *options: str) -> int:
    """Check, or print the notes."""
    if options == ("--notes",):
        sys.stdout.write(notes(tag.removeprefix("v")) or "")
        return 0
    found = problems(tag)
    sys.stderr.writelines(f"{problem}\n" for problem in found)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
