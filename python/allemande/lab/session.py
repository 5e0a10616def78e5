"""A lab from the outside: boot it, run commands on its hosts, read its counters, end it."""

from __future__ import annotations

import json
import os
import subprocess
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
    booting,
    capacity,
    launch_network,
    mpi_launch,
    preflight,
    processor_group,
    registry,
)
from allemande.lab import degrade as degradation
from allemande.lab.inside import emulator, observe
from allemande.lab.network import HOST_DEVICE, ROUTERS, Network, choose_forwarding, load_network
from allemande.lab.placement import Placement, hostfile, number_of_ranks, spread
from allemande.lab.stats import EmulatorStats, Stats
from allemande.lab.timers import Timers, check_scale, choose_timers
from allemande.topology import load_cluster

# What runs in a lab of a user without root gives way to the emulator, which may not go ahead.
BEHIND_THE_EMULATOR = ("nice", "-n", "19")


OUTPUT_FRAMES_MAX = 1000


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
        self.cluster_file = self.directory / booting.CLUSTER_FILE  # the effective one
        self.network: Network = load_network(self.cluster_file)
        self.notes: list[str] = state["notes"]
        self.routed: bool = state["forwarding"] == ROUTERS
        self._shaped: bool = state["shaped"]
        self._pids = {
            holder["host"]: holder["pid"] for holder in state["holders"] if holder["host"]
        }

    # ---- life ----------------------------------------------------------------------------------

    @classmethod
    def boot(
        cls,
        cluster: str | Path,
        *,
        scale: float | None = None,
        name: str | None = None,
        persistent: bool = False,
        timers: str | None = None,
        shape: bool = True,
        offloads: bool = False,
        congestion_control: str = "cubic",
        forwarding: str | None = None,
        output_frames: int | None = None,
        force: bool = False,
    ) -> Lab:
        """Boots `cluster`, a file or the name of a ready-made one, with every rate times `scale`:
        the largest up to 1 that the processors carry, if nothing is said.

        `timers`: "scaled" or "real"; scaled below scale 1 if nothing is said (lab.timers).
        `shape=False` leaves the links as fast and as deep as the machine makes them; `offloads`
        then keeps segmentation offloads on. `persistent`: survives this process until `close`.
        `forwarding`: "bridges" or "routers"; routers if nothing is said and a switch has several
        shortest paths to a host. `output_frames`: what an output of an input-buffered switch holds
        besides the frame on the link, 3 if nothing is said (docs/adr/0007). `force` skips the
        processor check.
        """
        if scale is not None:
            check_scale(scale)
        if output_frames is not None and not 0 <= output_frames <= OUTPUT_FRAMES_MAX:
            raise BadInput(
                f"output frames {output_frames}: expected a number from 0 to {OUTPUT_FRAMES_MAX}"
            )
        if offloads and shape:
            raise BadInput(
                "offloads need unshaped links: the lab's switches take packets, not trains of them"
            )
        preflight.check()
        path = find_cluster_file(os.fspath(cluster)).absolute()
        full_speed = load_network(path)
        full_speed.check(str(path))
        notes: list[str] = []
        if scale is None:
            scale, notes = booting.choose_scale(load_cluster(path)) if shape else (1.0, [])
        elif shape and not force:
            capacity.check(load_cluster(path), scale, len(os.sched_getaffinity(0)))
        times = choose_timers(timers, scale, shape)
        network = full_speed.scaled(scale if shape else 1)
        launch_network.check(network, str(path))
        forwarding = choose_forwarding(forwarding, network)
        control, control_notes = preflight.congestion_control(congestion_control)
        directory = registry.claim(network.name if name is None else name, exact=name is not None)
        process: subprocess.Popen[bytes] | None = None
        try:
            booting.write_files(directory, network, f"lab {directory.name}, scale {scale:g}")
            plan = boot_plan.make_plan(
                network,
                emulator=(
                    booting.emulator_command(directory, forwarding, output_frames) if shape else []
                ),
                offloads=offloads,
                congestion_control=control,
                timers=times,
            )
            process = booting.start(directory)
            plan["directory"] = str(directory)
            plan["group"] = str(processor_group.make() or "")
            init, pids = booting.build(process, plan, directory)
            state: dict[str, Any] = {
                "name": directory.name,
                "cluster": str(path),
                "scale": scale,
                "timers": asdict(times),
                "shaped": shape,
                "port_count": 2 * len(network.links),
                "forwarding": forwarding,
                "persistent": persistent,
                "rootless": os.geteuid() != 0,
                "directory": str(directory),
                "init": registry.process(init),
                "holders": boot_plan.holders(plan, pids),
                "notes": [*notes, *control_notes],
                # Counted for the whole machine since it started; the lab's part is what came after.
                "softnet": observe.softnet(),
            }
            booting.write_agent(directory, network, pids)
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
                booting.end(process)
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
            booting.end(self._boot)
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
        """The command line that runs `argv` on `host`."""
        if host in {switch.name for switch in self.network.switches}:
            raise BadInput(
                f"{host!r} is a switch of lab {self.name!r}, where nothing can run; "
                f"expected one of its hosts: {', '.join(self.hosts)}"
            )
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
            *(BEHIND_THE_EMULATOR if self.rootless and self._shaped else ()),
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
        ranks = number_of_ranks(n, len(self.hosts))
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
            launch_device=launch_network.device(self.network) if self._shaped else HOST_DEVICE,
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
        return [*self._enter(), *booting.inside_program(module)]

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

        `down`: everything sent over it is lost, silently. With `withdraw_ms`, so much later, no
        router sends anything over it any more; the call returns after that. What is not named
        stays as it is. Raises BadInput for what is no link of the lab.
        """
        if (rate is None) + (loss is None) + (not down) != 2:
            raise BadInput("expected one of: a rate, a loss, down")
        if rate is not None and not degradation.LEAST_RATE <= rate <= 1:
            least = f"{degradation.LEAST_RATE:g}"
            raise BadInput(f"rate {rate:g}: expected a part of the link's own, {least} to 1")
        if not self._shaped:
            raise BadInput(f"the links of lab {self.name!r} are not shaped: they cannot get worse")
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
        """The link as it was built, and in use by routers again."""
        links = degradation.find_links(self.network, one, other, self.name)
        before = degradation.read(self.directory)
        self._change_links(before, degradation.changed(before, links, restore=True))

    def _change_links(self, before: degradation.Conditions, after: degradation.Conditions) -> None:
        if not registry.is_alive(self._state["init"]):
            raise Failed(f"lab {self.name!r} is not running any more")
        # Noted first: of what fails half-way, `restore` must know what there is to restore.
        degradation.write(self.directory, after)
        try:
            for message in degradation.messages(before, after):
                emulator.tell(self.directory, message)
        except OSError as error:
            raise Failed(f"cannot change the links of lab {self.name!r}: {error}") from error
        for host, lines in degradation.shapers(self.network, before, after).items():
            nsenter = ["nsenter", "-t", str(self._pids[host]), "-n", "--", "tc", "-batch", "-"]
            done = subprocess.run(
                [*self._enter(), *nsenter],
                input="\n".join(lines) + "\n",
                text=True,
                capture_output=True,
                check=False,
            )
            if done.returncode != 0:
                raise Failed(f"cannot change the links of {host}: tc: {done.stderr.strip()}")

    def emulator_stats(self) -> EmulatorStats | None:
        """What the emulator counted, as `stats` has it, at once; None: links are unshaped."""
        if not self._shaped:
            return None
        counted = emulator.Counters(self.directory).read()
        return EmulatorStats(**emulator.decode_totals(counted))

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
            shaped=self._shaped,
            softnet_at_boot=self._state["softnet"],
            degraded=degradation.as_rows(self.network, conditions),
        )
