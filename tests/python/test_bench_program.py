"""The benchmark program itself: it times, it counts, and above all it notices wrong bytes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.python.bench_runs import LAUNCHERS, read_run, two_ranks

from allemande.bench.program import find_root
from allemande.bench.records import RunRecord

# Flips one bit of what rank 1 receives, in the third exchange only.
SABOTEUR = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
int MPI_Alltoall(const void *s, int sc, MPI_Datatype st, void *r, int rc, MPI_Datatype rt,
                 MPI_Comm c) {
  static int calls = 0;
  int rank = 0;
  int (*next)(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm) =
      dlsym(RTLD_NEXT, "MPI_Alltoall");
  int result = next(s, sc, st, r, rc, rt, c);
  MPI_Comm_rank(c, &rank);
  if (++calls == 3 && rank == 1) ((unsigned char *)r)[rc + 3] ^= 0x10;
  return result;
}
int MPI_Alltoallv(const void *s, const int *sc, const int *so, MPI_Datatype st, void *r,
                  const int *rc, const int *ro, MPI_Datatype rt, MPI_Comm c) {
  static int calls = 0;
  int rank = 0;
  int (*next)(const void *, const int *, const int *, MPI_Datatype, void *, const int *,
              const int *, MPI_Datatype, MPI_Comm) = dlsym(RTLD_NEXT, "MPI_Alltoallv");
  int result = next(s, sc, so, st, r, rc, ro, rt, c);
  MPI_Comm_rank(c, &rank);
  if (++calls == 3 && rank == 1) ((unsigned char *)r)[ro[1] + rc[1]] ^= 0x10;
  return result;
}
"""


def run(library: str, arguments: list[str], preload: Path | None = None) -> tuple[int, str, str]:
    environment = {**os.environ, "LD_PRELOAD": str(preload)} if preload else dict(os.environ)
    command = [*two_ranks(library), *arguments]
    result = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False, env=environment
    )
    return result.returncode, result.stdout, result.stderr


def good_run(library: str, *arguments: str) -> RunRecord:
    status, output, errors = run(library, list(arguments))
    assert status == 0, errors
    record = read_run(output)
    assert record.finished
    return record


@pytest.mark.parametrize("library", LAUNCHERS)
def test_every_size_is_timed_and_right(library: str) -> None:
    record = good_run(library, "--sizes", "1,7,4096,100001", "--max-calls", "3", "--warmup", "2")
    assert record.ranks == 2
    assert sorted(record.sizes) == [1, 7, 4096, 100_001]
    for size in record.sizes.values():
        assert (len(size.seconds), len(size.warmup_seconds)) == (3, 2)
        assert size.wrong_bytes == 0
        assert size.complete
        assert {"frames_sent", "tcp_retransmitted", "softnet_drops"} <= set(size.counters)
        assert {"timed_tcp_timeouts", "timed_tcp_retransmitted"} <= set(size.counters)
        # The processor time of both ranks in three calls.
        assert size.process_s is not None and size.process_s > 0


@pytest.mark.parametrize("library", LAUNCHERS)
@pytest.mark.parametrize("collective", ["alltoallv", "alltoallw", "ialltoallv", "ialltoallw"])
def test_uneven_matrices_are_exchanged_without_wrong_bytes(
    library: str, collective: str, tmp_path: Path
) -> None:
    """Two sizes; in the second rank 0 sends to itself alone and rank 1 sends nothing."""
    matrices = np.array([[[3, 1000], [0, 70_001]], [[5, 0], [0, 0]]], dtype=np.int64)
    matrices.tofile(tmp_path / "matrix")
    arguments = ["--collective", collective, "--matrix", str(tmp_path / "matrix")]
    record = good_run(library, "--sizes", "100,200", "--max-calls", "2", *arguments)
    assert [len(record.size(size).seconds) for size in (100, 200)] == [2, 2]
    assert record.size(100).wrong_bytes == record.size(200).wrong_bytes == 0
    assert len(record.hosts) == 2 and len(set(record.hosts)) == 1


@pytest.mark.parametrize("library", LAUNCHERS)
def test_nonblocking_calls_are_waited_for(library: str) -> None:
    record = good_run(
        library, "--sizes", "100,70000", "--max-calls", "2", "--collective", "ialltoall"
    )
    assert [record.size(size).wrong_bytes for size in (100, 70000)] == [0, 0]


def test_matrix_files_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "matrix"
    arguments = ["--sizes", "100", "--collective", "alltoallv", "--matrix", str(path)]
    np.zeros(3, dtype=np.int64).tofile(path)
    status, _, errors = run("mpich", arguments)
    assert status != 0
    assert "holds no 2 x 2 numbers in place 1" in errors
    np.array([1, -1, 1, 1], dtype=np.int64).tofile(path)
    status, _, errors = run("mpich", arguments)
    assert status != 0
    assert "a block of -1 bytes" in errors


def test_calls_go_on_until_the_least_time_is_reached() -> None:
    few = good_run("mpich", "--sizes", "8", "--min-calls", "4", "--min-seconds", "0")
    assert len(few.size(8).seconds) == 4
    capped = good_run("mpich", "--sizes", "8", "--max-calls", "9", "--min-seconds", "30")
    assert len(capped.size(8).seconds) == 9


def test_one_flipped_bit_is_one_wrong_byte(tmp_path: Path) -> None:
    source, library = tmp_path / "saboteur.c", tmp_path / "saboteur.so"
    source.write_text(SABOTEUR)
    mpicc = find_root() / ".mpi/openmpi/bin/mpicc"
    command = [str(mpicc), "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True)
    arguments = ["--sizes", "1000", "--warmup", "0", "--min-calls", "4"]
    status, output, errors = run("openmpi", arguments, library)
    assert status == 0, errors
    assert read_run(output).size(1000).wrong_bytes == 1
    assert "rank 1: 1 of 1000 bytes from rank 1 are wrong, the first at offset 3" in errors
    # In MPI_Alltoallv, a byte past the end of what rank 1 receives.
    status, output, errors = run("openmpi", [*arguments, "--collective", "alltoallv"], library)
    assert status == 0, errors
    assert read_run(output).size(1000).wrong_bytes == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--sizes", "0"],
        ["--sizes", "ten"],
        ["--sizes", "1", "--colour", "red"],
        ["--sizes", "1", "--collective", "allgather"],
        ["--sizes", "1", "--matrix", "file"],
        ["--sizes", "1", "--matrix", "file", "--collective", "ialltoall"],
    ],
)
def test_bad_options_are_refused(arguments: list[str]) -> None:
    status, output, errors = run("mpich", arguments)
    assert status != 0
    assert output == ""
    assert "usage: alltoall_bench" in errors
