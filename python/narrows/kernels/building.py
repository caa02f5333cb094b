"""Building modules that Debian leaves out of its kernels, from Debian's own packages of source and headers."""

from __future__ import annotations

import hashlib
import re
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError, LiveError
from narrows.kernels import cache, debian, finding, package
from narrows.kernels.chroot import ARCHIVES, VERIFIED, Chroot, CommandError
from narrows.kernels.compressed import BrokenError
from narrows.kernels.modinfo import Module
from narrows.kernels.modules import BUILDABLE
from narrows.ownership.writing import FULL

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator

    from narrows.kernels.kernel import Kernel

LOG: Final = "log"
"""File with all that the commands of a build print, in its folder."""

_BUILD: Final = """\
release=$1 source=$2 file=$3 name=$4
mkdir -p /build
dpkg-deb --fsys-tarfile /var/cache/apt/archives/"$source"_*.deb 2>/dev/null |
    tar -xO "./usr/src/$source.tar.xz" | xz -dc | tar -xO --occurrence=1 "$source/$file" > "/build/$name.c"
echo "obj-m := $name.o" > /build/Makefile
make -C "/usr/src/linux-headers-$release" M=/build modules
strip --strip-debug "/build/$name.ko"
"""
"""Takes one file from the kernel's source and builds it with the headers of the kernel's release."""

_BROKEN: Final = re.compile(r"error|cannot|not found|no such|denied", re.IGNORECASE)
"""Lines that say why a command failed."""


def build(
    name: str,
    kernel: str | None = None,
    keep: str | os.PathLike[str] | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Kernel:
    """Build a module for a kernel in the cache, and put it there.

    Parameters
    ----------
    name : str
        One of `BUILDABLE`.
    kernel : str, optional
        Name or release of a kernel that was added as ``debian:SUITE``; by default the newest one that fits.
    keep : str or path, optional
        A new folder to build in, which stays. By default a hidden one in the cache, which is removed.
    progress : callable, optional
        Called with the step and its completed share, in [0, 1].

    Returns
    -------
    Kernel
        With the module; unchanged if it had it.

    Raises
    ------
    InputError
        If the module, the kernel or the folder does not fit.
    LiveError
        If programs, rights or packages cannot be had (kind ``unavailable``), or the build fails.
    """
    if name not in BUILDABLE:
        message = f"{name!r} is not a module that can be built; allowed: {', '.join(BUILDABLE)}"
        raise InputError(message)
    wanted = BUILDABLE[name]
    found = _kernel(name, kernel)
    if (found.directory / wanted.path).is_file():
        return found
    with _folder(keep) as work:
        content, source = _made(name, found, work, progress or (lambda _what, _share: None))
        facts = {
            "module": name,
            "package": source.name,
            "version": source.version,
            "sha256": hashlib.sha256(content).hexdigest(),
            "verified": VERIFIED,
            "built": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return cache.extend(found, wanted.path, content, facts)


def _kernel(name: str, wanted: str | None) -> Kernel:
    since = BUILDABLE[name].since
    there = finding.at_hand() if wanted is None else finding.named(wanted)
    fitting = [one for one in there if one.version >= since and one.name.startswith(debian.PREFIX)]
    if fitting:
        return fitting[0]
    needs = f"Linux {'.'.join(map(str, since))} or later, added as debian:SUITE"
    if wanted is not None:
        message = f"{there[0].name} ({there[0].release}): {name} needs {needs}; allowed: debian:sid"
        raise InputError(message)
    remedy = "`narrows kernels add debian:sid` adds one"
    message = f"no kernel at hand fits: {name} needs {needs}; {remedy}"
    raise LiveError(message, "unavailable", remedy)


@contextmanager
def _folder(keep: str | os.PathLike[str] | None) -> Iterator[Path]:
    if keep is None:
        with cache.workplace() as work:
            yield work
        return
    path = Path(keep).absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
        is_empty = not any(path.iterdir())
    except OSError as error:
        message = f"{keep}: cannot be used: {error.strerror or error}; allowed: a new folder"
        raise InputError(message) from None
    if not is_empty:
        message = f"{keep}: holds files; allowed: a new folder"
        raise InputError(message)
    try:
        yield path
    except OSError as error:
        what = "free some space, or name another folder" if error.errno in FULL else "name another folder"
        message = f"{keep}: {error.strerror or error}; no module was kept; {what}"
        raise LiveError(message) from None


def _made(name: str, kernel: Kernel, work: Path, tell: Callable[[str, float], None]) -> tuple[bytes, package.Package]:
    """Build a module; return it, and the package of its source."""
    root, wanted = work / "root", BUILDABLE[name]
    suite = kernel.name.removeprefix(debian.PREFIX)
    source = f"linux-source-{'.'.join(map(str, kernel.version[:2]))}"
    headers = f"linux-headers-{kernel.release}"
    chroot = Chroot(root, work / LOG)
    try:
        chroot.fill(suite, ["make", headers, source], source, tell)
        found = _same_version(kernel, suite, root, source)
        file = f"{wanted.path.removeprefix('kernel/').removesuffix('.ko')}.c"
        tell(f"building {name}", 0.0)
        chroot.run(_BUILD, [kernel.release, source, file, name], lambda _: None)
        return _checked(name, kernel, root / "build" / f"{name}.ko"), found
    except CommandError as error:
        broken = [line for line in error.lines if _BROKEN.search(line)]
        reason = (broken or list(error.lines)[-1:] or ["it printed no reason"])[0]
        message = f"{name}: cannot be built for {kernel.name} ({kernel.release}): {reason}; --keep DIR keeps the {LOG}"
        raise LiveError(message) from None


def _same_version(kernel: Kernel, suite: str, root: Path, source: str) -> package.Package:
    """Return the package of the source; raise unless its version is the kernel's."""
    try:
        (path,) = (root / ARCHIVES).glob(f"{source}_*.deb")
        found = package.read(path)
    except (ValueError, BrokenError) as error:
        message = f"debootstrap fetched no whole {source}: {error}; try again"
        raise LiveError(message) from None
    # A rebuild of binary packages alone (deb-version: +bN) has the same source.
    wanted = re.sub(r"\+b\d+$", "", str(kernel.facts.get("version", "")))
    if found.version != wanted:
        remedy = f"`narrows kernels add {debian.PREFIX}{suite}` adds its newest kernel"
        message = f"{kernel.name} is of version {wanted}, and {suite} has the source of {found.version}; {remedy}"
        raise LiveError(message, "unavailable", remedy)
    return found


def _checked(name: str, kernel: Kernel, path: Path) -> bytes:
    try:
        content = path.read_bytes()
        Module.read(BUILDABLE[name].path, content)
    except (FileNotFoundError, BrokenError) as error:
        message = f"{name}: the build made no module: {error}"
        raise LiveError(message) from None
    if f"vermagic={kernel.release} ".encode() not in content:
        message = f"{name}: was built for another release than {kernel.release}"
        raise LiveError(message)
    return content
