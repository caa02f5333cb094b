"""The man page narrows.1, made from the command line itself.

    python tools/manpage.py            # checks; exits with 1 and the differences if the page is out of date
    python tools/manpage.py --write    # writes it again

The page is in the wheel (``share/man/man1``), so ``man narrows`` finds it where the wheel is installed.
"""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import typer

from narrows.cli import app

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).resolve().parents[1]
PAGE: Final = ROOT / "packaging" / "data" / "share" / "man" / "man1" / "narrows.1"

EXIT: Final = (
    ("0", "Done."),
    ("1", "A run, or writing its results, failed; a validation found an unexplained difference; or a digest differs."),
    ("2", "Bad input: an option, a file, a scenario, or a directory that cannot be used."),
    ("3", "Not available on this machine, such as live runs; the message has the reason and the fix."),
    ("129, 130, 143", "SIGHUP, Ctrl-C or SIGTERM: the work was stopped, and what had finished is kept."),
)

ENVIRONMENT: Final = (
    ("NO_COLOR", "If set, messages have no colours."),
    ("TMPDIR", "Where samples that do not fit in memory go if a command has no directory for its results."),
    ("NARROWS_CACHE", "Directory for the kernels of virtual machines; by default ~/.cache/narrows."),
)

_BOLD: Final = re.compile(r"(``?[^`]+``?|(?<![\w-])--?[A-Za-z][\w-]*)")
"""Code, and options outside it."""


def escaped(text: str) -> str:
    """Return a text in roff, with nothing in it that roff would interpret."""
    text = text.replace("\\", "\\e")
    # A minus that is typed is not a hyphen: it can be copied and searched for.
    text = text.replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga").replace("^", "\\(ha")
    text = text.replace("~", "\\(ti").replace('"', "\\(dq")
    return "\n".join(f"\\&{line}" if line.startswith(".") else line for line in text.split("\n"))


def prose(text: str) -> str:
    """Return a paragraph in roff, with options and code in bold."""
    parts = _BOLD.split(" ".join(text.split()))
    bold = (f"\\fB{escaped(part.strip('`'))}\\fR" if index % 2 else escaped(part) for index, part in enumerate(parts))
    return "".join(bold)


def tagged(tag: str, text: str) -> list[str]:
    """Return an entry of a list: what it is about, and the text."""
    return [".TP", tag, text or "\\&"]


def paragraphs(text: str | None) -> list[str]:
    """Return the paragraphs of a help text; what is behind a form feed is for the source alone."""
    return [part for part in inspect.cleandoc(text or "").partition("\f")[0].split("\n\n") if part.strip()]


def option(one: Any) -> list[str]:
    """Return the entry of an option."""
    metavar = "" if one.is_flag else (one.metavar or one.name.upper())
    names = ", ".join(f"\\fB{escaped(name)}\\fR" for name in sorted(one.opts + one.secondary_opts, key=len))
    tag = f"{names} \\fI{escaped(metavar)}\\fR" if metavar else names
    default = one.default if isinstance(one.default, (str, int, float)) and not one.is_flag else None
    told = prose(one.help or "")
    return tagged(tag, told + (f" Default: {escaped(str(default))}." if default not in (None, "") else ""))


def usage(path: str, command: Any) -> str:
    """Return the synopsis of a command."""
    words = [f"\\fB{escaped(path)}\\fR"]
    if any(one.param_type_name == "option" for one in command.params):
        words.append("[\\fIoptions\\fR]")
    for one in command.params:
        if one.param_type_name == "argument":
            name = (one.metavar or one.name.upper()).strip("[]")
            name = name.replace("[", "").replace("]", "").removesuffix("...")
            word = f"\\fI{escaped(name)}\\fR" + ("..." if one.nargs == -1 else "")
            words.append(word if one.required else f"[{word}]")
    return " ".join(words)


def examples(command: Any) -> list[str]:
    """Return the examples at the end of a command's help."""
    lines = []
    for part in paragraphs(command.epilog):
        caption, colon, text = part.partition(": ")
        if colon and text:
            lines += tagged(f"{prose(caption)}:", f"\\fB{escaped(text)}\\fR")
    return lines


def verb(path: str, command: Any) -> Iterator[str]:
    """Yield the lines of a command, and of those below it."""
    yield f".SS {escaped(path.partition(' ')[2])}"
    yield usage(path, command)
    for part in paragraphs(command.help):
        yield from (".PP", prose(part))
    for one in command.params:
        if one.param_type_name == "argument" and getattr(one, "help", None):
            name = (one.metavar or one.name.upper()).replace("[", "").replace("]", "").removesuffix("...")
            yield from tagged(f"\\fI{escaped(name)}\\fR", prose(one.help))
    for one in command.params:
        if one.param_type_name == "option" and not one.hidden and one.name != "help":
            yield from option(one)
    yield from examples(command)
    for name, below in getattr(command, "commands", {}).items():
        if not below.hidden:
            yield from verb(f"{path} {name}", below)


def page() -> str:
    """Return the man page of this version's command line."""
    top: Any = typer.main.get_command(app)
    release = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [
        '.\\" Made by the command: python tools/manpage.py --write',
        f'.TH NARROWS 1 "" "narrows {release}" "User Commands"',
        ".SH NAME",
        "narrows \\- congestion-control laboratory: simulation and real Linux TCP",
        ".SH SYNOPSIS",
        "\\fBnarrows\\fR \\fIverb\\fR [\\fIoptions\\fR] [\\fIarguments\\fR]",
        ".br",
        "\\fBnarrows\\fR \\fIverb\\fR \\fB\\-\\-help\\fR",
        ".br",
        "\\fBnarrows \\-\\-version\\fR",
        ".SH DESCRIPTION",
        prose(top.help),
        ".PP",
        prose("Results go to standard output; progress, hints and errors go to standard error. One signal stops every "
              "verb within about a second and keeps what has finished."),
        ".SH VERBS",
    ]  # fmt: skip
    for name, command in top.commands.items():
        if not command.hidden:
            lines += verb(f"narrows {name}", command)
    lines += [".SH EXIT STATUS", *(line for code, text in EXIT for line in tagged(f"\\fB{code}\\fR", prose(text)))]
    lines.append(".SH ENVIRONMENT")
    lines += [line for name, text in ENVIRONMENT for line in tagged(f"\\fB{escaped(name)}\\fR", prose(text))]
    lines += [
        ".SH REPORTING BUGS",
        escaped(project["urls"]["Issues"]),
        ".SH COPYRIGHT",
        f"{escaped(project['authors'][0]['name'])}. Licence: {escaped(project['license'])}.",
        ".SH SEE ALSO",
        "\\fBtc\\fR(8), \\fBss\\fR(8), \\fBip\\-netns\\fR(8), \\fBtcp\\fR(7)",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Check the page, or write it."""
    parser = argparse.ArgumentParser(description="Hold the man page to the command line.")
    parser.add_argument("--write", action="store_true", help="write it again")
    write = parser.parse_args().write
    made = page()
    if write:
        PAGE.write_text(made, encoding="utf-8")
        return 0
    kept = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    told = difflib.unified_diff(kept.splitlines(), made.splitlines(), str(PAGE.relative_to(ROOT)), "now", lineterm="")
    sys.stdout.writelines(f"{line}\n" for line in told)
    return 0 if kept == made else 1


if __name__ == "__main__":
    sys.exit(main())
