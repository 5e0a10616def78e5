"""Reads the facts of this machine. Changes nothing; what cannot be read is told as such."""

from __future__ import annotations

import json
import os
import platform
import shutil
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from allemande.doctor import mpi_check, sockets
from allemande.doctor.facts import Bond, Cluster, Facts, Interface
from allemande.errors import AllemandeError

COMMAND_TIMEOUT_S = 20


def collect(
    *,
    cluster_file: str | None = None,
    launchers: Sequence[str] = (),
    jobs: bool = True,
    environment: Mapping[str, str] | None = None,
) -> Facts:
    env = dict(os.environ if environment is None else environment)
    configuration, configured_file = _configuration(env)
    return Facts(
        system=platform.system(),
        kernel=platform.release(),
        rmem_max=number("net/core/rmem_max"),
        wmem_max=number("net/core/wmem_max"),
        netdev_max_backlog=number("net/core/netdev_max_backlog"),
        port_range=port_range(_read("/proc/sys/net/ipv4/ip_local_port_range")),
        sockets=sockets.probe(),
        interfaces=_interfaces(),
        firewalls=_firewalls(),
        processors=len(os.sched_getaffinity(0)),
        processors_online=os.cpu_count() or 1,
        huge_pages=chosen(_read("/sys/kernel/mm/transparent_hugepage/enabled")),
        container=_container(),
        namespaces=_namespaces(),
        lab_tools=_lab_tools(),
        configuration=configuration,
        mpis=mpi_check.find(launchers, env, jobs=jobs),
        cluster=_cluster(cluster_file or configured_file),
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def number(name: str) -> int | None:
    text = _read(f"/proc/sys/{name}")
    return int(text) if text.isdigit() else None


def port_range(text: str) -> tuple[int, int] | None:
    words = text.split()
    return (int(words[0]), int(words[1])) if len(words) == 2 else None


def chosen(text: str) -> str:
    """`always [madvise] never` -> madvise."""
    return text.partition("[")[2].partition("]")[0]


def _output(*command: str) -> str:
    """What a command prints; empty where it is missing, fails or hangs."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=COMMAND_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _interfaces() -> tuple[Interface, ...]:
    queues = {}
    for entry in json.loads(_output("ip", "-json", "link", "show") or "[]"):
        queues[entry.get("ifname", "")] = entry.get("qdisc", "")
    found = []
    for name in (name for _, name in sorted(socket.if_nameindex()) if name != "lo"):
        folder = f"/sys/class/net/{name}"
        driver = Path(folder, "device", "driver")
        found.append(
            Interface(
                name=name,
                up=_read(f"{folder}/operstate") in ("up", "unknown") and _is_up(folder),
                mtu=int(_read(f"{folder}/mtu") or 0),
                driver=driver.resolve().name if driver.exists() else "",
                virtual="/virtual/" in str(Path(folder).resolve()),
                queue=queues.get(name, ""),
                speed_mbit_s=max(0, int(_read(f"{folder}/speed") or 0)),
                bond=bond(
                    {
                        key: _read(f"{folder}/bonding/{key}")
                        for key in ("mode", "xmit_hash_policy", "slaves")
                    },
                    _read(f"/proc/net/bonding/{name}"),
                ),
            )
        )
    return tuple(found)


def bond(files: Mapping[str, str], told: str) -> Bond | None:
    """Of an interface: `files` of its folder `bonding` in sysfs, and /proc/net/bonding/NAME."""
    if not files["mode"]:
        return None
    parts = [part.strip() for part in told.split("Slave Interface:")]
    up = [part.split()[0] for part in parts[1:] if "MII Status: up" in part]
    return Bond(
        mode=files["mode"].split()[0],
        hash_policy=next(iter(files["xmit_hash_policy"].split()), ""),
        members=tuple(files["slaves"].split()),
        up=tuple(up),
    )


def _is_up(folder: str) -> bool:
    return bool(int(_read(f"{folder}/flags") or "0", 0) & 1)  # IFF_UP


def _firewalls() -> tuple[str, ...]:
    """Those that are known to drop what nobody has allowed. Rules themselves need root to read."""
    active = []
    if "ENABLED=yes" in _read("/etc/ufw/ufw.conf"):
        active.append("ufw")
    if Path("/run/firewalld").exists() or _output(
        "systemctl", "is-active", "firewalld"
    ).strip() == ("active"):
        active.append("firewalld")
    if "policy drop" in _output("nft", "list", "chains"):
        active.append("nftables with policy drop")
    if "-P INPUT DROP" in _output("iptables", "-S", "INPUT"):
        active.append("iptables with policy DROP")
    return tuple(active)


def _container() -> str:
    if Path("/.dockerenv").exists():
        return "Docker"
    if Path("/run/.containerenv").exists():
        return "Podman"
    for name in ("APPTAINER_NAME", "SINGULARITY_NAME"):
        if name in os.environ:
            return "Apptainer"
    return ""


def _namespaces() -> str:
    """Why the lab could not begin; asked for in a process of its own, which ends at once."""
    from allemande.lab import preflight

    unshare = shutil.which("unshare")
    if unshare is None:
        return "unshare is not found in PATH; apt-get install util-linux"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    try:
        done = subprocess.run(
            [unshare, *user, "--net", "--uts", "--mount", "--pid", "--fork", "true"],
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return preflight.no_namespaces(str(error))
    reason = done.stderr.strip().removeprefix("unshare: ")
    return "" if done.returncode == 0 else preflight.no_namespaces(reason)


def _lab_tools() -> tuple[str, ...]:
    from allemande.lab import preflight

    return tuple(f"{tool} ({package})" for tool, package in preflight.missing_tools().items())


def _configuration(environment: Mapping[str, str]) -> tuple[str, str]:
    """What is wrong with it, and the cluster file it names."""
    from allemande import config

    try:
        settings = config.load(environment=environment)
    except AllemandeError as error:
        return str(error), ""
    return "", settings["cluster"].value


def _cluster(path: str) -> Cluster | None:
    if not path:
        return None
    from allemande.topology import load_cluster, tune

    host = socket.gethostname()
    try:
        cluster = load_cluster(path)
    except AllemandeError as error:
        return Cluster(path, error=str(error))
    names = {entry.name.partition(".")[0] for entry in cluster.hosts}
    return Cluster(
        path,
        hosts=len(cluster.hosts),
        warnings=tuple(tune(cluster).warnings),
        names_this_host=host.partition(".")[0] in names,
        host=host,
    )
