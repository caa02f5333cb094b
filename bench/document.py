"""Puts the latest results into ``docs/performance.md``: ``python -m bench.document``.

Parts of the page between ``<!-- bench:NAME -->`` and ``<!-- /bench:NAME -->`` are replaced: ``results`` by the tables
of ``results/latest.json``, ``instructions`` by what ``python -m bench.instructions --output FILE`` wrote, if given.
"""

import argparse
import re
import shutil
import sys
from pathlib import Path

from bench.results import RESULTS, Results
from bench.workloads import ROOT

PAGE = ROOT / "docs" / "performance.md"

#: Figures that the page shows, and where it expects them.
FIGURES = ("speed.svg", "growth.svg")
FIGURES_AT = ROOT / "docs" / "performance"


def replace_part(page: str, name: str, text: str) -> str:
    """Return the page with the part of that name replaced; a page without the part is an error."""
    pattern = re.compile(rf"(<!-- bench:{name} -->\n).*?(<!-- /bench:{name} -->)", re.DOTALL)
    if not pattern.search(page):
        raise ValueError(f"{PAGE}: no part between <!-- bench:{name} --> and <!-- /bench:{name} -->")
    return pattern.sub(lambda match: f"{match[1]}\n{text.strip()}\n\n{match[2]}", page)


def main() -> int:
    """Rewrite the page from the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.document", description=__doc__.splitlines()[0])
    parser.add_argument("--instructions", type=Path, metavar="FILE", help="tables of `python -m bench.instructions`")
    chosen = parser.parse_args()
    page = PAGE.read_text()
    page = replace_part(page, "results", Results.read(RESULTS / "latest.json").markdown())
    if chosen.instructions is not None:
        page = replace_part(page, "instructions", chosen.instructions.read_text())
    PAGE.write_text(page)
    FIGURES_AT.mkdir(exist_ok=True)
    for name in FIGURES:
        if (RESULTS / name).exists():
            shutil.copyfile(RESULTS / name, FIGURES_AT / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
