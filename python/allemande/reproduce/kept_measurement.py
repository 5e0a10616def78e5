"""What is measured in the lab for an experiment and kept in a file, point by point, so that an
interrupted measurement goes on where it ended.

The file holds `how` it was measured, `measured` (when and where), `versions` and `points`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from allemande.errors import BadInput
from allemande.text_files import exists, read_json


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


def begin_kept(path: Path, how: dict[str, Any]) -> dict[str, Any]:
    """What the file holds already. Raises BadInput if it was measured otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        return {"how": how, "points": []}
    kept = _read(path)
    if kept.get("how") != how:
        raise BadInput(f"{path}: measured otherwise ({kept.get('how')}); delete it or move it away")
    return kept


def write_kept(path: Path, kept: dict[str, Any]) -> None:
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
