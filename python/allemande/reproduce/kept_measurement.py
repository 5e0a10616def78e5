"""What is measured in the lab for an experiment and kept in a file, point by point, so that an
interrupted measurement goes on where it ended.

The file holds `how` it was measured, `measured` (when and where, last), `versions` (of all that
took part, ever) and `points`. Times in it are those of full speed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from allemande.bench.comparison import Comparison, compare_on
from allemande.bench.runner import Effort
from allemande.errors import BadInput
from allemande.lab.timers import choose_timers
from allemande.reproduce.experiment import Experiment
from allemande.text_files import exists, read_json
from allemande.topology import Cluster


def _read(path: Path) -> dict[str, Any]:
    data = read_json(path, "a measurement that was kept")
    if not isinstance(data, dict) or "points" not in data:
        raise BadInput(f"{path}: is no measurement; delete it and measure again with --lab")
    return data


def read_kept(path: Path) -> dict[str, Any]:
    """Raises BadInput where the file is not there or holds nothing."""
    if not exists(path):
        raise BadInput(f"{path}: no such file; --lab measures what belongs there (root)")
    data = _read(path)
    if not data["points"]:
        raise BadInput(f"{path}: holds no points; delete it and measure again with --lab")
    return data


class KeptMeasurement:
    """The file while it is measured. What it holds already is kept."""

    def __init__(
        self,
        experiment: Experiment,
        path: Path,
        scale: float | None,
        timers: str | None,
        **how: object,
    ) -> None:
        """`scale` and `timers` outrank the experiment's; `how`: what else makes figures comparable.

        Raises BadInput if the file was measured otherwise.
        """
        self._path = path
        self.scale = float(experiment.data["in_lab"]["scale"]) if scale is None else scale
        self._timers = choose_timers(timers, self.scale).name
        asked = {**how, "scale": self.scale, "timers": self._timers}
        path.parent.mkdir(parents=True, exist_ok=True)
        self._data: dict[str, Any] = {"how": asked, "points": []}
        if path.exists():
            self._data = _read(path)
        if self._data.get("how") != asked:
            raise BadInput(
                f"{path}: measured otherwise ({self._data.get('how')}); delete it or move it away"
            )

    @property
    def points(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._data["points"]
        return found

    def measure(
        self,
        what: str,
        cluster: Cluster,
        sizes: Sequence[int],
        against: str,
        effort: Effort,
        output_frames: int | None = None,
    ) -> Comparison:
        """Needs root. Raises Failed, with `what` it was, where something could not be measured."""
        compared = compare_on(
            cluster, self.scale, sizes, against, effort, self._timers, output_frames
        )
        return compared.or_fail(what)

    def add(self, compared: Comparison, points: Iterable[dict[str, Any]]) -> None:
        """Writes the file with what was made of a comparison."""
        setting = compared.setting
        before = self._data.get("versions", [])
        versions = {before} if isinstance(before, str) else set(before)
        self._data["measured"] = f"{setting.date}, {setting.machine}"
        self._data["versions"] = sorted({*versions, *setting.versions, setting.tcp})
        self.points.extend(points)
        self._path.write_text(json.dumps(self._data, indent=1) + "\n", encoding="utf-8")
