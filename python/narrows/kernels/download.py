"""Fetching packages from a mirror without apt: signature by ``gpgv``, then hash by hash down to the packages."""

from __future__ import annotations

import hashlib
import http.client
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from typing import IO, TYPE_CHECKING, Final

from narrows.base import interruption
from narrows.base.errors import LiveError
from narrows.kernels import mirror as mirrors
from narrows.kernels.compressed import BrokenError, opened
from narrows.kernels.package import paragraph

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from narrows.kernels.catalogue import Entry

_PACKAGES: Final = "main/binary-amd64/Packages"
_LARGEST_RELEASE: Final = 16 << 20
_LARGEST_CATALOGUE: Final = 1 << 30
_TIMEOUT_S: Final = 30.0
_CHUNK: Final = 1 << 18
_NO_NETWORK: Final = "adding a kernel needs the mirror; `narrows kernels add FILE.deb` needs only a package"


class Download:
    """A mirror for one suite.

    Parameters
    ----------
    work : pathlib.Path
        A folder for downloads.
    mirror : str
        Address of the archive.
    suite : str
    """

    def __init__(self, work: Path, mirror: str, suite: str) -> None:
        self._work = work
        self._mirror = mirror
        self._suite = suite
        self._verified = ""

    @property
    def verified(self) -> str:
        """How packages are verified, in words; known once the catalogue is there."""
        return self._verified

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
            If it cannot be had, or is not what was signed.
        """
        address = f"dists/{self._suite}/InRelease"
        signed = self._get(address, _LARGEST_RELEASE, None, lambda _: None)
        release = self._release(signed, address)
        for ending in (".xz", ".gz", ""):
            if _PACKAGES + ending in release:
                break
        else:
            message = f"{self._mirror}/{address}: lists no {_PACKAGES}"
            raise LiveError(message)
        digest, size = release[_PACKAGES + ending]
        packed = self._get(f"dists/{self._suite}/{_PACKAGES}{ending}", size, (digest, size), progress)
        target = self._work / "Packages"
        try:
            with packed.open("rb") as source, target.open("wb") as file:
                stream, left = opened(source), _LARGEST_CATALOGUE
                while (part := stream.read(_CHUNK)) and left > 0:
                    interruption.check()
                    left -= file.write(part)
        except BrokenError as error:
            message = f"{self._mirror}/dists/{self._suite}/{_PACKAGES}{ending}: {error}"
            raise LiveError(message) from None
        return target

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
            If it cannot be had, or has another size or hash than listed.
        """
        return self._get(entry.filename, entry.size, (entry.sha256, entry.size), progress)

    def _release(self, signed: Path, address: str) -> dict[str, tuple[str, int]]:
        """Check the signature of a suite's ``InRelease``; return hash and size of the files that it lists."""
        text = self._checked(signed, address)
        fields = paragraph(text)
        if self._suite not in {fields.get("Suite"), fields.get("Codename")}:
            message = f"{self._mirror}/{address}: is of suite {fields.get('Suite')!r}, not {self._suite!r}"
            raise LiveError(message)
        words = fields.get("SHA256", "").split()
        return {
            name: (digest.lower(), int(size))
            for digest, size, name in zip(words[::3], words[1::3], words[2::3], strict=False)
            if size.isdigit() and re.fullmatch("[0-9a-fA-F]{64}", digest)
        }

    def _checked(self, signed: Path, address: str) -> str:
        """Return the signed text of a clear-signed file."""
        gpgv, keyring = shutil.which("gpgv"), mirrors.KEYRING
        if gpgv is None or not keyring.is_file():
            missing = "no gpgv" if gpgv is None else f"no {keyring}"
            self._verified = f"hashes verified; the archive's signature was not checked: there is {missing}"
            text = signed.read_text(encoding="utf-8", errors="replace")
            body = text.partition("-----BEGIN PGP SIGNED MESSAGE-----")[2].partition("\n\n")[2] or text
            return body.partition("-----BEGIN PGP SIGNATURE-----")[0]
        output = self._work / "Release"
        command = [gpgv, "--keyring", str(keyring), "--output", str(output), str(signed)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60, check=False)
        if done.returncode:
            lines = [line.removeprefix("gpgv: ") for line in done.stderr.splitlines()]
            reason = lines[-1] if lines else f"gpgv ended with exit code {done.returncode}"
            message = f"{self._mirror}/{address}: its signature is not by a key of {keyring}: {reason}"
            raise LiveError(message)
        self._verified = "gpgv verified the archive's signature; hashes verified"
        return output.read_text(encoding="utf-8", errors="replace")

    def _get(self, address: str, limit: int, wanted: tuple[str, int] | None, progress: Callable[[float], None]) -> Path:
        """Fetch a file; check SHA-256 and size if they are known."""
        url = f"{self._mirror}/{address}"
        target = self._work / address.rpartition("/")[2]
        digest, size = hashlib.sha256(), 0
        try:
            with _opened(url) as source, target.open("wb") as file:
                while part := _part(source, url):
                    interruption.check()
                    size += file.write(part)
                    digest.update(part)
                    if size > limit:
                        break
                    progress(min(size / limit, 1.0))
        except _TransferError as error:
            raise _unreachable(url, error.__cause__) from None
        if size > limit or (wanted is not None and wanted != (digest.hexdigest(), size)):
            message = f"{url}: is not what the archive lists: another size or SHA-256; try again, or another mirror"
            raise LiveError(message)
        return target


class _TransferError(Exception):
    """A failure of the network, which must not look like one of the cache's file system; its cause is the failure."""


def _opened(url: str) -> IO[bytes]:
    try:
        found: IO[bytes] = urllib.request.urlopen(url, timeout=_TIMEOUT_S)  # noqa: S310 - `mirror` allows three schemes
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, urllib.error.HTTPError):
            error.close()
        raise _TransferError(url) from error
    return found


def _part(source: IO[bytes], url: str) -> bytes:
    try:
        return source.read(_CHUNK)
    except (OSError, http.client.HTTPException) as error:
        raise _TransferError(url) from error


def _unreachable(url: str, error: BaseException | None) -> LiveError:
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(error, urllib.error.HTTPError) and error.code == 404:
        return LiveError(f"{url}: there is no such file; check the suite's name and {mirrors.ENVIRONMENT}")
    return LiveError(f"{url}: cannot be fetched: {reason}; {_NO_NETWORK}", "unavailable", _NO_NETWORK)
