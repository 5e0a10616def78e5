#!/usr/bin/env python3
"""Writes the manual pages: one per command from its own --help, one for the C interface from its
header. They cannot fall behind what they describe.

    tools/make_man.py --output build/release/man [--core build/release/src/bindings/_core.so]
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
HEADER = ROOT / "include" / "allemande" / "allemande.h"
LICENCE = "BSD-3-Clause."


def roff(text: str) -> str:
    """Plain text as roff: nothing in it is a request or an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("~", "\\(ti").replace("^", "\\(ha")
    return "\n".join(
        "\\&" + line if line.startswith((".", "'")) else line for line in text.splitlines()
    )


def paragraphs(text: str) -> list[str]:
    """Blank lines separate; indented ones are examples and stay as they are."""
    out = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if block.startswith("    "):
            out.append(f".PP\n.nf\n.RS\n{roff(inspect.cleandoc(block))}\n.RE\n.fi")
        else:
            out.append(f".PP\n{roff(' '.join(block.split()))}")
    return out


def title(name: str, section: int, version: str) -> str:
    now = float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    date = datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")
    return f'.TH {name.upper()} {section} "{date}" "allemande {version}" "allemande"'


def finish(page: list[str]) -> str:
    """A heading begins a paragraph by itself."""
    return re.sub(r"(\n\.SH [^\n]*)\n\.PP\n", r"\1\n", "\n".join(page) + "\n")


# ---- commands ----------------------------------------------------------------------------------


def option_lines(command: Any) -> list[str]:
    import typer

    out = []
    context = typer.Context(command, info_name=command.name)
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        names, text = record
        out.append(f".TP\n\\fB{roff(names)}\\fR\n{roff(' '.join(text.split())) or 'None.'}")
    return out


def usage(command: Any, words: str) -> str:
    import typer

    context = typer.Context(command, info_name=words)
    pieces = " ".join(command.collect_usage_pieces(context))
    return f".B {roff(words)}\n{roff(pieces)}".rstrip()


def command_page(name: str, command: Any, help_line: str, version: str) -> str:
    words = f"allemande {name}"
    page = [title(f"allemande-{name}", 1, version), ".SH NAME"]
    page.append(f"allemande\\-{roff(name)} \\- {roff(help_line.rstrip('.'))}")
    page += [".SH SYNOPSIS", usage(command, words), ".SH DESCRIPTION"]
    page += paragraphs(command.help or help_line)
    page += [".SH OPTIONS", *option_lines(command)]
    for sub_name, sub in getattr(command, "commands", {}).items():
        page += [f'.SH "{roff(words)} {roff(sub_name)}"', usage(sub, f"{words} {sub_name}")]
        page += [*paragraphs(sub.help or ""), *option_lines(sub)]
    page += [".SH EXIT STATUS", "0: done. 1: failed. 2: bad input.", ".SH SEE ALSO"]
    page.append(".BR allemande (1)")
    return finish(page)


def main_page(commands: dict[str, tuple[str, str]], version: str) -> str:
    from allemande.option_table import OPTIONS

    page = [title("allemande", 1, version), ".SH NAME"]
    page.append("allemande \\- faster MPI_Alltoall on networks that congest")
    page += [".SH SYNOPSIS", ".B allemande", "COMMAND [ARGUMENTS]", ".SH COMMANDS"]
    for name, (_, help_line) in commands.items():
        page.append(f".TP\n.BR allemande\\-{roff(name)} (1)\n{roff(help_line)}")
    page.append(".SH ENVIRONMENT")
    page.append(
        "Each option may also stand in the configuration file "
        "(~/.config/allemande/config.toml, or the file ALLEMANDE_CONFIG names), with its name in "
        "lower case and without the prefix."
    )
    for option in OPTIONS:
        default = f" Default: {option.default}." if option.default else ""
        page.append(f".TP\n\\fB{option.variable}\\fR\n{roff(option.help + default)}")
    page += [".SH EXIT STATUS", "0: done. 1: failed. 2: bad input.", ".SH SEE ALSO"]
    page += [*(f".BR allemande\\-{roff(name)} (1)," for name in commands)]
    page += [".BR allemande.h (3)", ".SH LICENCE", LICENCE]
    return finish(page)


# ---- the C interface ---------------------------------------------------------------------------

_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_ITEM = re.compile(
    r"/\*((?:(?!\*/).)*)\*/\s*((?:ALM_API|typedef|#define)(?:(?!;|\n#define|\n\n).)*;?)", re.DOTALL
)


def comment_text(comment: str) -> str:
    lines = [re.sub(r"^\s*\*( |$)", "", line) for line in comment.strip().splitlines()]
    return "\n".join(line.rstrip() for line in lines)


def header_page(header: str, version: str) -> str:
    head = _COMMENT.search(header)
    assert head is not None
    page = [title("allemande.h", 3, version), ".SH NAME"]
    page.append("allemande.h \\- all\\-to\\-all exchanges over contention\\-free schedules")
    page += [".SH SYNOPSIS", ".nf", ".B #include <allemande/allemande.h>", "", ".fi"]
    page += ["Link with \\fI\\-lallemande\\fR (pkg\\-config allemande).", ".SH DESCRIPTION"]
    page += paragraphs(comment_text(head[1]))
    page.append(".SH FUNCTIONS AND TYPES")
    for item in _ITEM.finditer(header, head.end()):
        if item[1].lstrip().startswith("----"):
            continue
        code = inspect.cleandoc(item[2].replace("ALM_API ", ""))
        if code.startswith("#define ALM_API") or "_H" in code:
            continue
        page.append(f".PP\n.nf\n.RS\n.B {roff(code.splitlines()[0])}")
        page += [f".B {roff(line)}" for line in code.splitlines()[1:] if line.strip()]
        page.append(".RE\n.fi")
        page += paragraphs(comment_text(item[1]))
    fields = re.search(r"typedef struct alm_exchange_config \{(.*?)\n\} alm", header, re.DOTALL)
    assert fields is not None
    page.append('.SH "MEMBERS OF ALM_EXCHANGE_CONFIG"')
    for member in re.finditer(r"(?:/\*(.*?)\*/\s*)?([\w][^/;]*;)", fields[1], re.DOTALL):
        text = roff(" ".join(comment_text(member[1] or "").split())) or "See above."
        page.append(f".TP\n.B {roff(' '.join(member[2].split()))}\n{text}")
    page.append(".SH ERRORS")
    enum = re.search(r"enum \{\s*ALM_OK(.*?)\};", header, re.DOTALL)
    assert enum is not None
    for comment, name in re.findall(r"/\*(.*?)\*/\s*(ALM_ERROR_\w+)", enum[1], re.DOTALL):
        page.append(f".TP\n\\fB{name}\\fR\n{roff(' '.join(comment_text(comment).split()))}")
    page += [".SH SEE ALSO", ".BR allemande (1)", ".SH LICENCE", LICENCE]
    return finish(page)


# ------------------------------------------------------------------------------------------------


def load_core(path: Path) -> None:
    """The extension module from where it was built: the package may not hold it yet."""
    spec = importlib.util.spec_from_file_location("allemande._core", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["allemande._core"] = module
    spec.loader.exec_module(module)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="folder for man1 and man3")
    parser.add_argument("--core", type=Path, help="the built extension module")
    arguments = parser.parse_args()
    sys.path.insert(0, str(ROOT / "python"))
    if arguments.core:
        load_core(arguments.core)
    from allemande import __version__
    from allemande.cli import COMMANDS, load_command

    pages = {
        "man1/allemande.1": main_page(COMMANDS, __version__),
        "man3/allemande.h.3": header_page(HEADER.read_text(encoding="utf-8"), __version__),
    }
    for name, (_, help_line) in COMMANDS.items():
        page = command_page(name, load_command(name), help_line, __version__)
        pages[f"man1/allemande-{name}.1"] = page
    for path, text in pages.items():
        target: Path = arguments.output / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
