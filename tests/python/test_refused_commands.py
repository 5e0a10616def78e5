"""Command lines that are refused: exit code 2, a message that says why, and nothing on stdout."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from allemande.cli import main
from allemande.model.profile import Sample, save_profile
from allemande.model.samples import profile_of
from allemande.topology import load_cluster

# Below the beginning that they share: the rest of a line, and what is said of it. PROFILE is a
# profile of 16 hosts, LONG a name that no file can have.
REFUSED = """
bench
    --cold --idle 5 | exclude each other
    --cold --warmup 2 | --cold has no --warmup
    --idle -1 | expected milliseconds, 0 to 3600000
    --idle nan | expected milliseconds
    --jobs 0 | expected 1 to 8
    --jobs 3 --job-layout split | expected a multiple of 3
    --job-layout split | add --jobs 2
    --jobs 2 --job-layout halves | expected interleaved or split
    --slow h32:5 | no host 'h32'; did you mean 'h3'?
    --slow 'h3:5,h[2-4]:1' | names h3 twice
    --half-rate 'h[0-40]' | no host 'h32'
    --background nowhere:5 | 'nowhere' is unknown; expected 'uplinks', a switch
    --background h0..h99:5 | no host 'h99'
    --background h0..h0:5 | needs two hosts
    --sizes '' | size '' is not valid
    --sizes ten | size 'ten' is not valid
    --against nobody | unknown candidate 'nobody'
    --lab tam-9x9 | no cluster is called 'tam-9x9'
    --scale 0 | --scale 0 is not valid
    --rounds 0 | --rounds 0 is not valid
    --congestion-control warp | control 'warp' is not loaded here; expected one of
    --json - --csv - | --json and --csv cannot both be '-'
    --timeline 1K | --timeline draws on the page; name one with --html FILE
    --timeline 7 --html - | --timeline 7 is not valid; expected one of --sizes: 100, 1000, 10000
    --json /nowhere/x.json | its folder does not exist
bench --lab tam-8x1
    --background 5 | no link between switches
    --collective allgather | collective 'allgather' is unknown; expected one of
    --matrix hot | MPI_Alltoall sends the same to everybody; use --collective
    --matrix hot --collective ialltoall | use --collective ialltoallv or
    --collective alltoallv --matrix warm | matrix 'warm' is unknown
    --collective alltoallv --matrix file:m --sizes 1 | leave out --sizes
    --collective alltoallv --matrix file:m | matrix file m: No such file
    --collective alltoallv --matrix hot:1e6 --sizes 100M | offsets end
    --ranks-per-host 0 | --ranks-per-host '0' is not valid
    --ranks-per-host 4, | --ranks-per-host '4,' is not valid
    --ranks-per-host 1,1,1,1,1,1,1,1,1 | names 9 hosts; the cluster has 8
    --rank-order random | rank order 'random' is unknown; expected block or cyclic
    --seed -1 | --seed -1 is not valid
    --seed 5000000000 | --seed 5000000000 is not valid; expected 0 to 4294967296
    --collective alltoallw --against openmpi:linear | no algorithm of MPI_Alltoallw; expected
    --pattern ft:S | is the simulator's alone; expected drc, alltoall-phased,
    --pattern drc --matrix random | leave out --matrix and --timeline
    --pattern drc --collective ialltoall | needs --collective ialltoallv or ialltoallw
    --pattern drc --jobs 2 | is measured alone; leave out the conditions
build-preload
    --mpicc /nowhere/mpicc | /nowhere/mpicc: no such command; expected the compiler
demo
    --output zero.csv | zero.csv is no folder; expected one, or a new name
doctor
    --mpirun /nowhere/mpirun | /nowhere/mpirun: no such command
examples
    --scale 0 | scale 0: expected a number above 0
emit json
    | how many ranks is not said
    --ranks 33 --cluster tam-8x4 | 33 ranks on 32 hosts
    --ranks 4 --size 1,2 | a schedule has one size
    --ranks 4 --algorithm ring | expected one of
    --ranks 70000 | out of range
    --ranks 4 --times bench.json | --times says nothing for json
lab run
    --congestion-control reno -- ./app | shape a lab that is booted for the run; name the CLUSTER
predict PROFILE
    --hosts x | --hosts 'x' cannot be read
    --hosts 2000 | expected at most 64 times
    --against mpich | the profile says nothing of 'mpich'
    --plot p.pdf | ends with .svg or .png
    --plot p.svg --hosts 8,16 | one number of hosts
    --json PROFILE | is a file that is read; expected another one
    --json p.txt --csv ./p.txt | --json and --csv cannot both be ./p.txt; expected two files
plan PROFILE
    --cluster-out PROFILE | is a file that is read; expected another one
probe
    --simulate torus:1 | one host alone measures no network; expected two or more
    --simulate tam-8x1 -o p --cluster-out p | cannot both be p; expected two files
reproduce
    | no experiment named; expected one of 000-ablation, 000-fig-10,
    000-fig-11 | no experiment is called '000-fig-11' (did you mean 004-fig-11?)
    000-fig-5 --json - --csv - | cannot both be '-'
    000-fig-3-4 --lab | simulated only
    000-fig-5 --output zero.csv | zero.csv is no folder; expected one, or a new name
    000-fig-5 --output zero.csv/out | zero.csv is no folder; expected one, or a new name
    000-fig-5 --lab --scale 0 | scale 0: expected a number above 0
    dctcp-all-to-all --scale 0.1 | add --lab
    dctcp-all-to-all --timers real | add --lab
run
    --cluster zero.csv -- mpirun -n 2 ./app | zero.csv:1: not valid TOML
simulate
    tam-9x9 | no cluster is called 'tam-9x9'; expected a cluster file, fat-tree:HOSTS,
    fat-tree:1 | too small; expected fat-tree:HOSTS, for example fat-tree:128
    fat-tree:x | `x` are no sizes of it; expected fat-tree:HOSTS
simulate tam-16x1
    --matrix pareto | matrix 'pareto' is unknown
    --matrix file:none.csv | matrix file none.csv:
    --matrix file:none.csv --size 10 | leave out --size
    --matrix hot --mode flow | the same size for every pair
simulate tam-8x1
    --pattern drc --matrix random | both say who sends how much; expected one of them
    --pattern drc --mode flow | needs packet mode; flow mode has no steps
    --pattern drc --jobs 2 | says who sends; leave out jobs
    --pattern drc --ranks-per-host 2 | needs one rank per host
    --pattern drc --set transport=messages | expected flow_control = "back-pressure" on all switches
    --pattern ft:S --size 1KB | says how many bytes; leave out --size
    --background full | all hosts are on one switch
    --jobs 5 --job-layout split | cannot be split among 5 jobs
    --exchanges 1000000000 | 1<=x<=1000000.
    --matrix file:zero.csv --jobs 2 | several jobs need bytes that cross the network
    --job-layout mixed | expected interleaved or split
    --set congestion_control=vegas | expected aimd or off
topology .
    | .: a folder; expected a cluster file or one of the ready-made clusters
topology tam-8x1
    --scale 1e-323 | expected a number from 0.000001 to 1000000
    --scale 500001 | makes a link or a switch faster than 1000000000 Mbit/s
    --output . | --output .: is a folder; expected a file
    --output LONG | File name too long; expected a writable file
    --lid-tables . | --lid-tables .: is a folder; expected a file
    --lid-tables - --lmc -1 | -1 is not in the range x>=0
simulate tam-8x4
    --size '' | size '' cannot be read
    --size ten | size 'ten' cannot be read
    --algorithm fast | unknown algorithm `fast`; expected one of: direct,
    --algorithm pairwise, | has an empty name
    --mode exact | mode 'exact' is unknown; expected one of packet, flow
    --permutation any | unknown permutation `any`; expected one of
    --routing any | expected ecmp, d-mod-k, source
    --fault fire:host=h1 | fault 'fire' is unknown; expected one of
    --fault slow-host:host | 'host' cannot be read; expected KEY=VALUE
    --fault slow-host:host=h99 | no host `h99`; expected h[0-31]
    --set colour=red | `colour` is unknown; expected
    --mode flow --set colour=red | options of flow mode: `colour` is unknown
    --set colour | --set 'colour' cannot be read
    --json - --csv - | --json and --csv cannot both be '-'
    --trace /nowhere/x | its folder does not exist
    --trace x --size 1,2 | --trace takes one algorithm and one size
    --background core:full | expected 'uplinks' or two hosts
    --background h0..h99:full | no host 'h99'
"""


def refused() -> list[tuple[str, str]]:
    found = []
    begin = ""
    for line in REFUSED.strip().splitlines():
        if line.startswith(" "):
            rest, _, message = line.partition("| ")
            found.append((f"{begin} {rest.strip()}".strip(), message))
        else:
            begin = line
    return found


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> str:
    cluster = load_cluster("tam-8x2")
    hosts = tuple(host.name for host in cluster.hosts)
    samples = [
        Sample("openmpi:linear", size, (0.004 + size * 3e-6,), hosts)
        for size in (1000, 4000, 10_000, 50_000)
    ]
    path = tmp_path_factory.mktemp("profile") / "net.toml"
    save_profile(profile_of(cluster, samples, mpi="Open MPI 5.0.11"), path)
    return str(path)


@pytest.mark.parametrize(("line", "message"), refused())
def test_says_why_and_ends_with_2(
    line: str,
    message: str,
    profile: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zero.csv").write_text("0,0,0,0,0,0,0,0\n" * 8)
    words = {"PROFILE": profile, "LONG": "x" * 300}
    assert main([words.get(word, word) for word in shlex.split(line)]) == 2
    printed = capsys.readouterr()
    told = " ".join(printed.err.split())
    assert message in told
    assert "Traceback" not in told
    assert printed.out == ""
