"""Which kernels are at hand, and finding one by name, version or file."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError, LiveError
from narrows.kernels import adding, cache, tree
from narrows.kernels.kernel import Kernel, version_of

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLE: Final = "narrows kernels add debian:bookworm"
"""A command that adds a kernel."""

_BOOT: Final = struct.Struct("<H4s8xH")
_BOOT_AT: Final = 0x200
_TEXT: Final = 128
"""Longest text of a kernel's version in its image, bytes."""


def at_hand() -> list[Kernel]:
    """Return the kernels in the cache.

    Returns
    -------
    list of Kernel
        The newest first.

    Raises
    ------
    LiveError
        If there can be no cache, because there is no home directory.
    """
    return cache.kernels()


def find(name_or_file: str | os.PathLike[str] | None = None) -> Kernel:
    """Find a kernel.

    Parameters
    ----------
    name_or_file : str or path, optional
        Name (``debian:bookworm``, ``bookworm``), release (``6.1.0-56-amd64``), the first numbers of one (``6.1``), or a
        file: a Debian package, which is added to the cache, or an image with its modules in ``modules`` beside it or in
        ``lib/modules/RELEASE`` above. The newest one at hand by default, and if several have the name.

    Returns
    -------
    Kernel

    Raises
    ------
    InputError
        If a file is no kernel.
    LiveError
        If no such kernel is at hand (kind ``unavailable``), or a package is damaged.
    """
    if name_or_file is not None and is_file(name_or_file):
        path = Path(name_or_file)
        return adding.add_file(path) if path.suffix == ".deb" else image(path)
    there = at_hand()
    wanted = None if name_or_file is None else str(name_or_file)
    for kernel in there:
        if wanted is None or matches(kernel, wanted):
            return kernel
    raise absent(wanted, there)


def named(name: str) -> list[Kernel]:
    """Return all kernels in the cache with a name, a release or the first numbers of one.

    Parameters
    ----------
    name : str

    Returns
    -------
    list of Kernel
        The newest first.

    Raises
    ------
    LiveError
        If there is none.
    """
    there = at_hand()
    found = [kernel for kernel in there if matches(kernel, name)]
    if not found:
        raise absent(name, there)
    return found


def matches(kernel: Kernel, wanted: str) -> bool:
    """Return whether a kernel is meant by a name, a release or the first numbers of one.

    Parameters
    ----------
    kernel : Kernel
    wanted : str

    Returns
    -------
    bool
    """
    if wanted and wanted in {kernel.name, kernel.name.partition(":")[2], kernel.release}:
        return True
    if not re.fullmatch(r"\d+(\.\d+)*", wanted):
        return False
    numbers = version_of(wanted)
    return numbers in (kernel.version[: len(numbers)], version_of(kernel.release)[: len(numbers)])


def absent(wanted: str | None, there: Sequence[Kernel]) -> LiveError:
    """Return the error of a kernel that is not at hand.

    Parameters
    ----------
    wanted : str or None
        Name; ``None`` for any kernel.
    there : sequence of Kernel
        The kernels at hand.

    Returns
    -------
    LiveError
    """
    known = ", ".join(f"{one.name} ({one.release})" if one.name != one.release else one.name for one in there)
    suite = wanted if wanted and re.fullmatch(r"debian:[a-z]+", wanted) else None
    remedy = f"`narrows kernels add {suite}` adds it" if suite else f"`{EXAMPLE}` adds one"
    what = "no kernel is at hand" if wanted is None or not there else f"no kernel {wanted!r} is at hand"
    message = f"{what}; {f'at hand: {known}; ' if known else ''}{remedy}"
    return LiveError(message, "unavailable", remedy)


def image(path: Path) -> Kernel:
    """Return a kernel that is used where it is, without the cache.

    Parameters
    ----------
    path : pathlib.Path
        A bootable image (bzImage).

    Returns
    -------
    Kernel
        Its modules are in ``modules`` or ``lib/modules/RELEASE`` beside it, or in ``lib/modules/RELEASE`` beside its
        directory, as for ``/boot``; its configuration is in ``config-RELEASE`` or ``config`` beside it.

    Raises
    ------
    InputError
        If it is no image of a kernel.
    """
    release = _release(path)
    here = path.absolute().parent
    below = Path("lib") / "modules" / release
    places = [here / below, here.parent / below, here / tree.MODULES]
    configs = [here / f"config-{release}", places[0] / "config", here / tree.CONFIG]
    return Kernel(
        name=str(path),
        release=release,
        version=version_of(release),
        vmlinuz=path.absolute(),
        directory=next((place for place in places if place.is_dir()), places[-1]),
        config_file=next((place for place in configs if place.is_file()), configs[-1]),
        facts={},
    )


def is_file(wanted: str | os.PathLike[str]) -> bool:
    """Return whether a file is meant: it has a slash or the ending of a package, or is there.

    Parameters
    ----------
    wanted : str or path

    Returns
    -------
    bool
    """
    text = os.fspath(wanted)
    return os.sep in text or text.endswith(".deb") or Path(text).is_file()


def _release(path: Path) -> str:
    """Read the release in the header of an image (Documentation/arch/x86/boot.rst, ``kernel_version``)."""
    wrong = f"{path}: is not the image of a kernel; allowed: a bzImage, or a Debian package that ends in .deb"
    try:
        with path.open("rb") as file:
            file.seek(_BOOT_AT)
            jump, magic, text_at = _BOOT.unpack(file.read(_BOOT.size))
            file.seek(_BOOT_AT + text_at)
            text = file.read(_TEXT).partition(b"\0")[0].decode("ascii", "replace")
    except OSError as error:
        message = f"{path}: cannot be read: {error.strerror or error}"
        raise InputError(message) from None
    except struct.error:
        raise InputError(wrong) from None
    release = text.split()[0] if text.split() else ""
    if magic != b"HdrS" or not jump or not re.fullmatch(tree.RELEASE, release):
        raise InputError(wrong)
    return release
