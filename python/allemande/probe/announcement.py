"""What a probing will send, said before it sends anything."""

from __future__ import annotations

from allemande.probe.bed import Bed
from allemande.probe.probing import Wishes


def announcement(bed: Bed, wishes: Wishes) -> str:
    """For the people whose network it is."""
    ranks = len(bed.hosts)
    where = "simulated hosts" if bed.simulated else "hosts"
    first, last = bed.hosts[0], bed.hosts[-1]
    lines = [
        f"allemande probe: {ranks} {where}, {first} to {last}; UDP datagrams of "
        f"{bed.datagram_bytes} bytes or less between them, and messages of MPI.",
        "  1. Links: each host sends for 20 ms as fast as its link takes packets, a few hosts at "
        "once.",
    ]
    if wishes.overload:
        lines += [
            "  2. Leaves: all hosts send to one host for some milliseconds, usually twice for "
            "each leaf; if that does not tell three hosts do.",
            "  3. Buffers: each port gets almost twice what it carries until its queue is full; "
            "milliseconds for each port.",
            "  Packets of others may be lost in these milliseconds; --no-overload leaves 2 and 3 "
            "out.",
        ]
    else:
        lines.append("  --no-overload: no port gets more than it carries.")
    if not bed.simulated:
        lines.append(
            f"  Last, MPI_Alltoall by the library's algorithms, for {wishes.budget_s:g} s at most."
        )
    if not bed.simulated and bed.time_scale > 1:
        lines.append(
            f"  This network is {bed.time_scale:g} times slower than what it stands for, and all "
            "times are longer by as much."
        )
    return "\n".join(lines)
