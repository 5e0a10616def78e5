"""What a boot makes around a lab's first process: files, command lines, the way in of its plan."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from allemande.errors import Failed
from allemande.lab import boot_plan, capacity, mpi_launch, preflight, processor_group
from allemande.lab.network import ROUTERS, Network
from allemande.topology import Cluster

CLUSTER_FILE = "cluster.toml"

# The lab's own processes need the standard library only, and start faster without site-packages.
_INSIDE = str(Path(__file__).parent)
_PYTHON = (sys.executable, "-I", "-S", "-c")


def inside_program(module: str) -> list[str]:
    code = f"import sys; sys.path.insert(0, {_INSIDE!r}); from inside.{module} import main; main()"
    return [*_PYTHON, code]


def choose_scale(cluster: Cluster) -> tuple[float, list[str]]:
    """Where none is given; with what is to be said of it."""
    processors = len(os.sched_getaffinity(0))
    scale = capacity.default_scale(cluster, processors)
    if scale == 1:
        return scale, []
    return scale, [
        f"scale {scale:g}: the largest that this machine's {processors} processors carry"
    ]


def emulator_command(directory: Path, forwarding: str, output_frames: int | None) -> list[str]:
    group = processor_group.make()
    return [
        str(preflight.emulator_program()),
        *("--cluster", str(directory / CLUSTER_FILE), "--directory", str(directory)),
        *(
            ("--routing", "ecmp", "--routers")
            if forwarding == ROUTERS
            else ("--routing", "d-mod-k")
        ),
        *([] if output_frames is None else ["--output-frames", str(output_frames)]),
        *([] if group is None else ["--group", str(group)]),
    ]


def write_files(directory: Path, network: Network, description: str) -> None:
    (directory / "tmp").mkdir()
    (directory / "hosts").write_text(boot_plan.hosts_file(network))
    (directory / CLUSTER_FILE).write_text(network.to_toml(description))


def write_agent(directory: Path, network: Network, pids: list[int]) -> None:
    agent = directory / "lab-agent"
    agent.write_text(mpi_launch.agent_script(dict(zip(network.hosts, pids, strict=False))))
    agent.chmod(0o755)


def start(directory: Path) -> subprocess.Popen[bytes]:
    with (directory / "log").open("wb") as log:
        return subprocess.Popen(
            inside_program("init"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C is ours to handle
        )


def build(
    process: subprocess.Popen[bytes], plan: dict[str, Any], directory: Path
) -> tuple[int, list[int]]:
    """Sends the plan; returns the first process as seen from here, and the holders."""
    assert process.stdin is not None and process.stdout is not None
    # A first process that ended before it read says why on its output, or in the log.
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(plan).encode() + b"\n")
        process.stdin.flush()
    init = 0
    for line in process.stdout:
        message = json.loads(line)
        if "pid" in message:
            init = message["pid"]
            process.wait()
        elif "ready" in message:
            return init, message["ready"]
        elif message.get("stage") == "namespaces":
            raise Failed(preflight.no_namespaces(message["error"]))
        else:
            raise Failed(f"the lab cannot be built: {message['error']}")
    log = (directory / "log").read_text().strip()
    raise Failed(f"the lab's first process ended while building: {log or 'it left no message'}")


def end(process: subprocess.Popen[bytes]) -> None:
    """Closing the life line ends what is still alive."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            # What a process that has ended did not read is not worth a message.
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
    process.wait()
