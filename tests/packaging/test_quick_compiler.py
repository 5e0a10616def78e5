"""The compiler of the wheel's test takes from its cache what is the same, and nothing else."""

from __future__ import annotations

import json
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
        self.objects = self.path / "objects"
        self.objects.mkdir(parents=True)
        (self.path / "one.cc").write_text(SOURCE)
        (self.path / "number.h").write_text("#define NUMBER 1\n")
        self.cache = base / "cache"

    def compile(self, *options: str, code: int = 0, built: Path | None = None) -> bytes:
        target = self.objects / "one.o"
        target.unlink(missing_ok=True)
        words = [*options, "-MD", "-MT", "one.o", "-MF", "one.d", "-o", "one.o"]
        done = subprocess.run(
            [sys.executable, "-I", "-S", COMPILER, *words, "-c", self.path / "one.cc"],
            cwd=self.objects,
            env={
                **os.environ,
                "QUICK_COMPILER_CACHE": str(self.cache),
                "QUICK_COMPILER_NAMES": f"{self.path}=/source",
                **({"QUICK_COMPILER_BUILT": str(built.parent)} if built else {}),
            },
            capture_output=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return target.read_bytes() if code == 0 else b""

    def build(self, base: Path, *options: str) -> Path:
        """The folder of a build that has compiled the same sources, and its object's path."""
        folder = base / "build"
        folder.mkdir()
        command = ["/usr/bin/g++", *options, "-o", "one.o", "-c", str(self.path / "one.cc")]
        subprocess.run(command, cwd=folder, check=True)
        entry = {"directory": str(folder), "command": " ".join(command)}
        (folder / "compile_commands.json").write_text(json.dumps([entry]))
        return folder / "one.o"

    def entries(self) -> int:
        return len(list(self.cache.iterdir()))


def test_the_same_sources_in_two_folders_are_compiled_once(tmp_path: Path) -> None:
    first, second = Folder(tmp_path, "first"), Folder(tmp_path, "second")
    assert first.compile("-O3") == second.compile("-O2", "-Wall")
    assert first.entries() == 1
    # What the build system reads to know when to compile again is written all the same.
    assert str(second.path / "number.h") in (second.objects / "one.d").read_text()


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


def test_the_object_of_a_build_is_as_good(tmp_path: Path) -> None:
    """Whatever headers say with optimisation."""
    folder = Folder(tmp_path, "sources")
    with (folder.path / "number.h").open("a") as header:
        header.write("#ifdef __OPTIMIZE__\n#define FAST\nint fast();\n#endif\n")
    built = folder.build(tmp_path, "-O3", "-fPIC")
    assert folder.compile("-O1", "-fPIC", built=built) == built.read_bytes()


@pytest.mark.parametrize("option", ["-DMORE=2", "-fno-exceptions"])
def test_the_object_of_a_build_with_other_options_is_not(tmp_path: Path, option: str) -> None:
    folder = Folder(tmp_path, "sources")
    (folder.path / "number.h").write_text("#define NUMBER MORE\n")
    built = folder.build(tmp_path, "-DMORE=1")
    assert folder.compile("-DMORE=1", option, built=built) != built.read_bytes()


def test_the_object_of_a_build_that_is_older_than_its_sources_is_not(tmp_path: Path) -> None:
    folder = Folder(tmp_path, "sources")
    built = folder.build(tmp_path)
    later = built.stat().st_mtime + 10
    os.utime(folder.path / "number.h", (later, later))
    assert folder.compile(built=built) != built.read_bytes()
