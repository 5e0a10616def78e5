"""What a program is linked to, read from its file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from allemande.elf import needed_libraries


def test_needed_libraries_are_what_readelf_says() -> None:
    program = Path("/bin/ls").resolve()
    text = subprocess.run(
        ["readelf", "-d", program], capture_output=True, text=True, check=True
    ).stdout
    said = [line.split("[")[1].rstrip("]") for line in text.splitlines() if "(NEEDED)" in line]
    assert said and needed_libraries(program) == said


def test_files_that_are_no_programs_need_no_library(tmp_path: Path) -> None:
    assert needed_libraries(tmp_path / "missing") == []
    assert needed_libraries(tmp_path) == []
    assert needed_libraries(Path(__file__)) == []


def test_damaged_programs_need_no_library(tmp_path: Path) -> None:
    whole = Path(sys.executable).resolve().read_bytes()
    path = tmp_path / "damaged"
    for length in (3, 6, 63, 64, 100, 500, 1000, 5000):
        path.write_bytes(whole[:length])
        assert needed_libraries(path) == []
    path.write_bytes(whole[:64] + bytes(len(whole) - 64))
    assert needed_libraries(path) == []
