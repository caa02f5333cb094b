"""One connection of the page: messages in, at most one piece of work at a time, answers out."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from narrows import _core
from narrows.base.errors import NarrowsError, Problem, RunError, ScenarioError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.websockets import WebSocket

    from narrows.ui.bench import Bench

T = TypeVar("T")

REPORT_S: Final = 0.05
"""Time between two reports of progress, s."""


class Session:
    """A connection of the page.

    Parameters
    ----------
    socket : starlette.websockets.WebSocket
        Accepted by `serve`.
    bench : Bench
        What does the work.
    """

    def __init__(self, socket: WebSocket, bench: Bench) -> None:
        self._socket = socket
        self._bench = bench
        self._gauges: list[_core.Progress] = []
        self._work: asyncio.Task[None] | None = None
        self._calls: dict[str, Callable[[dict[str, Any], _core.Progress], bytes | str]] = {
            "run": bench.run,
            "open": bench.open,
            "digest": bench.digest,
            "save": bench.save,
        }

    async def serve(self) -> None:
        """Handle messages until the page goes away; work under way is then stopped."""
        from starlette.websockets import WebSocketDisconnect

        await self._socket.accept()
        try:
            while (message := await self._socket.receive())["type"] != "websocket.disconnect":
                await self._hear(message.get("text") or "")
        except WebSocketDisconnect:
            pass
        finally:
            self.stop()
            if self._work is not None:
                await asyncio.wait({self._work})

    def stop(self) -> None:
        """Stop the work under way and what waits for it, from any thread."""
        for gauge in list(self._gauges):
            gauge.stop()

    async def _hear(self, text: str) -> None:
        try:
            asked = json.loads(text)
            kind = asked["kind"]
        except (ValueError, TypeError, KeyError, RecursionError):
            asked, kind = {}, None
        if kind == "stop":
            self.stop()
        elif isinstance(kind, str) and kind in self._calls:
            # Digests and saving wait for the run that they are about; a new run or reading takes its place.
            if kind in {"run", "open"}:
                self.stop()
            gauge = _core.Progress()
            self._gauges.append(gauge)
            self._work = asyncio.create_task(self._in_turn(asked, gauge, self._work))
        else:
            known = ", ".join(["stop", *self._calls])
            await self._fail(asked if isinstance(asked, dict) else {}, f"kind: is {kind!r}; allowed: {known}")

    async def _in_turn(self, asked: dict[str, Any], gauge: _core.Progress, before: asyncio.Task[None] | None) -> None:
        """Do a piece of work when the one before it has ended; messages are heard meanwhile."""
        if before is not None:
            await asyncio.wait({before})
            del before
        try:
            await self._do(asked, gauge)
        finally:
            self._gauges.remove(gauge)

    async def _do(self, asked: dict[str, Any], gauge: _core.Progress) -> None:
        reports = asyncio.create_task(self._report(asked, gauge))
        try:
            made = await aside(lambda: self._call(asked, gauge))
        except _core.Stopped:
            saving = asked["kind"] == "save"
            message = "saving was stopped; nothing was written" if saving else "the run was stopped"
            await self._fail(asked, message, stopped=True)
        except ScenarioError as error:
            await self._fail(asked, error.problems[0].message, problems=error.problems)
        except NarrowsError as error:
            await self._fail(asked, str(error))
        except MemoryError:
            await self._fail(asked, "out of memory; allowed: fewer samples or flows")
        except Exception as error:  # noqa: BLE001 - a fault ends a request, not the connection
            await self._fail(asked, f"the server failed: {error!r}")
        else:
            if isinstance(made, bytes):
                with _unless_gone():
                    await self._socket.send_bytes(made)
            else:
                await self._send({"kind": "answer", "id": asked.get("id"), "value": made})
        finally:
            reports.cancel()

    def _call(self, asked: dict[str, Any], gauge: _core.Progress) -> bytes | str:
        gauge.check()
        try:
            return self._calls[asked["kind"]](asked, gauge)
        except Exception:
            raise
        except BaseException as error:
            # A panic of the engine is no Exception, so that no program passes over it by accident.
            message = f"the engine failed: {error}"
            raise RunError(message) from error

    async def _report(self, asked: dict[str, Any], gauge: _core.Progress) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            await self._send({"kind": "progress", "id": asked.get("id"), "fraction": gauge.fraction()})

    async def _fail(
        self, asked: dict[str, Any], message: str, *, problems: tuple[Problem, ...] = (), stopped: bool = False
    ) -> None:
        told = [
            {
                "path": one.path,
                "line": one.line,
                "field": one.field,
                "value": one.value or "",
                "allowed": one.allowed or "",
                "message": one.message,
            }
            for one in problems
        ]
        failed = {"kind": "failed", "id": asked.get("id"), "message": message, "problems": told, "stopped": stopped}
        await self._send(failed)

    async def _send(self, message: dict[str, Any]) -> None:
        with _unless_gone():
            # Names of files need not be UTF-8: escaped, they are JSON all the same.
            await self._socket.send_text(json.dumps(message))


@contextmanager
def _unless_gone() -> Iterator[None]:
    """Pass over a message to a page that has gone."""
    from starlette.websockets import WebSocketDisconnect

    with suppress(WebSocketDisconnect, RuntimeError):
        yield


async def aside(call: Callable[[], T]) -> T:
    """Call a function on a thread of its own, which does not keep the process from ending.

    Parameters
    ----------
    call : callable

    Returns
    -------
    object
        What it returns.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(value: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(value)  # type: ignore[arg-type]

    def work() -> None:
        value, failure = None, None
        try:
            value = call()
        except BaseException as error:  # noqa: BLE001 - it is raised where the call is awaited
            failure = error
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(settle, value, failure)

    threading.Thread(target=work, daemon=True).start()
    return await future
