"""What stands behind a stock candidate: an algorithm's parameter, or a tuning file.

`openmpi:linear-sync:reqs=4`, `openmpi:rules=FILE`, `mpich:scattered:throttle=4`,
`mpich:bruck:k=4`, `mpich:selection=FILE[,throttle=N]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from allemande.errors import BadInput
from allemande.formats import mpich_selection, openmpi_rules
from allemande.formats.emit import settings_file, site_libmpi
from allemande.stock_algorithms import MPICH, OPENMPI, StockAlgorithm, parse_stock
from allemande.text_files import is_file, read_text, shown

RULES = "openmpi:rules="
SELECTION = "mpich:selection="
_EXPECTED = "a tuning file"
USE_RULES = ("--mca", "coll_tuned_use_dynamic_rules", "1")


@dataclass(frozen=True)
class StockSetting:
    """What a candidate adds to that of the same library, or of the same algorithm."""

    base: str  # the candidate it builds on
    description: str
    arguments: tuple[str, ...] = ()  # for Open MPI's launcher
    environment: Mapping[str, str] = field(default_factory=dict)
    algorithms: Mapping[str, str] | None = None  # in the place of the base's


def _rules(text: str) -> StockSetting:
    path = Path(text.removeprefix(RULES)).absolute()
    rules = openmpi_rules.read(read_text(path, _EXPECTED), shown(path))
    if rules.version > 2:
        raise BadInput(f"{path}: rules of version 3; Open MPI 5 reads versions 1 and 2")
    words = ("--mca", "coll_tuned_dynamic_rules_filename", str(path))
    return StockSetting(OPENMPI, f"Open MPI with the rules of {path.name}", (*USE_RULES, *words))


def _throttle_beside(path: Path) -> str | None:
    """The window of `scattered` that was written beside the file."""
    beside = settings_file(path)
    for line in read_text(beside, _EXPECTED).split("\n") if is_file(beside) else ():
        name, _, value = line.partition("=")
        if name == mpich_selection.THROTTLE_VARIABLE:
            return value
    return None


def _selection(text: str) -> StockSetting:
    name, comma, option = text.removeprefix(SELECTION).partition(",")
    path = Path(name).absolute()
    throttle = _throttle_beside(path)
    if comma:
        parsed = parse_stock(f"{MPICH}:scattered:{option}")
        throttle = str(parsed.value) if parsed else None
    selection = mpich_selection.read(read_text(path, _EXPECTED), shown(path))
    mpich_selection.check_against(selection, mpich_selection.read_library(site_libmpi(None)))
    environment = mpich_selection.settings(path, int(throttle) if throttle else None)
    described = f"MPICH with the selection of {path.name}"
    return StockSetting(MPICH, described, environment=environment)


def _parameter(found: StockAlgorithm) -> StockSetting:
    parameter = found.parameter
    assert parameter is not None  # parse_stock has looked
    base = str(StockAlgorithm(found.library, found.name))
    described = f"{parameter.meaning}: {found.value}"
    if found.library == OPENMPI:
        return StockSetting(base, described, ("--mca", parameter.setting, str(found.value)))
    algorithms = {"alltoall": "k_brucks"} if found.name == "bruck" else None
    environment = {parameter.setting: str(found.value)}
    return StockSetting(base, described, environment=environment, algorithms=algorithms)


def parse_setting(text: str) -> StockSetting | None:
    """What a candidate's text says beyond the names there are; None: nothing of this kind.

    Raises BadInput for values out of range, and for files that the library would not take.
    """
    if text.startswith(RULES):
        return _rules(text)
    if text.startswith(SELECTION):
        return _selection(text)
    found = parse_stock(text)
    return None if found is None or found.value is None else _parameter(found)
