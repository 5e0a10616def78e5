"""MPI jobs on a lab's hosts: every library and network module, by the command and by the API."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from allemande.errors import BadInput
from allemande.lab import Lab, mpi_launch

SOURCES = ("alltoall", "spawn_one")
PATIENCE_S = 120
# Open MPI's launcher may wait for ever for processes that are no MPI programs and end at once.
LINGER = "sleep 1; "

WAYS = [("openmpi", None), ("mpich", "ofi"), ("mpich", "ucx")]
WAYS += [("openmpi-debian", None), ("mpich-debian", None)]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """For each library, the folder of its programs."""
    built = {}
    for library in mpi_launch.NAMES:
        folder = tmp_path_factory.mktemp(library)
        mpicc = mpi_launch.installation(library).compiler()
        for name in SOURCES:
            source = Path(__file__).with_name(f"{name}.c")
            subprocess.run([mpicc, "-O2", "-o", folder / name, source], check=True)
        built[library] = folder
    return built


def report(lab: Lab, library: str, ranks: int | None, folder: Path, **options: object) -> str:
    done = lab.run(
        library,
        ranks,
        [str(folder / "alltoall"), "5000"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=lab.timers.patience_s(PATIENCE_S),
        **options,
    )
    assert done.returncode == 0, done.stderr
    return str(done.stdout)


@pytest.mark.parametrize(("library", "netmod"), WAYS)
def test_ranks_run_one_per_host_over_the_links_alone(
    lab: Lab, programs: dict[str, Path], library: str, netmod: str | None
) -> None:
    before = lab.stats()
    text = report(
        lab, library, None, programs[library], netmod=netmod, env={"ALLEMANDE_LAB_TEST": "seen"}
    )
    assert text == "ranks 4 wrong 0 ipv6 0 variable seen hosts h0 h1 h2 h3\n"
    # What each host sends to the three others went over its link, nothing past it.
    for port in lab.stats().since(before).ports:
        if port.node in lab.hosts:
            assert port.sent_bytes > 3 * 5000


@pytest.mark.parametrize("library", mpi_launch.NAMES)
def test_fewer_and_more_ranks_than_hosts_spread_evenly(
    lab: Lab, programs: dict[str, Path], library: str
) -> None:
    assert report(lab, library, 2, programs[library]).endswith(" hosts h0 h1\n")
    assert report(lab, library, 6, programs[library]).endswith(" hosts h0 h0 h1 h1 h2 h3\n")


# MPICH 4.0 hangs in MPI_Finalize of so many ranks now and then, by itself (programs/finalize.h).
@pytest.mark.slow
@pytest.mark.parametrize(("library", "netmod"), [way for way in WAYS if way[0] != "mpich-debian"])
def test_32_ranks_over_four_leaves_receive_every_byte(
    programs: dict[str, Path], library: str, netmod: str | None, nothing_left: Callable[[], None]
) -> None:
    with Lab.boot("tam-8x4", scale=0.1) as lab:
        text = report(lab, library, None, programs[library], netmod=netmod)
        assert text.startswith("ranks 32 wrong 0 ")
        assert text.split(" hosts ")[1].split() == list(lab.hosts)
    nothing_left()


@pytest.mark.parametrize("library", mpi_launch.NAMES)
def test_the_command_boots_runs_and_returns_the_code(
    cluster: Path, programs: dict[str, Path], library: str, nothing_left: Callable[[], None]
) -> None:
    line = [sys.executable, "-m", "allemande", "lab", "run", str(cluster), "--mpi", library]
    done = subprocess.run(
        [*line, "-n", "3", "--", str(programs[library] / "alltoall"), "100"],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ranks 3 wrong 0 ipv6 0 variable - hosts h0 h1 h2\n"
    failed = subprocess.run(
        [*line, "-n", "2", "--", "sh", "-c", LINGER + "exit 3"],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
        check=False,
    )
    assert failed.returncode == 3
    nothing_left()


LAUNCHER_OPTIONS = {
    "openmpi": ["-x", "ALLEMANDE_LAB_TEST=passed"],
    "mpich": ["-genv", "ALLEMANDE_LAB_TEST", "passed"],
}


@pytest.mark.parametrize("library", LAUNCHER_OPTIONS)
def test_options_in_front_of_the_program_reach_the_launcher(
    lab: Lab, programs: dict[str, Path], library: str
) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "allemande", "lab", "run", "--mpi", library, "-n", "2", "--"),
            *LAUNCHER_OPTIONS[library],
            *(str(programs[library] / "alltoall"), "100"),
        ],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert " variable passed hosts h0 h1" in done.stdout


# Debian's MPICH, over UCX alone, cannot start processes on any network. From three hosts on a
# daemon of Open MPI 5 (prted 3.0.11) that holds none of the new processes crashes now and then.
@pytest.mark.parametrize(
    ("library", "ranks"), [("openmpi", 2), ("mpich", 2), ("mpich", 4), ("openmpi-debian", 4)]
)
def test_a_program_can_start_one_more_process(
    lab: Lab, programs: dict[str, Path], library: str, ranks: int
) -> None:
    done = lab.run(
        library,
        ranks,
        [str(programs[library] / "spawn_one")],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=PATIENCE_S,
    )
    assert (done.returncode, done.stdout) == (0, f"ranks {ranks + 1} right\n"), done.stderr


def test_preload_reaches_every_rank_with_the_effective_cluster(lab: Lab) -> None:
    library = Path("/nonexistent/preloaded.so")
    for name in mpi_launch.NAMES:
        done = lab.run(
            name,
            2,
            ["sh", "-c", LINGER + "echo $LD_PRELOAD $ALLEMANDE_CLUSTER"],
            preload=library,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=PATIENCE_S,
        )
        assert done.stdout == f"{library} {lab.cluster_file}\n" * 2, done.stderr


def test_the_agent_runs_a_command_as_a_remote_shell_does(lab: Lab) -> None:
    def agent(*words: str) -> tuple[int, str]:
        done = lab.exec("h0", [str(lab.agent), *words], capture_output=True, text=True)
        return done.returncode, done.stdout

    assert agent("-x", "-l", "root", "h2", "hostname;", "exit 5") == (5, "h2\n")
    assert agent("h9", "hostname")[0] == 255


def test_a_launcher_given_by_its_path_runs_as_by_its_name(
    lab: Lab, programs: dict[str, Path]
) -> None:
    for library in mpi_launch.NAMES:
        path = str(mpi_launch.installation(library).mpirun)
        found = mpi_launch.installation(path)
        assert found.kind == mpi_launch.installation(library).kind
        assert found.prrte == mpi_launch.installation(library).prrte
        assert report(lab, path, 2, programs[library]).endswith(" hosts h0 h1\n")
    with pytest.raises(BadInput, match="/nowhere/mpirun: no such command"):
        mpi_launch.installation("/nowhere/mpirun")
    with pytest.raises(BadInput, match="not a launcher of Open MPI or MPICH"):
        mpi_launch.installation("/bin/true")


def test_mpi4py_is_led_to_the_launchers_library(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = mpi_launch.prefix("openmpi") / "lib" / "libmpi.so.40"
    assert f"MPI4PY_LIBMPI={wanted}" in lab.mpi_command("openmpi", 2, ["true"])
    debian = lab.mpi_command("openmpi-debian", 2, ["true"])
    assert not any("MPI4PY_LIBMPI" in word for word in debian)  # the loader finds that one
    monkeypatch.setenv("MPI4PY_LIBMPI", "/mine.so")
    assert "MPI4PY_LIBMPI=/mine.so" in lab.mpi_command("openmpi", 2, ["true"])


def test_bad_input_names_what_is_valid(lab: Lab) -> None:
    with pytest.raises(BadInput, match="expected one of: openmpi, mpich"):
        lab.mpi_command("lam", 2, ["true"])
    with pytest.raises(BadInput, match="expected one of: ofi, ucx"):
        lab.mpi_command("mpich", 2, ["true"], netmod="gm")
    with pytest.raises(BadInput, match="-n 0"):
        lab.mpi_command("mpich", 0, ["true"])
