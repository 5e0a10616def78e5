"""SimGrid's platforms: hosts, routers, links, routes and clusters, in XML.

::

    <platform version="4.1">
      <zone id="world" routing="Full">
        <cluster id="a" prefix="a-" radical="0-15" suffix="" speed="1Gf" bw="125MBps" lat="50us"/>
        <host id="h" speed="1Gf"/>
        <link id="l" bandwidth="1.25GBps" latency="10us" sharing_policy="SPLITDUPLEX"/>
        <zoneRoute src="a" dst="b" gw_src="a-a_router" gw_dst="r"><link_ctn id="l"/></zoneRoute>
      </zone>
    </platform>

A link of SimGrid is a rate that the routes on it share, wherever they run, and has no ends. Where
its ends are follows from the routes: what comes before it in a route is at one end, and what comes
after it at the other. A link for which that leaves more than two ends is a medium that all share:
a switch whose backplane carries its rate. So is a link that joins two hosts. Hosts that pass on
what others send get a switch beside them.

Half of what a switch, backbone or medium delays is added to each of its ports. A shared link
carries its rate in both directions together, a split one (SPLITDUPLEX) each way.
"""

from __future__ import annotations

from dataclasses import replace

from allemande.errors import BadInput
from allemande.formats.import_source import OPTIONS, RATE_MAX, parse_source
from allemande.formats.imported_cluster import build
from allemande.formats.imported_network import (
    FoundLink,
    Network,
    apart,
    keep_one_part,
    note_renamed,
    nothing_there,
    plain_names,
    some,
    turn_upwards,
)
from allemande.formats.simgrid_platform import Platform, add_cluster, link_pattern, policy_of
from allemande.formats.simgrid_routes import Cable, Layout, Route, lay_out
from allemande.formats.xml_text import Element, read_xml
from allemande.text_files import MIB
from allemande.topology import Cluster

_EXPECTED = "a platform of SimGrid (version 4)"
PLATFORM_BYTES_MAX = 8 * MIB
PLATFORM_ELEMENTS_MAX = 100_000
_HOSTS = "<cluster>, or <host> and <link> with a <route> that names them"
_DEPLOYMENT = "the platform: this is the deployment beside it, which says what runs where"
_KEYS = frozenset(OPTIONS)
_ZONES = {"zone", "AS"}
_ZONE_ROUTES = {"zoneRoute", "ASroute"}
_ACTORS = {"actor", "process"}
# What says nothing of the network.
_SILENT = {
    "config", "prop", "trace", "trace_connect", "disk", "storage", "storage_type", "mount",
    "content", "argument", "random", "gpu", "model_prop", "link_ctn", *_ACTORS,
}  # fmt: skip
_WITHOUT_LINKS = {"vivaldi", "wifi"}


# ---- zones ---------------------------------------------------------------------------------------


def _cable(platform: Platform, element: Element) -> Cable:
    policy = element.attributes.get("sharing_policy") or "SHARED"
    if policy == "WIFI":
        return Cable(0.0, 0.0, policy, element.line)
    return Cable(
        platform.rate(element, "bandwidth"),
        platform.delay_us(element, "latency"),
        policy_of(platform, element, "sharing_policy", "SHARED"),
        element.line,
    )


def _cable_called(platform: Platform, element: Element, name: str) -> str:
    """The id of a link; halves of split ones are called so with _UP or _DOWN."""
    for known in (name, name.removesuffix("_UP"), name.removesuffix("_DOWN")):
        cable = platform.cables.get(known)
        if cable is not None and (known == name or cable.policy == "SPLITDUPLEX"):
            if cable.policy == "WIFI":
                raise platform.wrong(
                    element, f"uses {name!r:.60}, which is Wi-Fi; expected links of one rate"
                )
            return known
    raise platform.wrong(element, f"names the link {name!r:.60}, which is not described above it")


def _add_route(platform: Platform, element: Element, ends: tuple[str, str]) -> None:
    begin, end = (platform.text(element, name) for name in ends)
    for name in (begin, end):
        if name not in platform.hosts and name not in platform.switches:
            raise platform.wrong(
                element, f"leads to {name!r:.60}, which is neither host nor router described above"
            )
    cables = [
        _cable_called(platform, child, platform.text(child, "id"))
        for child in element.children
        if child.tag == "link_ctn"
    ]
    back = (element.attributes.get("symmetrical") or "YES").upper() != "NO"
    if begin != end and cables:
        platform.routes.append(Route(begin, end, tuple(cables), back, element.line))


def _add_star(platform: Platform, zone: Element) -> None:
    """What is in a zone with routing="Cluster": hosts with their links around a router."""
    routers = [child for child in zone.children if child.tag == "router"]
    if routers:
        centre = platform.text(routers[0], "id")
    else:
        centre = platform.add_switch(zone, platform.text(zone, "id"))
    for child in zone.children:
        if child.tag == "backbone":
            platform.backplanes[centre] = platform.rate(child, "bandwidth")
            platform.delays_us[centre] = platform.delay_us(child, "latency")
        elif child.tag == "cabinet":
            pattern = link_pattern(platform, child)
            platform.links += [
                replace(pattern, below=host, above=centre) for host in platform.hosts_of(child)
            ]
        elif child.tag == "host_link":
            host = platform.text(child, "id")
            if host not in platform.hosts:
                raise platform.wrong(child, f"names the host {host!r:.60}, which is not described")
            up, down = (
                _cable_called(platform, child, platform.text(child, way)) for way in ("up", "down")
            )
            platform.used |= {up, down}
            platform.links.append(_host_link(platform, child, host, centre, up, down))


def _host_link(
    platform: Platform, element: Element, host: str, centre: str, up: str, down: str
) -> FoundLink:
    upper, lower = platform.cables[up], platform.cables[down]
    return FoundLink(
        host,
        centre,
        upper.rate_mbit_s,
        rate_down_mbit_s=None if up == down else lower.rate_mbit_s,
        cap_mbit_s=upper.rate_mbit_s if up == down and upper.policy == "SHARED" else None,
        latency_us=(upper.delay_us + lower.delay_us) / 2,
        line=element.line,
    )


def _add_zone(platform: Platform, zone: Element) -> None:
    """Everything in a zone, and in the zones inside."""
    routing = (zone.attributes.get("routing") or "").lower()
    for child in zone.children:
        match child.tag:
            case tag if tag in _ZONES:
                _add_zone(platform, child)
            case "host":
                platform.add_host(child, platform.text(child, "id"))
            case "router":
                platform.add_switch(child, platform.text(child, "id"))
            case "link":
                name = platform.text(child, "id")
                if name in platform.cables:
                    raise platform.wrong(child, f"{name!r:.60} stands twice; expected each once")
                platform.cables[name] = _cable(platform, child)
            case "cluster":
                add_cluster(platform, child)
            case "route":
                _add_route(platform, child, ("src", "dst"))
            case tag if tag in _ZONE_ROUTES:
                if child.attributes.get("src") != child.attributes.get("dst"):
                    _add_route(platform, child, ("gw_src", "gw_dst"))
            case "backbone" | "cabinet" | "host_link" if routing == "cluster":
                pass  # see _add_star
            case "include":
                raise platform.wrong(
                    child, "names another file; put what is in it into the platform"
                )
            case tag if tag not in _SILENT:
                platform.note_once(f"{platform.source.at(child.line)}: <{tag:.40}> is passed over")
    if routing == "cluster":
        _add_star(platform, zone)
    elif routing in _WITHOUT_LINKS:
        platform.notes.append(
            f"{platform.source.at(zone.line)}: routing {zone.attributes['routing']} knows no links"
        )


# ---- the network ---------------------------------------------------------------------------------


def _with_delays(link: FoundLink, delays_us: dict[str, float]) -> FoundLink:
    """Half of what the switches at its ends delay is the link's."""
    more = (delays_us.get(link.below, 0.0) + delays_us.get(link.above, 0.0)) / 2
    return replace(link, latency_us=(link.latency_us or 0.0) + more)


def _rate_keys(medium: Cable, hosts: int) -> tuple[float, float | None]:
    """The rate each way, and that of both together."""
    if medium.policy == "FATPIPE":
        return min(medium.rate_mbit_s * max(hosts, 1), RATE_MAX), None
    return medium.rate_mbit_s, medium.rate_mbit_s if medium.policy == "SHARED" else None


def _add_layout(platform: Platform, layout: Layout) -> None:
    """What the routes say of where links are."""
    for name, medium in layout.media.items():
        platform.switches[name] = medium.line
        platform.delays_us[name] = medium.delay_us
        if medium.policy != "FATPIPE":
            # Split media carry their rate each way: what comes in goes out once.
            platform.backplanes[name] = medium.rate_mbit_s * (2 - (medium.policy == "SHARED"))
    platform.switches |= layout.junctions
    for joint in layout.joints:
        rate, cap = _rate_keys(joint.cable, len(platform.hosts))
        down = joint.back.rate_mbit_s if joint.back is not None else None
        platform.links.append(
            FoundLink(
                joint.begin,
                joint.end,
                rate,
                rate_down_mbit_s=down,
                cap_mbit_s=cap if joint.both_ways and joint.back is None else None,
                latency_us=joint.cable.delay_us,
                one_way=not joint.both_ways and down is None,
                line=joint.cable.line,
            )
        )
    if any(cable.policy == "FATPIPE" for cable in (*layout.media.values(), *layout.cables())):
        platform.notes.append(
            "FATPIPE links limit each flow alone: taken to be wide enough for all hosts"
        )
    if layout.loops:
        platform.notes.append(f"links that join nothing are left out: {some(layout.loops)}")


def _network(platform: Platform) -> Network:
    layout = lay_out(platform.routes, platform.cables, set(platform.hosts), platform.source.at)
    _add_layout(platform, layout)
    network = Network(notes=platform.notes)
    joined = {end for link in platform.links for end in (link.below, link.above)}
    switches = [name for name in platform.switches if name in joined]
    hosts = plain_names(platform.hosts, "host")
    note_renamed("hosts", hosts, network.notes)
    plain = plain_names(switches, "switch")
    others = apart(plain.values(), hosts.values(), network.notes)
    names = {name: others[new] for name, new in plain.items()}
    network.hosts = list(hosts.values())
    network.switches = list(names.values())
    network.lines = {new: platform.hosts[name] for name, new in hosts.items()}
    network.lines |= {new: platform.switches[name] for name, new in names.items()}
    network.backplanes = {
        names[name]: rate for name, rate in platform.backplanes.items() if name in names
    }
    places = hosts | names
    network.links = [
        replace(
            link,
            below=places[link.below],
            above=places[link.above],
        )
        for link in (_with_delays(link, platform.delays_us) for link in platform.links)
    ]
    unused = [name for name in platform.cables if name not in layout.used | platform.used]
    if unused:
        network.notes.append(f"links on no route are left out: {some(unused)}")
    return network


def read_cluster(text: str) -> tuple[Cluster, list[str]]:
    """`simgrid:FILE[,key=value...]`: the cluster, and what the reader should know of it."""
    source = parse_source(text, _KEYS)
    content = source.read(_EXPECTED, PLATFORM_BYTES_MAX)
    root = read_xml(content, source.name, _EXPECTED, PLATFORM_ELEMENTS_MAX)
    if root.tag != "platform":
        raise BadInput(f"{source.at(root.line)}: <{root.tag:.40}> begins; expected {_EXPECTED}")
    platform = Platform(source)
    _add_zone(platform, root)
    network = _network(platform)
    if not network.hosts or not network.links:
        actors = any(child.tag in _ACTORS for child in root.children)
        raise nothing_there(network, source, _DEPLOYMENT if actors else _HOSTS)
    keep_one_part(network, source)
    turn_upwards(network)
    return build(network, source), network.notes
