"""Which mirror of Debian's archive is used: of an environment variable, of apt's configuration, or Debian's own."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from narrows.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

ENVIRONMENT: Final = "NARROWS_DEBIAN_MIRROR"
"""Variable that names the mirror, such as ``https://mirror.example/debian``."""
DEFAULT: Final = "http://deb.debian.org/debian"
KEYRING: Final = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
"""Keys of Debian's archive, from the package ``debian-archive-keyring``."""

_APT: Final = Path("/etc/apt")
_SCHEMES: Final = ("http://", "https://", "file:/")


def mirror(apt: Path = _APT) -> str:
    """Return the address of a mirror, without a slash at the end.

    Parameters
    ----------
    apt : pathlib.Path
        Directory of apt's configuration.

    Returns
    -------
    str

    Raises
    ------
    InputError
        If the environment variable is no address.
    """
    chosen = os.environ.get(ENVIRONMENT)
    if chosen:
        if not chosen.startswith(_SCHEMES) or re.search(r"\s", chosen):
            message = f"{ENVIRONMENT}: {chosen!r} is not an address; allowed: http://HOST/PATH, https://.. or file:/.."
            raise InputError(message)
        return chosen.rstrip("/")
    return next((one.rstrip("/") for one in _configured(apt) if _is_debian(one)), DEFAULT)


def _is_debian(address: str) -> bool:
    """Return whether an address is, by its path, of Debian's archive; that of security updates has another one."""
    return address.startswith(_SCHEMES) and address.rstrip("/").endswith("/debian")


def _configured(apt: Path) -> Iterator[str]:
    """Yield the addresses of archives in apt's configuration, in either of its formats (sources.list(5))."""
    for path in (apt / "sources.list", *sorted((apt / "sources.list.d").glob("*"))):
        try:
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        if path.suffix == ".list":
            yield from re.findall(r"^\s*deb\s+(?:\[[^]]*\]\s+)?(\S+)", text, re.MULTILINE)
        elif path.suffix == ".sources":
            yield from _stanzas(text)


def _stanzas(text: str) -> Iterator[str]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    for stanza in re.split(r"\n\s*\n", "\n".join(lines)):
        fields = {
            key.lower(): value.split() for key, value in re.findall(r"^(\S+):((?:.*)(?:\n[ \t].*)*)", stanza, re.M)
        }
        is_disabled = fields.get("enabled", ["yes"])[:1] in (["no"], ["false"])
        if "deb" in fields.get("types", []) and not is_disabled:
            yield from fields.get("uris", [])
