"""`allemande doctor`: every finding from facts made up for it, and one real run."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from allemande.cli import main
from allemande.doctor import collect as collecting
from allemande.doctor import sockets as probing
from allemande.doctor.collect import collect
from allemande.doctor.facts import Bond, Cluster, Facts, Interface, Mpi, Sockets
from allemande.doctor.findings import Finding, examine, failed
from allemande.launchers import Launcher, identify

GOOD_SOCKETS = Sockets(receive_buffer_bytes=4 << 20, send_buffer_bytes=1 << 20)
ETHERNET = Interface("eth0", up=True, mtu=1500, driver="igb", virtual=False, queue="mq")
OPENMPI = Mpi(
    "/opt/ompi/bin/mpirun",
    "openmpi",
    version="Open MPI 5.0.11",
    mpicc="/opt/ompi/bin/mpicc",
    fortran=True,
    preload="/x/liballemande-openmpi.so",
    job="",
)
GOOD = Facts(
    rmem_max=4 << 20,
    wmem_max=4 << 20,
    netdev_max_backlog=1000,
    port_range=(32768, 60999),
    sockets=GOOD_SOCKETS,
    interfaces=(ETHERNET, Interface("eth1", up=False, mtu=68, driver="", virtual=True)),
    processors=8,
    processors_online=8,
    huge_pages="madvise",
    mpis=(OPENMPI,),
    cluster=Cluster("net.toml", hosts=4),
)


def troubles(facts: Facts) -> list[Finding]:
    return [finding for finding in examine(facts) if finding.status != "ok"]


def test_a_good_machine_has_no_trouble() -> None:
    assert troubles(GOOD) == []
    assert not failed(examine(GOOD))
    subjects = {finding.check for finding in examine(GOOD)}
    assert {"receive buffer", "UDP_SEGMENT", "ports", "preload", "cluster file"} <= subjects


def test_bonds_are_read_and_those_that_hash_ports_are_fine() -> None:
    files = {"mode": "802.3ad 4", "xmit_hash_policy": "layer3+4 1", "slaves": "eno1 eno2"}
    told = (
        "Bonding Mode: IEEE 802.3ad\nMII Status: up\n\n"
        "Slave Interface: eno1\nMII Status: up\nSpeed: 10000 Mbps\n\n"
        "Slave Interface: eno2\nMII Status: down\n"
    )
    assert collecting.bond(files, told) == Bond("802.3ad", "layer3+4", ("eno1", "eno2"), ("eno1",))
    assert collecting.bond(dict.fromkeys(files, ""), "") is None
    sound = Bond("802.3ad", "layer3+4", ("eno1", "eno2"), ("eno1", "eno2"))
    facts = replace(GOOD, interfaces=(replace(ETHERNET, queue="noqueue", bond=sound),))
    assert troubles(facts) == []
    says = [finding.says for finding in examine(facts) if finding.check == "bond"]
    assert says == [
        "eth0: 802.3ad of eno1, eno2, by layer3+4: paths spread over the links with "
        "ALLEMANDE_PATHS=4"
    ]


def wire(**changes: object) -> Facts:
    return replace(GOOD, sockets=replace(GOOD_SOCKETS, **changes))  # type: ignore[arg-type]


def card(**changes: object) -> Facts:
    return replace(GOOD, interfaces=(replace(ETHERNET, **changes),))  # type: ignore[arg-type]


def mpi(**changes: object) -> Facts:
    return replace(GOOD, mpis=(replace(OPENMPI, **changes),))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("facts", "status", "says", "fix"),
    [
        (replace(GOOD, system="Darwin"), "bad", "Darwin: allemande needs Linux", "Linux hosts"),
        (replace(GOOD, kernel="4.15.0-20"), "note", "4.15.0-20 cannot hand over trains", "newer"),
        (wire(receive_buffer_bytes=212992), "bad", "92 packets of 1500 bytes; .* at least 128",
         "sysctl -w net.core.rmem_max=2097152"),
        (wire(receive_buffer_bytes=1 << 20), "note", "1048576 bytes are granted of 4194304",
         "sysctl -w net.core.rmem_max=2097152"),
        (wire(send_buffer_bytes=65536), "note", "65536 bytes are granted of 294912",
         "sysctl -w net.core.wmem_max=147456"),
        (replace(GOOD, rmem_max=None), "note", "net/core/rmem_max cannot be read", ""),
        (replace(GOOD, wmem_max=None), "note", "net/core/wmem_max cannot be read", ""),
        (replace(GOOD, netdev_max_backlog=300), "note", "queues 300 received packets at most",
         "sysctl -w net.core.netdev_max_backlog=1000"),
        (replace(GOOD, netdev_max_backlog=None), "note", "netdev_max_backlog cannot be read", ""),
        (wire(error="UDP sockets cannot be used: denied"), "bad", "cannot be used: denied",
         "ALLEMANDE_TRANSPORT=mpi"),
        (wire(passes=False), "bad", "do not get through on loopback", "allow UDP on lo"),
        (wire(segmentation="Protocol not available"), "note", "Protocol not available", "GSO"),
        (wire(coalescing="Protocol not available"), "note", "received one by one", "5.0"),
        (wire(error_queue="denied"), "note", "ICMP errors are not told: denied", "silence"),
        (replace(GOOD, port_range=(40000, 40100)), "bad", "ports 40000 to 40100: too few",
         'sysctl -w net.ipv4.ip_local_port_range="32768 60999"'),
        (replace(GOOD, firewalls=("ufw",)), "note", "ufw active", "UDP ports 32768 to 60999"),
        (replace(GOOD, interfaces=()), "note", "none but loopback is up", "ip link set"),
        (card(mtu=500), "bad", "eth0: igb, MTU 500; packets of at least 576", "mtu 1500"),
        (card(driver="virtio_net"), "note", "packets vanish", "paces in user space"),
        (card(driver="", virtual=True, queue="noqueue"), "note", "eth0: virtual", "paces"),
        (card(bond=Bond("802.3ad", "layer2", ("a", "b"), ("a", "b"))), "note",
         "eth0: 802.3ad of a, b, by layer2: all packets between two hosts take one",
         "echo layer3.4 > /sys/class/net/eth0/bonding/xmit_hash_policy"),
        (card(bond=Bond("802.3ad", "layer3+4", ("a", "b"), ("b",))), "note", "a, b; down: a",
         "cable"),
        (replace(GOOD, processors=1), "note", "1 of 8 may be used", "--bind-to none"),
        (replace(GOOD, huge_pages="never"), "note", "transparent huge pages are off", "madvise"),
        (replace(GOOD, container="Docker"), "note", "Docker: addresses", "--network host"),
        (replace(GOOD, configuration="ALLEMANDE_X: unknown"), "bad", "ALLEMANDE_X: unknown",
         "allemande config"),
        (replace(GOOD, cluster=Cluster("a.toml", error="a.toml:3: no name")), "bad",
         "a.toml:3: no name", "cluster-file.md"),
        (replace(GOOD, cluster=Cluster("a.toml", warnings=("slow core",))), "note", "slow core",
         "allemande topology a.toml"),
        (replace(GOOD, cluster=Cluster("a.toml", names_this_host=False, host="h9")), "note",
         r"does not name this host \(h9\)", "add the host"),
        (replace(GOOD, mpis=()), "note", "no launcher", "--mpirun"),
        (mpi(kind=""), "note", "neither Open MPI's nor MPICH's launcher", "forward LD_PRELOAD"),
        (mpi(preload="", preload_missing="/x is missing"), "bad", "/x is missing",
         "allemande build-preload --mpicc /opt/ompi/bin/mpicc"),
        (mpi(job="exit code 1: crash"), "bad", "2 processes under /opt/ompi/bin/mpirun failed",
         "build-preload --mpicc /opt/ompi/bin/mpicc"),
        (mpi(job=None, job_skipped="--no-jobs"), "note", "not tried .--no-jobs", ""),
        (replace(GOOD, lab_tools=("ip (iproute2)", "tc (iproute2)")), "note", "need ip .iproute2",
         "apt-get install iproute2$"),
        (replace(GOOD, namespaces="may not (EPERM); run it as root"), "note", "may not .EPERM",
         "^run it as root"),
    ],
)  # fmt: skip
def test_each_trouble_gives_one_finding_with_its_fix(
    facts: Facts, status: str, says: str, fix: str
) -> None:
    import re

    found = troubles(facts)
    assert len(found) == 1, found
    assert found[0].status == status
    assert re.search(says, found[0].says)
    assert re.search(fix, found[0].fix)
    assert failed(examine(facts)) == (status == "bad")


def test_slurm_and_shaped_devices_are_no_trouble() -> None:
    assert troubles(mpi(kind="srun")) == []
    assert troubles(card(driver="veth", queue="tbf")) == []
    assert "1000 Mbit/s" in next(
        f.says for f in examine(card(speed_mbit_s=1000)) if "eth" in f.says
    )


def test_trouble_with_sockets_is_told_once() -> None:
    assert [f.check for f in troubles(wire(error="denied", receive_buffer_bytes=0))] == ["UDP"]


def test_settings_of_proc_are_parsed_and_missing_ones_are_none() -> None:
    assert collecting.port_range("32768\t60999") == (32768, 60999)
    assert collecting.port_range("") is None
    assert collecting.chosen("always [madvise] never") == "madvise"
    assert collecting.number("no/such/setting") is None


def test_udp_sockets_on_loopback_pass_a_datagram() -> None:
    found = probing.probe()
    assert found.error == "" and found.passes
    assert found.receive_buffer_bytes > 0 and found.send_buffer_bytes > 0


def test_a_launcher_of_another_kind_is_noted(tmp_path: Path) -> None:
    launcher = tmp_path / "mpirun"
    launcher.write_text("#!/bin/sh\necho another MPI\n")
    launcher.chmod(0o755)
    facts = collect(launchers=[str(launcher)])
    assert [(one.launcher, one.kind) for one in facts.mpis] == [(str(launcher), "")]


@pytest.mark.parametrize(
    ("says", "known"),
    [
        ("mpirun (Open MPI) 5.0.11", Launcher("openmpi", "Open MPI 5.0.11", prrte=True)),
        ("mpirun (Open MPI) 4.1.4 OpenRTE", Launcher("openmpi", "Open MPI 4.1.4")),
        ("HYDRA build details: Version: 4.2.0a1 CC: gcc", Launcher("mpich", "MPICH 4.2.0a1")),
        ("HYDRA", Launcher("mpich", "MPICH")),
    ],
)
def test_a_launcher_says_what_it_is(says: str, known: Launcher, tmp_path: Path) -> None:
    launcher = tmp_path / "mpirun"
    launcher.write_text(f"#!/bin/sh\necho '{says}'\n")
    launcher.chmod(0o755)
    assert identify(launcher, os.environ) == known


def test_bad_configuration_and_a_missing_cluster_file_are_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLEMANDE_WINDOW", "3")
    assert main(["doctor", "--no-jobs", "--json", "--cluster", str(tmp_path / "none.toml")]) == 1
    findings = json.loads(capsys.readouterr().out)
    bad = {finding["check"]: finding for finding in findings if finding["status"] == "bad"}
    assert "ALLEMANDE_WINDOW: unknown" in bad["configuration"]["says"]
    assert "none.toml" in bad["cluster file"]["says"]


def test_the_command_prints_its_findings_of_this_machine(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With whatever MPI is in PATH; jobs are tried in tests/mpi."""
    assert main(["doctor", "--no-jobs", "--cluster", "tam-8x4"]) in (0, 1)
    text = capsys.readouterr().out
    assert "receive buffer" in text and "cluster file" in text
    assert text.rstrip().splitlines()[-1].endswith("bad")


@pytest.mark.parametrize(
    ("speeds", "says"),
    [
        ((1000, 25000), r"jobs try b1 first .* the fastest .*25000 Mbit/s.; then b0\."),
        ((0, 0), r"jobs try b0 first .* it comes first; then b1\."),
        ((100, 0), "jobs try b1 first"),
    ],
)
def test_which_of_two_interfaces_is_tried_first(speeds: tuple[int, int], says: str) -> None:
    import re

    both = tuple(
        replace(ETHERNET, name=f"b{at}", speed_mbit_s=speed) for at, speed in enumerate(speeds)
    )
    found = [one for one in examine(replace(GOOD, interfaces=both)) if "jobs try" in one.says]
    assert len(found) == 1 and found[0].status == "ok"
    assert re.search(says, found[0].says), found[0].says
