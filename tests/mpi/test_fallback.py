"""Where UDP does not pass, or only small packets do: one warning, the same result."""

from __future__ import annotations

from tests.mpi.mpi_job import Bench
from tests.mpi.udp_filters import drop_large_udp, drop_udp


def test_udp_blocked_on_one_host_takes_messages(own_bench: Bench) -> None:
    drop_udp(own_bench.lab, "h4")
    done = own_bench.run("correct", "sizes", env={"ALLEMANDE_HELLO_TIMEOUT_MS": "1000"})
    done.check()
    assert len(done.warnings) == 1
    assert "no UDP hello" in done.warnings[0]
    assert "h4" in done.warnings[0]
    assert "MPI point-to-point messages instead" in done.warnings[0]
    assert done.stats["communicators_mpi"] == len(own_bench.lab.hosts)
    assert done.stats["exchanges"] > 0
    assert done.stats["mpi_messages"] > 0


def test_udp_blocked_everywhere_every_datatype_is_right(own_bench: Bench) -> None:
    for host in own_bench.lab.hosts:
        drop_udp(own_bench.lab, host)
    done = own_bench.run("correct", "types", env={"ALLEMANDE_HELLO_TIMEOUT_MS": "300"})
    done.check()
    assert len(done.warnings) == 1


def test_udp_demanded_but_blocked_passes_through(own_bench: Bench) -> None:
    drop_udp(own_bench.lab, "h1")
    done = own_bench.run(
        "repeat",
        "3",
        "1000",
        env={"ALLEMANDE_HELLO_TIMEOUT_MS": "300", "ALLEMANDE_TRANSPORT": "udp"},
    )
    done.check()
    assert len(done.warnings) == 1
    assert done.stats["passed_through"] == 3 * len(own_bench.lab.hosts)


def test_a_smaller_mtu_on_the_way_makes_packets_smaller(own_bench: Bench) -> None:
    drop_large_udp(own_bench.lab, "h2", 1400)
    done = own_bench.run("correct", "sizes", env={"ALLEMANDE_HELLO_TIMEOUT_MS": "1000"})
    done.check()
    assert len(done.warnings) == 1
    assert "UDP datagrams of 1472 bytes do not get through" in done.warnings[0]
    assert "1232 bytes are used" in done.warnings[0]
    assert done.stats["communicators_udp"] == len(own_bench.lab.hosts)


def test_messages_by_choice_send_no_datagram(bench: Bench) -> None:
    done = bench.run("correct", "communicators", env={"ALLEMANDE_TRANSPORT": "mpi"})
    done.check()
    assert not done.warnings
    assert done.stats["communicators_udp"] == 0
    assert done.stats["datagrams_sent"] == 0


def test_an_interface_that_is_not_there_is_named(bench: Bench) -> None:
    done = bench.run("repeat", "3", "1000", env={"ALLEMANDE_INTERFACE": "eth77"})
    done.check()
    assert len(done.warnings) == 1
    assert "UDP cannot be used: h0:" in done.warnings[0]
    assert "eth77" in done.warnings[0]
