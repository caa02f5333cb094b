"""Command outputs in documents: finds them, compares them with what the commands print, and updates them.

    python tools/documents.py            # checks; exits with 1 and the differences if one is out of date
    python tools/documents.py --write    # writes them again

A block is marked by the line ``MARK`` directly before it. Its first line is the command, the others are its output.
Several lines that begin with ``$`` are run in this order, and the output is that of all. A line ``..`` stands for any
number of lines. In lines of times and sizes (`MACHINE`) figures may differ.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]

MARK: Final = "<!-- made by the command: python tools/documents.py --write -->"
"""The line before a block whose output is checked against its command."""

MACHINE: Final = re.compile(r"^(disk|time|data set): |processor time| runs in | packet hops in ")
"""Lines that depend on the machine."""

ELIDED: Final = ".."

_BLOCK: Final = re.compile(
    re.escape(MARK) + r"\n```console\n\$ (?P<command>[^\n]+(?:\n\$ [^\n]+)*)\n(?P<output>.*?)```", re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A command in a document, and its output according to the document."""

    document: Path
    command: str
    output: tuple[str, ...]
    begin: int
    end: int


def blocks(document: Path) -> list[Block]:
    """Find the marked blocks of a document."""
    text = document.read_text(encoding="utf-8")
    found = [
        Block(document, one["command"], tuple(one["output"].splitlines()), one.start("output"), one.end("output"))
        for one in _BLOCK.finditer(text)
    ]
    if len(found) != text.count(MARK):
        message = f"{document}: a mark without a console block after it: {MARK}"
        raise ValueError(message)
    return found


def documents() -> list[Path]:
    """List the documents that may have such blocks."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/tutorials").glob("*.md"))]


def run(command: str) -> tuple[str, ...]:
    """Run `narrows` commands, one a line; their results go into a temporary folder that is deleted."""
    said = ""
    with tempfile.TemporaryDirectory() as folder:
        written: dict[str, str] = {}
        for one in command.split("\n$ "):
            words = shlex.split(one)
            if words[0] != "narrows":
                message = f"{one}: is no command of ours"
                raise ValueError(message)
            if "-o" in words:
                named = words[words.index("-o") + 1]
                written[named] = f"{folder}/{named}"
            said += _said([written.get(word, word) for word in words[1:]])
        for named, real in written.items():
            said = said.replace(real, named)
    lines = [line.rstrip() for line in said.splitlines()]
    hidden = ("wrote ", "narrows report ")
    # A slow machine gets a forecast on standard error, and reports of progress.
    slow = re.compile(r".*: takes about .*|[\d,]+ of [\d,]+ runs, .* left")
    return tuple(line for line in lines if not line.startswith(hidden) and not slow.fullmatch(line))


def _said(arguments: list[str]) -> str:
    """Run one command, and return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", "from narrows.cli import main; main()", *arguments],
        cwd=ROOT,
        env=os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    ).stdout


def shortened(output: tuple[str, ...], like: tuple[str, ...]) -> tuple[str, ...]:
    """Shorten an output as the document does: keep as many lines before and after `ELIDED`."""
    if ELIDED not in [line.strip() for line in like]:
        return output
    at = [line.strip() for line in like].index(ELIDED)
    after = len(like) - at - 1
    return (*output[:at], like[at], *output[len(output) - after :])


def same(told: str, printed: str) -> bool:
    """Return whether a line equals the printed one, apart from figures that depend on the machine."""
    if told == printed:
        return True
    if not MACHINE.search(told):
        return False
    if told.startswith("time: "):
        # Its unit, and whether it has a range, depend on the machine too.
        return re.fullmatch(r"time: about .+, by \d+ runs", printed) is not None
    return re.sub(r"[\d.]+ ?[kMG]?B?", "0", told) == re.sub(r"[\d.]+ ?[kMG]?B?", "0", printed)


def difference(block: Block, printed: tuple[str, ...]) -> str | None:
    """Compare a block with what its command printed; None if they are the same."""
    if not any(line.startswith("time: ") for line in block.output):
        # What takes seconds on one machine has a forecast on a slower one.
        printed = tuple(line for line in printed if not line.startswith("time: about "))
    now = shortened(printed, block.output)
    if len(now) == len(block.output) and all(map(same, block.output, now)):
        return None
    name = str(block.document.relative_to(ROOT))
    return "\n".join(difflib.unified_diff(block.output, now, name, f"$ {block.command}", lineterm=""))


def main() -> int:
    """Check the documents, or update them."""
    parser = argparse.ArgumentParser(description="Hold outputs in documents to the commands that print them.")
    parser.add_argument("--write", action="store_true", help="write them again")
    write = parser.parse_args().write
    stale = 0
    for document in documents():
        for block in reversed(blocks(document)):
            printed = run(block.command)
            told = difference(block, printed)
            if told is None:
                continue
            stale += 1
            sys.stdout.write(f"{told}\n")
            if write:
                text = document.read_text(encoding="utf-8")
                new = "".join(f"{line}\n" for line in shortened(printed, block.output))
                document.write_text(text[: block.begin] + new + text[block.end :], encoding="utf-8")
    return 0 if write or not stale else 1


if __name__ == "__main__":
    sys.exit(main())
