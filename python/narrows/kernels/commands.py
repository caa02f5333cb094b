"""Adding and removing kernels, by what a user names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from narrows.base.errors import InputError
from narrows.kernels import adding, cache, debian, finding

if TYPE_CHECKING:
    from collections.abc import Callable

    from narrows.kernels.kernel import Kernel


def add(spec: str | os.PathLike[str], progress: Callable[[str, float], None] | None = None) -> Kernel:
    """Add a kernel to the cache.

    Parameters
    ----------
    spec : str or path
        ``debian:SUITE`` for the newest kernel of a suite of Debian, which needs the network; a Debian package; or the
        image of a kernel that is installed or unpacked, such as ``/boot/vmlinuz-6.1.0-56-amd64``.
    progress : callable, optional
        Called with the step and its completed share, in [0, 1].

    Returns
    -------
    Kernel
        In the cache; unchanged if it was there already.

    Raises
    ------
    InputError
        If nothing is named, a file is no kernel, or files of the user are in the way in the cache.
    LiveError
        If a package cannot be had (kind ``unavailable``), is damaged, or the cache cannot be written.
    """
    text = os.fspath(spec)
    if text.startswith(debian.PREFIX):
        return debian.add(text, progress)
    if not finding.is_file(text):
        suites = ", ".join(debian.PREFIX + suite for suite in debian.SUITES)
        message = (
            f"{text!r} is neither a suite of Debian nor a file; allowed: {suites}, FILE.deb, /boot/vmlinuz-RELEASE"
        )
        raise InputError(message)
    if text.endswith(".deb"):
        return adding.add_file(Path(text), progress)
    return adding.add_installed(finding.image(Path(text)), progress)


def remove(name: str) -> tuple[Kernel, list[str]]:
    """Remove a kernel from the cache, except for files that Narrows did not write.

    Parameters
    ----------
    name : str
        Name or release, or the first numbers of one.

    Returns
    -------
    Kernel
        The removed one.
    list of str
        Files that are left, relative to its directory.

    Raises
    ------
    InputError
        If several kernels have the name.
    LiveError
        If none has it, or the cache cannot be written.
    """
    found = finding.named(name)
    if len(found) > 1:
        message = f"{name!r} is the name of several kernels; allowed: one of {', '.join(one.release for one in found)}"
        raise InputError(message)
    return found[0], cache.remove(found[0])
