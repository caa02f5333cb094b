"""The process that evaluates assertions of scripts: restricted Python, one script a line of JSON.

`narrows.studies.packetdrill.assertions` starts this file as a program, so that nothing else of Narrows is loaded, and
ends it if it takes too long. Only assignments, expressions, ``assert``, ``if`` and ``print`` are allowed: nothing that
repeats, imports, defines or opens.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import TYPE_CHECKING, Any

from asteval import Interpreter

if TYPE_CHECKING:
    import ast

MEMORY = 512 << 20
"""Most memory of the process, bytes; a format such as ``'%0999999999d'`` ends in an error of its statement."""

_MOST_OUTPUT = 10_000
"""Most characters that ``print`` may write for one script."""


class _Output:
    """Collects what ``print`` writes, up to a limit."""

    def __init__(self) -> None:
        self.text = ""

    def write(self, text: str) -> int:
        self.text = (self.text + text)[:_MOST_OUTPUT]
        return len(text)

    def flush(self) -> None:
        """Do nothing; print calls it."""


def evaluate(pieces: list[dict[str, Any]], constants: dict[str, int]) -> dict[str, Any]:
    """Evaluate the code of a script, piece by piece, until one fails.

    Parameters
    ----------
    pieces : list of dict
        ``code``, and ``values``: what its names mean when it runs. Names that code assigns stay for later pieces.
    constants : dict
        Names of all pieces.

    Returns
    -------
    dict
        ``failed`` (index of the piece that failed, or ``None``), ``why`` (in a sentence), ``printed``, and ``false``:
        whether an assertion is false; otherwise the code could not be evaluated.
    """
    output = _Output()
    inside = Interpreter(
        minimal=True,
        use_numpy=False,
        max_statement_length=20_000,
        config=dict.fromkeys(("assert", "augassign", "if", "ifexp", "print"), True),
        writer=output,
        err_writer=output,
    )

    def on_assert(node: ast.Assert) -> None:
        # The library's own takes no message but a literal.
        if not inside.run(node.test):
            message = "" if node.msg is None else str(inside.run(node.msg))
            inside.raise_exception(node, exc=AssertionError, msg=message)

    inside.node_handlers["assert"] = on_assert
    for name in ("open", "dir", "type"):
        inside.symtable.pop(name, None)
    inside.symtable.update(constants)
    for index, piece in enumerate(pieces):
        inside.symtable.update(piece["values"])
        inside.error = []
        try:
            inside.eval(_complete(piece["code"]), raise_errors=False, show_errors=False)
        except MemoryError:
            return {"failed": index, "why": "needs too much memory", "printed": output.text, "false": False}
        if inside.error:
            why, false = _told(inside.error[0])
            return {"failed": index, "why": why, "printed": output.text, "false": false}
    return {"failed": None, "why": "", "printed": output.text, "false": False}


def _complete(code: str) -> str:
    """Return `code` as Python reads it in a file: a backslash at its end continues into an empty line."""
    text = code.strip()
    while text.endswith("\\"):
        text = text[:-1].rstrip()
    return text


def _told(error: Any) -> tuple[str, bool]:
    """Return the reason for an error, and whether it is an assertion that is false."""
    name, text = error.get_error()
    last = text.strip().splitlines()[-1]
    message = last.split(": ", 1)[1] if ": " in last else ""
    if name == "AssertionError":
        return f"is false ({message})" if message else "is false", True
    if name == "NotImplementedError":
        return f"has a statement that is not allowed: {message.removesuffix(' not supported')}", False
    if name == "MemoryError":
        return "needs too much memory", False
    return f"cannot be evaluated: {name}: {message}", False


def main() -> None:
    """Answer requests, a line of JSON each, until standard input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin:
        request = json.loads(line)
        answer = evaluate(request["pieces"], request["constants"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
