"""The kernel of this host: congestion controls attached to it as eBPF programs, for every program that runs on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows import _core
from narrows.errors import LiveError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Deployed:
    """A congestion control that is attached to this host.

    Attributes
    ----------
    name : str
        Its name for the socket option ``TCP_CONGESTION``.
    params : dict
        Every parameter and its value, as words.
    is_default : bool
        Whether new connections of this network namespace use it.
    replaced : str or None
        The default that it replaced, if it is the default.
    pin : str
        Where in the BPF file system it is held.
    """

    name: str
    params: dict[str, str]
    is_default: bool
    replaced: str | None
    pin: str

    @classmethod
    def from_core(cls, deployed: _core.Deployed) -> Deployed:
        """Take over what the extension tells.

        Parameters
        ----------
        deployed : narrows._core.Deployed

        Returns
        -------
        Deployed
        """
        words = (word.partition("=") for word in deployed.params.split())
        params = {name: value for name, _, value in words}
        return cls(deployed.name, params, deployed.is_default, deployed.replaced, deployed.pin)


@dataclass(frozen=True, slots=True)
class Attaching:
    """What attaching did.

    Attributes
    ----------
    deployed : Deployed
        What is attached now.
    is_new : bool
        Whether it was registered now; if not, it was before, with the same parameters.
    mounted : bool
        Whether the BPF file system was mounted for it.
    """

    deployed: Deployed
    is_new: bool
    mounted: bool


def attachable() -> list[str]:
    """Name the congestion controls that are here as eBPF programs.

    Returns
    -------
    list of str

    Examples
    --------
    >>> "agile_sd" in attachable()
    True
    """
    return _core.attachable()


def attach(name: str, params: Mapping[str, object] | None = None, *, default: bool = False) -> Attaching:
    """Register a congestion control on this host, until it is detached or the machine restarts.

    Parameters
    ----------
    name : str
        One of `attachable`.
    params : mapping, optional
        Its parameters; those not given take their defaults.
    default : bool
        Whether new connections of this network namespace shall use it without asking.

    Returns
    -------
    Attaching

    Raises
    ------
    LiveError
        If there is no such congestion control or parameter, if it is attached with others, if something else has the
        name, or if this machine cannot do it. Then nothing has changed.
    """
    words = [(key, _word(value)) for key, value in (params or {}).items()]
    try:
        deployed, is_new, mounted = _core.attach(name, words, default)
    except _core.LiveError as error:
        raise LiveError.from_core(error) from None
    return Attaching(Deployed.from_core(deployed), is_new, mounted)


def detach(name: str) -> str | None:
    """Take a congestion control away from this host. Connections that use it go on with it until they close.

    Parameters
    ----------
    name : str
        One that was attached.

    Returns
    -------
    str or None
        The default that is in force again, if it was the default.

    Raises
    ------
    LiveError
        If it was not attached by `attach`, or without the rights to.
    """
    try:
        return _core.detach(name)
    except _core.LiveError as error:
        raise LiveError.from_core(error) from None


def attached() -> list[Deployed]:
    """List the congestion controls that were attached to this host.

    Returns
    -------
    list of Deployed

    Raises
    ------
    LiveError
        Without the rights to look.
    """
    try:
        return [Deployed.from_core(item) for item in _core.attached()]
    except _core.LiveError as error:
        raise LiveError.from_core(error) from None


def _word(value: object) -> str:
    """Write a value as the engine reads it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
