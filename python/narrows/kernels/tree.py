"""A kernel as a directory: ``vmlinuz``, ``config`` and ``modules/``, made from packages or from an installed kernel.

Of the modules, only those for networks and virtual machines are kept, with the modules that these depend on. Debian's
packages have no ``modules.dep`` (`depmod` writes it at installation), so dependencies are read from the modules.
Modules are kept decompressed: a virtual machine loads them without a program for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from narrows.base import interruption
from narrows.kernels import package
from narrows.kernels.compressed import BrokenError, expanded
from narrows.kernels.modinfo import Module, name_of
from narrows.kernels.package import Member

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


VMLINUZ: Final = "vmlinuz"
CONFIG: Final = "config"
MODULES: Final = "modules"

RELEASE: Final = r"[0-9][A-Za-z0-9.+~_-]*"
"""Names of kernel releases, which become names of directories."""

_WANTED: Final = (
    "kernel/net/",
    "kernel/lib/",
    "kernel/crypto/",
    "kernel/drivers/net/dummy.",
    "kernel/drivers/net/ifb.",
    "kernel/drivers/net/net_failover.",
    "kernel/drivers/net/tun.",
    "kernel/drivers/net/veth.",
    "kernel/drivers/net/virtio_net.",
    "kernel/drivers/virtio/",
    "kernel/drivers/char/virtio_console.",
    "kernel/drivers/char/hw_random/",
)
"""Modules that are kept whatever needs them."""

_LISTS: Final = frozenset({"modules.builtin", "modules.builtin.modinfo", "modules.order"})
_KO: Final = re.compile(r"(kernel/.+\.ko)(\.(xz|zst|gz))?")
_IMAGE: Final = re.compile(rf"boot/(?P<what>vmlinuz|config)-(?P<release>{RELEASE})")
_BELOW: Final = re.compile(rf"(usr/)?lib/modules/(?P<release>{RELEASE})/(?P<inside>.+)")

_LARGEST_FILE: Final = 512 << 20
_LARGEST_MODULE: Final = 256 << 20
_PASSES: Final = 8
"""Most times that packages are read: once for what is wanted, and again for what that depends on."""


@dataclass
class _Tree:
    """A directory that is being filled."""

    root: Path
    release: str = ""
    modules: dict[str, Module] = field(default_factory=dict)
    offered: set[str] = field(default_factory=set)
    """Names of all modules of the sources."""

    def take(self, member: Member, needed: frozenset[str]) -> None:
        """Keep a file if it is wanted; in later passes only the needed modules."""
        image, below = _IMAGE.fullmatch(member.path), _BELOW.fullmatch(member.path)
        if image is not None:
            if not needed:
                self._write(image["release"], image["what"], member)
        elif below is not None:
            inside = below["inside"]
            ko = _KO.fullmatch(inside)
            if ko is not None:
                self._take_module(below["release"], ko[1], member, needed)
            elif not needed and inside in {VMLINUZ, CONFIG}:
                self._write(below["release"], inside, member)
            elif not needed and inside in _LISTS:
                self._write(below["release"], f"{MODULES}/{inside}", member)

    def missing(self) -> frozenset[str]:
        """Return the names of modules that kept ones depend on, and that the sources have."""
        named = {name_of(name) for module in self.modules.values() for name in (*module.depends, *module.before)}
        return frozenset(named & self.offered - self.modules.keys())

    def _take_module(self, release: str, path: str, member: Member, needed: frozenset[str]) -> None:
        name = name_of(path)
        self.offered.add(name)
        if name in self.modules or not (name in needed if needed else path.startswith(_WANTED)):
            return
        try:
            content = expanded(member.read(_LARGEST_FILE), _LARGEST_MODULE)
            self.modules[name] = Module.read(path, content)
        except BrokenError as error:
            message = f"has the module {path}, which {error}"
            raise BrokenError(message) from None
        target = self._place(release, f"{MODULES}/{path}")
        target.write_bytes(content)

    def _write(self, release: str, name: str, member: Member) -> None:
        if not member.is_plain or member.size > _LARGEST_FILE:
            message = f"has {member.path}, which is {'too large' if member.is_plain else 'a link'}"
            raise BrokenError(message)
        with self._place(release, name).open("wb") as file:
            for chunk in member.chunks():
                file.write(chunk)

    def _place(self, release: str, name: str) -> Path:
        if self.release not in {"", release}:
            message = f"has files of two kernels, {self.release} and {release}"
            raise BrokenError(message)
        self.release = release
        target = self.root / name
        if ".." in target.parts:
            message = f"has the path {name!r}, which leaves its folder"
            raise BrokenError(message)
        target.parent.mkdir(parents=True, exist_ok=True)
        return target


class Source(Protocol):
    """The files of a kernel, with their paths below the root of a file system."""

    def __call__(self, progress: Callable[[float], None] | None, /) -> Iterator[Member]:
        """Yield all files; called once for each pass."""


def of_package(path: Path) -> Source:
    """Return the files of a Debian package.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    Source
    """
    return lambda progress: package.members(path, progress)


def installed(release: str, vmlinuz: Path, config: Path, modules: Path) -> Source:
    """Return the files of a kernel that is installed, or unpacked.

    Parameters
    ----------
    release : str
    vmlinuz, config : pathlib.Path
        Image and configuration; the latter need not exist.
    modules : pathlib.Path
        Its modules, as in ``/lib/modules/RELEASE``.

    Returns
    -------
    Source
    """

    def files(_progress: Callable[[float], None] | None) -> Iterator[Member]:
        named = {f"boot/vmlinuz-{release}": vmlinuz, f"boot/config-{release}": config}
        inside = [modules / name for name in sorted(_LISTS)] + sorted((modules / "kernel").rglob("*.ko*"))
        named |= {f"lib/modules/{release}/{path.relative_to(modules).as_posix()}": path for path in inside}
        for name, path in named.items():
            interruption.check()
            if path.is_file():
                with path.open("rb") as file:
                    yield Member(name, True, path.stat().st_size, file)

    return files


def make(root: Path, sources: Sequence[Source], progress: Callable[[float], None] | None = None) -> str:
    """Collect what Narrows needs of a kernel's files.

    Parameters
    ----------
    root : pathlib.Path
        An empty directory.
    sources : sequence of Source
        The package of the image, and those of its modules if they are separate.
    progress : callable, optional
        Called with the completed share, in [0, 1].

    Returns
    -------
    str
        The kernel's release, such as ``6.1.0-56-amd64``.

    Raises
    ------
    BrokenError
        If the files are damaged or are no kernel.
    OSError
        If a file cannot be read or written.
    """
    tree = _Tree(root)
    needed: frozenset[str] = frozenset()
    for number in range(_PASSES):
        for place, source in enumerate(sources):
            for member in source(_share(progress, number, place, len(sources))):
                tree.take(member, needed)
        needed = tree.missing()
        if not needed:
            break
    _check(tree)
    return tree.release


def _share(
    progress: Callable[[float], None] | None, number: int, place: int, count: int
) -> Callable[[float], None] | None:
    """Return the progress of one package in one pass: each pass takes half of the work that was left before it."""
    if progress is None:
        return None
    return lambda fraction: progress(1 - 0.5**number * (1 - 0.5 * (place + fraction) / count))


def _check(tree: _Tree) -> None:
    if not (tree.root / VMLINUZ).is_file():
        message = "has no kernel image (boot/vmlinuz-RELEASE)"
        raise BrokenError(message)
    if not tree.modules:
        message = f"has the image of {tree.release}, but no kernel modules for networks"
        raise BrokenError(message)
