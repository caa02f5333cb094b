"""Why scripts of the public suites do not match, as far as somebody has found out: `reasons.toml`."""

from __future__ import annotations

import fnmatch
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from narrows.studies.packetdrill.outcome import World


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason that holds for some scripts in one world.

    Attributes
    ----------
    scripts : tuple of str
        Names as results have them; ``*`` stands for anything.
    world : {"simulated", "live"}
    kernel : str or None
        Pattern for the release of the kernel, for a reason that holds on some kernels only.
    feature : str or None
        What the script needs and Narrows does not claim (``zero-copy``, ``MD5`` ..), or the kernel does not have;
        ``None`` if the script is meant to match.
    reason : str
        A sentence.
    """

    scripts: tuple[str, ...]
    world: World
    kernel: str | None
    feature: str | None
    reason: str

    def holds(self, script: str, world: World, kernel: str | None) -> bool:
        """Return whether the reason is about a script in a world."""
        if world != self.world or not any(fnmatch.fnmatchcase(script, one) for one in self.scripts):
            return False
        return self.kernel is None or (kernel is not None and fnmatch.fnmatchcase(kernel, self.kernel))


@cache
def known() -> tuple[Reason, ...]:
    """Return all reasons, in the order of the file."""
    text = resources.files("narrows.studies.packetdrill").joinpath("reasons.toml").read_text(encoding="utf-8")
    return tuple(_reason(one) for one in tomllib.loads(text)["reasons"])


def reason(script: str, world: World, kernel: str | None) -> Reason | None:
    """Return the first reason that is about a script in a world; ``None`` if there is none.

    Parameters
    ----------
    script : str
        Its name.
    world : {"simulated", "live"}
    kernel : str or None
        Release of the kernel, for live results.
    """
    return next((one for one in known() if one.holds(script, world, kernel)), None)


def _reason(row: Mapping[str, Any]) -> Reason:
    return Reason(
        scripts=tuple(row["scripts"]),
        world=row["world"],
        kernel=row.get("kernel"),
        feature=row.get("feature"),
        reason=row["reason"],
    )
