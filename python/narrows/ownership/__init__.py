"""Which files a command may write, replace and remove: only files that Narrows wrote itself.

Every directory of results lists the files that Narrows wrote there in ``.narrows.json`` (`manifest`): name, size and
SHA-256. Any other file, and a listed file that has changed since, belongs to the user: it is never removed, replaced
or moved. `claim` decides before a command begins whether it may use a directory. `staged` collects the command's output
in a hidden folder (`staging`) and puts it in place at the end (`place`). A command killed before that leaves the old
files; one killed while it puts the new files in place leaves the rest to the next command that opens the directory,
which finishes it.
"""

from __future__ import annotations

from narrows.ownership.claim import Claim, Target, changed, claim, page, parts
from narrows.ownership.manifest import (
    AGILE_SD,
    AQM,
    CONTEST,
    EVALUATION,
    MANIFEST,
    NGWA_LIVE,
    PAGES,
    RESULTS,
    SWEEP,
    UNFINISHED,
)
from narrows.ownership.recovery import found, settle
from narrows.ownership.removal import remove
from narrows.ownership.writing import adding, staged

__all__ = [
    "AGILE_SD",
    "AQM",
    "CONTEST",
    "EVALUATION",
    "MANIFEST",
    "NGWA_LIVE",
    "PAGES",
    "RESULTS",
    "SWEEP",
    "UNFINISHED",
    "Claim",
    "Target",
    "adding",
    "changed",
    "claim",
    "found",
    "page",
    "parts",
    "remove",
    "settle",
    "staged",
]
