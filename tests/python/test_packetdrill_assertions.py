"""Assertions of packetdrill scripts: restricted Python in a process of its own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from narrows.studies.packetdrill.assertions import Evaluator, InterpreterError, Piece

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def evaluator() -> Iterator[Evaluator]:
    with Evaluator() as made:
        yield made


def why(evaluator: Evaluator, code: str, **values: int) -> str:
    return evaluator.verdict([Piece(1, code, values)]).why


def test_values_of_tcp_info_and_names_of_linux_are_known(evaluator: Evaluator) -> None:
    assert not why(evaluator, "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd", tcpi_snd_cwnd=10)
    assert why(evaluator, "assert tcpi_snd_cwnd == 10, tcpi_snd_cwnd", tcpi_snd_cwnd=9) == "is false (9)"
    assert why(evaluator, "assert 1 <= tcpi_rtt <= 2, 'srtt=%d us' % tcpi_rtt", tcpi_rtt=3) == "is false (srtt=3 us)"
    assert not why(evaluator, "assert (tcpi_options & TCPI_OPT_SYN_DATA) != 0", tcpi_options=32)
    assert not why(evaluator, "assert tcpi_ca_state == TCP_CA_Recovery", tcpi_ca_state=3)
    assert not why(evaluator, "assert tcpi_state == TCP_CLOSE", tcpi_state=7)


def test_names_that_code_assigns_stay_for_later_pieces(evaluator: Evaluator) -> None:
    pieces = [
        Piece(3, "cwnd = 10", {}),
        Piece(5, "print(cwnd); cwnd += 1; assert tcpi_snd_cwnd == cwnd", {"tcpi_snd_cwnd": 11}),
        Piece(9, "cwnd += 1; assert tcpi_snd_cwnd == cwnd, tcpi_snd_cwnd", {"tcpi_snd_cwnd": 11}),
    ]
    made = evaluator.verdict(pieces)
    assert made.failed == pieces[2]
    assert (made.why, made.printed) == ("is false (11)", "10\n")
    assert why(evaluator, "assert cwnd == 10").startswith("cannot be evaluated: NameError"), "of another script"


def test_lines_may_be_continued(evaluator: Evaluator) -> None:
    assert why(evaluator, "assert 1 <= 2; \\\n\t assert 2 <= 1, 'x'; \\\n ") == "is false (x)"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("while True: pass", "has a statement that is not allowed: While"),
        ("for i in (1, 2): pass", "has a statement that is not allowed: For"),
        ("[x for x in (1, 2)]", "has a statement that is not allowed: ListComp"),
        ("import os", "has a statement that is not allowed: Import"),
        ("def f(): pass", "has a statement that is not allowed: FunctionDef"),
        ("open('a')", "cannot be evaluated: NameError"),
        ("().__class__.__bases__", "cannot be evaluated: AttributeError"),
        ("9 ** 9 ** 9", "cannot be evaluated: RuntimeError"),
        ("'%09999999999d' % 1", "needs too much memory"),
        ("assert (", "cannot be evaluated: SyntaxError"),
    ],
)
def test_code_that_repeats_imports_or_opens_is_refused(evaluator: Evaluator, code: str, reason: str) -> None:
    assert why(evaluator, code).startswith(reason)
    assert not why(evaluator, "assert True"), "the process still serves"


def test_code_that_takes_too_long_is_ended() -> None:
    long = "x = 3 ** 9999; " + "x = str(x * x) and x; " * 500
    with Evaluator(limit_s=0.05) as brief:
        made = brief.verdict([Piece(2, "y = 1", {}), Piece(7, long, {})])
        assert made.failed is not None
        assert made.why == "takes longer than 0.05 s"


def test_a_missing_interpreter_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with Evaluator() as lost, pytest.raises(InterpreterError, match="/nowhere/python") as told:
        lost.verdict([Piece(1, "assert True", {})])
    assert told.value.exit_code == 3
