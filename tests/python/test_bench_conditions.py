"""Conditions of real programs: what may be asked for, and the limits and figures that follow."""

from __future__ import annotations

import json
import re
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from tests.python.bench_runs import LAUNCHERS, read_run, two_ranks

from allemande.background import parse_background
from allemande.bench.background_flows import FlowLog, find_flows, path
from allemande.bench.candidates import parse_candidates
from allemande.bench.conditions import ConditionOptions, Conditions, parse_slow
from allemande.bench.figure_output import CSV_COLUMNS, rich_tables, shared_cells
from allemande.bench.figures import Shared, make_figure
from allemande.bench.job_plan import make_jobs, split_placement
from allemande.bench.records import RunRecord, SizeRecord, join_jobs, join_records
from allemande.bench.runner import MEETING_BYTES
from allemande.errors import BadInput
from allemande.lab.network import load_network
from allemande.lab.placement import parse_placement
from allemande.lab.timers import choose_timers
from allemande.row_text import csv_rows, json_rows
from allemande.topology import load_cluster

HOSTS = [f"h{index}" for index in range(32)]
CLUSTER = load_cluster("tam-8x4")
NETWORK = load_network("tam-8x4")
OPENMPI = parse_candidates(["openmpi"])[0]


def frames(count: int) -> float:
    """So many full frames on a host's link of tam-8x4."""
    return count * 1514 * 8e-8


# ---- what may be asked for -----------------------------------------------------------------------


def test_late_hosts_may_be_lists() -> None:
    assert parse_slow("h3:5, h[8-9]:0.5") == {"h3": 5, "h8": 0.5, "h9": 0.5}


@pytest.mark.parametrize(
    "text", ["", "h3", "h3:", ":5", "h3:0", "h3:-1", "h3:x", "h3:5,", "h3:nan"]
)
def test_bad_lateness_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="expected HOST:MILLISECONDS"):
        parse_slow(text)


@pytest.mark.parametrize(
    ("text", "links", "rate"),
    [
        ("200", "uplinks", 200),
        ("full", "uplinks", None),
        ("uplinks:0.5", "uplinks", 0.5),
        ("core:200", "core", 200),
        ("h0..h12:full", "h0..h12", None),
    ],
)
def test_background_says_where_and_how_much(text: str, links: str, rate: float | None) -> None:
    found = parse_background(text)
    assert (found.text, found.links, found.rate_mbit_s) == (text, links, rate)


@pytest.mark.parametrize("text", ["", "core", "core:", ":200", "0", "-3", "nan", "core:fast"])
def test_bad_background_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"expected \[LINKS:\]RATE"):
        parse_background(text)


def test_conditions_are_described_and_labelled() -> None:
    assert ConditionOptions().read(HOSTS).describe() is None
    under = ConditionOptions(cold=True, jobs=2, slow="h3:5", half_rate="h[0-1]").read(HOSTS)
    assert under.describe() == (
        "cold: each timed call is the first of its own job; 2 jobs at once, interleaved; "
        "late to every call, in ms: h3:5; links at half their rate: h[0-1]"
    )
    assert under.half_rate_hosts == ("h0", "h1")
    labels = under.labels()
    assert (labels["cold"], labels["idle_ms"], labels["background"]) == (True, 0, None)
    assert (labels["jobs"], labels["job_layout"]) == (2, "interleaved")
    assert (labels["slow"], labels["half_rate"]) == ("h3:5", "h[0-1]")


def test_times_take_the_scale_with_scaled_timers() -> None:
    under = ConditionOptions(idle_ms=500, slow="h3:5").read(HOSTS)
    assert under.arguments(choose_timers("real", 0.1)) == ["--idle", "0.5", "--late", "h3=0.005"]
    assert under.arguments(choose_timers(None, 0.1)) == ["--idle", "5", "--late", "h3=0.05"]


# ---- limits --------------------------------------------------------------------------------------


def test_half_rate_changes_the_links_of_these_hosts_alone() -> None:
    halved = ConditionOptions(half_rate="h3,h8").read(HOSTS).cluster(CLUSTER)
    before = {(link.from_, link.to): link for link in CLUSTER.links}
    assert len(halved.links) == len(before)
    for link in halved.links:
        old = before[link.from_, link.to]
        factor = 0.5 if link.from_ in ("h3", "h8") else 1
        assert link.rate_up_mbit_s == old.rate_up_mbit_s * factor
        assert link.rate_down_mbit_s == old.rate_down_mbit_s * factor
        assert link.queue_down_packets == old.queue_down_packets
    assert [host.name for host in halved.hosts] == HOSTS
    assert Conditions().cluster(CLUSTER) is CLUSTER
    under = ConditionOptions(half_rate="h3").read(HOSTS)
    single = load_cluster("tam-8x1")
    limit_s = under.cluster(single).limit_seconds(None, 1472)
    assert limit_s == pytest.approx(2 * single.limit_seconds(None, 1472))


def test_what_late_ranks_send_leaves_them_late() -> None:
    """Late by less than the rest takes, by more, and late on two hosts."""
    cluster = load_cluster("tam-8x1")
    hosts = HOSTS[:8]
    times = choose_timers("real", 1)

    def limit_s(slow: str | None) -> float:
        under = ConditionOptions(slow=slow).read(hosts)
        plan = make_jobs(cluster, [14_720], conditions=under, timers=times)
        return plan.limits_s[14_720]

    whole = frames(7 * 10)
    assert limit_s(None) == pytest.approx(whole)
    assert limit_s("h3:5") == pytest.approx(0.005 + whole)
    assert limit_s("h3:5,h4:2") == pytest.approx(0.005 + whole)
    assert limit_s("h[0-7]:3") == pytest.approx(0.003 + whole)


def test_jobs_on_the_same_hosts_share_every_link() -> None:
    under = ConditionOptions(jobs=3).read(HOSTS)
    plan = make_jobs(CLUSTER, [1000], conditions=under)
    assert len(plan.workloads) == 3
    assert plan.limits_s[1000] == pytest.approx(CLUSTER.limit_seconds(None, 1000))
    assert plan.fair_share_s[1000] == pytest.approx(3 * plan.limits_s[1000])
    assert (plan.ranks, plan.same_hosts) == (96, True)
    assert plan.labels()["ranks_per_host"] == 1


def test_split_jobs_take_every_other_host_and_meet_on_uplinks() -> None:
    where = parse_placement("2,1", 32)
    assert split_placement(where, 0, 2).slots == (2, 0) * 16
    assert split_placement(where, 1, 2).slots == (0, 1) * 16
    under = ConditionOptions(jobs=2, job_layout="split").read(HOSTS)
    plan = make_jobs(CLUSTER, [1472], conditions=under)
    first, second = plan.workloads
    assert first.hosts == tuple(HOSTS[0::2]) and second.hosts == tuple(HOSTS[1::2])
    alone = CLUSTER.limit_seconds(list(first.hosts), 1472)
    assert plan.limits_s[1472] == pytest.approx(alone)
    level = {each.level: each for each in CLUSTER.level_limits(list(first.hosts), 1472)}
    uplink = max(each.seconds for name, each in level.items() if "host" not in name)
    assert plan.fair_share_s[1472] == pytest.approx(max(alone, 2 * uplink))
    labels = plan.labels()
    assert (labels["ranks_per_host"], labels["job_layout"]) == (1, "split")


# ---- flows ---------------------------------------------------------------------------------------


def test_one_flow_from_each_leaf_to_the_next() -> None:
    flows = find_flows(parse_background("200"), NETWORK, 0.1)
    pairs = [(flow.sender, flow.receiver) for flow in flows]
    assert pairs == [("h0", "h15"), ("h8", "h23"), ("h16", "h31"), ("h24", "h7")]
    assert {flow.rate_mbit_s for flow in flows} == {20}
    # With the exchange it shares the host's link of 10 Mbit/s.
    assert {flow.fair_mbit_s for flow in flows} == {5}
    assert find_flows(parse_background("20"), NETWORK, 0.1)[0].fair_mbit_s == 2
    two_jobs = find_flows(parse_background("full"), NETWORK, 0.1, jobs=2)
    assert two_jobs[0].fair_mbit_s == pytest.approx(10 / 3)


def test_flows_of_a_switch_and_of_two_hosts() -> None:
    found = find_flows(parse_background("leaf1:full"), NETWORK, 1)
    assert [(flow.sender, flow.receiver) for flow in found] == [("h0", "h15"), ("h8", "h23")]
    assert len(find_flows(parse_background("core:full"), NETWORK, 1)) == 4
    (one,) = find_flows(parse_background("h2..h3:full"), NETWORK, 1)
    assert (one.sender, one.receiver, one.rate_mbit_s, one.fair_mbit_s) == ("h2", "h3", None, 50)


def test_a_path_is_that_of_the_packets() -> None:
    assert [port.label for port in path(NETWORK, "h0", "h15")] == [
        "h0 -> leaf0",
        "leaf0 -> core",
        "core -> leaf1",
        "leaf1 -> h15",
    ]


def test_a_flow_is_measured_in_the_calls_alone() -> None:
    log = FlowLog("0.0 0\n1.0 1000000\n2.0 1000000\n4.0 5000000\n4.5 50000")
    assert log.mbit_s([(0.25, 0.75)]) == pytest.approx(8)
    assert log.mbit_s([(0.5, 1.5), (2.0, 3.0)]) == pytest.approx((0.5 + 2) * 8 / 2)
    assert log.mbit_s([]) == 0
    assert FlowLog("").mbit_s([(0, 1)]) == 0


# ---- records and figures -------------------------------------------------------------------------


def record(seconds: list[float], **counters: int) -> SizeRecord:
    found = SizeRecord(100, seconds, counters=counters, complete=True)
    found.begins_s = [float(index) for index in range(len(seconds))]
    found.process_s = 0.5
    return found


def test_jobs_on_the_same_hosts_counted_the_same_packets() -> None:
    one = record([1.0, 1.0], frames_sent=10, allemande_packets=4)
    two = record([3.0], frames_sent=12, allemande_packets=4)
    runs = [RunRecord("MPI", 2, ["a", "b"], {100: each}, True) for each in (one, two)]
    joined = join_jobs(runs, same_hosts=True)
    assert joined.ranks == 4
    found = joined.sizes[100]
    assert found.counters == {"frames_sent": 12, "allemande_packets": 8}
    assert (found.seconds, found.job_seconds) == ([1.0, 1.0, 3.0], [[1.0, 1.0], [3.0]])
    assert found.process_s == 1.0
    apart = join_jobs(runs, same_hosts=False).sizes[100]
    assert apart.counters["frames_sent"] == 22
    assert join_jobs(runs[:1], same_hosts=True) is runs[0]


def test_cold_calls_of_several_jobs_are_one_record() -> None:
    joined = join_records([record([1.0], tcp_segments=5), record([2.0], tcp_segments=7)])
    assert (joined.seconds, joined.counters["tcp_segments"]) == ([1.0, 2.0], 12)
    assert joined.job_seconds == []


def test_together_is_what_all_jobs_got_out_of_the_links() -> None:
    """A link that is busy for 1 s with both jobs: half of it in each second of 1 and of 4."""
    joined = join_records([record([1.0]), record([4.0])], jobs=True, same_hosts=True)
    joined.background = [(1.0, [2.0, 4.0]), (3.0, [6.0, 8.0])]
    shared = Shared(1.0, [5.0, 7.0])
    labels = ConditionOptions(jobs=2, background="20").read(HOSTS).labels()
    figure = make_figure(OPENMPI, 100, 0.5, [joined, joined], labels=labels, shared=shared)
    assert figure.job_median_s == [1.0, 4.0]
    assert figure.fair_share_s == 1.0
    assert figure.together_fraction == pytest.approx(0.5 / 1 + 0.5 / 4)
    assert figure.background_mbit_s == pytest.approx([5.0, 7.0])
    assert figure.background_share == pytest.approx([1.0, 1.0])
    assert shared_cells(figure) == ("1 s 4 s", "62.5%", "6 Mbit/s", "100.0%")
    assert json.loads(json_rows([figure]))[0]["job_median_s"] == [1.0, 4.0]
    assert '"[1.0, 4.0]"' in csv_rows(CSV_COLUMNS, [figure])
    console = Console(record=True, width=120)
    for table in rich_tables([figure], "title", 120):
        console.print(table)
    text = console.export_text()
    assert "each job" in text and "of share" in text
    plain = replace(figure, jobs=1, background=None)
    assert len(rich_tables([plain], "title", 120)) == 1
    assert shared_cells(plain) == ()


# ---- the program ---------------------------------------------------------------------------------


def start(library: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*two_ranks(library), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> RunRecord:
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    found = read_run(output)
    assert found.finished
    return found


@pytest.fixture
def meeting(tmp_path: Path) -> str:
    file = tmp_path / "meeting"
    file.write_bytes(bytes(MEETING_BYTES))
    return str(file)


@pytest.mark.parametrize("library", LAUNCHERS)
def test_a_cold_call_is_one_call_without_warm_up(library: str, meeting: str) -> None:
    one_call = ["--warmup", "0", "--min-calls", "1", "--max-calls", "1"]
    run = finish(start(library, "--sizes", "3000", *one_call, "--meet", meeting, "--cold", "2"))
    size = run.sizes[3000]
    assert (len(size.seconds), size.warmup_seconds, size.wrong_bytes) == (1, [], 0)
    assert len(run.hosts) == 2


@pytest.mark.parametrize("library", LAUNCHERS)
def test_idle_and_late_take_their_time(library: str) -> None:
    host = Path("/proc/sys/kernel/hostname").read_text().strip()
    begin = time.monotonic()
    calls = ["--min-calls", "3", "--max-calls", "3", "--idle", "0.1", "--late", f"x=9,{host}=0.05"]
    run = finish(start(library, "--sizes", "100", *calls))
    end = time.monotonic()
    size = run.sizes[100]
    assert len(size.seconds) == 3 and min(size.seconds) >= 0.05
    # By rank 0's clock alone: it comes late to a call, and idles before the next.
    for earlier, later in zip(size.begins_s, size.begins_s[1:], strict=False):
        assert later - earlier >= 0.05 + 0.1
    assert begin < size.spans[0][0] < size.spans[-1][1] < end + 0.1


def test_a_job_goes_on_until_the_other_has_enough(meeting: str) -> None:
    words = ["--sizes", "100,2000", "--meet", meeting, "--jobs", "2", "--min-seconds", "0"]
    few = start("openmpi", *words, "--min-calls", "1", "--max-calls", "1")
    many = start("mpich", *words, "--min-calls", "20", "--max-calls", "20", "--idle", "0.005")
    one, other = finish(few), finish(many)
    for size in (100, 2000):
        assert len(other.sizes[size].seconds) == 20
        assert len(one.sizes[size].seconds) > 1
        begin, end = other.sizes[size].spans[0][0], other.sizes[size].spans[-1][1]
        inside = [span for span in one.sizes[size].spans if span[1] <= end]
        assert inside and inside[0][0] >= begin - 5
        assert one.sizes[size].wrong_bytes == other.sizes[size].wrong_bytes == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jobs", "2"], "need --meet"),
        (["--cold", "2"], "need --meet"),
        (["--late", "h3"], "bad option"),
        (["--late", "h3=-1"], "bad option"),
        (["--idle", "x"], "bad option"),
    ],
)
def test_the_program_refuses_what_it_cannot_do(words: list[str], message: str) -> None:
    process = start("mpich", "--sizes", "10", *words)
    _, errors = process.communicate(timeout=60)
    assert process.returncode != 0
    assert re.search(message, errors)
