"""A folder with packages of Debian, made by `debootstrap`, and commands in it.

All of it happens in a mount and a process namespace of its own: when the command ends, however it ends, its processes
and mounts are gone. Without root's rights a user namespace stands in for them, in which all files are the user's.
So packages are only unpacked, not configured: their scripts would give files to other users.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from typing import IO, TYPE_CHECKING, Final, cast

from narrows.base import interruption
from narrows.base.errors import LiveError
from narrows.kernels import mirror as mirrors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

VERIFIED: Final = "debootstrap verified signature and hashes"
ARCHIVES: Final = "var/cache/apt/archives"
"""Where the packages are, below the folder."""

_PROGRAMS: Final = {"debootstrap": "debootstrap", "gpgv": "gpgv", "unshare": "util-linux", "mount": "mount"}
"""Programs that are needed, and the packages that have them."""
_PATHS: Final = "/usr/sbin:/usr/bin:/sbin:/bin"
"""Directories of programs; those of the first and third are not in the PATH of ordinary users."""
_FULL: Final = "No space left on device"
_UNTRUSTED: Final = re.compile(r"Invalid Release|unknown key|keyring|corrupt|didn't verify")
_ABSENT: Final = "Couldn't find these debs"

_INSIDE: Final = """\
touch "$1/dev/null"
mount --bind /dev/null "$1/dev/null"
mount -t proc proc "$1/proc"
root=$1 script=$2
shift 2
exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin LC_ALL=C /bin/sh -euc "$script" sh "$@"
"""
"""Changes into the folder. `objtool` reads its limits from ``/proc``, and compilers write to ``/dev/null``."""

_UNPACK: Final = """\
left_out=$1
cd /
for package in /var/cache/apt/archives/*.deb; do
    case ${package##*/} in "$left_out"_*) continue ;; esac
    echo "I: ${package##*/}"
    dpkg-deb --fsys-tarfile "$package" | tar -xf - --no-same-owner --keep-directory-symlink \\
        --exclude=./proc --exclude=./dev --exclude=./usr/share/doc --exclude=./usr/share/man \\
        --exclude=./usr/share/locale
done
ln -sf mawk /usr/bin/awk
"""
"""Unpacks the packages. Debian's ``awk`` is made by a package's script."""


class CommandError(Exception):
    """A command that failed.

    Parameters
    ----------
    lines : sequence of str
        What it printed.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__("a command failed")
        self.lines = lines


class Chroot:
    """A folder with packages.

    Parameters
    ----------
    root : pathlib.Path
        Does not exist yet.
    log : pathlib.Path
        A file for all that commands print.

    Raises
    ------
    LiveError
        If programs or rights are missing (kind ``unavailable``).
    """

    def __init__(self, root: Path, log: Path) -> None:
        self._root = root
        self._log = log
        for program, package in _PROGRAMS.items():
            if _found(program) is None:
                remedy = f"apt-get install {package}"
                raise LiveError(f"building needs the program {program}; {remedy}", "unavailable", remedy)
        if not mirrors.KEYRING.is_file():
            remedy = "apt-get install debian-archive-keyring"
            message = f"building needs the keys of Debian's archive ({mirrors.KEYRING}); {remedy}"
            raise LiveError(message, "unavailable", remedy)
        try:
            self._run(["true"], {}, lambda _: None)
        except CommandError as error:
            remedy = "run it as root, or allow user namespaces"
            reason = error.lines[-1] if error.lines else "unshare failed"
            message = f"building needs namespaces of mounts and processes: {reason}; {remedy}"
            raise LiveError(message, "unavailable", remedy) from None

    def fill(self, suite: str, packages: Sequence[str], left_out: str, progress: Callable[[str, float], None]) -> None:
        """Fetch and verify packages with what they depend on, and unpack them.

        Parameters
        ----------
        suite : str
        packages : sequence of str
        left_out : str
            One of them that is fetched and not unpacked.
        progress : callable
            Called with the step and its completed share, in [0, 1].

        Raises
        ------
        LiveError
            If packages cannot be had, or are not what was signed.
        OSError
            If there is no space for them.
        """
        mirror = mirrors.mirror()
        command = ["debootstrap", "--foreign", "--variant=minbase", "--arch=amd64", "--force-check-gpg"]
        command += [f"--keyring={mirrors.KEYRING}", f"--include={','.join(packages)}", suite, str(self._root), mirror]
        # "lxc" makes debootstrap do without device files, which a user namespace cannot have.
        rights = {"container": "lxc", "TAR_OPTIONS": "--no-same-owner"}

        def fetched(count: int) -> None:
            # Two lines for each of about 120 packages, then one for each of the 70 that it unpacks itself.
            progress("fetching packages", min(count / 320, 1.0))

        try:
            self._run(command, {**_proxies(), **rights}, fetched)
        except CommandError as error:
            raise _unfetched(error.lines, suite, mirror) from None
        total = max(len(list((self._root / ARCHIVES).glob("*.deb"))), 1)
        self.run(_UNPACK, [left_out], lambda count: progress("unpacking", min(count / total, 1.0)))

    def run(self, script: str, arguments: Sequence[str], progress: Callable[[int], None]) -> None:
        """Run a shell script in the folder.

        Parameters
        ----------
        script : str
            For `sh`; it ends at the first command that fails.
        arguments : sequence of str
        progress : callable
            Called with the number of lines that it has printed.

        Raises
        ------
        CommandError
            If it fails.
        OSError
            If there is no space left.
        """
        self._run(["sh", "-euc", _INSIDE, "sh", str(self._root), script, *arguments], {}, progress)

    def _run(self, command: Sequence[str], more: Mapping[str, str], progress: Callable[[int], None]) -> None:
        tied = ["setpriv", "--pdeathsig", "KILL"] if _found("setpriv") else []
        rights = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        alone = [*tied, "unshare", *rights, "--mount", "--pid", "--fork", "--kill-child=KILL"]
        lines: list[str] = []
        with (
            self._log.open("a", encoding="utf-8") as log,
            subprocess.Popen(
                [*alone, *command],
                env={**os.environ, **more, "PATH": _path(), "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            ) as process,
        ):
            printed = cast("IO[str]", process.stdout)
            try:
                for line in printed:
                    interruption.check()
                    log.write(line)
                    lines.append(line.rstrip())
                    progress(len(lines))
                code = process.wait()
            except BaseException:
                process.kill()
                # Until the last process in the namespace has closed the pipe, files may still appear.
                printed.read()
                raise
        if code:
            if any(_FULL in line for line in lines):
                raise OSError(errno.ENOSPC, _FULL)
            raise CommandError(lines)


def _unfetched(lines: Sequence[str], suite: str, mirror: str) -> LiveError:
    what = f"{suite} from {mirror}"
    errors = [line[3:] for line in lines if line.startswith("E: ")]
    reason = errors[0] if errors else next(reversed(lines), "debootstrap failed and printed no reason")
    if _ABSENT in reason:
        remedy = f"`narrows kernels add debian:{suite}` adds its newest kernel"
        message = f"{what}: has no {reason.partition(':')[2].strip()}: it has another kernel; {remedy}"
        return LiveError(message, "unavailable", remedy)
    if any(_UNTRUSTED.search(line) for line in errors):
        return LiveError(f"{what}: {reason}")
    remedy = f"building needs the mirror; check the network and {mirrors.ENVIRONMENT}"
    return LiveError(f"{what}: {reason}; {remedy}", "unavailable", remedy)


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:{_PATHS}"


def _found(program: str) -> str | None:
    return shutil.which(program, path=_path())


def _proxies() -> dict[str, str]:
    """Return apt's proxies as variables of `wget`, which debootstrap calls; those of the user's environment stay."""
    found: dict[str, str] = {}
    for scheme in ("http", "https"):
        variable = f"{scheme}_proxy"
        if variable in os.environ or shutil.which("apt-config") is None:
            continue
        asked = ["apt-config", "dump", "--format=%v", f"Acquire::{scheme}::Proxy"]
        address = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False).stdout.strip()
        if address.startswith(("http://", "https://")):
            found[variable] = address
    return found
