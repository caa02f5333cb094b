"""Makes the gallery of the documentation site: pages that commands of Narrows write, and the page that shows them.

    python tools/site/gallery.py DIR    # a folder per page; those that are there already are kept

`docs/gallery.md` names each page; `PAGES` has the commands that make it.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Made:
    """A page of the gallery."""

    name: str
    """Its folder."""
    commands: tuple[str, ...]
    """What makes it; `OUT` stands for its folder, and `IN` for that of the inputs."""
    picture: str
    """The figure of it that the gallery shows, as a pattern of files in its folder."""
    inputs: tuple[str, ...] = ()
    """What makes the results that it reads; `IN` stands for their folder, which is removed afterwards."""


PAGES: Final = (
    Made("dumbbell", ("narrows run dumbbell-cubic --runs 5 -o OUT", "narrows report OUT"), "figures/*cwnd*.svg"),
    Made("wifi", ("narrows run wifi-cell -o OUT", "narrows report OUT"), "figures/*throughput*.svg"),
    Made("l4s", ("narrows run l4s -o OUT", "narrows report OUT"), "figures/*rtt*.svg"),
    Made("transfers", ("narrows run page-loads -o OUT", "narrows report OUT"), "figures/*.svg"),
    Made("sweep", ("narrows sweep examples/buffer_sweep.toml -o OUT",), "figures/over-buffer.svg"),
    Made(
        "compare",
        ("narrows compare IN/cubic IN/bbr -o OUT",),
        "figures/queue-distribution.svg",
        inputs=(
            "narrows run dumbbell-cubic --runs 5 -o IN/cubic",
            "narrows run dumbbell-cubic --runs 5 --set tcp.cc=bbr -o IN/bbr",
        ),
    ),
    Made(
        "contest",
        ("narrows contest --cc cubic,bbr,reno,vegas --on contest-wired --runs 2 -o OUT",),
        "figures/share-first.svg",
    ),
    Made("acns", ("narrows reproduce acns --quick -o OUT",), "figures/published-measured.svg"),
    Made("ngwa", ("narrows reproduce ngwa --quick -o OUT",), "figures/*.svg"),
)


def make(page: Made, folder: Path) -> None:
    """Run a page's commands, and keep its picture beside it as `picture.svg`."""
    with tempfile.TemporaryDirectory() as inputs:
        for command in (*page.inputs, *page.commands):
            sys.stdout.write(f"  {command.replace('OUT', page.name)}\n")
            sys.stdout.flush()
            words = [
                str(folder) if word == "OUT" else re.sub("^IN/", f"{inputs}/", word) for word in shlex.split(command)
            ]
            subprocess.run(
                [sys.executable, "-c", "from narrows.cli import main; main()", *words[1:]],
                cwd=ROOT,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
    pictures = sorted(folder.glob(page.picture))
    if not pictures:
        message = f"{page.name}: {' and '.join(page.commands)} made no {page.picture}"
        raise FileNotFoundError(message)
    shutil.copyfile(pictures[0], folder.with_suffix(".svg"))


def main() -> None:
    """Make the pages that are missing."""
    parser = argparse.ArgumentParser(description="Make the pages of the gallery.")
    parser.add_argument("directory", type=Path)
    directory: Path = parser.parse_args().directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        if not (directory / f"{page.name}.svg").is_file():
            make(page, directory / page.name)


if __name__ == "__main__":
    main()
