"""`allemande preload` and `allemande run`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.mpi.mpi_job import Bench

from allemande.errors import BadInput
from allemande.lab.mpi_launch import installation, prefix
from allemande.preload import launch, launcher_kind, library_path


def allemande(*arguments: str, env: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "allemande", *arguments],
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def launcher(mpi: str, name: str = "mpirun") -> str:
    return str(prefix(mpi) / "bin" / name)


def test_preload_prints_the_path(mpi: str) -> None:
    code, out, _ = allemande("preload", "--mpi", mpi)
    assert code == 0
    assert out.strip() == str(library_path(mpi))


def test_preload_lists_the_libraries() -> None:
    code, _, err = allemande("preload", "--mpi", "lam")
    assert code == 2
    assert "openmpi" in err and "mpich" in err


@pytest.mark.parametrize("name", ["mpirun", "mpiexec"])
def test_launchers_are_told_apart(mpi: str, name: str) -> None:
    assert launcher_kind(launcher(mpi, name), os.environ) == mpi


def test_variables_are_forwarded(mpi: str) -> None:
    environment = {"PATH": os.environ["PATH"], "ALLEMANDE_LOG": "info", "HOME": "/x"}
    line, inherited = launch(
        [launcher(mpi), "-n", "2", "app"],
        {"ALLEMANDE_WINDOW_PACKETS": "7"},
        environment=environment,
    )
    variables = {
        "ALLEMANDE_LOG": "info",
        "ALLEMANDE_WINDOW_PACKETS": "7",
        "LD_PRELOAD": str(library_path(mpi)),
    }
    flags = {
        "openmpi": [word for item in variables.items() for word in ("-x", "=".join(item))],
        "mpich": [word for item in variables.items() for word in ("-genv", *item)],
    }[mpi]
    assert line == [launcher(mpi), *flags, "-n", "2", "app"]
    assert "LD_PRELOAD" not in inherited


def test_what_is_preloaded_already_stays_in_front(mpi: str) -> None:
    environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": "/a.so /b.so"}
    line, _ = launch([launcher(mpi), "app"], {}, environment=environment)
    value = f"LD_PRELOAD=/a.so:/b.so:{library_path(mpi)}".removeprefix(
        "" if mpi == "openmpi" else "LD_PRELOAD="
    )
    assert any(word.endswith(value) for word in line)


# Several programs in one job.
def test_every_context_is_told_to_forward(mpi: str) -> None:
    environment = {"PATH": os.environ["PATH"]}
    line, _ = launch(
        [launcher(mpi), "-n", "1", "a", ":", "-n", "1", "b"], {}, environment=environment
    )
    value = str(library_path(mpi))
    if mpi == "openmpi":
        flags = ["-x", f"LD_PRELOAD={value}"]
        wanted = [*flags, "-n", "1", "a", ":", *flags, "-n", "1", "b"]
    else:
        wanted = ["-genv", "LD_PRELOAD", value, "-n", "1", "a", ":", "-n", "1", "b"]
    assert line == [launcher(mpi), *wanted]


def test_srun_hands_on_its_environment(tmp_path: Path) -> None:
    srun = tmp_path / "srun"
    srun.write_text("#!/bin/sh\n")
    srun.chmod(0o755)
    with pytest.raises(BadInput, match="--mpi"):
        launch([str(srun), "app"], {}, environment={})
    line, environment = launch([str(srun), "app"], {}, mpi="mpich", environment={})
    assert line == [str(srun), "app"]
    assert environment["LD_PRELOAD"] == str(library_path("mpich"))


@pytest.mark.parametrize("command", ["true", "no-such-launcher"])
def test_unknown_launchers_are_refused(command: str) -> None:
    code, _, err = allemande("run", "--", command, "-n", "2", "app")
    assert code == 2
    assert command in err
    assert "mpirun" in err


def test_invalid_options_are_refused_once(mpi: str) -> None:
    code, _, err = allemande("run", "--set", "window_packets=x", "--", launcher(mpi), "app")
    assert code == 2
    assert "window_packets" in err


def test_unknown_clusters_are_refused(mpi: str) -> None:
    code, _, err = allemande("run", "--cluster", "tam-9x9", "--", launcher(mpi), "app")
    assert code == 2
    assert "tam-8x4" in err


def test_a_profile_is_looked_at_before_anything_is_started(mpi: str, tmp_path: Path) -> None:
    profile = tmp_path / "net.toml"
    profile.write_text("format = 1\n[network]\nhosts = 3\n")
    code, _, err = allemande("run", "--profile", str(profile), "--", launcher(mpi), "app")
    assert code == 2
    assert f"{profile}:" in err
    code, _, err = allemande("run", "--profile", "no-such.toml", "--", launcher(mpi), "app")
    assert code == 2
    assert "no-such.toml" in err


def test_a_job_in_the_lab(bench: Bench) -> None:
    """The whole way: the command, the launcher's forwarding, an accelerated exchange."""
    stats = bench.folder / "stats.json"
    inner = bench.command([bench.program("repeat"), "3", "1000"], preload=False)
    at = inner.index(str(installation(bench.platform.launcher).mpirun))
    ours = [sys.executable, "-m", "allemande", "run", "--cluster", str(bench.lab.cluster_file)]
    ours += ["--set", f"stats={stats}", "--set", "trials=off", "--"]
    done = subprocess.run(
        [*inner[:at], *ours, *inner[at:]], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0 and "CORRECT" in done.stdout, done.stderr
    assert '"exchanges": 18' in stats.read_text()
