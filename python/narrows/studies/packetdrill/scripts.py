"""Which scripts a request names, and the variants in which each is run."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from narrows.base import inputs
from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

IpVersion = Literal["ipv4", "ipv6", "ipv4-mapped-ipv6"]

VERSIONS: Final[tuple[IpVersion, ...]] = ("ipv4", "ipv6", "ipv4-mapped-ipv6")
"""The variants, as ``--ip_version`` names them."""

MOST_BYTES: Final = 4 << 20
"""Largest script, bytes; the longest of the public suites has 200 kB."""

MOST_SCRIPTS: Final = 100_000
"""Most scripts of one command."""

_OPTION = re.compile(r"^--ip_version=(\S+)", re.MULTILINE)
_ADDRESS = re.compile(r"^--(?:local|remote)_ip=(\S+)", re.MULTILINE)

_NETWORK: Final[Mapping[IpVersion, Mapping[str, str]]] = {
    "ipv4": {
        "local_ip": "192.168.0.1",
        "gateway_ip": "192.168.0.1",
        "netmask_ip": "255.255.0.0",
        "remote_ip": "192.0.2.1",
    },
    "ipv6": {
        "mtu": "1520",
        "local_ip": "fd3d:0a0b:17d6::1",
        "gateway_ip": "fd3d:0a0b:17d6:8888::1",
        "remote_ip": "fd3d:fa7b:d17d::1",
    },
}

_DEFINED: Final[Mapping[IpVersion, Mapping[str, str]]] = {
    "ipv4": {
        "TFO_COOKIE": "3021b9d889017eeb",
        "TFO_COOKIE_ZERO": "b7c12350a90dc8f5",
        "CODE": "host_unreachable",
        "CMSG_LEVEL_IP": "SOL_IP",
        "CMSG_TYPE_RECVERR": "IP_RECVERR",
    },
    "ipv6": {
        "TFO_COOKIE": "c1d1e9742a47a9bc",
        "TFO_COOKIE_ZERO": "82af1a8f9a205c34",
        "CMSG_LEVEL_IP": "SOL_IPV6",
        "CMSG_TYPE_RECVERR": "IPV6_RECVERR",
    },
}


@dataclass(frozen=True, slots=True)
class Script:
    """A script as a file.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    name : str
        How results name it: its path below the directory that was named, or its file name.
    text : str
        Its content.
    """

    path: Path
    name: str
    text: str

    def versions(self, wanted: Sequence[IpVersion]) -> tuple[IpVersion, ...]:
        """Return those of the wanted variants that the script has, or the first that it has if none is wanted.

        A script that sets ``--ip_version`` has this one. One that sets addresses has the variants of their kind, and
        one whose name ends in ``v4`` or ``v6`` those over IPv4 or IPv6.

        Parameters
        ----------
        wanted : sequence of str
            Among `VERSIONS`.

        Returns
        -------
        tuple of str
            At least one.
        """
        own = _OPTION.search(self.text)
        if own and own.group(1) in VERSIONS:
            return tuple(one for one in VERSIONS if one == own.group(1))
        stem, address = self.path.stem, _ADDRESS.search(self.text)
        kind = address.group(1) if address else ""
        if stem.endswith("v6") or ":" in kind:
            possible = VERSIONS[1:2]
        elif stem.endswith("v4") or "." in kind:
            possible = (VERSIONS[0], VERSIONS[2])
        else:
            possible = VERSIONS
        return tuple(one for one in possible if one in wanted) or possible[:1]


@dataclass(frozen=True, slots=True)
class Suite:
    """Scripts that were named together: a directory, or single files.

    Attributes
    ----------
    name : str
        The last two names of the directory's path.
    path : pathlib.Path or None
        The directory; ``None`` for single files.
    commit : str or None
        The commit of its git checkout, if it is in one; else the release of the kernel whose tree it is in.
    scripts : tuple of Script
        In the order of their names.
    """

    name: str
    path: Path | None
    commit: str | None
    scripts: tuple[Script, ...]


def invocation(version: IpVersion, defines: Mapping[str, str]) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Return options and symbols with which a variant is run, as the runners of both public suites give them.

    Parameters
    ----------
    version : str
        Among `VERSIONS`.
    defines : mapping
        Symbols of the user; they replace those of the runners.

    Returns
    -------
    options : list of (str, str)
        Name and value, without the dashes. Those of a script replace them.
    symbols : dict
    """
    kind: IpVersion = "ipv6" if version == "ipv6" else "ipv4"
    options = [("ip_version", version), *_NETWORK[kind].items()]
    symbols = dict(_DEFINED[kind])
    if version == "ipv4-mapped-ipv6":
        symbols |= {name: _DEFINED["ipv6"][name] for name in ("CMSG_LEVEL_IP", "CMSG_TYPE_RECVERR")}
    return options, symbols | dict(defines)


def find(paths: Iterable[str | os.PathLike[str]]) -> list[Suite]:
    """Read the scripts that are named.

    Parameters
    ----------
    paths : iterable of path-like
        Scripts, and directories, of which each ``.pkt`` file is taken, at any depth.

    Returns
    -------
    list of Suite
        Single files together first, then the directories.

    Raises
    ------
    InputError
        If a path does not exist, is no text, is too large, or a directory has no scripts.
    """
    singles: list[Script] = []
    suites: list[Suite] = []
    for given in paths:
        path = Path(given)
        if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where a directory above cannot be entered
            suites.append(_suite(path))
        else:
            singles.append(_script(path, path.name))
    found = [Suite("scripts", None, None, tuple(singles)), *suites] if singles else suites
    if not found:
        raise InputError("no script is named; allowed: files (.pkt) and directories of them")
    return found


def _suite(directory: Path) -> Suite:
    files = _files(directory)
    if not files:
        raise InputError(f"{directory}: has no scripts; allowed: a directory with files named *.pkt, at any depth")
    if len(files) > MOST_SCRIPTS:
        raise InputError(f"{directory}: has {len(files):,} scripts; allowed: at most {MOST_SCRIPTS:,}")
    scripts = tuple(_script(path, path.relative_to(directory).as_posix()) for path in files)
    name = "/".join(directory.resolve().parts[-2:]).lstrip("/")
    return Suite(name, directory, _commit(directory) or _release(directory), scripts)


def _files(directory: Path) -> list[Path]:
    """Return the scripts of a directory, sorted. A directory inside that cannot be read is an error."""

    def unreadable(error: OSError) -> None:
        raise InputError(f"{error.filename}: cannot be read: {error.strerror or error}") from error

    walked = os.walk(directory, onerror=unreadable)
    paths = (Path(folder, name) for folder, _, names in walked for name in names if name.endswith(".pkt"))
    return sorted(path for path in paths if path.is_file())


def _script(path: Path, name: str) -> Script:
    text = inputs.text(path, "a packetdrill script")
    size = len(text.encode())
    if size > MOST_BYTES:
        raise InputError(f"{path}: has {size:,} bytes; allowed: at most {MOST_BYTES:,}")
    return Script(path, name, text)


def _commit(directory: Path) -> str | None:
    """Return the commit of the git checkout that a directory is in; ``None`` without one, or without git."""
    try:
        told = subprocess.run(
            ["git", "-C", os.fspath(directory), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return told.stdout.strip() or None if told.returncode == 0 else None


def _release(directory: Path) -> str | None:
    """Return the release of the kernel tree that a directory is in, by its Makefile; ``None`` outside of one."""
    for parent in directory.resolve().parents:
        try:
            with (parent / "Makefile").open(encoding="utf-8", errors="replace") as makefile:
                head = makefile.read(4096)
        except OSError:
            continue
        numbers = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", head, re.MULTILINE))
        if len(numbers) == 3:
            return "Linux " + ".".join(numbers[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))
    return None
