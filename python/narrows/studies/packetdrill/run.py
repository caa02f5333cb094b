"""Runs scripts in the worlds that are asked for, and judges what came out."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from narrows import _core
from narrows.base import interruption
from narrows.base.errors import InputError, LiveError
from narrows.studies.packetdrill.assertions import Evaluator, Piece
from narrows.studies.packetdrill.outcome import Difference, Outcome, Report, Result, Step
from narrows.studies.packetdrill.scripts import VERSIONS, invocation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from narrows.studies.packetdrill.outcome import Ended, World
    from narrows.studies.packetdrill.scripts import IpVersion, Script, Suite

STACKS: Final = ("linux",)
"""Stacks of the simulated end."""

AGAIN: Final = 3
"""How often a script is tried live until it matches.

Real time decides much of a live run: the kernel's own timers run late on a busy machine, which the runner cannot see.
"""

_CHECK_S: Final = 0.1
"""How often a signal to end is looked for, s."""

_BRIEF: Final = 120
"""Most characters of code in a message."""

_MOST_INCLUDED: Final = 1 << 20
"""Largest file that a script's command lines may name, bytes."""


def run(
    suites: Sequence[Suite],
    worlds: Sequence[World] = ("simulated",),
    *,
    versions: Sequence[IpVersion] = ("ipv4",),
    stack: str = "linux",
    defines: Mapping[str, str] | None = None,
    tolerance_usecs: int | None = None,
    jobs: int = 1,
    done: Callable[[Outcome], None] | None = None,
) -> Report:
    """Run scripts.

    Parameters
    ----------
    suites : sequence of Suite
        From `find`.
    worlds : sequence of {"simulated", "live"}
        In virtual time on Narrows' TCP, or in real time on this machine's kernel.
    versions : sequence of str
        Variants, among `VERSIONS`.
    stack : str
        The simulated end's stack, among `STACKS`.
    defines : mapping, optional
        Symbols, as ``-D NAME=VALUE`` gives them.
    tolerance_usecs : int, optional
        How far an event may be from its time, in microseconds; by default as the script says, or 4,000.
    jobs : int
        How many scripts run side by side.
    done : callable, optional
        Called with each outcome, in order.

    Returns
    -------
    Report

    Raises
    ------
    InputError
        If an argument is none of those allowed.
    LiveError
        If scripts cannot run live here.
    InterpreterError
        If assertions cannot be evaluated here.
    KeyboardInterrupt
        On a signal to end. Scripts that run are stopped first, and leave nothing behind.
    """
    _check(versions, stack, tolerance_usecs)
    given = list((defines or {}).items())
    extra = [] if tolerance_usecs is None else [("tolerance_usecs", str(tolerance_usecs))]
    if "live" in worlds:
        _check_live()
    progress = _core.Progress()
    with Evaluator() as evaluator, ThreadPoolExecutor(max_workers=max(1, jobs)) as pool:

        def outcome(script: Script) -> Outcome:
            return Outcome(
                script,
                tuple(
                    _tried(evaluator, progress, script, world, version, extra, dict(given))
                    for world in worlds
                    for version in script.versions(versions)
                ),
            )

        made: list[tuple[Suite, tuple[Outcome, ...]]] = []
        pending = [(suite, [pool.submit(outcome, script) for script in suite.scripts]) for suite in suites]
        try:
            for suite, futures in pending:
                outcomes = []
                for future in futures:
                    while not wait([future], _CHECK_S).done:
                        interruption.check()
                    one = future.result()
                    outcomes.append(one)
                    if done is not None:
                        done(one)
                made.append((suite, tuple(outcomes)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            progress.stop()
            evaluator.stop()
            raise
    kernel = os.uname().release if "live" in worlds else None
    return Report(tuple(made), tuple(worlds), stack, kernel)


def _check(versions: Sequence[str], stack: str, tolerance_usecs: int | None) -> None:
    for version in versions:
        if version not in VERSIONS:
            raise InputError(f"--ip-version is {version!r}; allowed: {', '.join(VERSIONS)}, all")
    if stack not in STACKS:
        raise InputError(f"--stack is {stack!r}; allowed: {', '.join(STACKS)}")
    if tolerance_usecs is not None and tolerance_usecs < 0:
        raise InputError(f"--tolerance-usecs is {tolerance_usecs}; allowed: 0 or more")


def _check_live() -> None:
    try:
        _core.packetdrill_check()
    except _core.LiveError as error:
        raise LiveError.from_core(error) from None


def _tried(
    evaluator: Evaluator,
    progress: _core.Progress,
    script: Script,
    world: World,
    version: IpVersion,
    extra: Sequence[tuple[str, str]],
    defines: dict[str, str],
) -> Result:
    """Run and judge one variant in one world; live up to `AGAIN` times, until it matches."""
    result = _judged(evaluator, *_raw(progress, script, world, version, extra, defines))
    for _ in range(1, AGAIN if world == "live" else 1):
        if result.ended not in {"mismatch", "late"}:
            break
        result = _judged(evaluator, *_raw(progress, script, world, version, extra, defines))
    return result


def _raw(
    progress: _core.Progress,
    script: Script,
    world: World,
    version: IpVersion,
    extra: Sequence[tuple[str, str]],
    defines: dict[str, str],
) -> tuple[Result, list[Piece]]:
    """Run one variant in one world; the code of its assertions is not judged yet."""
    options, symbols = invocation(version, defines)
    folder = script.path.parent
    asked = {
        "text": script.text,
        "path": os.fspath(script.path),
        "options": options,
        "overrides": list(extra),
        "symbols": symbols,
    }
    if world == "simulated":
        return _read(_core.packetdrill(asked, lambda name: _included(folder, name), progress), world, version)
    try:
        made = _core.packetdrill_live(asked, os.fspath(folder.resolve()), progress)
    except _core.LiveError as error:
        told = LiveError.from_core(error)
        if told.kind in {"unavailable", "stopped"}:
            raise told from None
        return Result(world, version, "refused", why=str(told)), []
    return _read(made, world, version)


def _included(folder: Any, name: str) -> str | None:
    """Return a file that a command line of a script names, such as ``../common/defaults.sh``; ``None`` without one."""
    try:
        path = folder / name
        if not path.is_file() or path.stat().st_size > _MOST_INCLUDED:
            return None
        text: str = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
    return text


def _read(made: Mapping[str, Any], world: World, version: IpVersion) -> tuple[Result, list[Piece]]:
    ended: Ended = made["ended"]
    told = made.get("difference")
    difference = None
    if told is not None:
        fields = tuple(tuple(field) for field in told["fields"])
        difference = Difference(told["line"], told["what"], told["expected"], told["actual"], fields)
    result = Result(
        world,
        version,
        ended,
        why=made.get("why", ""),
        line=made.get("line"),
        difference=difference,
        steps=tuple(Step(*step) for step in made.get("steps", ())),
        state=dict(made.get("state", {})),
        packets=tuple(made.get("packets", ())),
    )
    return result, [Piece(line, code, values) for line, code, values in made.get("code", ())]


def _judged(evaluator: Evaluator, result: Result, pieces: list[Piece]) -> Result:
    """Return a result with the verdict on its assertions: one that fails comes before whatever ended the script."""
    verdict = evaluator.verdict(pieces)
    failed = verdict.failed
    if failed is None:
        return replace(result, printed=verdict.printed)
    code = _brief(failed.code)
    why = f"the code {code} {verdict.why}"
    if not verdict.false:
        return replace(result, ended="invalid", why=why, line=failed.line, difference=None, printed=verdict.printed)
    return replace(
        result,
        ended="mismatch",
        why=why,
        line=failed.line,
        difference=Difference(failed.line, "assertion", code, verdict.why),
        steps=tuple(step for step in result.steps if step.line <= failed.line),
        state=dict(failed.values),
        printed=verdict.printed,
    )


def _brief(code: str) -> str:
    """Return code on one line, without its comments, and cut where it is long."""
    lines = [line.partition("#")[0].strip() for line in code.splitlines()]
    brief = " ".join(line for line in lines if line)
    return brief if len(brief) <= _BRIEF else f"{brief[:_BRIEF]} .."
