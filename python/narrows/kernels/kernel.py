"""A kernel that virtual machines can run: its image, its configuration and its modules."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from narrows.base.errors import InputError
from narrows.kernels.modules import Modules

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

_CONFIG_LINE: Final = re.compile(r"^(CONFIG_\w+)=(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class _Feature:
    """What a kernel needs for a feature."""

    since: tuple[int, int]
    options: tuple[str, ...]
    source: str


FEATURES: Final[Mapping[str, _Feature]] = {
    "AccECN": _Feature(
        (7, 0), (), "net.ipv4.tcp_ecn takes 3 to 5 from Linux 7.0 on; 6.18 has parts, and refuses more than 2"
    ),
    "struct_ops": _Feature(
        (5, 6),
        ("CONFIG_BPF_SYSCALL", "CONFIG_BPF_JIT", "CONFIG_DEBUG_INFO_BTF"),
        "congestion controls in eBPF, from Linux 5.6 on; they need BTF (kernel/bpf/bpf_struct_ops.c)",
    ),
    "tcx": _Feature(
        (6, 6), ("CONFIG_BPF_SYSCALL", "CONFIG_NET_XGRESS"), "eBPF at devices, from Linux 6.6 on (kernel/bpf/tcx.c)"
    ),
}
"""Features that `Kernel.has` knows: by version and configuration, with the source."""


@dataclass(frozen=True)
class Kernel:
    """A kernel at hand.

    Attributes
    ----------
    name : str
        As it was added: ``debian:bookworm``, a release, or the file.
    release : str
        What ``uname -r`` prints in it: ``6.1.0-56-amd64``.
    version : tuple of int
        Upstream version, such as ``(6, 1, 192)``.
    vmlinuz : pathlib.Path
        The bootable image.
    directory : pathlib.Path
        Its modules, as in ``/lib/modules/RELEASE``.
    config_file : pathlib.Path
        Its build configuration; need not exist.
    facts : mapping
        What is stored of its origin (packages, hashes, date, modules that were built); empty of a kernel that is not in
        the cache.
    """

    name: str
    release: str
    version: tuple[int, ...]
    vmlinuz: Path
    directory: Path
    config_file: Path
    facts: Mapping[str, Any]

    @cached_property
    def config(self) -> Mapping[str, str]:
        """Its build configuration: ``y``, ``m`` or a value by option; empty if the file is missing.

        Options that are not set are left out.
        """
        try:
            text = self.config_file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return {}
        return {key: value.strip('"') for key, value in _CONFIG_LINE.findall(text)}

    @cached_property
    def _modules(self) -> Modules:
        return Modules(self.directory, self.name)

    @property
    def congestion_controls(self) -> tuple[str, ...]:
        """Names of its congestion controls, built in or modules, sorted."""
        return self._modules.congestion_controls

    @property
    def qdiscs(self) -> tuple[str, ...]:
        """Names of its queue disciplines, built in or modules, sorted."""
        return self._modules.qdiscs

    def has(self, feature: str) -> bool:
        """Return whether it has a feature, by its version and configuration; `FEATURES` has the sources.

        Parameters
        ----------
        feature : {"AccECN", "struct_ops", "tcx"}

        Returns
        -------
        bool

        Raises
        ------
        InputError
            For an unknown feature.
        """
        if feature not in FEATURES:
            message = f"{feature!r} is not a feature of kernels; allowed: {', '.join(FEATURES)}"
            raise InputError(message)
        needs = FEATURES[feature]
        return self.version >= needs.since and all(self.config.get(option) == "y" for option in needs.options)

    def to_dict(self) -> dict[str, Any]:
        """Return the kernel for JSON.

        Returns
        -------
        dict
            With the keys that docs/json.md lists.
        """
        return {
            "name": self.name,
            "release": self.release,
            "version": ".".join(map(str, self.version)),
            "vmlinuz": str(self.vmlinuz),
            "packages": list(self.facts.get("packages", [])),
            "verified": str(self.facts.get("verified", "")),
            "added": str(self.facts.get("added", "")),
            "built": [dict(one) for one in self.facts.get("built", [])],
            "congestion_controls": list(self.congestion_controls),
            "qdiscs": list(self.qdiscs),
            "features": {name: self.has(name) for name in FEATURES},
        }

    def modules(self, names: Iterable[str]) -> list[tuple[str, bytes]]:
        """Return modules with all that they depend on, in the order in which they are loaded.

        Parameters
        ----------
        names : iterable of str
            Files or names: ``tcp_vegas.ko``, ``tcp_vegas``. Built-in ones are left out.

        Returns
        -------
        list of (str, bytes)
            Name of the file, without directory, and the decompressed module; each once.

        Raises
        ------
        LiveError
            If the kernel does not have one, or its file is damaged.
        """
        return self._modules.load_order(names)


def version_of(text: str) -> tuple[int, ...]:
    """Return the upstream version at the beginning of a release or of a package's version.

    Parameters
    ----------
    text : str

    Returns
    -------
    tuple of int
        Empty if there is none.

    Examples
    --------
    >>> version_of("6.1.192-2"), version_of("7.2+unreleased-amd64"), version_of("6.12.94+deb13-amd64")
    ((6, 1, 192), (7, 2), (6, 12, 94))
    """
    found = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, found[0].split("."))) if found else ()
