"""A thousand files of each kind, broken at random: each gives a result or BadInput, soon."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
from tests.python.broken_texts import broken
from tests.python.readers import goal as goal_reader
from tests.python.readers import htsim as htsim_reader
from tests.python.readers import msccl as msccl_reader
from tests.python.readers import plan_json as plan_reader
from tests.python.test_explain import DECISION

from allemande.decisions import load_decisions
from allemande.errors import BadInput
from allemande.formats import goal, htsim, msccl, plan_json
from allemande.formats.cluster_imports import read_import
from allemande.formats.schedule import make_schedule
from allemande.text_files import read_text
from allemande.topology import load_cluster

FIXTURES = Path(__file__).parents[1] / "fixtures" / "imports"
FILES = 1000
SECONDS_MAX = 1
MEMORY_MAX = 256 * 2**20
TOTAL_S_MAX = 20
READERS = {msccl: msccl_reader, goal: goal_reader, htsim: htsim_reader, plan_json: plan_reader}
FAT_TREE = (
    '<platform version="4.1"><cluster id="c" prefix="n" suffix="" radical="0-15" speed="1Gf" '
    'bw="1Gbps" lat="10us" topology="FAT_TREE" topo_parameters="2;4,4;1,2;1,2"/></platform>'
)


@dataclass(frozen=True)
class Case:
    name: str  # of the file: its suffix counts
    text: bytes
    read: Callable[[Path], object]


def imported(kind: str, options: str) -> Callable[[Path], object]:
    return lambda path: read_import(f"{kind}:{path}{options}")


def written(reader: ModuleType) -> Callable[[Path], object]:
    def read(path: Path) -> object:
        return reader.read(read_text(path, "a schedule"), str(path))

    return read


def make_cases() -> Iterator[Case]:
    rates = ",rate_mbit_s=1000/4000"
    for name, kind, options in (
        ("topology.conf", "slurm", rates),
        ("scontrol-show-topology.txt", "slurm", rates),
        ("islands.conf", "slurm", rates),
        ("slurm-topologies.yaml", "slurm", rates),
        ("slurm-topologies.yaml", "slurm", rates + ",topology=topo2"),
        ("ibnetdiscover.txt", "ibnetdiscover", ",port=first"),
        ("ibsim.net", "ibnetdiscover", ",rail=all"),
        ("two_rails.ibnet", "ibnetdiscover", ",rail=1"),
        ("default_names.ibnet", "ibnetdiscover", ""),
        ("platform.xml", "simgrid", ""),
        ("routes.xml", "simgrid", ""),
        ("three-tiers.topo", "htsim", ""),
        ("two-tiers.topo", "htsim", ""),
    ):
        yield Case(name, (FIXTURES / name).read_bytes(), imported(kind, options))
    yield Case("fat-tree.xml", FAT_TREE.encode(), imported("simgrid", ""))
    for module, reader in READERS.items():
        for algorithm, ranks in (("shift-exchange", 4), ("bruck", 5)):
            text = "".join(module.write(make_schedule(algorithm, 3000, ranks=ranks)))
            name = f"{module.__name__.rpartition('.')[2]}.txt"
            yield Case(name, text.encode(), written(reader))
    for path in sorted((FIXTURES.parent / "clusters" / "good").glob("*.toml")):
        yield Case(path.name, path.read_bytes(), load_cluster)
    yield Case("decisions.toml", DECISION.encode(), lambda path: load_decisions(str(path)))


CASES = tuple(make_cases())
SLURM, IBNETDISCOVER, DECISIONS = range(5), range(5, 9), range(len(CASES) - 1, len(CASES))
CLUSTERS = range(
    len(CASES) - 1 - len(list((FIXTURES.parent / "clusters" / "good").glob("*.toml"))),
    len(CASES) - 1,
)
KINDS = {
    "cluster": CLUSTERS,
    "slurm": SLURM,
    "ibnetdiscover": IBNETDISCOVER,
    "decisions": DECISIONS,
    "others": range(IBNETDISCOVER.stop, CLUSTERS.start),
}


def outcome(kind: str, seed: int, folder: Path) -> str:
    """ "read" or "refused"; anything else says how to see it again."""
    case = CASES[KINDS[kind][seed % len(KINDS[kind])]]
    path = folder / case.name
    path.write_bytes(broken(case.text, seed))
    again = f"seed {seed}, {case.name}: outcome({kind!r}, {seed}, folder) writes and reads it again"
    begin = time.process_time()
    try:
        case.read(path)
        found = "read"
    except BadInput as error:
        found = "refused"
        message = str(error)
        if len(message) > 1500 or not message.isprintable():
            return f"{again}: the message is {message!r:.300}"
    except Exception as error:
        return f"{again}: {error!r:.300}"
    spent_s = time.process_time() - begin
    return found if spent_s < SECONDS_MAX else f"{again}: took {spent_s:.1f} s"


def memory_bytes(key: str) -> int:
    """Of this process: VmRSS is what it has, VmHWM its peak."""
    (line,) = [
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(key)
    ]
    return int(line.split()[1]) * 1024


def forget_peak_bytes() -> int:
    """What it has now; tests before may have had more than what is allowed here."""
    Path("/proc/self/clear_refs").write_text("5")
    return memory_bytes("VmRSS")


def test_the_peak_of_what_was_before_is_forgotten() -> None:
    held = bytes(b"x" * MEMORY_MAX)
    assert memory_bytes("VmHWM") > len(held)
    del held
    now = forget_peak_bytes()
    assert memory_bytes("VmHWM") - now < MEMORY_MAX / 4


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_whole_files_are_read(case: Case, tmp_path: Path) -> None:
    path = tmp_path / case.name
    path.write_bytes(case.text)
    case.read(path)


def test_kinds_are_what_they_say() -> None:
    names = {kind: [CASES[at].name for at in KINDS[kind]] for kind in KINDS}
    assert sum(map(len, names.values())) == len(CASES)
    assert all(
        name.startswith(("topology.conf", "scontrol", "islands", "slurm"))
        for name in names["slurm"]
    )
    assert all("ib" in name or name.endswith(".ibnet") for name in names["ibnetdiscover"])
    assert names["decisions"] == ["decisions.toml"]
    assert all(name.endswith(".toml") for name in names["cluster"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_broken_files_are_read_or_refused(kind: str, tmp_path: Path) -> None:
    begin = time.process_time()
    before = forget_peak_bytes()
    found = [outcome(kind, seed, tmp_path) for seed in range(FILES)]
    wrong = [one for one in found if one not in ("read", "refused")]
    assert not wrong, "\n".join(wrong[:10])
    assert found.count("read") > FILES / 25
    assert found.count("refused") > FILES / 4
    assert memory_bytes("VmHWM") - before < MEMORY_MAX
    assert time.process_time() - begin < TOTAL_S_MAX
