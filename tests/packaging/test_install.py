"""What `cmake --install` leaves behind: found and used by programs that know only the prefix."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / (os.environ.get("ALM_BUILD_DIR") or "build/release")
EXAMPLE = ROOT / "examples" / "c_api"
RANKS = 4
TIMEOUT_S = 120


def run(*command: object, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installed in one place, used in another: nothing in it may know where it was made."""
    made = tmp_path_factory.mktemp("made") / "here"
    run("cmake", "--install", BUILD, "--prefix", made)
    moved = tmp_path_factory.mktemp("moved") / "there"
    shutil.move(made, moved)
    return moved


@pytest.fixture(scope="module")
def library_folder(prefix: Path) -> Path:
    return next(prefix.glob("lib*/**/liballemande.so")).parent


def transpose(program: Path, library_folder: Path) -> str:
    """Runs the example as RANKS processes; the output of rank 0."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = [
        subprocess.Popen(
            [str(program), str(RANKS), str(rank), "127.0.0.1", str(port), "40"],
            env={
                **os.environ,
                "LD_LIBRARY_PATH": str(library_folder),
                "ALLEMANDE_HELLO_TIMEOUT_MS": "20000",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(RANKS)
    ]
    outputs = [process.communicate(timeout=TIMEOUT_S)[0] for process in ranks]
    assert [process.returncode for process in ranks] == [0] * RANKS, outputs
    return outputs[0]


def test_a_program_finds_the_library_by_cmake(
    prefix: Path, library_folder: Path, tmp_path: Path
) -> None:
    run("cmake", "-S", EXAMPLE, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", tmp_path)
    assert "CORRECT: 160 x 160 over 4 ranks" in transpose(tmp_path / "transpose", library_folder)


def test_a_program_finds_the_library_by_pkg_config(
    prefix: Path, library_folder: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    shutil.copytree(EXAMPLE, work)
    env = {"PKG_CONFIG_PATH": str(library_folder / "pkgconfig")}
    run("make", "-C", work, "CFLAGS=-Wall -Wextra -Wpedantic -Werror", env=env)
    assert "CORRECT" in transpose(work / "transpose", library_folder)


def test_a_statically_linked_program_needs_no_shared_library(
    prefix: Path, library_folder: Path, tmp_path: Path
) -> None:
    env = {"PKG_CONFIG_PATH": str(library_folder / "pkgconfig")}
    flags = run("pkg-config", "--static", "--cflags", "--libs", "allemande", env=env).split()
    flags = ["-l:liballemande.a" if flag == "-lallemande" else flag for flag in flags]
    sources = sorted(EXAMPLE.glob("*.c"))
    run("cc", "-std=c11", "-o", tmp_path / "transpose", *sources, *flags)
    assert "liballemande" not in run("ldd", tmp_path / "transpose")
    assert "CORRECT" in transpose(tmp_path / "transpose", tmp_path)
    symbols = run("nm", "--extern-only", "--defined-only", library_folder / "liballemande.a")
    ours = [line.split()[-1] for line in symbols.splitlines() if " T " in line]
    assert ours and all(name.startswith("alm_") for name in ours)


def test_an_older_major_version_is_not_taken(prefix: Path, tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(x LANGUAGES C)\n"
        "find_package(allemande 1.0)\n"
        'if(allemande_FOUND)\n  message(FATAL_ERROR "taken")\nendif()\n'
    )
    run("cmake", "-S", tmp_path, "-B", tmp_path / "b", f"-DCMAKE_PREFIX_PATH={prefix}")


def test_a_program_in_c_plus_plus_links_and_runs(
    prefix: Path, library_folder: Path, tmp_path: Path
) -> None:
    source = tmp_path / "version.cc"
    source.write_text(
        "#include <allemande/allemande.h>\n#include <iostream>\n"
        "int main() { std::cout << alm_version_string(); }\n"
    )
    command = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", source]
    run(*command, "-I", prefix / "include", f"-L{library_folder}", "-lallemande", "-o",
        tmp_path / "version")  # fmt: skip
    env = {"LD_LIBRARY_PATH": str(library_folder)}
    assert run(tmp_path / "version", env=env) == "0.1.0"


def test_only_the_c_interface_is_visible(library_folder: Path) -> None:
    library = library_folder / "liballemande.so"
    symbols = run("nm", "--dynamic", "--defined-only", "--format=just-symbols", library).split()
    names = {symbol.partition("@")[0] for symbol in symbols} - {"ALLEMANDE_0"}
    assert names and all(name.startswith("alm_") for name in names)
    dynamic = run("readelf", "--dynamic", library)
    assert "SONAME" in dynamic and "[liballemande.so.0]" in dynamic
    assert "libstdc++" not in dynamic and "libmpi" not in dynamic


def test_manual_pages_are_complete_and_well_formed(prefix: Path) -> None:
    pages = sorted((prefix / "share" / "man").rglob("*.[13]"))
    names = {page.name for page in pages}
    assert {"allemande.1", "allemande-run.1", "allemande-doctor.1", "allemande.h.3"} <= names
    for page in pages:
        assert run("mandoc", "-Tlint", "-Wwarning", page) == ""
        assert run("groff", "-ww", "-man", "-Tutf8", "-z", page) == ""
    text = run("mandoc", "-Tutf8", prefix / "share" / "man" / "man3" / "allemande.h.3")
    plain = re.sub(".\b", "", text)
    assert "alm_exchange_alltoallv" in plain and "ALM_ERROR_PEER_LOST" in plain
    assert "MEMBERS OF ALM_EXCHANGE_CONFIG" in plain


def test_nothing_else_is_installed(prefix: Path) -> None:
    top = {path.name for path in prefix.iterdir()}
    assert top <= {"include", "lib", "lib64", "share"}
    assert [path.name for path in (prefix / "include").rglob("*.h")] == ["allemande.h"]
    assert not list(prefix.rglob("*.py")) and not list(prefix.rglob("_core*"))
