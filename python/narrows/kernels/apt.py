"""Fetching packages with apt, in a configuration and state of its own.

Of the system's configuration only the ways to reach mirrors count (proxies, credentials), and nothing of the system is
changed. apt verifies signature and hashes.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
from typing import IO, TYPE_CHECKING, Final

from narrows.base import interruption
from narrows.base.errors import LiveError
from narrows.kernels.mirror import ENVIRONMENT, KEYRING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from narrows.kernels.catalogue import Entry

VERIFIED: Final = "apt verified signature and hashes"

_SETTINGS: Final = """\
#clear APT::Architectures;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear Acquire::IndexTargets;
Acquire::IndexTargets::deb::Packages {
  MetaKey "$(COMPONENT)/binary-$(ARCHITECTURE)/Packages";
  flatMetaKey "Packages";
  ShortDescription "Packages";
  Description "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Packages";
  flatDescription "$(RELEASE) Packages";
};
APT::Architecture "amd64";
APT::Architectures "amd64";
APT::Update::Error-Mode "any";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Acquire::GzipIndexes "false";
Acquire::Retries "1";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
"""
"""Settings that do not depend on the folder: one list of packages, signed, and none of the system's hooks."""

_UNTRUSTED: Final = re.compile(r"NO_PUBKEY|GPG error|not signed|not valid|[Mm]ismatch|BADSIG|EXPKEYSIG")
"""Messages of apt that are no failure of the network."""
_FULL: Final = "No space left on device"


class Apt:
    """apt for one suite.

    Parameters
    ----------
    work : pathlib.Path
        A folder for its state and its downloads.
    mirror : str
        Address of the archive.
    suite : str
    """

    def __init__(self, work: Path, mirror: str, suite: str) -> None:
        self._work = work
        self._what = f"{suite} from {mirror}"
        for name in ("etc", "state/lists/partial", "cache/archives/partial", "downloads"):
            (work / name).mkdir(parents=True)
        (work / "settings").write_text(_SETTINGS, encoding="ascii")
        (work / "status").touch()
        signed = f"[signed-by={KEYRING}] " if KEYRING.is_file() else ""
        (work / "sources.list").write_text(f"deb {signed}{mirror} {suite} main\n", encoding="utf-8")
        self._options = [f"-o{key}={value}" for key, value in self._places().items()]

    def _places(self) -> dict[str, str]:
        work = self._work
        places = {
            "Dir::State": work / "state",
            "Dir::State::status": work / "status",
            "Dir::Cache": work / "cache",
            "Dir::Etc::SourceList": work / "sources.list",
            "Dir::Etc::SourceParts": work / "etc",
            "Dir::Etc::Preferences": work / "etc" / "preferences",
            "Dir::Etc::PreferencesParts": work / "etc",
            "Dir::Log": work / "log",
        }
        options = {key: str(path) for key, path in places.items()}
        return options | ({"APT::Sandbox::User": "root"} if os.geteuid() == 0 else {})

    @property
    def verified(self) -> str:
        """How packages are verified, in words."""
        return VERIFIED

    def catalogue(self, progress: Callable[[float], None]) -> Path:
        """Fetch the suite's list of packages.

        Parameters
        ----------
        progress : callable
            Called with the completed share, in [0, 1].

        Returns
        -------
        pathlib.Path
            The file ``Packages``.

        Raises
        ------
        LiveError
            If it cannot be had.
        OSError
            If there is no space for it.
        """
        self._run(["update"], progress)
        found = sorted((self._work / "state" / "lists").glob("*_Packages"))
        if not found:
            message = f"{self._what}: apt fetched no list of packages"
            raise LiveError(message)
        return found[0]

    def fetch(self, entry: Entry, progress: Callable[[float], None]) -> Path:
        """Fetch a package.

        Parameters
        ----------
        entry : Entry
        progress : callable
            Called with the completed share, in [0, 1].

        Returns
        -------
        pathlib.Path

        Raises
        ------
        LiveError
            If it cannot be had.
        OSError
            If there is no space for it.
        """
        folder = self._work / "downloads"
        self._run(["download", f"{entry.name}={entry.version}"], progress)
        found = sorted(folder.glob(f"{entry.name}_*.deb"))
        if not found:
            message = f"{self._what}: apt fetched no {entry.name}"
            raise LiveError(message)
        return found[0]

    def _run(self, words: Sequence[str], progress: Callable[[float], None]) -> None:
        reading, writing = os.pipe()
        # If this process is killed, apt ends too, and does not write into a folder that the next command removes.
        tied = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        command = [
            *tied,
            "apt-get",
            f"-c{self._work / 'settings'}",
            *self._options,
            "-q",
            f"-oAPT::Status-Fd={writing}",
        ]
        with (
            (self._work / "messages").open("w+b") as messages,
            os.fdopen(reading, "rb") as status,
            subprocess.Popen(
                [*command, *words],
                cwd=self._work / "downloads",
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=messages,
                stderr=messages,
                pass_fds=[writing],
            ) as process,
        ):
            os.close(writing)
            try:
                _follow(status, progress)
                code = process.wait()
            except BaseException:
                process.kill()
                raise
            if code:
                messages.seek(0)
                raise self._failure(messages.read().decode("utf-8", "replace"))

    def _failure(self, said: str) -> LiveError | OSError:
        if _FULL in said:
            return OSError(errno.ENOSPC, _FULL)
        reasons = [line[3:] for line in said.splitlines() if line.startswith(("E: ", "W: "))]
        reason = (reasons[0] if reasons else "apt-get failed and printed no reason").rstrip(".")
        if reason.endswith("does not have a Release file"):
            return LiveError(f"{self._what}: {reason}; check the suite's name and {ENVIRONMENT}")
        if _UNTRUSTED.search(said):
            return LiveError(f"{self._what}: {reason}")
        remedy = "adding a kernel needs the mirror; `narrows kernels add FILE.deb` needs only a package"
        return LiveError(f"{self._what}: {reason}; {remedy}", "unavailable", remedy)


def _follow(status: IO[bytes], progress: Callable[[float], None]) -> None:
    """Report apt's progress until it closes the pipe (README.progress-reporting of apt)."""
    for line in status:
        interruption.check()
        fields = line.decode("utf-8", "replace").split(":")
        if fields[0] == "dlstatus" and len(fields) > 2 and re.fullmatch(r"[\d.]+", fields[2]):
            progress(min(float(fields[2]) / 100, 1.0))
