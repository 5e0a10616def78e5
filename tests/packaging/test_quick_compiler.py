"""The compiler of the wheel's test takes from its cache what is the same, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.packaging.wheel_build import COMPILER

SOURCE = """#include "number.h"
const char* file() { return __FILE__; }
int number() { return NUMBER; }
"""


class Folder:
    """Sources in a folder of their own; the cache is shared by those of one test."""

    def __init__(self, base: Path, name: str) -> None:
        self.path = base / name
        self.path.mkdir()
        (self.path / "one.cc").write_text(SOURCE)
        (self.path / "number.h").write_text("#define NUMBER 1\n")
        self.cache = base / "cache"

    def compile(self, *options: str, code: int = 0) -> bytes:
        target = self.path / "one.o"
        target.unlink(missing_ok=True)
        words = [*options, "-MD", "-MT", "one.o", "-MF", "one.d", "-o", "one.o"]
        done = subprocess.run(
            [sys.executable, "-I", "-S", COMPILER, *words, "-c", self.path / "one.cc"],
            cwd=self.path,
            env={
                **os.environ,
                "QUICK_COMPILER_CACHE": str(self.cache),
                "QUICK_COMPILER_NAMES": f"{self.path}=/source",
            },
            capture_output=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return target.read_bytes() if code == 0 else b""

    def entries(self) -> int:
        return len(list(self.cache.iterdir()))


def test_the_same_sources_in_two_folders_are_compiled_once(tmp_path: Path) -> None:
    first, second = Folder(tmp_path, "first"), Folder(tmp_path, "second")
    assert first.compile("-O3") == second.compile("-O2", "-Wall")
    assert first.entries() == 1
    # What the build system reads to know when to compile again is written all the same.
    assert str(second.path / "number.h") in (second.path / "one.d").read_text()


@pytest.mark.parametrize("option", ["-fPIC", "-fvisibility=hidden", "-std=c++17"])
def test_another_option_makes_another_object(tmp_path: Path, option: str) -> None:
    folder = Folder(tmp_path, "sources")
    folder.compile()
    folder.compile(option)
    assert folder.entries() == 2


def test_a_changed_header_is_compiled_anew(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "sources")
    before = folder.compile()
    (folder.path / "number.h").write_text("#define NUMBER 2\n")
    assert folder.compile() != before


def test_sources_that_do_not_compile_fail_every_time(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "sources")
    for text in ("#define NUMBER nothing\n", "#error not here\n"):
        (folder.path / "number.h").write_text(text)
        folder.compile(code=1)
        folder.compile(code=1)
    assert folder.entries() == 0
