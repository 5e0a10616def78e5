"""Which program a file is from, by its first lines: so that a wrong name for it is put right."""

from __future__ import annotations

import re
from collections.abc import Mapping

from allemande.errors import BadInput

_HEAD_CHARACTERS = 65_536

# The name before the colon of NAME:FILE -> what such a file is.
READ: Mapping[str, str] = {
    "slurm": "a topology of Slurm",
    "ibnetdiscover": "what ibnetdiscover prints",
    "simgrid": "a platform of SimGrid",
    "htsim": "a topology of htsim",
}
IMPORT_FORMS = " or ".join(", ".join(f"{kind}:FILE" for kind in READ).rsplit(", ", 1))
# What is known by name, and why it cannot be read.
_ONE_MACHINE = (
    "what lstopo (hwloc) writes: the inside of one machine, in which no network is described; give "
    "what ibnetdiscover or `scontrol show topology` print, or a cluster file"
)
REFUSED: Mapping[str, str] = {
    "lstopo": _ONE_MACHINE,
    "hwloc": _ONE_MACHINE,
    "htsim-flows": (
        "a connection matrix of htsim: flows, and no network; give the .topo file that htsim had "
        "beside it"
    ),
    "msccl": "a schedule of MSCCL, and no network; give a cluster file",
    "slurm-conf": (
        "Slurm's slurm.conf, in which no switch is; give topology.conf, or what `scontrol show "
        "topology` prints"
    ),
    "ibnetdiscover-list": (
        "what ibnetdiscover prints with -l or -p: nodes or ports; give what it prints without them"
    ),
}
# Tried in turn.
_SIGNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("simgrid", re.compile(r"<platform\b")),
    ("lstopo", re.compile(r"<!DOCTYPE topology\b.{0,80}hwloc|<topology\b[^>]{0,200}>\s*<object\b")),
    ("lstopo", re.compile(r"\A\s*Machine \(")),
    ("msccl", re.compile(r"\A\s*(?:<\?xml[^>]*>\s*)?<algo\b")),
    ("ibnetdiscover", re.compile(r'^(?:Switch|Ca|Hca|Rt)[ \t]+[0-9]{1,4}[ \t]+"', re.M)),
    (
        "slurm",
        re.compile(r"^[ \t]*(?:(?:SwitchName|BlockName)[ \t]*=|- +topology *:)", re.M | re.I),
    ),
    (
        "slurm-conf",
        re.compile(r"^[ \t]*(?:SlurmctldHost|ControlMachine|NodeName)[ \t]*=", re.M | re.I),
    ),
    (
        "ibnetdiscover-list",
        re.compile(
            r"^(?:(?:CA|SW|RT)(?:[ \t]+[0-9]{1,5}){2}|(?:Ca|Switch|Router)[ \t]*:)[ \t]+0x",
            re.M,
        ),
    ),
    ("htsim-flows", re.compile(r"^Nodes[ \t]+[0-9]+\n+Connections[ \t]+[0-9]", re.M | re.I)),
    ("htsim", re.compile(r"^(?:Tiers|Podsize)[ \t]+[0-9]+[ \t]*$", re.M | re.I)),
)


def kind_of(text: str) -> str | None:
    """A name of READ or REFUSED; None for anything else."""
    head = text[:_HEAD_CHARACTERS]
    return next((kind for kind, sign in _SIGNS if sign.search(head)), None)


def refusal(kind: str, where: str) -> BadInput:
    """Why a file of one of REFUSED is none."""
    return BadInput(f"{where}: is {REFUSED[kind]}")


def check_kind(text: str, kind: str, where: str) -> None:
    """Raises BadInput where a file is surely of another kind than it is called."""
    found = kind_of(text)
    # The reader of ibnetdiscover's own names the line of such a list.
    if found is None or found == kind or found == f"{kind}-list":
        return
    if found in REFUSED:
        raise refusal(found, where)
    raise BadInput(f"{where}: is {READ[found]}, and not {READ[kind]}; say {found}:{where}")
