"""An experiment is a folder: README.md, experiment.toml (what runs, what was published), data.

experiment.toml names a kind, which is the code that runs it (kinds.py): `curves` for everything
that is a figure of lines, the others for what is not.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from allemande.errors import BadInput

KINDS = (
    "curves",
    "blocked-port",
    "pair-flows",
    "port-losses",
    "signature",
    "time-curve",
    "probe",
    "steps",
    "networks",
    "designs",
    "route-loads",
    "streams",
    "striping",
    "learning",
    "site-example",
    "site-gain",
    "site-forecast",
)

# Told the part that is done, 0 to 1; None: nobody asks.
Watcher = Callable[[float], None] | None
FIGURES_MAX = 10  # of one experiment: the 64 of 004-fig-16-64 are hosts


@dataclass(frozen=True)
class Row:
    """One published figure beside ours."""

    figure: str
    point: str
    published: float | None  # None where the paper says it in words only
    ours: float | None  # None: it never comes to that

    @property
    def ratio(self) -> float | None:
        return self.ours / self.published if self.published and self.ours is not None else None

    def as_json(self) -> dict[str, Any]:
        return {
            "figure": self.figure,
            "point": self.point,
            "published": self.published,
            "ours": self.ours,
            "ratio": self.ratio,
        }


@dataclass(frozen=True)
class Experiment:
    name: str  # of the folder
    folder: Path
    data: dict[str, Any]

    @property
    def title(self) -> str:
        return str(self.data["title"])

    @property
    def kind(self) -> str:
        return str(self.data["kind"])

    @property
    def figure(self) -> str:
        return str(self.data["figure"])

    def row(self, point: str, published: float | None, ours: float | None) -> Row:
        """A row of its figure."""
        return Row(self.figure, point, published, ours)


@dataclass(frozen=True)
class Outcome:
    """What a run gives: the rows, and how to draw it (a format, `svg` or `png`, to bytes)."""

    rows: Sequence[Row]
    draw: Callable[[str], bytes]


INSTALLED = Path(__file__).parents[1] / "data" / "experiments"
IN_CLONE = Path(__file__).parents[3] / "experiments"


def _experiments_dir() -> Path:
    return INSTALLED if INSTALLED.is_dir() else IN_CLONE


def writable_folder() -> Path:
    """Where the experiments can be renewed. Raises BadInput for those of an installed package."""
    if INSTALLED.is_dir():
        raise BadInput(f"--write renews experiments/ of a clone; {INSTALLED} is an installed copy")
    return IN_CLONE


def parameters_file() -> Path:
    """The free parameters of all experiments."""
    return _experiments_dir() / "parameters.toml"


def causes_file() -> Path:
    """Why what is missed of all experiments is missed."""
    return _experiments_dir() / "causes.toml"


def names() -> list[str]:
    return sorted(path.parent.name for path in _experiments_dir().glob("*/experiment.toml"))


def _holding(name: str, valid: Sequence[str]) -> str | None:
    """The experiment of several figures, one of which is `name`: 001-fig-11-14 for 001-fig-12."""
    figure = re.fullmatch(r"(\d+-fig-)(\d+)", name)
    if figure is None:
        return None
    for one in valid:
        several = re.fullmatch(r"(\d+-fig-)(\d+)-(\d+)", one)
        if several is None or several[1] != figure[1]:
            continue
        if int(several[2]) <= int(figure[2]) <= int(several[3]) < int(several[2]) + FIGURES_MAX:
            return one
    return None


def load(name: str) -> Experiment:
    valid = names()
    if name not in valid and (holding := _holding(name, valid)) is not None:
        name = holding
    if name not in valid:
        close = get_close_matches(name, valid, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise BadInput(
            f"no experiment is called {name!r}{hint}; expected one of {', '.join(valid)}"
        )
    folder = _experiments_dir() / name
    data = tomllib.loads((folder / "experiment.toml").read_text(encoding="utf-8"))
    if data.get("kind") not in KINDS:
        raise BadInput(
            f"{folder / 'experiment.toml'}: kind {data.get('kind')!r} is unknown; expected one of "
            f"{', '.join(KINDS)}"
        )
    _take_switch(folder, data)
    return Experiment(name, folder, data)


def read_switches() -> dict[str, dict[str, Any]]:
    """The real switches of the papers, by name: one setting each, for all experiments."""
    return tomllib.loads((_experiments_dir() / "switches.toml").read_text(encoding="utf-8"))


def _take_switch(folder: Path, data: dict[str, Any]) -> None:
    """What switches.toml says of the experiment's `switch` becomes part of it."""
    if "switch" not in data:
        return
    switches = read_switches()
    switch = switches.get(data["switch"])
    if switch is None:
        raise BadInput(
            f"{folder / 'experiment.toml'}: switch {data['switch']!r} is unknown; expected one of "
            f"{', '.join(switches)}"
        )
    data["options"] = {**switch.get("options", {}), **data.get("options", {})}
    for key in ("module", "link_mbit_s"):
        if key in switch:
            data.setdefault(key, switch[key])
