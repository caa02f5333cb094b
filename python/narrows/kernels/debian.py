"""The newest kernel of a suite of Debian: found, fetched, verified and unpacked, never installed."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, Final, Protocol

from narrows.base.errors import InputError, LiveError
from narrows.kernels import adding, cache
from narrows.kernels.apt import Apt
from narrows.kernels.catalogue import Entry, kernel_packages
from narrows.kernels.compressed import BrokenError
from narrows.kernels.download import Download
from narrows.kernels.mirror import mirror

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from narrows.kernels.kernel import Kernel

PREFIX: Final = "debian:"
SUITES: Final = ("bookworm", "trixie", "sid")
"""Suites that were tried; others of the archive work the same way."""

_SUITE: Final = re.compile(r"[a-z][a-z-]*")


class Client(Protocol):
    """Fetches files of one suite, and verifies them."""

    @property
    def verified(self) -> str:
        """How packages are verified, in words."""

    def catalogue(self, progress: Callable[[float], None]) -> Path:
        """Fetch the suite's list of packages."""

    def fetch(self, entry: Entry, progress: Callable[[float], None]) -> Path:
        """Fetch a package."""


def add(name: str, progress: Callable[[str, float], None] | None = None) -> Kernel:
    """Add the newest kernel of a suite.

    Parameters
    ----------
    name : str
        ``debian:SUITE``.
    progress : callable, optional
        Called with the step and its completed share, in [0, 1].

    Returns
    -------
    Kernel
        If the same packages are in the cache, the kernel there, under this name.

    Raises
    ------
    InputError
        If the name is no suite's, or files of the user are in the way in the cache.
    LiveError
        If packages cannot be had, are not what was signed, or are damaged; or the cache cannot be written.
    """
    suite = name.removeprefix(PREFIX)
    if not _SUITE.fullmatch(suite):
        message = f"{name!r} is not a suite of Debian; allowed: {', '.join(PREFIX + one for one in SUITES)}"
        raise InputError(message)
    tell = progress or (lambda _what, _fraction: None)
    with cache.workplace() as work:
        client = _client(work, mirror(), suite)
        entries = _newest(client, suite, tell)
        digests = [entry.sha256 for entry in entries]
        known = adding.with_packages(digests)
        if known is not None:
            return known if known.name == name else cache.rename(known, {**known.facts, "name": name})
        packages = []
        for entry in entries:
            path = client.fetch(entry, lambda fraction, entry=entry: tell(f"fetching {entry.name}", fraction))  # type: ignore[misc]
            if path.stat().st_size != entry.size or adding.sha256(path) != entry.sha256:
                message = f"{entry.name}: is not what the archive lists: another size or SHA-256; try again"
                raise LiveError(message)
            packages.append(adding.read(path))
        return adding.unpack(packages, digests, name=name, verified=client.verified, progress=progress)


def _client(work: Path, address: str, suite: str) -> Client:
    """Return apt where it is installed: it knows how mirrors are reached here (proxies, credentials)."""
    make = Apt if shutil.which("apt-get") else Download
    return make(work, address, suite)


def _newest(client: Client, suite: str, tell: Callable[[str, float], None]) -> list[Entry]:
    path = client.catalogue(lambda fraction: tell(f"fetching the list of {suite}", fraction))
    try:
        with path.open("rb") as lines:
            return kernel_packages(lines)
    except BrokenError as error:
        message = f"the list of packages of {suite} {error}"
        raise LiveError(message) from None
