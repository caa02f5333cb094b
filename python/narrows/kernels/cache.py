"""The directory of kernels: ``kernels/RELEASE`` in Narrows' cache, each complete or absent.

A kernel's directory holds ``vmlinuz``, ``config``, ``modules/``, ``kernel.json`` (where it comes from) and the list of
these files, by which `narrows.ownership` knows what Narrows wrote. A kernel is unpacked in a hidden folder beside them
and renamed at the end. Folders of killed processes are removed by the next command.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from narrows import ownership
from narrows.base import durable
from narrows.base.errors import InputError, LiveError
from narrows.kernels import tree
from narrows.kernels.kernel import Kernel, version_of
from narrows.ownership import manifest, place, staging
from narrows.ownership.place import BlockedError
from narrows.ownership.writing import FULL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FACTS: Final = "kernel.json"
FORMAT: Final = 1
ENVIRONMENT: Final = "NARROWS_CACHE"
"""Variable that names the cache, instead of ``narrows`` in the user's directory of caches."""

_FILES: Final = "kernel"
_FACTS: Final = "facts"
_MODULE: Final = "module"
"""Parts of a kernel's directory that are replaced separately; that of a module has its name too."""


def directory() -> Path:
    """Return the directory of kernels; it need not exist.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    LiveError
        If there is no home directory, and no variable names another place.
    """
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        return Path(chosen).absolute() / "kernels"
    caches = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not caches.is_absolute():  # as the XDG Base Directory Specification says
        try:
            caches = Path.home() / ".cache"
        except RuntimeError:
            message = f"there is no home directory for the cache of kernels; set {ENVIRONMENT}"
            raise LiveError(message, "unavailable", f"set {ENVIRONMENT}") from None
    return caches / "narrows" / "kernels"


def kernels() -> list[Kernel]:
    """Read the kernels in the cache, after removing what killed commands left there.

    Returns
    -------
    list of Kernel
        The newest first.
    """
    root = directory()
    _tidy(root)
    found = [kernel for kernel in map(_kernel, _folders(root)) if kernel is not None]
    return sorted(found, key=lambda one: (one.version, one.release), reverse=True)


@contextmanager
def workplace() -> Iterator[Path]:
    """Make a hidden folder in the cache, and remove it at the end; if the process is killed, the next command does.

    Yields
    ------
    pathlib.Path

    Raises
    ------
    LiveError
        If the cache cannot be written, or has no space left.
    """
    root = directory()
    try:
        root.mkdir(parents=True, exist_ok=True)
        _tidy(root)
        work = staging.Staging.make(root)
    except OSError as error:
        raise refused(root, error) from None
    try:
        yield work.content
    except OSError as error:
        raise refused(root, error) from None
    finally:
        work.discard()


def keep(content: Path, release: str, facts: Mapping[str, Any]) -> Kernel:
    """Put an unpacked kernel into the cache; it replaces one of the same release.

    Parameters
    ----------
    content : pathlib.Path
        A folder with the kernel's files; they are moved.
    release : str
    facts : mapping
        Content of ``kernel.json``, apart from format and release.

    Returns
    -------
    Kernel

    Raises
    ------
    InputError
        If a file that Narrows did not write is in the way; it is kept.
    LiveError
        If the cache cannot be written, or has no space left.
    """
    _write_facts(content, release, facts)
    return _put(content, release, _FILES, alone=True)


def rename(kernel: Kernel, facts: Mapping[str, Any]) -> Kernel:
    """Replace what is stored of a kernel's origin.

    Parameters
    ----------
    kernel : Kernel
        In the cache.
    facts : mapping
        As for `keep`.

    Returns
    -------
    Kernel

    Raises
    ------
    InputError, LiveError
        As for `keep`.
    """
    with workplace() as content:
        _write_facts(content, kernel.release, facts)
        return _put(content, kernel.release, _FACTS, alone=False)


def extend(kernel: Kernel, path: str, module: bytes, facts: Mapping[str, Any]) -> Kernel:
    """Give a kernel another module; it replaces one of the same path.

    Parameters
    ----------
    kernel : Kernel
        In the cache.
    path : str
        The module's file, relative to the directory of modules.
    module : bytes
    facts : mapping
        Where it comes from, with its name as ``module``; added to ``built`` in ``kernel.json``.

    Returns
    -------
    Kernel

    Raises
    ------
    InputError, LiveError
        As for `keep`.
    """
    with workplace() as content:
        now = _kernel(directory() / kernel.release)
        if now is None:
            message = f"{kernel.name} ({kernel.release}): another process has removed the kernel; add it again"
            raise LiveError(message)
        target = content / tree.MODULES / path
        target.parent.mkdir(parents=True)
        target.write_bytes(module)
        others = [one for one in now.facts.get("built", []) if one["module"] != facts["module"]]
        _write_facts(content, kernel.release, {**now.facts, "built": [*others, dict(facts)]})
        return _put(content, kernel.release, f"{_MODULE} {facts['module']}", alone=False)


def remove(kernel: Kernel) -> list[str]:
    """Remove a kernel's files, except for those that Narrows did not write.

    Parameters
    ----------
    kernel : Kernel
        In the cache.

    Returns
    -------
    list of str
        Files that are left, relative to the kernel's directory.

    Raises
    ------
    LiveError
        If the cache cannot be written.
    """
    root = directory()
    try:
        return ownership.remove(root / kernel.release, first=FACTS)
    except OSError as error:
        raise refused(root, error) from None


def refused(root: Path, error: OSError) -> LiveError:
    """Return the error of a cache that cannot be written.

    Parameters
    ----------
    root : pathlib.Path
    error : OSError

    Returns
    -------
    LiveError
    """
    reason = error.strerror or str(error)
    if error.errno in FULL:
        message = f"{root}: {reason}; nothing was kept; free some space, or set {ENVIRONMENT} to another directory"
        return LiveError(message)
    where = error.filename or root
    return LiveError(f"{where}: cannot be used: {reason}; set {ENVIRONMENT} to another directory to keep kernels there")


def _put(content: Path, release: str, part: str, *, alone: bool) -> Kernel:
    root = directory()
    target = root / release
    if target.is_symlink():
        message = f"{target}: is a symbolic link, which Narrows did not make; allowed: move it away"
        raise InputError(message)
    try:
        ownership.settle(target)
        # `put` moves the content of a staging folder: give it one of its own, which outlives a kill in the middle.
        work = staging.Staging.make(root)
        try:
            work.content.rmdir()
            content.rename(work.content)
            place.put(work, target, manifest.KERNEL, part, alone=alone)
        finally:
            content.mkdir()
            work.discard()
    except BlockedError as error:
        message = f"{target / error.name}: was not written by Narrows and is kept; allowed: move it away"
        raise InputError(message) from None
    except OSError as error:
        raise refused(root, error) from None
    kernel = _kernel(target)
    if kernel is None:
        message = f"{target}: another process has removed the kernel; add it again"
        raise LiveError(message)
    return kernel


def _write_facts(content: Path, release: str, facts: Mapping[str, Any]) -> None:
    stored = {"format": FORMAT, "release": release, **facts}
    durable.write(content / FACTS, json.dumps(stored, indent=1, ensure_ascii=False).encode() + b"\n")


def _folders(root: Path) -> list[Path]:
    try:
        there = sorted(root.iterdir())
    except OSError:
        return []
    return [path for path in there if re.fullmatch(tree.RELEASE, path.name) and path.is_dir() and not path.is_symlink()]


def _kernel(folder: Path) -> Kernel | None:
    """Read a directory of the cache; None if it is not a kernel that Narrows put there."""
    try:
        facts = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        if facts["format"] != FORMAT or facts["release"] != folder.name:
            return None
        return Kernel(
            name=str(facts["name"]),
            release=folder.name,
            version=version_of(str(facts["version"])) or version_of(folder.name),
            vmlinuz=folder / tree.VMLINUZ,
            directory=folder / tree.MODULES,
            config_file=folder / tree.CONFIG,
            facts=facts,
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _tidy(root: Path) -> None:
    """Finish or remove what killed commands left, as far as the cache can be written."""
    with suppress(OSError, InputError):
        for folder in _folders(root):
            known = ownership.settle(folder)
            if known is not None and known.kind == manifest.KERNEL and not (folder / FACTS).exists():
                ownership.remove(folder, first=FACTS)
    with suppress(OSError):
        staging.sweep_up(root)
