"""What is measured in the lab for an experiment and kept in a file, point by point, so that an
interrupted measurement goes on where it ended.

The file holds `how` it was measured, `measured` (when and where), `versions` and `points`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from allemande.errors import BadInput


def read_kept(path: Path) -> dict[str, Any]:
    """Raises BadInput where the file is not there or holds nothing."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; --lab measures what belongs there (root)") from None
    if not data["points"]:
        raise BadInput(f"{path}: holds no points; delete it and measure again with --lab")
    return data


def begin_kept(path: Path, how: dict[str, Any]) -> dict[str, Any]:
    """What the file holds already. Raises BadInput if it was measured otherwise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        return {"how": how, "points": []}
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if kept["how"] != how:
        raise BadInput(f"{path}: measured otherwise ({kept['how']}); delete it or move it away")
    return kept


def write_kept(path: Path, kept: dict[str, Any]) -> None:
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
