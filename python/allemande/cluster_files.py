"""Where the ready-made cluster files are: in the source tree or inside the installed package."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from allemande.errors import BadInput
from allemande.text_files import exists, is_file, shown


def _clusters_dir() -> Path:
    """The folder of the ready-made cluster files."""
    installed = Path(__file__).parent / "data" / "clusters"
    return installed if installed.is_dir() else Path(__file__).parents[2] / "clusters"


def ready_made() -> list[str]:
    """Names of the ready-made clusters."""
    return sorted(path.stem for path in _clusters_dir().glob("*.toml"))


def find_cluster_file(name_or_path: str) -> Path:
    """The file behind a ready-made name or a path; a name that is neither is BadInput."""
    if not name_or_path.isprintable():
        raise BadInput(
            f"{shown(name_or_path)}: a name that is no plain text; expected one, so that messages "
            "can have it: rename the file"
        )
    path = Path(name_or_path)
    if is_file(path):
        return path
    names = ready_made()
    if name_or_path in names:
        return _clusters_dir() / f"{name_or_path}.toml"
    if path.suffix == ".toml" or len(path.parts) > 1 or exists(path):
        what = "no such file"
        if exists(path):
            # It would be read more than once, by every rank of a job as well.
            what = "a folder" if path.is_dir() else "a pipe or device, which is no plain file"
        raise BadInput(
            f"{name_or_path}: {what}; expected a cluster file or one of the ready-made "
            f"clusters {', '.join(names)}"
        )
    close = get_close_matches(name_or_path, names, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    raise BadInput(
        f"no cluster is called {name_or_path!r}{hint}; expected a cluster file or one of the "
        f"ready-made clusters {', '.join(names)}"
    )
