"""A part of a cluster as a cluster of its own."""

from __future__ import annotations

from allemande.topology import Cluster, compress_hostlist, parse_cluster


def first_hosts(cluster: Cluster, count: int) -> Cluster:
    """A cluster of the first so many hosts, with the switches they need."""
    hosts = [host.name for host in cluster.hosts[:count]]
    gone = {host.name for host in cluster.hosts[count:]}
    links = [link for link in cluster.links if link.from_ not in gone and link.to not in gone]
    while True:  # switches with one link lead nowhere
        ends = [end for link in links for end in (link.from_, link.to)]
        idle = {end for end in ends if ends.count(end) == 1 and end not in hosts}
        if not idle:
            break
        links = [link for link in links if not {link.from_, link.to} & idle]
    used = {end for link in links for end in (link.from_, link.to)}
    text = f'format = 1\nname = "{cluster.name}-first-{count}"\n'
    for switch in cluster.switches:
        if switch.name in used:
            text += (
                f'[[switch]]\nname = "{switch.name}"\narchitecture = "{switch.architecture}"\n'
                f'switching = "{switch.switching}"\nbuffer_packets = {switch.buffer_packets}\n'
            )
    text += f'[[host]]\nname = "{compress_hostlist(hosts)}"\n'
    for link in links:
        text += (
            f'[[link]]\nfrom = "{link.from_}"\nto = "{link.to}"\n'
            f"rate_up_mbit_s = {link.rate_up_mbit_s}\nrate_down_mbit_s = {link.rate_down_mbit_s}\n"
            f"queue_up_packets = {link.queue_up_packets}\n"
            f"queue_down_packets = {link.queue_down_packets}\n"
        )
    return parse_cluster(text, f"{cluster.name}, {count} hosts")
