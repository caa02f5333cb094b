"""The modules of a kernel: what they provide, and in which order they are loaded."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from narrows.base.errors import LiveError
from narrows.kernels.compressed import BrokenError, expanded
from narrows.kernels.modinfo import CONGESTION_CONTROL, QDISC, Module, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_CONTROLS: Final = "kernel/net/ipv4/tcp_"
_QDISCS: Final = "kernel/net/sched/sch_"
_NO_CONTROL: Final = frozenset({"tcp_diag", "tcp_sigpool"})
"""Built-in modules whose files are named like those of congestion controls."""

_ALWAYS_QDISCS: Final = ("pfifo_fast", "pfifo", "bfifo", "mq", "noqueue")
"""Part of every kernel with traffic control (net/sched/sch_generic.c, sch_fifo.c, sch_mq.c)."""
_ALWAYS_CONTROLS: Final = ("reno",)
"""Part of every kernel (net/ipv4/tcp_cong.c)."""
_SEVERAL: Final = {"sch_ingress": ["ingress", "clsact"]}
"""Queue disciplines of modules that have others than their names say."""
_ALIAS: Final = "net-sch-"
"""Prefix of a queue discipline's name among the aliases of its module (MODULE_ALIAS_NET_SCH, from Linux 6.9 on)."""

_LARGEST: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class Buildable:
    """A module that Debian leaves out, and that is a single file of Linux's source.

    Attributes
    ----------
    path : str
        Its file, relative to the directory of modules.
    since : tuple of int
        Version of Linux from which on there is one.
    """

    path: str
    since: tuple[int, int]


BUILDABLE: Final = {"sch_dualpi2": Buildable("kernel/net/sched/sch_dualpi2.ko", (6, 17))}
"""Modules that `narrows kernels build` builds, by name."""


class Modules:
    """The modules below a directory like ``/lib/modules/RELEASE``.

    Parameters
    ----------
    directory : pathlib.Path
        Need not exist; then the kernel has no modules.
    kernel : str
        The kernel's name, for messages.
    """

    def __init__(self, directory: Path, kernel: str) -> None:
        self._directory = directory
        self._kernel = kernel
        self._read: dict[str, tuple[Module, bytes]] = {}

    @cached_property
    def files(self) -> dict[str, Path]:
        """Files of modules by name."""
        found = (self._directory / "kernel").rglob("*.ko*")
        return {name_of(path.name): path for path in sorted(found) if path.is_file()}

    @cached_property
    def builtin(self) -> dict[str, str]:
        """Paths that built-in modules would have, by name."""
        try:
            lines = (self._directory / "modules.builtin").read_text(encoding="utf-8").split()
        except (OSError, ValueError):
            return {}
        return {name_of(line): line for line in lines}

    @cached_property
    def congestion_controls(self) -> tuple[str, ...]:
        """Names of congestion controls, as for ``TCP_CONGESTION``, sorted."""
        names = {name for name, path in self.builtin.items() if path.startswith(_CONTROLS)} - _NO_CONTROL
        names |= {module.name for module in self._below(_CONTROLS) if module.provides == CONGESTION_CONTROL}
        return tuple(sorted({name.removeprefix("tcp_") for name in names} | set(_ALWAYS_CONTROLS)))

    @cached_property
    def qdiscs(self) -> tuple[str, ...]:
        """Names of queue disciplines, as for ``tc qdisc``, sorted."""
        names = {name.removeprefix("sch_") for name, path in self.builtin.items() if path.startswith(_QDISCS)}
        for module in self._below(_QDISCS):
            if module.provides == QDISC:
                named = [alias.removeprefix(_ALIAS) for alias in module.aliases if alias.startswith(_ALIAS)]
                names |= set(named or _SEVERAL.get(module.name, [module.name.removeprefix("sch_")]))
        return tuple(sorted(names | set(_ALWAYS_QDISCS)))

    def load_order(self, names: Iterable[str]) -> list[tuple[str, bytes]]:
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
        order: dict[str, tuple[str, bytes]] = {}
        seen: set[str] = set()
        for name in names:
            self._add(name_of(name), (), order, seen)
        return list(order.values())

    def _add(self, name: str, users: tuple[str, ...], order: dict[str, tuple[str, bytes]], seen: set[str]) -> None:
        if name in seen or name in self.builtin:
            return
        seen.add(name)
        if name not in self.files:
            user = f", which {users[-1]} depends on" if users else ""
            message = f"kernel {self._kernel} has no module {name}{user}, neither as a file nor built in"
            if name in BUILDABLE:
                since = ".".join(map(str, BUILDABLE[name].since))
                remedy = f"`narrows kernels build {name}` builds it for a kernel of Linux {since} or later"
                raise LiveError(f"{message}; {remedy}", "unavailable", remedy)
            raise LiveError(message, "unavailable", "use another kernel; `narrows kernels` lists them")
        module, content = self._module(name)
        for wanted in module.before:
            provider = self._provider(name_of(wanted), wanted)
            if provider is not None:
                self._add(provider, (*users, name), order, seen)
        for wanted in module.depends:
            self._add(name_of(wanted), (*users, name), order, seen)
        order[name] = f"{PurePosixPath(module.path).name}", content

    def _provider(self, name: str, alias: str) -> str | None:
        """Return the module that is meant by a name or an alias; None if there is none, or it is built in."""
        if name in self.files or name in self.builtin:
            return name
        found = [module.name for module in self._below("kernel/crypto/") if alias in module.aliases]
        return next((one for one in found if one.endswith("_generic")), next(iter(found), None))

    def _below(self, prefix: str) -> Iterator[Module]:
        for name, path in self.files.items():
            if path.relative_to(self._directory).as_posix().startswith(prefix):
                yield self._module(name)[0]

    def _module(self, name: str) -> tuple[Module, bytes]:
        if name not in self._read:
            path = self.files[name]
            inside = path.relative_to(self._directory).as_posix().partition(".ko")[0]
            try:
                content = expanded(path.read_bytes(), _LARGEST)
                self._read[name] = Module.read(f"{inside}.ko", content), content
            except BrokenError as error:
                message = f"{path}: {error}; add the kernel {self._kernel} again with `narrows kernels add`"
                raise LiveError(message) from None
            except OSError as error:
                message = f"{path}: cannot be read: {error.strerror or error}"
                raise LiveError(message) from None
        return self._read[name]
