"""The `allemande` command.

Every subcommand lives in a module of its own that is imported when it is called, so that `--help`
and the commands that run once per rank start quickly. A module offers either `app`, a `typer.Typer`
(a group, or one command with settings of its own), or `command`, a function typer understands.

Commands end early with `typer.Exit(code)`, or raise `allemande.errors.BadInput` (exit 2) and
`Failed` (exit 1): `allemande.entry` turns these into a message without a traceback.
Everything after `--` reaches a command untouched.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from allemande import __version__
from allemande.entry import exit_code_of

# name -> (module, help line), in the order `--help` lists them
COMMANDS: dict[str, tuple[str, str]] = {
    "demo": (
        "allemande.cli.demo",
        "Boot an emulated cluster, compare MPI_Alltoall with and without allemande.",
    ),
    "bench": (
        "allemande.cli.bench",
        "Measure MPI_Alltoall candidates side by side in an emulated cluster.",
    ),
    "examples": (
        "allemande.cli.examples",
        "Run real MPI programs in an emulated cluster, stock and preloaded.",
    ),
    "run": ("allemande.cli.run", "Run an MPI launcher with allemande preloaded in every rank."),
    "compare": (
        "allemande.cli.compare",
        "Run a program stock and with allemande preloaded, by turns, and compare.",
    ),
    "preload": ("allemande.cli.preload", "Print the library path for LD_PRELOAD."),
    "build-preload": (
        "allemande.cli.build_preload",
        "Build the library for LD_PRELOAD for the MPI library installed here.",
    ),
    "doctor": ("allemande.cli.doctor", "Check this machine; say what to set and how."),
    "lab": ("allemande.cli.lab", "Build and use clusters emulated on this machine."),
    "probe": ("allemande.cli.probe", "Measure the network of a running cluster."),
    "topology": ("allemande.cli.topology", "Show a cluster file: tree, bisection, limits."),
    "simulate": (
        "allemande.cli.simulate",
        "Simulate exchanges on a network that need not exist.",
    ),
    "predict": (
        "allemande.cli.predict",
        "Predict what every candidate takes on a network that was measured.",
    ),
    "plan": (
        "allemande.cli.plan",
        "Rank candidates on a network that was measured; set window and grain.",
    ),
    "emit": (
        "allemande.cli.emit",
        "Write tuning files for stock libraries, and schedules for other programs.",
    ),
    "reproduce": (
        "allemande.cli.reproduce",
        "Re-create published figures and say how far off they come out.",
    ),
    "explain": ("allemande.cli.explain", "Show which way exchanges took in a job, and why."),
    "config": ("allemande.cli.config", "Show every option, its value and where it comes from."),
}


def _in_paragraphs(text: str) -> str:
    """Without the line breaks of the docstring, which typer keeps in all paragraphs but the first.

    Paragraphs with lines of their own, such as examples, are indented and stay as they are.
    """
    paragraphs = text.split("\n\n")
    return "\n\n".join(
        text
        if any(line.startswith((" ", "\b")) for line in text.splitlines())
        else " ".join(text.splitlines())
        for text in paragraphs
    )


def load_command(name: str) -> Any:
    """Imports the module behind a subcommand and returns its click command."""
    module_name, help_line = COMMANDS[name]
    module = importlib.import_module(module_name)
    sub_app = getattr(module, "app", None)
    if sub_app is None:
        sub_app = typer.Typer(add_completion=False)
        sub_app.command(name)(module.command)
    click_command = get_command(sub_app)
    click_command.name = name
    click_command.help = click_command.help or help_line
    for each in (click_command, *getattr(click_command, "commands", {}).values()):
        each.help = _in_paragraphs(each.help or "")
    return click_command


class LazyGroup(TyperGroup):
    """Lists every command from the table; imports only the one that is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (_, help_line) in COMMANDS.items():
            self.add_command(TyperCommand(name, help=help_line))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        name, rest = args[0], args[1:]
        if name not in COMMANDS:
            close = get_close_matches(name, COMMANDS)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            ctx.fail(f"No such command {name!r}.{hint} Expected one of: {', '.join(COMMANDS)}.")
        return name, load_command(name), rest


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"allemande {__version__}")
        raise typer.Exit


@app.callback()
def allemande(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Faster MPI_Alltoall on networks that congest."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line; returns the exit code (0 done, 1 failed, 2 bad input)."""
    given = list(sys.argv[1:] if arguments is None else arguments)

    def body() -> None:
        get_command(app).main(given, prog_name="allemande")

    return exit_code_of("allemande", body)
