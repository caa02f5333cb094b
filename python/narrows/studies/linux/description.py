"""The contents of ``validation/linux/description.toml``: scenarios, variants, targets, and causes of differences."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Final, TypeVar

from narrows.base import bundled
from narrows.base.errors import InputError
from narrows.model.catalogue import engine_catalogue
from narrows.model.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from narrows.model.scenario import Override

FOLDER: Final = "validation/linux"
"""Directory of the bundled files."""

JUDGED: Final = ("throughput_mbps", "rtt_mean_ms", "cwnd_mean_bytes")
"""Keys of the measures that have a target."""

_NONE: Final[Mapping[str, Any]] = {}


@dataclass(frozen=True, slots=True)
class Scene:
    """A scenario in which every variant runs.

    Attributes
    ----------
    name : str
        Name of the scenario.
    path : str
        Its file.
    starts : int
        Number of seeds that both sides run; a seed gives start times and random losses.
    quick : bool
        Whether it belongs to ``--quick``.
    drawn : bool
        Whether the page draws the windows in it.
    """

    name: str
    path: str
    starts: int = 1
    quick: bool = False
    drawn: bool = False

    def scenario(self, variant: Variant, *further: Mapping[str, Override]) -> Scenario:
        """Return the scenario with a variant's settings.

        Parameters
        ----------
        variant : Variant
        *further : mapping
            Values by path, which take precedence over the variant's.

        Returns
        -------
        Scenario

        Raises
        ------
        ScenarioError
            If it is refused.
        """
        settings: dict[str, Override] = {"tcp.cc": variant.name, **variant.settings}
        for one in further:
            settings |= one
        return Scenario.from_file(self.path, settings)


@dataclass(frozen=True, slots=True)
class Variant:
    """A congestion control that both have.

    Attributes
    ----------
    name : str
    settings : mapping
        Further settings that it needs, by path.
    quick : bool
        Whether it belongs to ``--quick``.
    """

    name: str
    settings: Mapping[str, Override] = field(default_factory=dict)
    quick: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """What a simulation takes to follow a version of Linux.

    Attributes
    ----------
    since : str
        The first release that it stands for: ``6.6``.
    settings : mapping
        Settings of the simulation, by path.
    why : str
        What changed in that version, in a sentence.
    """

    since: str
    settings: Mapping[str, Override]
    why: str


@dataclass(frozen=True, slots=True)
class Experiment:
    """One thing that is changed, on one side or on both.

    Attributes
    ----------
    name : str
        Unique name.
    switch : str
        What is changed, in words.
    simulated : mapping
        Settings that are changed in the simulation only.
    both : mapping
        Settings that are changed on both sides.
    """

    name: str
    switch: str
    simulated: Mapping[str, Override] = field(default_factory=dict)
    both: Mapping[str, Override] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of differences, and the experiment that isolates it.

    Attributes
    ----------
    variant, scenarios, kernels : str
        Patterns, where ``*`` matches anything; several are separated by blanks.
    experiment : str
        Name of the experiment.
    why : str
        The cause, in a sentence.
    """

    variant: str
    scenarios: str
    experiment: str
    why: str
    kernels: str = "*"

    def covers(self, variant: str, scenario: str, kernel: str) -> bool:
        """Return whether it applies to a cell.

        Examples
        --------
        >>> Cause("vegas veno", "10m-*", "an-experiment", "A cause.").covers("veno", "10m-40ms-1bdp", "6.1")
        True
        """
        pairs = ((self.variant, variant), (self.scenarios, scenario), (self.kernels, kernel))
        return all(any(fnmatchcase(name, one) for one in patterns.split()) for patterns, name in pairs)


@dataclass(frozen=True, slots=True)
class Description:
    """The contents of ``description.toml``.

    Attributes
    ----------
    scenes : tuple of Scene
    variants : tuple of Variant
    experiments : tuple of Experiment
    causes : tuple of Cause
        Of differences between Narrows and Linux.
    changes : tuple of Cause
        Of differences between kernels; ``kernels`` names the later one.
    profiles : tuple of Profile
        From the earliest version on.
    targets : mapping
        Largest median of the relative difference, by key of the measure.
    cell, change : float
        Relative difference beyond which a cell, and a change from one kernel to the next, needs a cause.
    judged : bool
        Whether the targets apply; a median over chosen scenarios is not meaningful.
    """

    scenes: tuple[Scene, ...]
    variants: tuple[Variant, ...]
    experiments: tuple[Experiment, ...] = ()
    causes: tuple[Cause, ...] = ()
    changes: tuple[Cause, ...] = ()
    profiles: tuple[Profile, ...] = ()
    targets: Mapping[str, float] = field(default_factory=dict)
    cell: float = 0.15
    change: float = 0.05
    judged: bool = True

    def scene(self, name: str) -> Scene:
        """Return the scenario of a name."""
        return next(one for one in self.scenes if one.name == name)

    def variant(self, name: str) -> Variant:
        """Return the variant of a name."""
        return next(one for one in self.variants if one.name == name)

    def experiment(self, name: str) -> Experiment:
        """Return the experiment of a name."""
        return next(one for one in self.experiments if one.name == name)

    def profile(self, kernel: str) -> Profile:
        """Return the profile of a kernel.

        Parameters
        ----------
        kernel : str
            Its release, or the first numbers of it.

        Returns
        -------
        Profile
            The latest that is not later than the kernel; one without settings if there is none.
        """
        earlier = [one for one in self.profiles if _numbers(one.since) <= _numbers(kernel)]
        return earlier[-1] if earlier else Profile("0.0", _NONE, "")

    def choose(
        self,
        variants: Iterable[str] | None = None,
        scenarios: Iterable[str] | None = None,
        *,
        starts: int | None = None,
        quick: bool = False,
    ) -> Description:
        """Keep some variants and scenarios.

        Parameters
        ----------
        variants : iterable of str, optional
            Names, where ``*`` matches anything; all by default.
        scenarios : iterable of str, optional
            Names likewise, or files of scenarios to run instead of the bundled ones.
        starts : int, optional
            Number of seeds of every scenario; by default its own.
        quick : bool
            Run one seed; if nothing is named, keep only what belongs to ``--quick``.

        Returns
        -------
        Description

        Raises
        ------
        InputError
            If a name matches nothing.
        """
        scenes = _chosen("--scenario", self.scenes, scenarios, quick) if scenarios is None else self._scenes(scenarios)
        seeds = 1 if quick and starts is None else starts
        return replace(
            self,
            scenes=scenes if seeds is None else tuple(replace(one, starts=seeds) for one in scenes),
            variants=_chosen("--cc", self.variants, variants, quick),
            judged=self.judged and scenarios is None and not quick,
        )

    def _scenes(self, names: Iterable[str]) -> tuple[Scene, ...]:
        found: dict[str, Scene] = {}
        for name in names:
            matching = [one for one in self.scenes if fnmatchcase(one.name, name)]
            for one in matching or [_own(name)]:
                if found.setdefault(one.name, one).path != one.path:
                    message = f"--scenario: the name {one.name!r} is given twice; allowed: different names"
                    raise InputError(message)
        return tuple(found.values())


T = TypeVar("T", Scene, Variant)


def _numbers(release: str) -> tuple[int, ...]:
    """Return the first two numbers of a release.

    Examples
    --------
    >>> _numbers("6.12.117+deb13-amd64")
    (6, 12)
    """
    return tuple(int(one) for one in re.findall(r"\d+", release)[:2])


def _chosen(option: str, known: Sequence[T], names: Iterable[str] | None, quick: bool) -> tuple[T, ...]:
    if names is None:
        return tuple(one for one in known if one.quick or not quick)
    wanted = list(names)
    for name in wanted:
        if not any(fnmatchcase(one.name, name) for one in known):
            message = f"{option} is {name!r}; allowed: {', '.join(one.name for one in known)}, or a pattern with *"
            raise InputError(message)
    return tuple(one for one in known if any(fnmatchcase(one.name, name) for name in wanted))


def _own(name: str) -> Scene:
    """Return a scenario of the user's."""
    return Scene(Scenario.from_file(name).name, name)


def is_bundled(names: Iterable[str]) -> bool:
    """Return whether all names select bundled scenarios.

    Parameters
    ----------
    names : iterable of str
        As for `Description.choose`.

    Returns
    -------
    bool
    """
    known = [one.name for one in load().scenes]
    return all(any(fnmatchcase(one, name) for one in known) for name in names)


def load() -> Description:
    """Read the description that is bundled with Narrows.

    Returns
    -------
    Description

    Raises
    ------
    InputError
        If this installation lacks it.
    """
    folder = bundled.directory(FOLDER)
    return parse((folder / "description.toml").read_text(encoding="utf-8"), str(folder))


def parse(text: str, folder: str) -> Description:
    """Read a description.

    Parameters
    ----------
    text : str
        TOML, as ``validation/README.md`` describes it.
    folder : str
        Directory of the scenario files.

    Returns
    -------
    Description
        Without variants that this version of Narrows lacks.
    """
    read = tomllib.loads(text)
    ours = {str(row["name"]) for row in engine_catalogue()["cc"]}
    return Description(
        scenes=tuple(Scene(path=f"{folder}/{one['name']}.toml", **one) for one in read["scenarios"]),
        variants=tuple(
            Variant(one["name"], one.get("set", _NONE), one.get("quick", False))
            for one in read["variants"]
            if one["name"] in ours
        ),
        experiments=tuple(Experiment(**one) for one in read.get("experiments", [])),
        causes=tuple(Cause(**one) for one in read.get("causes", [])),
        changes=tuple(Cause(**one) for one in read.get("changes", [])),
        profiles=tuple(Profile(one["since"], one["set"], one["why"]) for one in read.get("profiles", [])),
        targets=read["targets"],
        cell=read["limits"]["cell"],
        change=read["limits"]["change"],
    )
