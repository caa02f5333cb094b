"""`narrows ui`: who may connect, runs equal to those of the command line, stopping, results, and saving them."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import webbrowser
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import numpy as np
import pytest
from tests.python import pace

import narrows as nw
from narrows.base.errors import InputError, UnavailableError
from narrows.model.scenario import Scenario
from narrows.studies.comparison import directory as comparisons
from narrows.studies.comparison.comparison import Arm, Comparison
from narrows.ui import data, frames, opened, serve
from narrows.ui.files import Files
from narrows.ui.listing import Listing, entry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from narrows.outcome import Run

websockets = pytest.importorskip("websockets", reason="the extra `ui` is not installed: pip install 'narrows[ui]'")
pytest.importorskip("starlette", reason="the extra `ui` is not installed: pip install 'narrows[ui]'")
pytest.importorskip("uvicorn", reason="the extra `ui` is not installed: pip install 'narrows[ui]'")

from websockets.exceptions import InvalidStatus  # noqa: E402
from websockets.sync.client import ClientConnection, connect  # noqa: E402

NARROWS: Final = [sys.executable, "-c", "import sys; sys.argv[0] = 'narrows'; from narrows.cli import main; main()"]

PATIENCE_S: Final = 60.0
"""Longest wait for something that should take a second, since the machine may be busy."""

PAGE: Final = (
    "<!doctype html><html><head><title>x</title><script>\nlet a;</script><script src='b.js'></script></head></html>"
)

LONG: Final = 'duration = "100000 s"'
"""A duration whose run takes minutes."""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return a directory with a page that stands for the built one."""
    folder = tmp_path / "page"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    (folder / "assets" / "engine.wasm").write_bytes(b"\0asm")
    (folder / "assets" / "worker.js").write_text("let b;", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    return folder


@pytest.fixture
def start(page: Path, tmp_path: Path) -> Iterator[Callable[..., serve.Server]]:
    """Return a function that starts a server; it ends with the test."""
    servers: list[serve.Server] = []

    def started(name: str | None = None) -> serve.Server:
        made = serve.start(opened.find(name), page=page, top=tmp_path)
        servers.append(made)
        deadline = time.monotonic() + PATIENCE_S
        while get(made, "session.json")[0] != 200:
            assert time.monotonic() < deadline
        return made

    yield started
    for server in servers:
        server.stop()


def get(server: serve.Server, path: str, headers: dict[str, str] | None = None) -> tuple[int, bytes, dict[str, str]]:
    """Request a path below the server's address, or an absolute one."""
    parts = urlsplit(server.address)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port or 0, timeout=PATIENCE_S)
    try:
        connection.request("GET", path if path.startswith("/") else parts.path + path, headers=headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        connection.close()


def open_socket(server: serve.Server | str, **changed: Any) -> ClientConnection:
    """Connect as the page at an address does."""
    parts = urlsplit(server if isinstance(server, str) else server.address)
    options: dict[str, Any] = {"origin": f"http://{parts.netloc}", "max_size": None, "proxy": None} | changed
    made: ClientConnection = connect(f"ws://{parts.netloc}{parts.path}socket", **options)
    return made


def ask(connection: ClientConnection, **message: Any) -> None:
    connection.send(json.dumps({"id": 7, **message}))


def answer(connection: ClientConnection) -> Any:
    """Return the next message that is no report of progress: a frame or a dictionary."""
    while True:
        got = connection.recv(timeout=PATIENCE_S)
        if isinstance(got, bytes):
            return frames.unpack(got)
        told = json.loads(got)
        assert told["id"] == 7
        if told["kind"] != "progress":
            return told


def dumbbell(**changes: str) -> str:
    """Return the text of a short scenario."""
    text = Scenario.from_file("dumbbell-cubic").text
    for old, new in ({"60 s": "12 s"} | changes).items():
        assert old in text
        text = text.replace(old, new)
    return text


def test_only_requests_with_the_token_are_answered(start: Callable[..., serve.Server]) -> None:
    server = start()
    assert get(server, "")[0] == 200
    for path in ("/", "/session.json", "/socket", "/wrong/", f"{urlsplit(server.address).path[:-2]}/session.json"):
        status, body, _ = get(server, path)
        assert (status, b"token" in body) == (403, True), path
    for token in ("", "wrong/"):
        with pytest.raises(InvalidStatus, match="403"):
            connect(f"ws://{urlsplit(server.address).netloc}/{token}socket", proxy=None)


def test_other_pages_and_other_names_of_this_machine_are_refused(start: Callable[..., serve.Server]) -> None:
    server = start()
    host = urlsplit(server.address).netloc
    assert get(server, "", {"Origin": f"http://{host}"})[0] == 200
    assert get(server, "", {"Host": host.replace("127.0.0.1", "localhost")})[0] == 200
    assert get(server, "", {"Origin": "http://evil.example"})[0] == 403
    assert get(server, "", {"Origin": "null"})[0] == 403
    assert get(server, "", {"Host": host.replace("127.0.0.1", "evil.example")})[0] == 403
    assert get(server, "", {"Host": "127.0.0.1"})[0] == 403
    for origin in ("http://evil.example", "null", f"https://{host}", None):
        with pytest.raises(InvalidStatus, match="403"):
            open_socket(server, origin=origin)
    with open_socket(server) as connection:
        ask(connection, kind="digest")
        assert answer(connection) == {"kind": "answer", "id": 7, "value": ""}


def test_the_page_is_marked_and_nothing_outside_it_is_sent(start: Callable[..., serve.Server]) -> None:
    server = start()
    _, body, headers = get(server, "")
    assert f'<head><meta name="narrows-server" content="{urlsplit(server.address).path}">'.encode() in body
    policy = headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    digest = base64.b64encode(hashlib.sha256(b"\nlet a;").digest()).decode()
    assert re.search(r"script-src ([^;]*)", policy)[1] == f"'self' blob: 'wasm-unsafe-eval' 'sha256-{digest}'"  # type: ignore[index]
    assert headers["referrer-policy"] == "no-referrer"
    status, body, headers = get(server, "assets/engine.wasm")
    assert (status, body, headers["content-type"]) == (200, b"\0asm", "application/wasm")
    # A worker has the policy of its script, and runs a user's control.
    _, _, headers = get(server, "assets/worker.js")
    assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self' blob:")
    assert "connect-src" not in headers["content-security-policy"], "connections follow default-src"
    for path in ("../secret.txt", "%2e%2e/secret.txt", "assets/../../secret.txt", "assets", "absent.js", "a%00b"):
        assert get(server, path)[0] == 404, path
    told = json.loads(get(server, "session.json")[1])
    assert told["opened"] is None


def test_a_run_is_equal_to_that_of_the_command_line_to_the_bit(start: Callable[..., serve.Server]) -> None:
    text = dumbbell()
    run = nw.run(Scenario.from_text(text))
    with open_socket(start()) as connection:
        ask(connection, kind="run", toml=text, path="scenario.toml", number=0)
        header, tables = answer(connection)
        ask(connection, kind="digest")
        assert answer(connection)["value"] == run.digest
    assert (header["data"]["events"], header["data"]["packets"]) == (run.events, run.packets)
    assert header["data"]["names"]["flows"] == [flow.name for flow in run.flows]
    for kind in ("flow", "queue"):
        frame = run.samples.frame(kind)
        made = tables[f"{kind}s"]
        assert len(made["time_ns"]) == len(frame) > 100
        assert np.array_equal(made["time_ns"] / 1e9, frame["time_s"])
        for name in set(frame.columns) - {"run", "time_s", "kind", "name"}:
            assert np.array_equal(made[name], frame[name].to_numpy(dtype=float, na_value=np.nan), equal_nan=True), name
    assert [*tables["flow_totals"]["sent_bytes"]] == [flow.sent_bytes for flow in run.flows]
    assert np.isnan(tables["flow_totals"]["finished_ns"]).all()


def test_problems_are_those_of_the_command_line(start: Callable[..., serve.Server]) -> None:
    text = dumbbell(**{"10 Mb/s": "10 kg"})
    with pytest.raises(nw.ScenarioError) as refused:
        Scenario.from_text(text, "mine.toml")
    with open_socket(start()) as connection:
        ask(connection, kind="run", toml=text, path="mine.toml", number=0)
        told = answer(connection)
    assert (told["kind"], told["stopped"]) == ("failed", False)
    (problem,) = refused.value.problems
    assert told["problems"] == [
        {
            "path": "mine.toml",
            "line": problem.line,
            "field": problem.field,
            "value": problem.value,
            "allowed": problem.allowed,
            "message": problem.message,
        }
    ]


def test_messages_that_are_wrong_are_answered_and_the_connection_stays(start: Callable[..., serve.Server]) -> None:
    with open_socket(start()) as connection:
        for message, told in (
            ({"kind": "fly"}, "kind: is 'fly'; allowed: stop, run"),
            ({"kind": []}, "kind: is []; allowed: stop, run"),
            ({"kind": "run", "path": "x"}, "toml: is None"),
            ({"kind": "run", "toml": "", "path": "x", "number": -1}, "number is -1; allowed: 0 to"),
            ({"kind": "run", "toml": "", "path": "x", "number": "1"}, "number: is '1'"),
            ({"kind": "run", "toml": dumbbell(), "path": "x", "own": [{}]}, "own: a control written on the page"),
            ({"kind": "run", "toml": 'links = [{rate = {trace = "/etc/passwd"}}]', "path": "x"}, "is no file of this"),
            ({"kind": "open", "name": "/etc"}, "/etc: is not in the list of results"),
            ({"kind": "open", "name": "\udcff"}, "\udcff: is not in the list of results"),
            ({"kind": "open", "name": "x", "arm": "y"}, "arm: is 'y'; allowed: 0 to 1"),
            ({"kind": "save", "directory": "absent/x", "toml": "y"}, "this is not TOML"),
            ({"kind": "save", "directory": " ", "toml": "y"}, "directory: is ''; allowed: a new directory"),
            ({"kind": "save", "directory": "a\0b", "toml": "y"}, "directory: is 'a\\x00b'; allowed"),
            ({"kind": "save", "directory": "~nobody-of-that-name/x", "toml": "y"}, "no such user"),
        ):
            ask(connection, **message)
            failed = answer(connection)
            assert failed["kind"] == "failed"
            assert told in failed["message"]
        for broken in ("", "[]", "{", "[" * 100_000, b"{}"):
            connection.send(broken)
            assert json.loads(connection.recv(timeout=PATIENCE_S))["kind"] == "failed"
        ask(connection, kind="digest")
        assert answer(connection)["kind"] == "answer"


@pytest.mark.live
def test_a_run_reports_progress_and_stops_within_a_second(start: Callable[..., serve.Server]) -> None:
    server = start()
    pace.prompt(lambda: stopped(server), 1.0)


def stopped(server: serve.Server) -> float:
    """Stop a run that has reported its progress, and return how long that takes, s."""
    text = dumbbell(**{'duration = "12 s"': LONG})
    with open_socket(server) as connection:
        ask(connection, kind="run", toml=text + '\n[sampling]\ninterval = "1 s"\n', path="x", number=0)
        fractions: list[float] = []
        while len(fractions) < 3:
            told = json.loads(connection.recv(timeout=PATIENCE_S))
            assert told["kind"] == "progress", told
            fractions.append(told["fraction"])
        assert fractions == sorted(fractions)
        assert 0 < fractions[-1] < 1
        began = time.monotonic()
        ask(connection, kind="stop")
        told = answer(connection)
        assert told["stopped"] is True
        return time.monotonic() - began


def test_a_fault_of_the_server_ends_the_request_alone(
    start: Callable[..., serve.Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    class PanicError(BaseException):
        pass

    def fails(error: BaseException) -> Callable[..., bytes]:
        def run(*_: object) -> bytes:
            raise error

        return run

    for error, told in ((KeyError("x"), "the server failed: KeyError('x')"), (PanicError("y"), "the engine failed: y")):
        monkeypatch.setattr("narrows.ui.bench.Bench.run", fails(error))
        with open_socket(start()) as connection:
            ask(connection, kind="run")
            assert answer(connection)["message"] == told
            ask(connection, kind="digest")
            assert answer(connection)["value"] == ""


def test_stopping_is_heard_while_a_digest_waits_for_the_run(start: Callable[..., serve.Server]) -> None:
    with open_socket(start()) as connection:
        ask(connection, kind="run", toml=dumbbell(**{'duration = "12 s"': LONG}), path="x", number=0)
        ask(connection, kind="digest")
        ask(connection, kind="stop")
        assert [answer(connection)["stopped"] for _ in range(2)] == [True, True]


def test_a_new_run_replaces_the_one_under_way(start: Callable[..., serve.Server]) -> None:
    with open_socket(start()) as connection:
        ask(connection, kind="run", toml=dumbbell(**{'duration = "12 s"': LONG}), path="x", number=0)
        connection.send(json.dumps({"id": 7, "kind": "run", "toml": dumbbell(), "path": "x", "number": 0}))
        assert answer(connection)["stopped"] is True
        header, _ = answer(connection)
        assert header["data"]["events"] > 0


def test_a_save_that_a_run_replaces_says_so_and_writes_nothing(
    start: Callable[..., serve.Server], tmp_path: Path
) -> None:
    long = dumbbell(**{'duration = "12 s"': LONG})
    with open_socket(start()) as connection:
        ask(connection, kind="save", toml=long, directory=str(tmp_path / "saved"))
        ask(connection, kind="run", toml=dumbbell(), path="x", number=0)
        told = answer(connection)
        assert (told["message"], told["stopped"]) == ("saving was stopped; nothing was written", True)
        assert answer(connection)[0]["kind"] == "done"
    assert [path.name for path in tmp_path.iterdir() if "saved" in path.name] == []


def test_two_connections_run_at_the_same_time(start: Callable[..., serve.Server]) -> None:
    server = start()
    with open_socket(server) as first, open_socket(server) as second:
        ask(first, kind="run", toml=dumbbell(**{'duration = "12 s"': LONG}), path="x", number=0)
        ask(second, kind="run", toml=dumbbell(), path="x", number=0)
        header, _ = answer(second)
        assert header["kind"] == "done"
        ask(first, kind="stop")
        assert answer(first)["stopped"] is True


def test_the_files_of_a_scenario_go_to_the_page_and_are_found_by_runs(
    start: Callable[..., serve.Server], tmp_path: Path
) -> None:
    bundled = nw.Scenario.load("cellular")
    folder = tmp_path / "mine"
    folder.mkdir()
    text = bundled.text.replace("traces/cellular.trace", "own.trace").replace("60 s", "12 s")
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    (folder / "own.trace").write_text("1\n2\n5\n", encoding="utf-8")
    server = start(str(folder / "mine.toml"))
    told = json.loads(get(server, "session.json")[1])["opened"]
    assert told == {"kind": "scenario", "name": "mine.toml", "toml": text, "files": ["own.trace"]}
    _, content, headers = get(server, "files/0")
    assert (content, headers["content-type"]) == (b"1\n2\n5\n", "application/octet-stream")
    assert get(server, "files/1")[0] == 404
    with open_socket(server) as connection:
        ask(connection, kind="run", toml=text, path="scenario.toml", number=0)
        header, _ = answer(connection)
        assert header["data"]["events"] == nw.run(folder / "mine.toml").events
        ask(connection, kind="run", toml=bundled.text.replace("60 s", "12 s"), path="scenario.toml", number=0)
        assert answer(connection)[0]["kind"] == "done"


@pytest.mark.parametrize(
    "rate",
    [
        '{ trace = "other.trace" }',
        pytest.param('{\n trace = "other.trace",\n }', id="TOML 1.1"),
        pytest.param("{\n 'trace' = 'other.trace',\n }", id="TOML 1.1, quoted"),
    ],
)
def test_files_of_neither_folder_are_refused(rate: str) -> None:
    with pytest.raises(InputError, match=r"other\.trace: is no file of this page; allowed: traces/cellular\.trace"):
        Files().directory(f"links = [{{ rate = {rate} }}]")


def test_a_file_cannot_be_named_by_escapes_that_only_the_engine_reads() -> None:
    for line in (r'"tr\u0061ce" = "other.trace"', r'trace = "\u006fther.trace"', 'trace = """other.trace"""'):
        with pytest.raises(InputError, match="is no file of this page"):
            Files().directory(f"links = [{{ rate = {{\n {line},\n }} }}]")


def test_a_fault_in_a_file_is_not_ascribed_to_the_text(start: Callable[..., serve.Server], tmp_path: Path) -> None:
    text = nw.Scenario.load("cellular").text.replace("traces/cellular.trace", "own.trace")
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    (tmp_path / "own.trace").write_text("1\n2\n5\n", encoding="utf-8")
    server = start(str(tmp_path / "mine.toml"))
    (tmp_path / "own.trace").write_text("1\nx\n", encoding="utf-8")
    with pytest.raises(nw.ScenarioError) as refused:
        Scenario.from_file(tmp_path / "mine.toml")
    with open_socket(server) as connection:
        for path in ("scenario.toml", "../elsewhere/scenario.toml", ""):
            ask(connection, kind="run", toml=text, path=path, number=0)
            (problem,) = answer(connection)["problems"]
            assert (problem["path"], problem["line"]) == (str(tmp_path / "own.trace"), 2)
            assert problem["message"] == refused.value.problems[0].message


def test_results_are_listed_and_read(start: Callable[..., serve.Server], tmp_path: Path) -> None:
    scenario = Scenario.from_text(dumbbell(), overrides={"sampling": {"interval": "50 ms", "state": True}})
    batch = nw.run(scenario, runs=2)
    batch.save(tmp_path / "results" / "two")
    server = start(str(tmp_path / "results" / "two"))
    listed = json.loads(get(server, "results.json")[1])
    assert listed == {
        "results": [{"name": "results/two", "kind": "run", "page": False, "number": 1}],
        "complete": True,
    }
    with open_socket(server) as connection:
        ask(connection, kind="open", name="results/two", number=1)
        header, tables = answer(connection)
        ask(connection, kind="open", name="results/two", number=2)
        assert "has no run 2; allowed: 0 to 1" in answer(connection)["message"]
        ask(connection, kind="save", toml=header["data"]["recorded"]["toml"], directory=str(tmp_path / "copy"))
        assert "results/two: these results were read from there" in answer(connection)["message"]
        assert not (tmp_path / "copy").exists()
    told = header["data"]["recorded"]
    assert (told["runs"], told["live"], told["doubts"]) == (2, False, [])
    comment, _, rest = told["toml"].partition("\n")
    assert comment.startswith("# Recorded results: results/two, run 2 of 2.")
    assert Scenario.from_text(rest).to_toml() == batch.runs[1].scenario.to_toml()
    compare_with_engine(batch.runs[1], header, tables)


def test_results_whose_names_are_not_utf_8_are_listed_and_shown(
    start: Callable[..., serve.Server], tmp_path: Path
) -> None:
    name = "caf\udce9"  # Latin-1, as Python represents it
    try:
        (tmp_path / name).mkdir()
    except OSError:
        pytest.skip("this file system has names in UTF-8 alone")
    (tmp_path / name / "report.html").write_text("<p>a page", encoding="utf-8")
    server = start()
    (listed,) = json.loads(get(server, "results.json")[1])["results"]
    assert (listed["name"], listed["kind"]) == (name, "page")
    assert get(server, f"result/{listed['number']}/report.html")[1] == b"<p>a page"
    with open_socket(server) as connection:
        ask(connection, kind="open", name=name)
        assert "holds a page, which its page shows" in answer(connection)["message"]


def compare_with_engine(run: Run, header: dict[str, Any], tables: dict[str, dict[str, Any]]) -> None:
    """Compare a run that was read from a directory with what the engine yields for it."""
    from narrows import _core

    result = _core.run(run.scenario.core, run.seed, run.index, None, None, {})
    native = data.of_result(result)
    assert header["data"]["names"] == native.names
    assert header["data"]["step"] == 1
    listed = {(one["owner"], one["index"], one["algorithm"], one["variable"]) for one in header["data"]["series"]}
    assert listed == {(one["owner"], one["index"], one["algorithm"], one["variable"]) for one in native.series}
    order = [next(i for i, other in enumerate(native.series) if other == one) for one in header["data"]["series"]]
    for table in native.tables:
        if table.name in {"flows", "queues", "routers", "state"}:
            for (name, *_), column in zip(table.described, table.columns, strict=True):
                made = tables[table.name][name]
                if name == "series":
                    made = np.array(order, dtype=float)[made.astype(int)]
                assert np.array_equal(made, column, equal_nan=True), (table.name, name)
        if table.name in {"flow_totals", "queue_totals"}:
            for (name, *_), column in zip(table.described, table.columns, strict=True):
                if name in tables[table.name] and name not in {"busy_ns", "unsent_bytes", "capacity_bits"}:
                    made = tables[table.name][name]
                    exact = name not in {"stop_ns", "rtt_sum_ns", "delay_sum_ns", "delay_samples", "max_bin_bytes"}
                    assert np.allclose(made, column, rtol=0 if exact else 2e-2, atol=0, equal_nan=True), name


def test_both_arms_of_a_comparison_are_read(one: Run, tmp_path: Path) -> None:
    comparisons.write(Comparison(Arm("simulated", one), Arm("live", one)), tmp_path / "both")
    found = entry(tmp_path / "both", "both")
    assert found is not None
    assert found.kind == "comparison"
    for arm, label in enumerate(("simulated", "live")):
        made, told = opened.read(found, arm)
        assert told["toml"].startswith(f"# Recorded results: both, {label}. ")
        assert made.events == one.events


def test_damaged_results_are_reported(one: Run, tmp_path: Path) -> None:
    one.save(tmp_path / "out")
    found = entry(tmp_path / "out", "out")
    assert found is not None
    (tmp_path / "out" / "samples.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="out: is damaged"):
        opened.read(found)
    (tmp_path / "out" / "summary.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be read"):
        opened.read(found)


def test_pages_of_results_are_sent_as_of_another_origin(start: Callable[..., serve.Server], tmp_path: Path) -> None:
    folder = tmp_path / "sweep"
    folder.mkdir()
    (folder / "sweep.json").write_text("{}", encoding="utf-8")
    (folder / "report.html").write_text("<p>a sweep", encoding="utf-8")
    (folder / "out").symlink_to(tmp_path / "secret.txt")
    server = start()
    (listed,) = json.loads(get(server, "results.json")[1])["results"]
    assert (listed["kind"], listed["page"]) == ("sweep", True)
    status, body, headers = get(server, f"result/{listed['number']}/report.html")
    assert (status, body) == (200, b"<p>a sweep")
    assert headers["content-security-policy"].startswith("sandbox allow-scripts")
    assert "allow-same-origin" not in headers["content-security-policy"]
    for path in ("../secret.txt", "%2e%2e/secret.txt", "out", "absent.html"):
        assert get(server, f"result/{listed['number']}/{path}")[0] == 404, path
    assert get(server, "result/99/report.html")[0] == 404
    with open_socket(server) as connection:
        ask(connection, kind="open", name="sweep")
        assert "holds a sweep, which its page shows" in answer(connection)["message"]


def test_a_result_is_saved_as_the_command_line_does_and_nothing_is_overwritten(
    start: Callable[..., serve.Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    text = dumbbell()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine", encoding="utf-8")
    before = sorted(tmp_path.rglob("*"))
    with open_socket(start()) as connection:
        ask(connection, kind="run", toml=text, path="scenario.toml", number=0)
        answer(connection)
        assert sorted(tmp_path.rglob("*")) == before
        ask(connection, kind="save", toml=text, directory="mine")
        assert "mine: holds something other than results and is left unchanged" in answer(connection)["message"]
        assert sorted(tmp_path.rglob("*")) == before
        ask(connection, kind="save", toml=text, directory="new")
        assert answer(connection) == {"kind": "answer", "id": 7, "value": "new"}
        ask(connection, kind="save", toml=text, directory="~/results")
        assert answer(connection)["value"] == str(tmp_path / "home" / "results")
        other = text.replace("50 packets", "40 packets")
        ask(connection, kind="save", toml=other, directory="browser")
        assert answer(connection)["value"] == "browser"
    assert nw.load("browser").digest == nw.run(Scenario.from_text(other)).digest
    nw.run(Scenario.from_text(text, "scenario.toml")).save("beside")
    for name in ("scenario.toml", "summary.json", "samples.parquet"):
        assert (tmp_path / "new" / name).read_bytes() == (tmp_path / "beside" / name).read_bytes(), name


def test_long_tables_are_thinned_alike_for_every_flow(
    one: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from narrows import _core

    result = _core.run(one.scenario.core, one.seed, 0, None, None, {})
    whole = data.of_result(result)
    rows = sum(table.rows for table in whole.tables if table.name in data.SAMPLED)
    monkeypatch.setattr(data, "MOST_ROWS", rows // 4 + 1)
    thin = data.of_result(result)
    assert (whole.step, thin.step) == (1, 4)
    for before, after in zip(whole.tables, thin.tables, strict=True):
        if before.name not in {"flows", "queues"}:
            continue
        for number in set(before.columns[1]):
            kept = [column[before.columns[1] == number][::4] for column in before.columns]
            made = [column[after.columns[1] == number] for column in after.columns]
            assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(kept, made, strict=True))
    one.save(tmp_path / "out")
    found = entry(tmp_path / "out", "out")
    assert found is not None
    read, _ = opened.read(found)
    assert [table.rows for table in read.tables if table.name == "flows"] == [
        table.rows for table in thin.tables if table.name == "flows"
    ]


def test_a_frame_is_laid_out_as_documented() -> None:
    header = {"kind": "done", "id": 1, "data": {"tables": [{"name": "t", "rows": 2, "columns": [{"name": "x"}]}]}}
    frame = frames.pack(header, [np.array([1.0, np.nan])])
    (length,) = struct.unpack_from("<I", frame)
    assert (4 + length) % 8 == 0
    assert struct.unpack_from("<2d", frame, 4 + length)[0] == 1.0
    read, tables = frames.unpack(frame)
    assert read == header
    assert np.isnan(tables["t"]["x"][1])


def test_the_walk_for_results_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        folder = tmp_path / f"r{number}"
        folder.mkdir()
        (folder / "report.html").touch()
    (tmp_path / "loop").symlink_to(tmp_path)
    entries, complete = Listing(tmp_path).walk()
    assert (len(entries), complete) == (6, True)
    monkeypatch.setattr("narrows.ui.listing.MOST_DIRECTORIES", 3)
    entries, complete = Listing(tmp_path).walk()
    assert (len(entries), complete) == (2, False)


def test_a_missing_page_says_how_to_build_it(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="`make setup` builds it where npm is installed"):
        serve.start(opened.find(None), page=tmp_path)


def narrows(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*NARROWS, "ui", *arguments], capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def test_bad_input_ends_with_a_message_and_no_server(tmp_path: Path) -> None:
    empty = narrows(str(tmp_path))
    assert (empty.returncode, empty.stdout) == (2, "")
    assert "is a directory without results; allowed: a scenario, or a directory of results" in empty.stderr
    absent = narrows("absent.toml")
    assert (absent.returncode, absent.stdout) == (2, "")
    assert "no such file" in absent.stderr
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match=rf"--port {taken.getsockname()[1]}: cannot be used: Address already in"):
            serve._listener(taken.getsockname()[1])
    assert narrows("--port", "70000").returncode == 2


@pytest.mark.live
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_at_once_also_during_a_run(number: signal.Signals, page: Path, tmp_path: Path) -> None:
    pace.prompt(lambda: server_ended(number, page, tmp_path), 3.0)


def server_ended(number: signal.Signals, page: Path, tmp_path: Path) -> float:
    """Send a signal to a server that executes a run, and return how long it takes to end, s."""
    program = (
        "import sys; from pathlib import Path; import narrows.ui.app as app; app.PAGE = Path(sys.argv.pop(1)); "
        "sys.argv[0] = 'narrows'; from narrows.cli import main; main()"
    )
    command = [sys.executable, "-c", program, str(page), "ui", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with open_socket(address) as connection:
            ask(connection, kind="run", toml=dumbbell(**{'duration = "12 s"': LONG}), path="x", number=0)
            assert json.loads(connection.recv(timeout=PATIENCE_S))["kind"] == "progress"
            began = time.monotonic()
            process.send_signal(number)
            _, told = process.communicate(timeout=PATIENCE_S)
            took = time.monotonic() - began
    assert process.returncode == 128 + number
    assert told.endswith("error: interrupted\n")
    assert "Traceback" not in told
    return took


def test_a_browser_in_the_terminal_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    class Windows(webbrowser.BaseBrowser):
        def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:  # noqa: ARG002
            opened.append(url)
            return True

    def absent() -> webbrowser.BaseBrowser:
        raise webbrowser.Error

    monkeypatch.setattr(webbrowser, "get", absent)
    assert serve.show("http://127.0.0.1/") is False
    monkeypatch.setattr(webbrowser, "get", lambda: webbrowser.GenericBrowser("w3m"))
    assert serve.show("http://127.0.0.1/") is False
    monkeypatch.setattr(webbrowser, "get", Windows)
    assert serve.show("http://127.0.0.1/") is True
    assert opened == ["http://127.0.0.1/"]


def test_missing_packages_are_named_with_the_command_that_installs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "find_spec", lambda name: None if name == "uvicorn" else object())
    with pytest.raises(UnavailableError, match=r"narrows ui needs uvicorn: pip install 'narrows\[ui\]'") as raised:
        serve.check()
    assert raised.value.exit_code == 3
