"""What a sweep has measured so far: kept in a file after every launch, summed up on demand."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from allemande.bench.candidates import OUR_PREFIX, Candidate
from allemande.bench.defaults import CONGESTION_CONTROL, SCALE
from allemande.bench.figures import CPU_IDLE_MIN
from allemande.errors import BadInput

LIBRARIES = ("openmpi", "mpich")
SMALL = 1000  # bytes; below it a call is short and its time uncertain
SMALL_CALLS = 50  # in all rounds together
TRIAL_SIZE_MAX = 10_000  # up to here the first calls are timed, too
GROUP_ENDS = (SMALL - 1, TRIAL_SIZE_MAX, 2**31)  # of the sizes measured in one launch
# The scale of the link rates in each group. A small block costs the processors nearly as much as a
# large one: only slower links make the links take the time.
SCALES = (SCALE / 10, SCALE / 2, SCALE)


def scale_index(size: int) -> int:
    return bisect_left(GROUP_ENDS, size)


@dataclass(frozen=True)
class Plan:
    """How a sweep measures; launches of one that measured otherwise are not mixed with it."""

    scales: tuple[float, ...] = SCALES  # by group
    rounds: int = 3
    calls: int = 3  # per round, above TRIAL_SIZE_MAX
    medium_calls: int = 8  # per round, from SMALL bytes on
    trial_calls: int = 200  # timed before the timed ones, to see what trials cost
    congestion_control: str = CONGESTION_CONTROL
    timers: str | None = None  # None: scaled below scale 1

    def calls_of(self, size: int) -> int:
        if size < SMALL:
            return max(self.medium_calls, -(-SMALL_CALLS // self.rounds))
        return self.medium_calls if size <= TRIAL_SIZE_MAX else self.calls

    def scale_of(self, size: int) -> float:
        return self.scales[scale_index(size)]

    def as_json(self) -> Any:
        return json.loads(json.dumps(asdict(self)))


@dataclass
class Launch:
    """One launch's times of one size."""

    candidate: str
    size: int
    turn: int
    seconds: list[float]
    first: list[float] = field(default_factory=list)  # warm-up calls, of ours with the trials
    opens: bool = False  # the first size of its launch: its first call opens connections
    own_part: float = 0.0  # of all calls, what allemande carried
    wrong_bytes: int = 0
    void_reason: str | None = None
    cpu_idle: float | None = None  # part of all processors in the timed calls
    build: str = ""  # of allemande's library; stock libraries do not change


@dataclass(frozen=True)
class Row:
    """One size with one library; times are medians over all calls that count."""

    library: str
    size: int
    limit_s: float
    best_stock: str | None
    best_stock_s: float | None
    default_s: float | None
    ours_s: float | None
    against_best: float | None  # best stock / ours: above 1 we are faster
    against_default: float | None
    own_part: float | None  # of all calls, warm-up included: near 1 where trials kept ours
    trial_cost: float | None  # 0.02: the first calls took 2 % longer than as many settled ones
    cpu_idle: float | None = None  # in ours
    wrong_bytes: int = 0

    @property
    def is_busy(self) -> bool:
        """Whether the processors may have been the limit. Where the library's own calls were kept
        these spin, as they do without us."""
        carried = self.own_part is not None and self.own_part > 0.5
        return carried and self.cpu_idle is not None and self.cpu_idle < CPU_IDLE_MIN


def _ratio(theirs: float | None, ours: float | None) -> float | None:
    return theirs / ours if theirs is not None and ours else None


def _median_of(launches: Iterable[Launch]) -> float | None:
    seconds = [value for each in launches for value in each.seconds]
    return float(np.median(seconds)) if seconds else None


def opening_s(launches: Iterable[Launch]) -> float:
    """What the library takes to open its connections: the first call of a launch beyond others."""
    found = [
        each.first[0] - np.median([*each.first[1:], *each.seconds])
        for each in launches
        if each.opens and each.first
    ]
    return max(0.0, float(np.median(found))) if found else 0.0


def trial_cost(
    launches: Iterable[Launch], trial_calls: int, opening_s: float = 0.0
) -> float | None:
    """Means, not medians: what a program pays is the sum. Compared with the later half of the
    warm-up and the timed calls. In the first size of a launch ours comes up with the first call,
    and the library opens its connections with its own first, as it does without trials."""
    for each in launches:
        if len(each.first) < trial_calls or trial_calls < 2:
            continue
        first = each.first[:trial_calls]
        settled = float(np.mean([*each.first[len(each.first) // 2 :], *each.seconds]))
        total = float(np.sum(first))
        if each.opens:
            opening = min(opening_s, max(first[1:]) - settled)
            total += settled - first[0] - max(0.0, opening)
        return total / (len(first) * settled) - 1
    return None


def _summarise_size(
    launches: Sequence[Launch], library: str, size: int, limit_s: float, trial_calls: int
) -> Row:
    counting = [each for each in launches if each.void_reason is None]
    ours = [each for each in counting if each.candidate == OUR_PREFIX + library]
    stock: dict[str, list[Launch]] = {}
    for each in counting:
        if each.candidate.partition(":")[0] == library:
            stock.setdefault(each.candidate, []).append(each)
    medians = {name: _median_of(found) for name, found in stock.items()}
    known = {name: value for name, value in medians.items() if value is not None}
    idle = [each.cpu_idle for each in ours if each.cpu_idle is not None]
    best = min(known, key=lambda name: known[name], default=None)
    best_s = known[best] if best is not None else None
    ours_s = _median_of(ours)
    return Row(
        library=library,
        size=size,
        limit_s=limit_s,
        best_stock=best,
        best_stock_s=best_s,
        default_s=known.get(library),
        ours_s=ours_s,
        against_best=_ratio(best_s, ours_s),
        against_default=_ratio(known.get(library), ours_s),
        own_part=float(np.mean([each.own_part for each in ours])) if ours else None,
        trial_cost=trial_cost(ours, trial_calls, opening_s(stock.get(library, []))),
        cpu_idle=float(np.mean(idle)) if idle else None,
        wrong_bytes=sum(each.wrong_bytes for each in launches),
    )


def summarise(
    launches: Sequence[Launch], limits_s: Mapping[int, float], trial_calls: int
) -> list[Row]:
    rows = []
    for size, limit_s in sorted(limits_s.items()):
        of_size = [each for each in launches if each.size == size]
        for library in LIBRARIES:
            of_library = [each for each in of_size if library in each.candidate]
            if of_library:
                rows.append(_summarise_size(of_library, library, size, limit_s, trial_calls))
    return rows


class Store:
    """OUT/CLUSTER.json. `builds`, by candidate: those of another build of ours are dropped."""

    def __init__(
        self, path: Path, plan: Plan, cluster: str = "", builds: Mapping[str, str] | None = None
    ) -> None:
        self._path = path
        self._plan = plan
        self._cluster = cluster  # the file's text
        self._builds = builds or {}
        self.launches: list[Launch] = []
        self.setting: list[str] = []
        self.versions: dict[str, str] = {}  # of the libraries that ran
        if path.exists():
            self._read()

    def _read(self) -> None:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            plan, cluster = found["plan"], found["cluster_file"]
            launches = [Launch(**entry) for entry in found["launches"]]
            self.setting, self.versions = list(found["setting"]), dict(found["versions"])
        except (ValueError, KeyError, TypeError) as error:
            raise BadInput(
                f"{self._path} is no result of a sweep ({error}); move it away"
            ) from error
        if plan != self._plan.as_json():
            raise BadInput(
                f"{self._path} was measured otherwise ({plan}); move it away or give another --out"
            )
        if cluster != self._cluster:
            raise BadInput(
                f"{self._path} was measured on another cluster of this name; move it away or give "
                "another --out"
            )
        self.launches = [
            each for each in launches if each.build == self._builds.get(each.candidate, each.build)
        ]

    def has(self, candidate: Candidate, turn: int, size: int) -> bool:
        key = (candidate.name, turn, size)
        return any(
            each.void_reason is None and (each.candidate, each.turn, each.size) == key
            for each in self.launches
        )

    def add(self, launches: Sequence[Launch]) -> None:
        """Void ones make way for another try."""
        again = {(each.candidate, each.turn, each.size) for each in launches}
        self.launches = [
            each
            for each in self.launches
            if each.void_reason is None or (each.candidate, each.turn, each.size) not in again
        ]
        self.launches += launches

    def rows(self, limits_s: Mapping[int, float]) -> list[Row]:
        return summarise(self.launches, limits_s, self._plan.trial_calls)

    def write(self, cluster: str, limits_s: Mapping[int, float]) -> None:
        content = {
            "cluster": cluster,
            "setting": self.setting,
            "versions": self.versions,
            "plan": self._plan.as_json(),
            "cluster_file": self._cluster,
            "rows": [asdict(row) for row in self.rows(limits_s)],
            "launches": [asdict(each) for each in self.launches],
        }
        part = self._path.with_suffix(".part")
        part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        part.replace(self._path)
