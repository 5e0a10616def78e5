"""The profile of the network: the way predicted to be the fastest is taken from the first call, or
after two calls over UDP, where it may wait for time-outs."""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.mpi.conftest import SLOW_CLUSTER as CLUSTER
from tests.mpi.mpi_job import Bench, Done

from allemande.decisions import load_decisions
from allemande.lab import Lab
from allemande.model.profile import Sample, save_profile
from allemande.model.samples import bench_samples, profile_of
from allemande.topology import load_cluster

SIZE = 10000
SMALL = 1000
STALL_S = 0.6  # src/tuning/trial_rules.h
OURS = "udp sync-shuffle@balanced"
BEGINS = re.compile(r"bytes per pair: begins with (.*?)(?:, window .*?)? \(predicted: (\S+) ms")


@pytest.fixture(scope="module")
def shared_lab() -> Iterator[Lab]:
    """At full speed, as profiles are."""
    with Lab.boot(CLUSTER, scale=1) as lab:
        yield lab


def write_profile(path: Path, samples: Sequence[Sample], mpi: str = "") -> Path:
    save_profile(profile_of(load_cluster(str(CLUSTER)), samples, mpi=mpi), path)
    return path


def sample(lab: Lab, way: str, time_s: float, size: int = SIZE) -> Sample:
    members = tuple(lab.hosts)
    return Sample(candidate=way, way=way, bytes=size, times_s=(time_s,) * 3, members=members)


def run(bench: Bench, profile: Path, calls: int, size: int = SIZE, **env: str) -> Done:
    done = bench.run(
        "repeat",
        str(calls),
        str(size),
        env={
            "ALLEMANDE_TRIALS": "on",
            "ALLEMANDE_LOG": "info",
            "ALLEMANDE_PROFILE": str(profile),
            **env,
        },
    )
    done.check()
    return done


def begins(done: Done) -> tuple[str, float]:
    """The way of the first call, and the milliseconds predicted of it."""
    (told,) = [match for line in done.warnings if (match := BEGINS.search(line))]
    return told[1], float(told[2])


def test_the_way_predicted_to_be_the_fastest_is_taken(bench: Bench, tmp_path: Path) -> None:
    """Blocks so small that no way is near what links need. Ours vouches for the library, whose
    first call comes when the gain of the calls made pays for a stall: what ours takes here, less
    what is said of the library. How much that is, and how many calls it needs, depends on the
    machine, so that the first job, in which the library is said to be slow, measures it. After 64
    calls a burst may show there that queues hold what the library sends, so it makes fewer.
    """

    def with_library(says: str, library_s: float, ours_s: float, calls: int) -> tuple[Done, float]:
        """The job, and what a call of ours took in it, in seconds."""
        times_s = {"library": library_s, OURS: ours_s}
        samples = [sample(bench.lab, way, time_s, SMALL) for way, time_s in times_s.items()]
        decisions = tmp_path / f"{says}-decisions.toml"
        profile = write_profile(tmp_path / f"{says}.toml", samples)
        done = run(bench, profile, calls, size=SMALL, ALLEMANDE_DECISIONS=str(decisions))
        way, predicted_ms = begins(done)
        assert way.startswith("sync-shuffle (balanced)")
        assert predicted_ms == pytest.approx(1000 * ours_s, rel=0.01)
        (decision,) = load_decisions(str(decisions))
        (ours,) = [one for one in decision.ways if one.name == "sync-shuffle (balanced) over UDP"]
        assert ours.time_us is not None
        return done, 1e-6 * ours.time_us

    slow, ours_s = with_library("slow", library_s=0.1, ours_s=0.002, calls=60)
    assert slow.stats["native"] == 0, (slow.stats, slow.warnings)
    calls = 1 + int(3 * STALL_S / (0.9 * ours_s))
    fast, _ = with_library("fast", library_s=0.1 * ours_s, ours_s=ours_s, calls=calls)
    assert fast.stats["native"] > 0, (calls, ours_s, fast.stats, fast.warnings)


def test_a_profile_of_another_network_is_named_and_not_used(bench: Bench, tmp_path: Path) -> None:
    profile = write_profile(
        tmp_path / "net.toml", [sample(bench.lab, "library", 0.001)], mpi="Other MPI 1.0"
    )
    done = run(bench, profile, 1)
    (warning,) = [line for line in done.warnings if "ALLEMANDE_PROFILE" in line]
    assert f"{profile} is of another network: it was measured with Other MPI 1.0" in warning
    assert done.stats["native"] == 0


def test_a_profile_made_of_what_bench_measured(
    shared_lab: Lab, programs: Path, tmp_path: Path
) -> None:
    measured = tmp_path / "bench.json"
    command = [sys.executable, "-m", "allemande", "bench", "--lab", str(CLUSTER), "--scale", "0.4"]
    command += ["--sizes", str(SIZE), "--rounds", "1", "--calls", "5", "--seconds", "0.1"]
    command += ["--against", "openmpi,openmpi:pairwise,allemande+openmpi:algorithm=sync-shuffle"]
    subprocess.run([*command, "--json", measured], check=True, capture_output=True, timeout=90)
    bench = Bench(shared_lab, programs / "openmpi", "openmpi", tmp_path)
    members = list(shared_lab.hosts)
    samples = bench_samples(measured.read_text(), "bench.json", members)
    assert len(samples) == 3
    # Busy machines make figures void, not wrong.
    times_s = {one.candidate: statistics.median(one.times_s) for one in samples}
    names = {
        "openmpi": "the MPI library",
        "openmpi:pairwise": "pairwise over MPI point-to-point messages",
        "allemande+openmpi:algorithm=sync-shuffle": "sync-shuffle (balanced) over UDP",
    }
    fastest = min(times_s, key=lambda candidate: times_s[candidate])

    decisions = tmp_path / "decisions.toml"
    other = write_profile(tmp_path / "other.toml", samples, mpi="Open MPI v0.0.1")
    (warning,) = [line for line in run(bench, other, 1).warnings if "another network" in line]
    mpi = re.search(r"this job has (.*)\. It is not used", warning)
    assert mpi, warning
    profile = write_profile(tmp_path / "net.toml", samples, mpi=mpi[1])
    done = run(bench, profile, 120, ALLEMANDE_DECISIONS=str(decisions))
    way, predicted_ms = begins(done)
    first = next(candidate for candidate, name in names.items() if name == way)
    assert first == fastest or way.endswith("over UDP")  # vouches for one that may stall
    assert abs(predicted_ms / (1000 * times_s[first]) - 1) < 0.01

    (decision,) = load_decisions(str(decisions))
    assert decision.ways[0].name == names[fastest] and decision.profile is not None
    predicted = {one.name: one.predicted_us for one in decision.ways}
    for candidate, name in names.items():
        told = predicted[name]
        assert told is not None and abs(told / (1e6 * times_s[candidate]) - 1) < 0.01
    explained = subprocess.run(
        [sys.executable, "-m", "allemande", "explain", decisions, "--csv", "-"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert "predicted_us" in explained.stdout.splitlines()[0]
