"""Cluster files of small networks with several paths."""

from __future__ import annotations


def links(lower: str, upper: str, **values: float) -> str:
    """Alike links between these."""
    keys = "".join(f"{key} = {value}\n" for key, value in values.items())
    return f'[[link]]\nfrom = "{lower}"\nto = "{upper}"\n{keys}'


def leaf_spine(name: str, spines: int, **of_hosts: float) -> str:
    """Two hosts on each of two leaves, every link of 10 Mbit/s. `of_hosts`: keys of their links."""
    text = f'format = 1\nname = "{name}"\n[[switch]]\nname = "leaf[0-1]"\n'
    text += f'[[switch]]\nname = "spine[0-{spines - 1}]"\n[[host]]\nname = "h[0-3]"\n'
    for hosts, leaf in (("h[0-1]", "leaf0"), ("h[2-3]", "leaf1")):
        text += links(hosts, leaf, rate_mbit_s=10, **of_hosts)
    for spine in range(spines):
        queues = {"queue_up_packets": 45, "queue_down_packets": 45}
        text += links("leaf[0-1]", f"spine{spine}", rate_mbit_s=10, **queues)
    return text
