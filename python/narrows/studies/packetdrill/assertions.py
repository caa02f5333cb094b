"""Evaluates the ``%{ }%`` code of scripts in a process of its own, with a time limit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from narrows.base.errors import NarrowsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

LIMIT_S = 5.0
"""Longest time for the code of one script, s; without loops it takes milliseconds."""

_STATES = """
    ESTABLISHED SYN_SENT SYN_RECV FIN_WAIT1 FIN_WAIT2 TIME_WAIT CLOSE CLOSE_WAIT LAST_ACK LISTEN CLOSING
"""
_AVOIDANCE = "Open Disorder CWR Recovery Loss"
_OPTIONS = "TIMESTAMPS SACK WSCALE ECN ECN_SEEN SYN_DATA USEC_TS TFO_CHILD"

CONSTANTS: Mapping[str, int] = {
    **{f"TCP_{name}": number for number, name in enumerate(_STATES.split(), start=1)},
    **{f"TCP_CA_{name}": number for number, name in enumerate(_AVOIDANCE.split())},
    **{f"TCPI_OPT_{name}": 1 << bit for bit, name in enumerate(_OPTIONS.split())},
}
"""Names that code may use besides those of ``tcp_info``, with Linux's values."""


class InterpreterError(NarrowsError):
    """The process that evaluates assertions cannot be started here."""

    exit_code = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """One ``%{ }%`` event that was reached.

    Attributes
    ----------
    line : int
        Line in the script, from 1.
    code : str
        The text between the braces.
    values : mapping
        Fields of ``tcp_info`` when the event ran, and what else code may read, by name.
    """

    line: int
    code: str
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the code of a script came to.

    Attributes
    ----------
    failed : Piece or None
        The first piece that failed.
    why : str
        The reason, as the rest of a sentence that begins with the code: ``is false (7)``.
    printed : str
        What ``print`` wrote.
    false : bool
        Whether an assertion is false; otherwise the code that failed could not be evaluated.
    """

    failed: Piece | None = None
    why: str = ""
    printed: str = ""
    false: bool = False


class Evaluator:
    """The process that evaluates; started when first asked, and again after a time limit.

    Use it as a context manager.

    Parameters
    ----------
    limit_s : float
        Longest time for one script, s.
    """

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._process: subprocess.Popen[str] | None = None
        self._one_at_a_time = threading.Lock()
        self._stopped = False

    def __enter__(self) -> Self:
        """Return the evaluator; nothing is started yet."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the process."""
        self._end()

    def verdict(self, pieces: Sequence[Piece]) -> Verdict:
        """Evaluate the code of one script.

        Parameters
        ----------
        pieces : sequence of Piece
            In the order in which they ran.

        Returns
        -------
        Verdict

        Raises
        ------
        InterpreterError
            If no process can be started.

        Examples
        --------
        >>> with Evaluator() as evaluator:
        ...     evaluator.verdict([Piece(3, "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd", {"tcpi_snd_cwnd": 9})]).why
        'is false (9)'
        """
        if not pieces:
            return Verdict()
        with self._one_at_a_time:
            return self._verdict(pieces)

    def stop(self) -> None:
        """End the process, and start no other: verdicts that others wait for come at once and mean nothing."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()

    def _verdict(self, pieces: Sequence[Piece]) -> Verdict:
        asked = {"constants": dict(CONSTANTS), "pieces": [{"code": p.code, "values": dict(p.values)} for p in pieces]}
        line, late = self._ask(json.dumps(asked))
        if not line:
            which = pieces[0] if len(pieces) == 1 else self._slowest(pieces)
            why = f"takes longer than {self._limit_s:g} s" if late else "ends the interpreter"
            return Verdict(which, why)
        answer = json.loads(line)
        failed = None if answer["failed"] is None else pieces[answer["failed"]]
        return Verdict(failed, answer["why"], answer["printed"], answer["false"])

    def _slowest(self, pieces: Sequence[Piece]) -> Piece:
        """Return the first piece with which the code no longer ends."""
        for count in range(1, len(pieces)):
            asked = {
                "constants": dict(CONSTANTS),
                "pieces": [{"code": p.code, "values": dict(p.values)} for p in pieces[:count]],
            }
            if not self._ask(json.dumps(asked))[0]:
                return pieces[count - 1]
        return pieces[-1]

    def _ask(self, request: str) -> tuple[str, bool]:
        """Return the answer to a request, empty if there is none, and whether the time limit ended it."""
        process = self._started()
        if self._stopped:  # `stop` sets the flag before it looks for the process, so one of the two sees the other
            process.kill()
        if process.stdin is None or process.stdout is None:  # never: both are pipes
            return "", False
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._limit_s, end)
        timer.start()
        try:
            process.stdin.write(request + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            self._end()
        return line, late.is_set()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            if not sys.executable:
                raise InterpreterError("assertions of scripts need a Python interpreter; sys.executable names none")
            command = [sys.executable, "-I", os.fspath(Path(__file__).with_name("worker.py"))]
            try:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
                )
            except OSError as error:
                raise InterpreterError(
                    f"assertions of scripts need the Python interpreter {sys.executable}: {error.strerror or error}"
                ) from error
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            with suppress(OSError):
                if stream is not None:
                    stream.close()
        process.wait()
