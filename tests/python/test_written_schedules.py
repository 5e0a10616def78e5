"""Schedules in the formats of others, read back: every pair gets its bytes, and nobody waits."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from types import ModuleType

import pytest
from tests.python.readers import goal as goal_reader
from tests.python.readers import htsim as htsim_reader
from tests.python.readers import msccl as msccl_reader
from tests.python.readers import plan_json as plan_reader
from tests.python.readers.traffic import check_pairs

from allemande.cli import main
from allemande.errors import BadInput
from allemande.formats import goal, htsim, msccl, plan_json
from allemande.formats.schedule import Schedule, make_schedule
from allemande.topology import load_cluster

SIZE = 3000  # two full packets and one of 56 bytes
DIRECT = ("sync-shuffle", "group-shuffle:3", "pairwise", "shift-exchange", "direct")
FORWARDING = ("grid", "bruck", "one-way-bruck:2", "recursive-doubling")
READERS = {plan_json: plan_reader, goal: goal_reader, msccl: msccl_reader, htsim: htsim_reader}


def written(schedule: Schedule, module: ModuleType) -> str:
    return "".join(module.write(schedule))


def name_of(module: object) -> str | None:
    return module.__name__.rpartition(".")[2] if isinstance(module, ModuleType) else None


def message_bytes(schedule: Schedule) -> dict[tuple[int, int], int]:
    """What goes from rank to rank, whatever is in it."""
    found: dict[tuple[int, int], int] = defaultdict(int)
    for rank in range(schedule.ranks):
        for phase in schedule.phases(rank):
            for round_ in phase.rounds:
                for message in round_.send:
                    found[rank, message.peer] += len(message.blocks) * schedule.size
    return dict(found)


@pytest.mark.parametrize("module", READERS, ids=name_of)
@pytest.mark.parametrize("algorithm", [*DIRECT, *FORWARDING])
def test_every_schedule_is_read_back(algorithm: str, module: ModuleType) -> None:
    for ranks in (2, 5, 8, 9, 16):
        if ranks & (ranks - 1) and algorithm == "recursive-doubling":
            continue
        if ranks in (2, 5) and algorithm == "grid":
            continue
        schedule = make_schedule(algorithm, SIZE, ranks=ranks)
        found = READERS[module].read(written(schedule, module), "file")
        assert schedule.direct == (algorithm in DIRECT or ranks == 2)
        if module in (goal, htsim):
            assert found.moved == message_bytes(schedule)
            if schedule.direct:
                check_pairs(found.moved, ranks, SIZE, "file")


@pytest.mark.parametrize("module", READERS, ids=name_of)
def test_a_schedule_of_a_cluster_is_read_back(module: ModuleType) -> None:
    schedule = make_schedule("sync-shuffle", 10_000, cluster=load_cluster("tam-8x2"))
    assert schedule.ranks == 16
    READERS[module].read(written(schedule, module), "file")


@pytest.mark.parametrize(
    "identity", ["sync-shuffle@xor-plain", "group-shuffle:5@shift", "grid:4x4", "direct"]
)
def test_an_identity_names_a_schedule(identity: str) -> None:
    schedule = make_schedule(identity, SIZE, ranks=16, cluster=load_cluster("tam-8x4"))
    assert schedule.identity == identity
    assert schedule.hosts == [f"h{i}" for i in range(16)]
    assert plan_reader.read(written(schedule, plan_json), "plan.json").head["ranks"] == 16


# ---- JSON ----------------------------------------------------------------------------------------


def test_the_document_says_what_the_plan_is() -> None:
    schedule = make_schedule("sync-shuffle", 10_000, cluster=load_cluster("tam-8x4"))
    found = plan_reader.read(written(schedule, plan_json), "plan.json")
    head = dict(found.head)
    assert head.pop("hosts")[:2] == ["h0", "h1"]
    assert head == {
        "format": 1,
        "algorithm": "sync-shuffle",
        "identity": "sync-shuffle@balanced",
        "permutation": "balanced",
        "ranks": 32,
        "bytes": 10_000,
        "packet_bytes": 1472,
        "window_packets": 4,
        "grain_packets": 1,
    }
    only = found.plans[3]["phases"][0]
    assert only["interleaved"]
    assert [len(only["rounds"][0][key]) for key in ("send", "receive")] == [31, 31]


def test_ranks_that_wait_for_each_other_are_found() -> None:
    """Two rounds, taken in different order."""
    document = json.loads(written(make_schedule("shift-exchange", SIZE, ranks=3), plan_json))
    for plan in document["plans"]:
        for key in ("send", "receive"):
            first, second = plan["phases"][0]["rounds"]
            first[key], second[key] = second[key], first[key]
            break
    with pytest.raises(BadInput, match="wait for each other"):
        plan_reader.read(json.dumps(document), "plan.json")


# ---- GOAL ----------------------------------------------------------------------------------------


def test_goal_is_exactly_this() -> None:
    text = written(make_schedule("shift-exchange", 2000, ranks=2), goal)
    assert text.splitlines()[:9] == [
        "num_ranks 2",
        "rank 0 {",
        "l1: send 1472b to 1 tag 0",
        "l2: send 528b to 1 tag 0",
        "l2 requires l1",
        "l3: recv 1472b from 1 tag 0",
        "l4: recv 528b from 1 tag 0",
        "l4 requires l3",
        "}",
    ]


def test_a_round_of_goal_requires_the_one_before() -> None:
    lines = written(make_schedule("shift-exchange", 100, ranks=4), goal).splitlines()
    rank_0 = lines[2 : lines.index("}")]
    assert rank_0 == [
        "l1: send 100b to 1 tag 0",
        "l2: recv 100b from 3 tag 0",
        "l3: send 100b to 2 tag 0",
        "l3 requires l1",
        "l3 requires l2",
        "l4: recv 100b from 2 tag 0",
        "l5: send 100b to 3 tag 0",
        "l5 requires l3",
        "l5 requires l4",
        "l6: recv 100b from 1 tag 0",
    ]


def test_packets_of_a_round_alternate_in_goal() -> None:
    text = written(make_schedule("sync-shuffle", SIZE, ranks=4, permutation="shift"), goal)
    sends = re.findall(r"send (\d+)b to (\d)", text.partition("}")[0])
    assert [(int(size), int(to)) for size, to in sends] == [
        (size, to) for size in (1472, 1472, 56) for to in (1, 2, 3)
    ]


def test_the_parameters_of_goal_are_those_of_the_network() -> None:
    """100 Mbit/s: 80 ns a byte, and 1514 bytes for a full packet."""
    schedule = make_schedule("sync-shuffle", SIZE, cluster=load_cluster("tam-8x4"))
    found = goal.parameters(schedule, overhead_ns=500)
    assert found is not None and found.exact
    assert found.gap_per_byte == 80
    assert found.gap + 1471 * 80 == 1514 * 80
    assert (found.overhead, found.eager_bytes) == (500, SIZE + 1)
    assert f"-L {found.latency} -o 500 -g 3440 -G 80 -O 0 -S 3001" == str(found)
    tuning = schedule.tuning
    assert tuning is not None
    assert found.latency == round((tuning.latency_us - tuning.packet_time_us) * 1e3)
    assert goal.parameters(make_schedule("sync-shuffle", SIZE, ranks=4)) is None


def test_a_cycle_in_goal_is_found() -> None:
    text = "num_ranks 2\n" + "".join(
        f"rank {rank} {{\nl1: send 1b to {1 - rank} tag 0\nl2: recv 1b from {1 - rank} tag 0\n"
        "l1 requires l2\n}\n"
        for rank in (0, 1)
    )
    with pytest.raises(BadInput, match="wait for each other"):
        goal_reader.read(text, "file")


# ---- MSCCL ---------------------------------------------------------------------------------------


def test_msccl_has_a_thread_block_for_each_peer() -> None:
    text = written(make_schedule("shift-exchange", SIZE, ranks=4), msccl)
    assert text.startswith(
        '<algo name="allemande-shift-exchange-shift" proto="Simple" nchannels="1" '
        'nchunksperloop="4" ngpus="4" coll="alltoall"'
    )
    gpu = text.partition("</gpu>")[0]
    blocks = re.findall(r'<tb id="(\d)" send="(\d)" recv="(\d)" chan="0">', gpu)
    assert blocks == [("0", "1", "3"), ("1", "2", "2"), ("2", "3", "1")]
    # Round 2 begins with a send that waits for what round 1 has received and sent.
    second = gpu.partition('<tb id="1"')[2].partition("</tb>")[0].splitlines()[1]
    assert (
        'type="s" srcbuf="i" srcoff="2" dstbuf="o" dstoff="0" cnt="1" depid="0" deps="1"' in second
    )


def test_more_than_one_wait_takes_nops() -> None:
    text = written(make_schedule("pairwise", SIZE, ranks=8), msccl)
    assert msccl_reader.read(text, "file").ranks == 8
    assert text.count('type="nop"') > 0


def test_32_peers_share_a_channel_and_216_thread_blocks_are_all() -> None:
    text = written(make_schedule("sync-shuffle", SIZE, ranks=40), msccl)
    first = text.partition("</gpu>")[0]
    channels = Counter(re.findall(r'chan="(\d)"', first))
    assert channels == {"0": 32, "1": 7}
    assert msccl_reader.read(text, "file").thread_blocks == 39
    with pytest.raises(BadInput, match=r"218 ranks need 217 thread blocks .* MSCCL has 216"):
        written(make_schedule("sync-shuffle", SIZE, ranks=218), msccl)


def test_256_steps_are_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """With fewer to have it quickly: four blocks go and come, and one stays."""
    schedule = make_schedule("one-way-bruck:2", SIZE, ranks=8)
    assert (msccl.STEPS_MAX, msccl_reader.read(written(schedule, msccl), "file").steps) == (256, 9)
    monkeypatch.setattr(msccl, "STEPS_MAX", 8)
    with pytest.raises(BadInput, match="thread blocks of up to 9 steps; MSCCL has 216 of 8"):
        written(schedule, msccl)


def test_empty_gpus_are_not_looked_at_pair_by_pair() -> None:
    gpus = "".join(f'<gpu id="{rank}"/>' for rank in range(50_000))
    with pytest.raises(BadInput, match="0 steps of 50000 GPUs cannot move"):
        msccl_reader.read(f'<algo ngpus="50000" nchunksperloop="50000">{gpus}</algo>', "file")


def test_entities_are_refused() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY a "x"><!ENTITY b "&a;&a;">]><algo ngpus="&b;"/>'
    with pytest.raises(BadInput, match="file:1: declares the entity 'a'"):
        msccl_reader.read(bomb, "file")


def test_gpus_that_only_send_at_first_are_found() -> None:
    """MSCCL holds few chunks between two GPUs: both would wait for room for ever."""
    step = (
        '<step s="{}" type="{}" srcbuf="i" srcoff="{}" dstbuf="o" dstoff="{}" cnt="1" depid="-1" '
        'deps="-1" hasdep="0"/>'
    )
    kinds = ("s", "s", "r", "r")
    gpus = "".join(
        f'<gpu id="{rank}"><tb id="0" send="{1 - rank}" recv="{1 - rank}" chan="0">'
        + "".join(step.format(place, kind, 1 - rank, rank) for place, kind in enumerate(kinds))
        + "</tb></gpu>"
        for rank in range(2)
    )
    with pytest.raises(BadInput, match="wait"):
        msccl_reader.read(f'<algo ngpus="2" nchunksperloop="2">{gpus}</algo>', "file")


# ---- htsim ---------------------------------------------------------------------------------------


def test_htsim_starts_a_round_by_the_barrier_of_the_one_before() -> None:
    lines = written(make_schedule("shift-exchange", 100, ranks=4), htsim).splitlines()
    assert lines[:3] == ["Nodes 4", "Connections 12", "Triggers 8"]
    assert lines[3:6] == [
        "0->1 id 1 start 0 size 100 send_done_trigger 1 recv_done_trigger 3",
        "0->2 id 2 trigger 1 size 100 send_done_trigger 2 recv_done_trigger 6",
        "0->3 id 3 trigger 2 size 100",
    ]
    assert lines[15:] == [f"trigger id {number} barrier count 2" for number in range(1, 9)]


def test_flows_that_htsim_cannot_read_are_refused() -> None:
    with pytest.raises(BadInput, match="htsim reads at most 2147483647"):
        written(make_schedule("sync-shuffle", 2**31, ranks=2), htsim)


# ---- the command ---------------------------------------------------------------------------------


def test_the_command_writes_schedules(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--algorithm", "sync-shuffle", "--size", "10000"]
    assert main(["emit", "goal", *words, "--ranks", "16"]) == 0
    done = capsys.readouterr()
    assert goal_reader.read(done.out, "stdout").ranks == 16
    assert "name one with --cluster" in done.err
    assert main(["emit", "goal", *words, "--cluster", "tam-8x2"]) == 0
    assert "LogGOPSim -L " in capsys.readouterr().err
    assert main(["emit", "htsim", *words, "--ranks", "4"]) == 0
    assert "alternate is lost" in capsys.readouterr().err


def test_what_is_refused_leaves_an_older_file_as_it_is(tmp_path: Path) -> None:
    out = tmp_path / "exchange.xml"
    assert main(["emit", "msccl", "--ranks", "8", "-o", str(out)]) == 0
    before = out.read_text()
    assert main(["emit", "msccl", "--ranks", "300", "-o", str(out)]) == 2
    assert out.read_text() == before


# ---- files that are wrong ------------------------------------------------------------------------

# What is changed in a right one, and what is said of it.
WRONG = {
    "plan": [
        ('"send": [1', '"send": [2', "differs between sender and receiver"),
        ('"bytes": 3000', '"bytes": "3000"', "`bytes` is '3000'"),
        ('"format": 1', '"format": 2', "format 2; expected 1"),
        ('"rank": 3', '"rank": 2', "plan 3 is of rank 2"),
        ('"plans"', '"plan"', "expected an object with the keys format, "),
    ],
    "goal": [
        ("l2: recv 100b", "l2: recv 99b", "is not what is received"),
        ("l3 requires l2", "l3 requires l9", "names what is not there"),
        (
            "l2: recv 100b from 3 tag 0",
            "l2: recv 100b from 3 tag 0\nl2 requires l5",
            "names what is not there",
        ),
        ("rank 1 {", "node 1 {", "file:[0-9]+: .*cannot be read; expected GOAL"),
        ("l1: send 100b", f"l1: send {'9' * 4300}b", "file:3: .*cannot be read; expected GOAL"),
        ("l1: send 100b", "l1: send \N{ARABIC-INDIC DIGIT THREE}b", "file:3: .*cannot be read"),
    ],
    "msccl": [
        ('hasdep="1"', 'hasdep="0"', "`hasdep` marks"),
        ('type="s" srcbuf="i" srcoff="1"', 'type="s" srcbuf="i" srcoff="2"', "lacks what GPU 0"),
        ('recv="3"', 'recv="2"', "does not send"),
        ('nchunksperloop="4"', 'nchunksperloop="5"', "nchunksperloop"),
        ('<step s="1"', '<step s="7"', "out of order"),
        ("<algo", "<algorithm", "file:[0-9]+: not valid XML"),
        (' chan="0"', "", "file:3: <tb> has no chan"),
        (' srcoff="1"', "", "file:4: <step> has no srcoff"),
        (' ngpus="4"', "", "file:1: <algo> has no ngpus"),
        ('recv="3"', 'recv="-7"', "file:3: .*no such peer"),
        ('recv="3"', f'recv="{"9" * 4300}"', "file:3: .*is no number"),
        ("<step ", "<stop ", "file:[0-9]+: <stop> stands where <step> belongs"),
        ('<gpu id="1"', '<gpu id="0"', "GPU 0 stands where 1 belongs"),
        ('<tb id="1"', '<tb id="0"', "thread block 0 stands where 1 belongs"),
        ('ngpus="4"', 'ngpus="999999999"', "are not those of 999999999 ranks"),
    ],
    "htsim": [
        ("Connections 12", "Connections 13", "are not those of the lines"),
        ("Triggers 8", "Triggers 7", "are not those of the lines"),
        ("trigger id 1 barrier count 2", "trigger id 1 barrier count 3", "barriers count"),
        ("id 2 trigger 1", "id 1 trigger 1", "not unique"),
        ("id 2 trigger 1 ", "id 2 trigger 2 ", "wait for each other"),
        ("0->1", "0=>1", "file:4: .*cannot be read"),
        ("size 100", f"size {'9' * 4300}", "file:4: .*cannot be read"),
    ],
}
RIGHT = {
    "plan": ("sync-shuffle", SIZE, plan_json, plan_reader),
    "goal": ("shift-exchange", 100, goal, goal_reader),
    "msccl": ("shift-exchange", SIZE, msccl, msccl_reader),
    "htsim": ("shift-exchange", 100, htsim, htsim_reader),
}


@pytest.mark.parametrize(
    ("kind", "old", "new", "message"),
    [(kind, *change) for kind, changes in WRONG.items() for change in changes],
)
def test_files_that_are_wrong_are_refused(kind: str, old: str, new: str, message: str) -> None:
    algorithm, size, writer, reader = RIGHT[kind]
    text = written(make_schedule(algorithm, size, ranks=4), writer)
    assert old in text
    with pytest.raises(BadInput, match=message):
        reader.read(text.replace(old, new, 1), "file")
