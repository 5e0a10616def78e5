"""A plan in the formats of other programs: what `allemande plan --emit` writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

from allemande.errors import BadInput
from allemande.formats import emit
from allemande.formats.schedule import make_schedule
from allemande.model.planning import Plan
from allemande.model.predict import Row
from allemande.model.profile import Profile

RANKFILE = "rankfile"


def _rankfile(hosts: Sequence[str], seed: int) -> emit.Emitted:
    """Ranks on hosts in random order, as Open MPI's mpirun takes it: 001 found that traffic between
    ranks at a fixed distance then meets less often."""
    order = list(hosts)
    Random(seed).shuffle(order)
    lines = [f"rank {rank}={host} slot=0\n" for rank, host in enumerate(order)]
    return emit.Emitted(lines, notes=("for mpirun --map-by rankfile:file=FILE (Open MPI 5)",))


def _best_of_ours(plan: Plan) -> Row:
    """The way that stands first of those that allemande carries out, at the plan's one size."""
    sizes = {row.size for row in plan.rows}
    if len(sizes) != 1:
        raise BadInput(f"a schedule has one size, and the plan {len(sizes)}; expected --size BYTES")
    own = next((row for row in plan.rows if " " in row.way), None)
    if own is None:
        raise BadInput("the profile has no network, so no schedule is known; expected [cluster]")
    return own


def _overhead_ns(profile: Profile) -> int:
    """GOAL has one o for sending and receiving: the mean of O_s and O_r + U_r; 0: not measured."""
    known = {one.name: one.value for one in profile.parameters if one.carrier == "udp"}
    if not {"o_s", "o_r"} <= known.keys():
        return 0
    return round((known["o_s"] + known["o_r"] + known.get("u_r", 0.0)) / 2 * 1e9)


def emit_plan(
    plan: Plan,
    profile: Profile,
    format_name: str,
    path: Path,
    libmpi: str | None = None,
    seed: int = 1,
) -> emit.Emitted:
    """A tuning file of the libraries' fastest algorithms, the schedule of our first way, or a
    rankfile.

    The file is to lie at `path`. Raises BadInput for a plan without candidates of the library, with
    several sizes where a schedule is asked for, and for formats that are unknown.
    """
    if format_name == RANKFILE:
        return _rankfile(profile.first_hosts(plan.hosts), seed)
    if format_name not in emit.FORMATS:
        raise BadInput(
            f"no format is called {format_name!r}; expected one of "
            f"{', '.join((*emit.FORMATS, RANKFILE))}"
        )
    if format_name in emit.TUNING_FORMATS:
        mpi = profile.network.mpi
        return emit.tuning_of_rows(
            format_name,
            [row.as_json() for row in plan.rows],
            path,
            source="the profile",
            mpi_version=mpi if mpi.startswith("Open MPI") else emit.OPENMPI_VERSION,
            libmpi=libmpi,
        )
    best = _best_of_ours(plan)
    made = make_schedule(
        best.way.partition(" ")[2], best.size, ranks=plan.hosts, cluster=profile.cluster
    )
    return emit.schedule(format_name, made, _overhead_ns(profile))
