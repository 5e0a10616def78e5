"""A lab from the outside: boot it, run commands on its hosts, read its counters, end it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import Any

from allemande.cluster_files import find_cluster_file
from allemande.errors import BadInput, Failed
from allemande.lab import (
    boot_plan,
    capacity,
    delays,
    mpi_launch,
    preflight,
    processor_group,
    registry,
)
from allemande.lab import degrade as degradation
from allemande.lab.inside import observe
from allemande.lab.inside.relay import read_counters
from allemande.lab.network import BRIDGES, ROUTERS, Network, choose_forwarding, load_network
from allemande.lab.placement import Placement, hostfile, spread
from allemande.lab.stats import RelayStats, Stats
from allemande.lab.timers import Timers, choose_timers

SAMPLE_PERIOD_S = 0.05

# The lab's own processes need the standard library only, and start faster without site-packages.
_INSIDE = str(Path(__file__).parent)
_PYTHON = (sys.executable, "-I", "-S", "-c")


def _inside_program(module: str) -> list[str]:
    code = f"import sys; sys.path.insert(0, {_INSIDE!r}); from inside.{module} import main; main()"
    return [*_PYTHON, code]


class Lab:
    """Use as a context manager: the end of the block, or of this process, ends the lab.

    with Lab.boot("tam-8x4", scale=0.1) as lab:
        lab.exec("h3", ["hostname"])
    """

    def __init__(self, state: dict[str, Any], boot: subprocess.Popen[bytes] | None = None) -> None:
        self._state = state
        self._boot = boot  # its standard input is the life line of a lab that ends with us
        self.name: str = state["name"]
        self.scale: float = state["scale"]
        self.timers = Timers(**state["timers"])
        self.directory = Path(state["directory"])
        self.cluster_file = self.directory / "cluster.toml"  # the effective one
        self.network: Network = load_network(self.cluster_file)
        self.notes: list[str] = state["notes"]
        self.routed: bool = state["forwarding"] == ROUTERS
        # Of the hosts, and of the switches where each has a namespace.
        self._pids = {
            name: holder["pid"]
            for holder in state["holders"]
            if (name := holder["host"] or holder["switch"])
        }

    # ---- life ----------------------------------------------------------------------------------

    @classmethod
    def boot(
        cls,
        cluster: str | Path,
        *,
        scale: float = 1.0,
        name: str | None = None,
        persistent: bool = False,
        timers: str | None = None,
        shape: bool = True,
        offloads: bool = False,
        congestion_control: str = "cubic",
        forwarding: str | None = None,
        sample_period_s: float = SAMPLE_PERIOD_S,
        force: bool = False,
    ) -> Lab:
        """Boots `cluster`, a file or the name of a ready-made one, with every rate times `scale`.

        `timers`: "scaled" or "real"; scaled below scale 1 if nothing is said (lab.timers).
        `shape=False` leaves the links as fast and as deep as the machine makes them. `offloads`
        keeps segmentation offloads on. `persistent`: survives this process until `close`.
        `forwarding`: "bridges" or "routers"; routers if nothing is said and a switch has several
        shortest paths to a host.
        `sample_period_s=0` turns the look at the queues off. `force` skips the processor check.
        """
        if not 0 < scale <= 1000:
            raise BadInput(f"scale {scale:g}: expected a number above 0, for example 0.1")
        times = choose_timers(timers, scale, shape)
        preflight.check()
        path = find_cluster_file(os.fspath(cluster)).absolute()
        network = load_network(path).scaled(scale if shape else 1)
        network.check(str(path))
        delays.check(network, str(path))
        routed = choose_forwarding(forwarding, network) == ROUTERS
        if shape and not force:
            capacity.check(network, scale, len(os.sched_getaffinity(0)), routed)
        control, control_notes = preflight.congestion_control(congestion_control)
        plan = boot_plan.make_plan(
            network,
            shape=shape,
            offloads=offloads,
            congestion_control=control,
            timers=times,
            routed=routed,
        )
        directory = registry.claim(network.name if name is None else name, exact=name is not None)
        process: subprocess.Popen[bytes] | None = None
        try:
            _write_files(directory, network, f"lab {directory.name}, scale {scale:g}")
            process = _start(directory)
            group = processor_group.make() if network.delayed_links() else None
            plan |= {
                "directory": str(directory),
                "sample_period_s": sample_period_s,
                "group": None if group is None else str(group),
            }
            init, pids = _build(process, plan, directory)
            state: dict[str, Any] = {
                "name": directory.name,
                "cluster": str(path),
                "scale": scale,
                "timers": asdict(times),
                "shaped": shape,
                "forwarding": ROUTERS if routed else BRIDGES,
                "persistent": persistent,
                "rootless": os.geteuid() != 0,
                "directory": str(directory),
                "init": registry.process(init),
                "holders": boot_plan.holders(plan, pids),
                "notes": [*network.notes(), *control_notes],
                # Counted for the whole machine since it started; the lab's part is what came after.
                "softnet": observe.softnet(),
            }
            _write_agent(directory, network, pids)
            registry.write(directory / "state.json", state)
            (directory / "boot.json").unlink()
            if persistent:
                assert process.stdin is not None
                process.stdin.write(b"keep\n")
                process.stdin.close()
                return cls(state)
            return cls(state, process)
        except BaseException:
            if process is not None:
                _end(process)
            registry.remove(directory)
            raise

    @classmethod
    def attach(cls, name: str | None = None) -> Lab:
        """A lab that runs already; without a name the only one."""
        return cls(registry.find(name))

    def close(self) -> None:
        """Ends the lab and everything in it; returns when its processes are gone."""
        registry.kill_and_wait(self._state["init"])
        if self._boot is not None:
            _end(self._boot)
            self._boot = None
        registry.remove(self.directory)

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ---- use -----------------------------------------------------------------------------------

    @property
    def hosts(self) -> tuple[str, ...]:
        return self.network.hosts

    @property
    def processors(self) -> int:
        return len(os.sched_getaffinity(0))

    @property
    def rootless(self) -> bool:
        return bool(self._state["rootless"])

    @property
    def agent(self) -> Path:
        """Inside the lab: `AGENT HOST COMMAND…` does what `ssh HOST COMMAND…` does elsewhere."""
        return self.directory / "lab-agent"

    def _enter(self) -> list[str]:
        """Into the lab's user, PID, mount and IPC namespaces, dying with the caller's thread.

        The kernel forgets the parent-death signal when credentials change, so the user namespace
        is entered first. The process that waits outside ignores Ctrl-C: it is for the command,
        which would be killed if the one outside went first.
        """
        target = str(self._state["init"]["pid"])
        user = ["nsenter", "-t", target, "-U", "--preserve-credentials", "--"]
        return [
            *("env", "--ignore-signal=INT"),
            *(user if self.rootless else []),
            *("setpriv", "--pdeathsig", "KILL", "nsenter", "-t", target, "-p", "-m", "-i", "--"),
            *("setpriv", "--pdeathsig", "KILL"),
        ]

    def _variables(self) -> dict[str, str]:
        """What the lab tells allemande, unless the user has."""
        found = self.timers.variables()
        return {name: value for name, value in found.items() if name not in os.environ}

    def command(
        self,
        host: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
    ) -> list[str]:
        """The command line that runs `argv` on `host`, or on a switch that is a router."""
        if host not in self._pids:
            close = get_close_matches(host, self._pids, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise BadInput(
                f"lab {self.name!r} has no host {host!r}; {hint}"
                f"expected one of: {', '.join(self.hosts)}"
            )
        if not registry.is_alive(self._state["init"]):
            raise Failed(f"lab {self.name!r} is not running any more")
        settings = {"TMPDIR": str(self.directory / "tmp"), **self._variables(), **(env or {})}
        return [
            *processor_group.entering(),
            *self._enter(),
            *("nsenter", "-t", str(self._pids[host]), "-m", "-n", "-u", "--"),
            *(delays.BEHIND_THE_RELAY if self.rootless and self.network.delayed_links() else ()),
            *("env", "--default-signal=INT", "-C", str(cwd or Path.cwd())),
            *(f"{key}={value}" for key, value in settings.items()),
            *argv,
        ]

    def popen(
        self,
        host: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        **options: Any,
    ) -> subprocess.Popen[Any]:
        """As subprocess.Popen. The command is killed when the calling thread ends."""
        return subprocess.Popen(self.command(host, argv, env=env, cwd=cwd), **options)

    def exec(
        self,
        host: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        **options: Any,
    ) -> subprocess.CompletedProcess[Any]:
        """As subprocess.run; with a `timeout` the command is killed when it is over."""
        return subprocess.run(self.command(host, argv, env=env, cwd=cwd), **options)

    def mpi_command(
        self,
        library: str,
        n: int | None,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        netmod: str | None = None,
        preload: Path | None = None,
        placement: Placement | None = None,
        cwd: str | Path | None = None,
    ) -> list[str]:
        """The command line that runs `argv` as `n` MPI ranks, one per host unless there are more.

        A `placement` says where each rank goes, and lets those of a host use shared memory.

        `library` is one of mpi_launch.NAMES, or the path of an mpirun. `env` goes to every rank,
        and so do our own ALLEMANDE_ variables. With `preload`, the library to put into every rank,
        ALLEMANDE_CLUSTER names the effective cluster file. `arguments` are the launcher's own.
        """
        ranks = len(self.hosts) if n is None else n
        if ranks < 1:
            raise BadInput(f"-n {ranks}: expected a number of ranks from 1 on")
        chosen = mpi_launch.installation(library)
        where = placement or spread(ranks, len(self.hosts))
        text = hostfile(self.hosts, where, chosen.kind)
        name = f"hosts.{chosen.kind}.{where.ranks}.{zlib.crc32(text.encode()):08x}"
        hosts = self.directory / name
        if not hosts.exists():
            part = hosts.with_name(f"{hosts.name}.{os.getpid()}")
            part.write_text(text)
            part.rename(hosts)
        line, settings = mpi_launch.launch(
            chosen,
            where.ranks,
            argv,
            agent=self.agent,
            hosts=hosts,
            env=mpi_launch.forwarded(
                chosen, self.cluster_file, {**self._variables(), **(env or {})}, preload
            ),
            arguments=arguments,
            netmod=netmod,
            cyclic=where.order == "cyclic",
            shared_memory=placement is not None and placement.shares_hosts,
            devices=self.network.common_devices(),
            launch_device=delays.launch_device(self.network),
        )
        # What the caller sets for the ranks may be meant for the launcher's side as well.
        own = {name: value for name, value in (env or {}).items() if name != "LD_PRELOAD"}
        return self.command(self.hosts[0], line, env={**settings, **own}, cwd=cwd)

    def run(
        self, library: str, n: int | None, argv: Sequence[str], **options: Any
    ) -> subprocess.CompletedProcess[Any]:
        """Runs `argv` under MPI; options of `mpi_command`, the rest go to subprocess.run."""
        names = ("env", "arguments", "netmod", "preload", "placement", "cwd")
        chosen = {name: options.pop(name) for name in names if name in options}
        return subprocess.run(self.mpi_command(library, n, argv, **chosen), **options)

    def inside_command(self, module: str) -> list[str]:
        """The command line that runs one of lab/inside's programs; it dies with its caller."""
        return [*self._enter(), *_inside_program(module)]

    def inside_state(self) -> dict[str, Any]:
        """What such a program needs to know of the lab."""
        return dict(self._state)

    def degrade(
        self,
        one: str,
        other: str,
        *,
        rate: float | None = None,
        loss: float | None = None,
        down: bool = False,
        withdraw_ms: float | None = None,
    ) -> None:
        """Makes the link between two nodes worse, both ways: `rate` and `loss` as parts of 1.

        `down`: everything sent over it is lost, silently. With `withdraw_ms`, so much later, all
        routers take their next hops over it away; the call returns after that. What is not named
        stays as it is. Raises BadInput for what is no link of the lab.
        """
        if (rate is None) + (loss is None) + (not down) != 2:
            raise BadInput("expected one of: a rate, a loss, down")
        if rate is not None and not 0 < rate <= 1:
            raise BadInput(f"rate {rate:g}: expected a part of the link's own, above 0 to 1")
        if rate is not None and not self._state["shaped"]:
            raise BadInput(f"the links of lab {self.name!r} are not shaped: they have no rate")
        if loss is not None and not 0 < loss < 1:
            raise BadInput(f"loss {loss:g}: expected a part of the packets, above 0 and below 1")
        if withdraw_ms is not None and not (down and withdraw_ms >= 0):
            raise BadInput("only what is down is withdrawn, after 0 ms or more")
        if withdraw_ms is not None and not self.routed:
            raise BadInput(f"lab {self.name!r} has bridges with fixed paths: nothing to withdraw")
        links = degradation.find_links(self.network, one, other, self.name)
        before = degradation.read(self.directory)
        after = degradation.changed(before, links, rate=rate, loss=1.0 if down else loss)
        self._change_links(before, after)
        if withdraw_ms is not None:
            time.sleep(withdraw_ms / 1000)
            self._change_links(after, degradation.withdrawn(after, links))

    def restore(self, one: str, other: str) -> None:
        """The link as it was built, next hops included."""
        links = degradation.find_links(self.network, one, other, self.name)
        before = degradation.read(self.directory)
        self._change_links(before, degradation.changed(before, links, restore=True))

    def _change_links(self, before: degradation.Conditions, after: degradation.Conditions) -> None:
        if not registry.is_alive(self._state["init"]):
            raise Failed(f"lab {self.name!r} is not running any more")
        bridges = [
            holder["pid"]
            for holder in self._state["holders"]
            if not (holder["host"] or holder["switch"] or holder["relay"])
        ]
        commands = degradation.commands(self.network, before, after, self.routed)
        for (node, tool), lines in commands.items():
            pid = self._pids.get(node) or bridges[0]
            argv = [*self._enter(), "nsenter", "-t", str(pid), "-n", "--", tool, "-batch", "-"]
            done = subprocess.run(
                argv, input="\n".join(lines) + "\n", text=True, capture_output=True, check=False
            )
            if done.returncode != 0:
                raise Failed(f"cannot change the links of {node}: {tool}: {done.stderr.strip()}")
        degradation.write(self.directory, after)

    def relay(self) -> RelayStats | None:
        """What the relay counted, as `stats` has it, at once; None: no link has a latency."""
        if not self.network.delayed_links():
            return None
        return RelayStats(**read_counters(self.directory / "relay"))

    def stats(self) -> Stats:
        """Every counter as it stands; `later.since(earlier)` gives those of a run."""
        done = subprocess.run(
            self.inside_command("observe"),
            input=json.dumps(self._state),
            text=True,
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            raise Failed(f"cannot read the counters of lab {self.name!r}: {done.stderr.strip()}")
        conditions = degradation.read(self.directory)
        return Stats.from_observation(
            self.name,
            degradation.apply_rates(self.network, conditions),
            json.loads(done.stdout),
            shaped=bool(self._state["shaped"]),
            softnet_at_boot=self._state["softnet"],
            degraded=degradation.as_rows(self.network, conditions),
        )


def _write_files(directory: Path, network: Network, description: str) -> None:
    (directory / "tmp").mkdir()
    (directory / "hosts").write_text(boot_plan.hosts_file(network))
    (directory / "cluster.toml").write_text(network.to_toml(description))


def _write_agent(directory: Path, network: Network, pids: list[int]) -> None:
    agent = directory / "lab-agent"
    agent.write_text(mpi_launch.agent_script(dict(zip(network.hosts, pids, strict=False))))
    agent.chmod(0o755)


def _start(directory: Path) -> subprocess.Popen[bytes]:
    with (directory / "log").open("wb") as log:
        return subprocess.Popen(
            _inside_program("init"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,  # Ctrl-C is ours to handle
        )


def _build(
    process: subprocess.Popen[bytes], plan: dict[str, Any], directory: Path
) -> tuple[int, list[int]]:
    """Sends the plan; returns the first process as seen from here, and the holders."""
    assert process.stdin is not None and process.stdout is not None
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


def _end(process: subprocess.Popen[bytes]) -> None:
    """Closing the life line ends what is still alive."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
    process.wait()
