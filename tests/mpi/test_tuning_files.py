"""Tuning files in the real libraries: a rule holds where it says, and everything else goes on.

Rules that fail show where they hold: Open MPI's algorithm 5 works between two ranks only, MPICH's
pairwise_sendrecv_replace in place only. Elsewhere it gives wrong bytes, or ends the job since 5.0.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.mpi.mpi_job import PLATFORMS

from allemande.errors import BadInput
from allemande.formats import emit, mpich_selection, openmpi_rules
from allemande.formats.tuning_table import make_table
from allemande.lab.mpi_launch import OPENMPI_ROOT, installation

SOURCES = Path(__file__).parent / "tuning"
RANKS = 4
BOUNDS = ("499", "500", "1999", "2000", "7999", "8000")  # 1000 and 4000 reach from 500 to 8000
TIMEOUT_S = 60


def build(platform: str, folder: Path, program: str) -> Path:
    out = folder / program
    compiler = PLATFORMS[platform].compiler
    source = SOURCES / f"{program}.c"
    subprocess.run([compiler, "-O1", "-Wno-stringop-overflow", "-o", out, source], check=True)
    return out


def run(
    platform: str, program: Path, *words: str, settings: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """On this machine alone: no lab, no network."""
    chosen = installation(PLATFORMS[platform].launcher)
    line = [str(chosen.mpirun), "-n", str(RANKS)]
    environment = {**os.environ, **settings}
    if chosen.kind == "openmpi":
        line += ["--oversubscribe", "--bind-to", "none"]
        line += ["--mca", "btl", "self,sm" if chosen.prrte else "self,vader"]
        environment |= OPENMPI_ROOT | {"OMPI_MCA_mpi_yield_when_idle": "1"}
    return subprocess.run(
        [*line, str(program), *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )


def outcomes(
    done: subprocess.CompletedProcess[str], sizes: int = len(BOUNDS)
) -> dict[tuple[int, int], str]:
    found = {}
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[0].isdigit():
            found[int(words[0]), int(words[1])] = words[2]
    assert len(found) == (RANKS - 1) * sizes, done.stdout + done.stderr
    return found


def expected(ranks: int, first: int, last: int, what: str) -> dict[tuple[int, int], str]:
    return {
        (p, int(size)): what if p == ranks and first <= int(size) <= last else "ok"
        for p in range(2, RANKS + 1)
        for size in BOUNDS
    }


@pytest.mark.parametrize("platform", ["openmpi", "openmpi-debian"])
def test_a_rule_of_open_mpi_fails_exactly_where_it_holds(platform: str, tmp_path: Path) -> None:
    """Algorithm 5 in the place of pairwise; the bytes of the file are ranks times bytes a pair."""
    program = build(platform, tmp_path, "alltoall_sizes")
    release = {"openmpi": "5.0.11", "openmpi-debian": "4.1.4"}[platform]
    path = tmp_path / "rules"
    for ranks in (3, 4):
        choices = {(ranks, 1000): "openmpi:pairwise", (ranks, 4000): "openmpi:linear"}
        emitted = emit.tuning("openmpi-rules", choices, path, mpi_version=release)
        emitted.write(path)
        assert set(
            outcomes(run(platform, program, *BOUNDS, settings=emitted.settings)).values()
        ) == {"ok"}
        text = path.read_text()
        row = f"{500 * ranks} 2 0 0"
        assert text.count(row) == 1
        path.write_text(text.replace(row, f"{500 * ranks} 5 0 0"))
        done = run(platform, program, *BOUNDS, settings=emitted.settings)
        assert outcomes(done) == expected(ranks, 500, 1999, "failed")
        rules = openmpi_rules.read(path.read_text(), "rules")
        for (p, size), outcome in outcomes(done).items():
            found = rules.find(p, size)
            assert (found is not None and found.number == 5) == (outcome == "failed")


def test_a_forced_algorithm_outranks_the_rules_of_open_mpi(tmp_path: Path) -> None:
    program = build("openmpi", tmp_path, "alltoall_sizes")
    path = tmp_path / "rules"
    emitted = emit.tuning("openmpi-rules", {(4, 1000): "openmpi:pairwise"}, path)
    emitted.write(path)
    path.write_text(path.read_text().replace("2000 2 0 0 0", "2000 5 0 0 0"))
    forced = {"OMPI_MCA_coll_tuned_alltoall_algorithm": "1"}
    done = run("openmpi", program, *BOUNDS, settings={**emitted.settings, **forced})
    assert set(outcomes(done).values()) == {"ok"}


def test_open_mpi_ignores_what_our_reader_refuses(tmp_path: Path) -> None:
    """The header is missing, the column of requests is there: rules that never hold."""
    program = build("openmpi", tmp_path, "alltoall_sizes")
    path = tmp_path / "rules"
    table = make_table("openmpi", {(4, 1000): "openmpi:pairwise"})
    text = openmpi_rules.write(table, 2).replace("2000 2 0 0 0", "2000 5 0 0 0")
    path.write_text(text.partition("\n")[2])
    done = run("openmpi", program, *BOUNDS, settings=openmpi_rules.settings(path))
    assert set(outcomes(done).values()) == {"ok"}
    with pytest.raises(BadInput, match="would say nothing"):
        openmpi_rules.read(path.read_text(), "rules")


def libmpi(platform: str) -> Path:
    found = installation(PLATFORMS[platform].launcher).shared_library()
    return found or Path("/usr/lib/x86_64-linux-gnu/libmpich.so.12")


MPICHS = ["mpich", "mpich-debian"]


@pytest.mark.parametrize("platform", MPICHS)
def test_a_choice_of_mpich_holds_exactly_where_it_says(platform: str, tmp_path: Path) -> None:
    """Among 3 ranks; nobody else notices."""
    program = build(platform, tmp_path, "alltoall_sizes")
    path = tmp_path / "selection.json"
    choices = {(3, 1000): "mpich:pairwise", (3, 4000): "mpich:scattered:throttle=2"}
    emitted = emit.tuning("mpich-selection", choices, path, libmpi=str(libmpi(platform)))
    emitted.write(path)
    assert emitted.settings[mpich_selection.THROTTLE_VARIABLE] == "2"
    done = run(platform, program, *BOUNDS, settings=emitted.settings)
    assert set(outcomes(done).values()) == {"ok"}
    tree = json.loads(path.read_text())
    chain = tree["collective=alltoall"]["comm_type=intra"]["is_sendbuf_inplace=no"]["comm_size<=3"]
    assert list(chain) == [
        "avg_msg_size<=499",
        "avg_msg_size<=1999",
        "avg_msg_size<=8000",
        "avg_msg_size=any",
    ]
    chain["avg_msg_size<=1999"] = {"algorithm=MPIR_Alltoall_intra_pairwise_sendrecv_replace": {}}
    path.write_text(json.dumps(tree))
    outside = ("499", "2000", "8001")
    done = run(platform, program, *outside, settings=emitted.settings)
    assert set(outcomes(done, len(outside)).values()) == {"ok"}
    for inside in ("500", "1999"):
        done = run(platform, program, inside, settings=emitted.settings)
        assert f"2 {inside} ok" in done.stdout and f"3 {inside} ok" not in done.stdout
        assert f"3 {inside} wrong" in done.stdout or "sendbuf == MPI_IN_PLACE" in done.stderr


@pytest.mark.parametrize("platform", MPICHS)
def test_all_other_collectives_run_with_a_file_of_mpich(platform: str, tmp_path: Path) -> None:
    program = build(platform, tmp_path, "every_collective")
    path = tmp_path / "selection.json"
    choices = {(4, 100): "mpich:bruck", (4, 1000): "mpich:pairwise"}
    if platform == "mpich":
        choices[4, 4000] = "mpich:bruck:k=4"
    emitted = emit.tuning("mpich-selection", choices, path, libmpi=str(libmpi(platform)))
    emitted.write(path)
    done = run(platform, program, settings=emitted.settings)
    assert "EVERY COLLECTIVE RAN" in done.stdout, done.stderr


def test_mpich_ends_over_what_our_reader_refuses(tmp_path: Path) -> None:
    program = build("mpich", tmp_path, "every_collective")
    library = mpich_selection.read_library(libmpi("mpich"))
    tree = {key: value for key, value in library.tree.items() if key != "collective=scan"}
    path = tmp_path / "selection.json"
    path.write_text(json.dumps(tree))
    done = run("mpich", program, settings=mpich_selection.settings(path, None))
    assert done.returncode != 0 and "EVERY COLLECTIVE RAN" not in done.stdout
    with pytest.raises(BadInput, match="scan lack"):
        mpich_selection.check_against(mpich_selection.read(path.read_text(), "file"), library)
