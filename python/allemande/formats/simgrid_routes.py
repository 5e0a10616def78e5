"""Where SimGrid's links are, by the routes that run over them.

A route is a row: where it begins, links, where it ends. What stands before a link in any row is at
one of its ends, and what stands behind it at the other. So the neighbours of a link fall into two
groups, unless three of them are pairwise on different ends, or rows have nothing in common: then
the link is a medium, a place of its own that all of them touch.

Ends that meet in a row are one junction. A junction is a host, where one host and one link meet; a
medium, where an end touches nothing else; and a switch otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from allemande.errors import BadInput
from allemande.formats.import_source import RATE_MAX


@dataclass(frozen=True)
class Cable:
    """A link of SimGrid. Policies: SHARED, SPLITDUPLEX or FATPIPE."""

    rate_mbit_s: float
    delay_us: float
    policy: str
    line: int


@dataclass(frozen=True)
class Route:
    begin: str
    end: str
    cables: tuple[str, ...]
    both_ways: bool
    line: int


@dataclass(frozen=True)
class Joint:
    """A link with two ends: names of hosts, routers, media and junctions."""

    begin: str
    end: str
    cable: Cable
    both_ways: bool = True
    back: Cable | None = None  # where another link leads back
    free: bool = False  # made here: as wide as what it leads to


@dataclass
class Layout:
    media: dict[str, Cable] = field(default_factory=dict)
    junctions: dict[str, int] = field(default_factory=dict)  # with the line of a route
    joints: list[Joint] = field(default_factory=list)
    loops: list[str] = field(default_factory=list)  # links whose ends are one place
    used: set[str] = field(default_factory=set)

    def cables(self) -> Iterator[Cable]:
        return (joint.cable for joint in self.joints)


# What stands in a row: a place or a link, by name.
_Place = tuple[str, str]
_POINT, _LINK = "point", "link"
_ROUNDS_MAX = 16
_PLACES_MAX = 500_000  # that are looked at, in all rounds together
# A place, or one of two ends of a link.
_End = tuple[str, str, int]


def _row(route: Route) -> list[_Place]:
    """A link that stands twice in a row is passed once."""
    links = [name for name, *_ in _runs(route.cables)]
    return [(_POINT, route.begin), *((_LINK, name) for name in links), (_POINT, route.end)]


def _runs(names: Sequence[str]) -> Iterator[list[str]]:
    run: list[str] = []
    for name in names:
        if run and run[0] != name:
            yield run
            run = []
        run.append(name)
    if run:
        yield run


class _Sides:
    """The two groups of neighbours of each link; None where it is a medium."""

    def __init__(self, rows: Iterable[Sequence[_Place]]) -> None:
        self._opposite: dict[str, dict[_Place, set[_Place]]] = {}
        for row in rows:
            for before, (_, name), behind in zip(row, row[1:-1], row[2:], strict=False):
                known = self._opposite.setdefault(name, {})
                known.setdefault(before, set()).add(behind)
                known.setdefault(behind, set()).add(before)
        self.of = {name: self._split(known, {}) for name, known in self._opposite.items()}

    def split_again(self, name: str, beside: Mapping[_Place, Sequence[_Place]]) -> bool:
        """Tries once more, with what is known to be in one place; whether it is no medium."""
        self.of[name] = self._split(self._opposite[name], beside)
        return self.of[name] is not None

    def neighbours(self, name: str) -> Iterable[_Place]:
        return self._opposite[name]

    @staticmethod
    def _split(
        opposite: Mapping[_Place, set[_Place]], beside: Mapping[_Place, Sequence[_Place]]
    ) -> dict[_Place, int] | None:
        first = next(iter(opposite))
        side = {first: 0}
        waiting = [first]
        while waiting:
            one = waiting.pop()
            places = [(other, 1 - side[one]) for other in opposite[one]]
            places += [(other, side[one]) for other in beside.get(one, ())]
            for other, wanted in places:
                if other not in side:
                    side[other] = wanted
                    waiting.append(other)
                elif side[other] != wanted:
                    return None
        return side if len(side) == len(opposite) else None


class _Junctions:
    """Ends that meet, as groups that grow together."""

    def __init__(self) -> None:
        self._above: dict[_End, _End] = {}

    def find(self, end: _End) -> _End:
        path = []
        self._above.setdefault(end, end)
        while (above := self._above[end]) != end:
            path.append(end)
            end = above
        for one in path:
            self._above[one] = end
        return end

    def join(self, one: _End, other: _End) -> None:
        self._above[self.find(one)] = self.find(other)

    def groups(self) -> dict[_End, list[_End]]:
        found: dict[_End, list[_End]] = {}
        for end in list(self._above):
            found.setdefault(self.find(end), []).append(end)
        return found


class _LayingOut:
    def __init__(
        self,
        routes: Sequence[Route],
        cables: Mapping[str, Cable],
        hosts: set[str],
        at: Callable[[int], str],
    ) -> None:
        self._routes = routes
        self._cables = cables
        self._hosts = hosts
        self._at = at
        self._rows = [_row(route) for route in routes]
        self._found = _Sides(self._rows)
        self._sides = self._found.of
        self._junctions = _Junctions()
        self._touched: dict[_End, dict[str, None]] = {}  # media, by what touches them
        self._between: dict[tuple[str, str], None] = {}  # media that touch each other
        self._node: dict[_End, str] = {}  # of each group of ends
        self._lines: dict[_End, int] = {}
        self.layout = Layout(used=set(self._sides))

    @staticmethod
    def _medium(name: str) -> str:
        return f"link {name}"

    def _is_medium(self, place: _Place) -> bool:
        return place[0] == _LINK and self._sides[place[1]] is None

    def _end(self, place: _Place, towards: _Place) -> _End:
        if place[0] == _POINT:
            return (_POINT, place[1], 0)
        sides = self._sides[place[1]]
        assert sides is not None
        return (_LINK, place[1], sides[towards])

    def meet(self) -> None:
        """Ends that stand beside each other in a row are one junction.

        Media are tried again with what is known by then: neighbours whose ends are one junction
        are on one side.
        """
        places = sum(len(row) for row in self._rows)
        self._meet_once()
        for _ in range(max(1, min(_ROUNDS_MAX, _PLACES_MAX // max(places, 1)))):
            media = [name for name, sides in self._sides.items() if sides is None]
            if not [name for name in media if self._found.split_again(name, self._beside(name))]:
                return
            self._junctions = _Junctions()
            self._touched.clear()
            self._between.clear()
            self._meet_once()

    def _beside(self, name: str) -> dict[_Place, list[_Place]]:
        """Those of the neighbours of a medium that are known to be in one place."""
        here = (_LINK, name)
        groups: dict[_End, list[_Place]] = {}
        for place in self._found.neighbours(name):
            if not self._is_medium(place):
                groups.setdefault(self._junctions.find(self._end(place, here)), []).append(place)
        # The first of each group stands for all of them.
        found: dict[_Place, list[_Place]] = {}
        for first, *others in groups.values():
            for other in others:
                found.setdefault(first, []).append(other)
                found.setdefault(other, []).append(first)
        return found

    def _meet_once(self) -> None:
        for route, row in zip(self._routes, self._rows, strict=True):
            for one, other in pairwise(row):
                media = [self._is_medium(place) for place in (one, other)]
                if all(media):
                    self._between[one[1], other[1]] = None
                elif any(media):
                    medium, place = (one, other) if media[0] else (other, one)
                    end = self._end(place, medium)
                    self._junctions.find(end)
                    self._lines.setdefault(end, route.line)
                    self._touched.setdefault(end, {})[medium[1]] = None
                else:
                    ends = self._end(one, other), self._end(other, one)
                    for end in ends:
                        self._lines.setdefault(end, route.line)
                    self._junctions.join(*ends)

    def name(self) -> None:
        """What each junction is; hosts that share one get links of their own to it."""
        for group, ends in self._junctions.groups().items():
            points = [name for kind, name, _ in ends if kind == _POINT]
            links = [name for kind, name, _ in ends if kind == _LINK]
            media: dict[str, None] = {}
            for end in ends:
                media |= self._touched.get(end, {})
            if not points and len(media) == 1:
                self._node[group] = self._medium(next(iter(media)))
                continue
            if len(points) == 1 and self._is_one_link(ends, len(media)):
                self._node[group] = points[0]
            else:
                self._node[group] = self._make_junction(group, points, [*links, *media])
            for name in media:
                cable = self._cables[name]
                policy = cable.policy if cable.policy == "FATPIPE" else "SPLITDUPLEX"
                port = replace(cable, delay_us=0.0, policy=policy)
                self.layout.joints.append(
                    Joint(self._node[group], self._medium(name), port, free=True)
                )

    def _is_one_link(self, ends: Sequence[_End], media: int) -> bool:
        """Whether all that meets there is one link, or one to and another one from one place."""
        links = [(name, side) for kind, name, side in ends if kind == _LINK]
        if len(links) + media < 2:
            return True
        if len(links) != 2 or media:
            return False
        (one, here), (other, there) = links
        far = {self._junctions.find((_LINK, name, 1 - side)) for name, side in links}
        ways = self._ways[one], self._ways[other]
        return len(far) == 1 and ways in (({here}, {1 - there}), ({1 - here}, {there}))

    def _make_junction(self, group: _End, points: list[str], links: list[str]) -> str:
        line = self._lines[group]
        routers = [name for name in points if name not in self._hosts]
        if routers:
            node = routers[0]
        else:
            number = len(self.layout.junctions) + 1
            node = f"beside {points[0]}" if len(points) == 1 else f"joint {number}"
            self.layout.junctions[node] = line
        rate = min(sum(self._cables[name].rate_mbit_s for name in links), RATE_MAX)
        wide = Cable(rate, 0.0, "SPLITDUPLEX", line)
        self.layout.joints += [
            Joint(name, node, wide, free=True) for name in points if name != node
        ]
        return node

    @cached_property
    def _ways(self) -> dict[str, set[int]]:
        """From which of its ends each link is entered."""
        found: dict[str, set[int]] = {}
        for route, row in zip(self._routes, self._rows, strict=True):
            for before, (_, name), behind in zip(row, row[1:-1], row[2:], strict=False):
                sides = self._sides[name]
                if sides is not None:
                    ways = found.setdefault(name, set())
                    ways.add(sides[before])
                    if route.both_ways:
                        ways.add(sides[behind])
        return found

    def _add_media(self) -> None:
        for name, sides in self._sides.items():
            if sides is None:
                self.layout.media[self._medium(name)] = self._cables[name]
        for one, other in self._between:
            first, second = self._cables[one], self._cables[other]
            rate = min(first.rate_mbit_s, second.rate_mbit_s)
            port = Cable(rate, 0.0, "SPLITDUPLEX", first.line)
            self.layout.joints.append(
                Joint(self._medium(one), self._medium(other), port, free=True)
            )

    def place(self) -> None:
        """Every link between its junctions."""
        self._add_media()
        one_way: dict[tuple[str, str], list[str]] = {}
        for name, ways in self._ways.items():
            ends = tuple(self._node[self._junctions.find((_LINK, name, side))] for side in (0, 1))
            if ends[0] == ends[1]:
                self.layout.loops.append(name)
            elif all(end in self._hosts for end in ends):
                self._put_between_hosts(name, ends)
            elif len(ways) == 2:
                self.layout.joints.append(Joint(ends[0], ends[1], self._cables[name]))
            else:
                begin, end = ends if ways == {0} else ends[::-1]
                one_way.setdefault((begin, end), []).append(name)
        self._pair(one_way)

    def _put_between_hosts(self, name: str, ends: tuple[str, ...]) -> None:
        cable = self._cables[name]
        self.layout.media[self._medium(name)] = cable
        policy = cable.policy if cable.policy == "FATPIPE" else "SPLITDUPLEX"
        port = replace(cable, delay_us=0.0, policy=policy)
        self.layout.joints += [Joint(end, self._medium(name), port, free=True) for end in ends]

    def _pair(self, one_way: Mapping[tuple[str, str], list[str]]) -> None:
        """Two links that lead there and back are one with two rates."""
        for (begin, end), names in one_way.items():
            back = one_way.get((end, begin), [])
            if begin > end and back:
                continue  # paired from the other end
            both = min(len(names), len(back))
            for there, here in zip(names[:both], back[:both], strict=True):
                self.layout.joints.append(
                    Joint(begin, end, self._cables[there], back=self._cables[here])
                )
            rest = [(begin, end, name) for name in names[both:]]
            rest += [(end, begin, name) for name in back[both:]]
            for first, last, name in rest:
                cable = self._cables[name]
                if first in self._hosts or last in self._hosts:
                    raise BadInput(
                        f"{self._at(cable.line)}: link {name!r:.60} carries only what goes from "
                        f"{first!r:.60} to {last!r:.60}, and nothing leads back; expected routes "
                        'in both directions, or symmetrical="YES"'
                    )
                self.layout.joints.append(Joint(first, last, cable, both_ways=False))


def lay_out(
    routes: Sequence[Route],
    cables: Mapping[str, Cable],
    hosts: set[str],
    at: Callable[[int], str],
) -> Layout:
    """The links of the routes, each between two places. `at` makes a place in the user's file.

    Raises BadInput for a host that can send or receive alone.
    """
    work = _LayingOut(routes, cables, hosts, at)
    work.meet()
    work.name()
    work.place()
    return work.layout
