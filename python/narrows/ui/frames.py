"""The messages between page and server; ``web/src/remote/frames.ts`` is the page's side of this module.

All messages but one are JSON texts with a ``kind`` and the ``id`` of the page's request. The results of a run are one
binary message, a frame:

======  ========================================================================
bytes   content
======  ========================================================================
4       length of the header in bytes, unsigned, little-endian
header  JSON in ASCII, padded with blanks so that the columns begin at a multiple of 8
rest    columns as little-endian float64, one after the other, in the header's order of tables and columns
======  ========================================================================

The header is ``{"kind": "done", "id": .., "data": ..}``. Its data are those of the page's ``RunData``, with ``tables``
as a list of ``{"name", "rows", "columns": [{"name", "unit", "doc"}, ..]}``: a column has ``rows`` values, NaN is "no
value". `KINDS` lists the other messages.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[np.float64]

KINDS: Final = {
    "run": "page to server: run the text `toml` with the number `number`; `path` names the text in problems",
    "open": "page to server: read run `number` of the result `name`, an entry of the list; `arm` of a comparison",
    "stop": "page to server: stop the run or the reading under way",
    "digest": "page to server: compute the digest of the last run",
    "save": "page to server: write the run of the text `toml` into the directory `directory`",
    "progress": "server to page: `fraction` of the run has passed",
    "failed": "server to page: there is no result; `message`, `problems` of a scenario, `stopped`",
    "answer": "server to page: `value` of a digest, or the directory that was written",
}
"""Messages by kind, beside the frame."""

_ALIGNMENT: Final = 8
_LENGTH: Final = struct.Struct("<I")


def pack(header: dict[str, Any], columns: Iterable[Column]) -> bytes:
    """Make a frame.

    Parameters
    ----------
    header : dict
        Ready for JSON.
    columns : iterable of numpy.ndarray
        In the order of the header's tables and columns.

    Returns
    -------
    bytes
    """
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-(_LENGTH.size + len(text)) % _ALIGNMENT)
    return b"".join([_LENGTH.pack(len(text)), text, *(column.astype("<f8", copy=False).data for column in columns)])


def unpack(frame: bytes) -> tuple[dict[str, Any], dict[str, dict[str, Column]]]:
    """Read a frame.

    Parameters
    ----------
    frame : bytes

    Returns
    -------
    header : dict
    columns : dict
        By table and name.
    """
    import numpy as np

    (length,) = _LENGTH.unpack_from(frame)
    header = json.loads(frame[_LENGTH.size : _LENGTH.size + length])
    place = _LENGTH.size + length
    tables: dict[str, dict[str, Column]] = {}
    for table in header["data"]["tables"]:
        made = tables[table["name"]] = {}
        for column in table["columns"]:
            made[column["name"]] = np.frombuffer(frame, "<f8", table["rows"], place)
            place += 8 * table["rows"]
    return header, tables
