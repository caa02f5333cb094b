"""Congestion controls attached to this host's kernel as eBPF programs, usable by every program on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from narrows import _core
from narrows.base.errors import LiveError

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Deployed:
    """A congestion control attached to this host.

    Attributes
    ----------
    name : str
        Its name for the socket option ``TCP_CONGESTION``.
    params : dict
        Every parameter and its value, as text.
    is_default : bool
        Whether new connections of this network namespace use it.
    replaced : str or None
        The default that it replaced, if it is now the default.
    pin : str
        Its pin in the BPF file system.
    """

    name: str
    params: dict[str, str]
    is_default: bool
    replaced: str | None
    pin: str

    @classmethod
    def from_core(cls, deployed: _core.Deployed) -> Deployed:
        """Convert an object of the extension.

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
    """Result of `attach`.

    Attributes
    ----------
    deployed : Deployed
        The attached congestion control.
    is_new : bool
        Whether this call registered it; if not, it was already registered with the same parameters.
    mounted : bool
        Whether the BPF file system was mounted for it.
    """

    deployed: Deployed
    is_new: bool
    mounted: bool


def attachable() -> list[str]:
    """Name the congestion controls available as eBPF programs.

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
        Whether new connections of this network namespace use it by default.

    Returns
    -------
    Attaching

    Raises
    ------
    LiveError
        If there is no such congestion control or parameter, if it is already attached with other parameters, if the
        name is taken by something else, or if this machine cannot do it. Nothing has changed then.
    """
    words = [(key, _word(value)) for key, value in (params or {}).items()]
    try:
        deployed, is_new, mounted = _core.attach(name, words, default)
    except _core.LiveError as error:
        raise LiveError.from_core(error) from None
    return Attaching(Deployed.from_core(deployed), is_new, mounted)


def detach(name: str) -> str | None:
    """Remove a congestion control from this host. Connections that use it keep it until they close.

    Parameters
    ----------
    name : str
        Name of an attached congestion control.

    Returns
    -------
    str or None
        The default that applies again, if the removed one was the default.

    Raises
    ------
    LiveError
        If it was not attached by `attach`, or the rights to detach it are missing.
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
        If the rights to look are missing.
    """
    try:
        return [Deployed.from_core(item) for item in _core.attached()]
    except _core.LiveError as error:
        raise LiveError.from_core(error) from None


def _word(value: object) -> str:
    """Write a value in the form that the engine reads."""
    return str(value).lower() if isinstance(value, bool) else str(value)
