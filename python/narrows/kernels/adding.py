"""Adding a kernel to the cache: from packages, or from a kernel that is installed."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from narrows.base import interruption
from narrows.base.errors import InputError, LiveError
from narrows.kernels import cache, package, tree
from narrows.kernels.compressed import BrokenError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from narrows.kernels.kernel import Kernel
    from narrows.kernels.package import Package

ARCHITECTURE: Final = "amd64"
"""Architecture of the virtual machines, by Debian's name."""

_CHUNK: Final = 1 << 20


def add_file(path: Path, progress: Callable[[str, float], None] | None = None) -> Kernel:
    """Add the kernel of a Debian package.

    Parameters
    ----------
    path : pathlib.Path
    progress : callable, optional
        Called with the step and its completed share, in [0, 1].

    Returns
    -------
    Kernel
        Under its release as name. One that is in the cache already is returned as it is.

    Raises
    ------
    InputError
        If there is no such file, or files of the user are in the way in the cache.
    LiveError
        If the package is damaged or has no kernel, or the cache cannot be written.
    """
    if not path.is_file():
        message = f"{path}: there is no such file; allowed: a Debian package of a kernel"
        raise InputError(message)
    try:
        found = [read(path)]
        digests = [sha256(path)]
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror or error}"
        raise InputError(message) from None
    known = with_packages(digests)
    return known or unpack(found, digests, name=None, verified="", progress=progress)


def read(path: Path) -> Package:
    """Read name and version of a package, and check that it is for our virtual machines.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    Package

    Raises
    ------
    LiveError
        If it is damaged or for another architecture.
    OSError
        If it cannot be read.
    """
    try:
        found = package.read(path)
    except BrokenError as error:
        message = f"{path}: {error}; allowed: a Debian package of a kernel"
        raise LiveError(message) from None
    if found.architecture != ARCHITECTURE:
        message = f"{path}: is for {found.architecture}; allowed: a kernel for {ARCHITECTURE}"
        raise LiveError(message)
    return found


def unpack(
    packages: Sequence[Package],
    digests: Sequence[str],
    *,
    name: str | None,
    verified: str,
    progress: Callable[[str, float], None] | None,
) -> Kernel:
    """Unpack packages into the cache.

    Parameters
    ----------
    packages : sequence of Package
        That of the image first.
    digests : sequence of str
        SHA-256 of each.
    name : str or None
        Name of the kernel; its release if ``None``.
    verified : str
        How the packages were verified, in words.
    progress : callable, optional

    Returns
    -------
    Kernel

    Raises
    ------
    InputError, LiveError
        As for `add_file`.
    """
    sources = [tree.of_package(one.path) for one in packages]
    what = ", ".join(one.path.name for one in packages)
    return _keep(sources, what, lambda release: facts(packages, digests, name or release, verified), progress)


def add_installed(kernel: Kernel, progress: Callable[[str, float], None] | None = None) -> Kernel:
    """Copy a kernel that is installed on this host, or was unpacked by hand.

    Parameters
    ----------
    kernel : Kernel
        Outside the cache, as `narrows.kernels.image` returns it.
    progress : callable, optional

    Returns
    -------
    Kernel
        Under its release as name.

    Raises
    ------
    InputError, LiveError
        As for `add_file`.
    """
    source = tree.installed(kernel.release, kernel.vmlinuz, kernel.config_file, kernel.directory)

    def stored(release: str) -> dict[str, Any]:
        return {"name": release, "version": release, "packages": [], "verified": "", "added": _now()}

    return _keep([source], str(kernel.vmlinuz), stored, progress)


def _keep(
    sources: Sequence[tree.Source],
    what: str,
    stored: Callable[[str], dict[str, Any]],
    progress: Callable[[str, float], None] | None,
) -> Kernel:
    with cache.workplace() as work:
        content = work / "kernel"
        content.mkdir()
        told = None if progress is None else (lambda fraction: progress("unpacking", fraction))
        try:
            release = tree.make(content, sources, told)
        except BrokenError as error:
            message = f"{what}: {error}"
            raise LiveError(message) from None
        return cache.keep(content, release, stored(release))


def facts(packages: Sequence[Package], digests: Sequence[str], name: str, verified: str) -> dict[str, Any]:
    """Return what is stored of a kernel's origin.

    Parameters
    ----------
    packages, digests : sequence
        As for `unpack`.
    name : str
    verified : str

    Returns
    -------
    dict
    """
    return {
        "name": name,
        "version": re.sub(r"^\d+:", "", packages[0].version),
        "packages": [
            {"package": one.name, "version": one.version, "sha256": digest}
            for one, digest in zip(packages, digests, strict=True)
        ],
        "verified": verified,
        "added": _now(),
    }


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def with_packages(digests: Sequence[str]) -> Kernel | None:
    """Return the kernel in the cache that was made of given packages.

    Parameters
    ----------
    digests : sequence of str
        SHA-256 of each.

    Returns
    -------
    Kernel or None
    """
    wanted = list(digests)
    return next((one for one in cache.kernels() if _digests(one) == wanted), None)


def _digests(kernel: Kernel) -> list[str]:
    return [str(one.get("sha256")) for one in kernel.facts.get("packages", [])]


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    str

    Raises
    ------
    OSError
        If it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            interruption.check()
            digest.update(chunk)
    return digest.hexdigest()
