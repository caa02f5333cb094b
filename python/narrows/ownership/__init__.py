"""Which files a command may write, replace and remove: only those that Narrows wrote itself.

Every directory of results lists the files that Narrows wrote there in ``.narrows.json`` (`manifest`): name, size and
SHA-256. Any other file, and a listed one that has changed since, belongs to the user: it is never removed, replaced or
moved. `claim` decides before a command begins whether it may use a directory; `staged` collects what the command writes
in a hidden folder (`staging`) and puts it in place at the end (`place`). A command that is killed leaves the old files
or, once it has begun to put the new ones in place, the new ones: the next command that opens the directory finishes the
work.
"""

from __future__ import annotations

from narrows.ownership.claim import Claim, Target, adding, changed, claim, found, page, settle, staged
from narrows.ownership.manifest import AGILE_SD, CONTEST, MANIFEST, NGWA_LIVE, PAGES, RESULTS, SWEEP

__all__ = [
    "AGILE_SD",
    "CONTEST",
    "MANIFEST",
    "NGWA_LIVE",
    "PAGES",
    "RESULTS",
    "SWEEP",
    "Claim",
    "Target",
    "adding",
    "changed",
    "claim",
    "found",
    "page",
    "settle",
    "staged",
]
