"""The verbs of the command line, and how one is loaded: only when it is called.

Loading all of them, and the library that draws boxes, takes longer than any help should.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperGroup

if TYPE_CHECKING:
    from collections.abc import MutableMapping


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb, and where its function is.

    Attributes
    ----------
    name : str
        As it is typed.
    summary : str
        First paragraph of its help. A test holds it to the function's docstring.
    module : str
        Module of `narrows.cli`; by default of the verb's name.
    function : str
        Name of the function in it; by default the verb's name.
    example : str
        Name of the text in it that ends the help.
    cls : str
        Name of the command's class in it; empty for the usual one.
    """

    name: str
    summary: str
    module: str = ""
    function: str = ""
    example: str = "EXAMPLE"
    cls: str = ""

    def register(self, app: typer.Typer) -> None:
        """Load the verb, and add it to an app.

        Parameters
        ----------
        app : typer.Typer
        """
        module = import_module(f"narrows.cli.{self.module or self.name}")
        cls = getattr(module, self.cls) if self.cls else None
        app.command(self.name, epilog=getattr(module, self.example), cls=cls)(
            getattr(module, self.function or self.name)
        )


VERBS: Final = (
    Verb("init", "Write a commented first scenario, ready to run."),
    Verb("run", "Run a scenario and print a summary; with -o, keep everything in a directory."),
    Verb(
        "live",
        "Run a scenario on this machine's own TCP stack, in real time, through Narrows' own bottleneck.",
        cls="ExecCommand",
    ),
    Verb(
        "shell",
        "Open a shell on a host of the emulated network. The network ends with the shell.",
        module="live",
        example="SHELL_EXAMPLE",
    ),
    Verb("reproduce", "Repeat a paper's experiments and compare published with measured values."),
    Verb(
        "sweep",
        "Run a scenario over axes (any of its values) and seeds, and keep every finished run in one Parquet data set.",
    ),
    Verb(
        "contest", "Run every congestion control against every other, and compare shares, harm and times to converge."
    ),
    Verb("aqm", "Run every queue discipline on the scenarios of RFC 7928, and compare delay and goodput."),
    Verb("check", "Run test cases: scenarios with a timeline of steps, and expectations that are judged."),
    Verb(
        "evaluate",
        "Evaluate a congestion control by the criteria of RFC 9743: met, not met or undecided, each with its interval.",
    ),
    Verb("trace", "Make a trace of deliveries from a capture or a run, draw it, or show what a trace holds."),
    Verb(
        "packetdrill",
        "Run packetdrill scripts: system calls and packets against Narrows' TCP in virtual time, or against the "
        "kernel.",
    ),
    Verb(
        "audit",
        "Compute every command of ACNS or value of NGWA again from captures, and compare it with what routers wrote.",
    ),
    Verb(
        "validate",
        "Run variants of TCP on Narrows and on ns-2, on Linux in virtual time or on this machine's own TCP, and "
        "compare.",
    ),
    Verb("verify", "Run the bundled scenarios, and compare their digests with those listed for this version."),
    Verb(
        "compare", "Compare two or more results with the first: every metric, its difference, and an interval of that."
    ),
    Verb("report", "Write one page of results that works offline, with its figures as PNG and SVG beside it."),
    Verb(
        "export",
        "Write tables as CSV or LaTeX, figures as PDF, SVG, PNG or TikZ, and packets, from any directory of results.",
    ),
    Verb("ui", "Serve the laboratory's page on this machine, with the native engine behind it, until Ctrl-C."),
    Verb(
        "list",
        "List the names that a scenario can use, with parameters and sources, or the bundled scenarios.",
        module="catalogue",
        function="catalogue",
    ),
    Verb(
        "explain",
        "Explain an algorithm: idea, sources, state, parameters, how RFC, Linux, ns-2 and ns-3 differ, limits.",
    ),
    Verb("show", "Print a scenario as TOML with every default shown: a scenario file that means the same."),
    Verb("schema", "Print the JSON Schema of scenario files, for editors that check and complete TOML."),
    Verb(
        "kernels",
        "List the kernels that virtual machines can run, with what each has; add one, remove one, or build a module.",
    ),
    Verb(
        "attach",
        "Register a congestion control on this host as an eBPF program; any program can then select it by name.",
    ),
    Verb(
        "detach",
        "Remove a congestion control that `narrows attach` registered. Its connections keep it until they close.",
        module="attach",
        example="DETACH_EXAMPLE",
    ),
    Verb("doctor", "Show which live features this machine supports; for each unsupported one, the reason and the fix."),
)
"""All verbs, in the order of the help."""

_BY_NAME: Final = {verb.name: verb for verb in VERBS}


class Verbs(TyperGroup):
    """The group of all verbs: it loads one when that is called, and none to list them."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        # Typer suggests from the keys if a verb is misspelled.
        self.commands: MutableMapping[str, Any] = dict.fromkeys(_BY_NAME)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all verbs."""
        del ctx
        return list(_BY_NAME)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a verb; ``None`` if there is none of that name."""
        del ctx
        if cmd_name not in _BY_NAME:
            return None
        alone = typer.Typer(add_completion=False)
        _BY_NAME[cmd_name].register(alone)
        return typer.main.get_command(alone)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help as plain text."""
        self.format_usage(ctx, formatter)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs and their summaries."""
        del ctx
        with formatter.section("Verbs"):
            formatter.write_dl([(verb.name, verb.summary) for verb in VERBS])
