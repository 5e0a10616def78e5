"""`allemande build-preload`: what it asks of a site, and what it says of what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from allemande import preload_build
from allemande.errors import BadInput, Failed
from allemande.preload import source_folder, user_folder


def wrapper(folder: Path, macros: str, name: str = "mpicc") -> str:
    """A compiler wrapper whose mpi.h says it belongs to some library."""
    include = folder / "include"
    include.mkdir(exist_ok=True)
    (include / "mpi.h").write_text(macros)
    path = folder / name
    path.write_text(f'#!/bin/sh\nexec cc -I{include} "$@"\n')
    path.chmod(0o755)
    return str(path)


OPENMPI = (
    "#define OPEN_MPI 1\n#define OMPI_MAJOR_VERSION 4\n#define OMPI_MINOR_VERSION 1\n"
    "#define OMPI_RELEASE_VERSION 6\n"
)
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("macros", "kind", "version"),
    [
        (OPENMPI, "openmpi", "4.1.6"),
        ('#define MPICH_VERSION "4.2.0"\n', "mpich", "4.2.0"),
        ("#define I_MPI_VERSION 2021.10\n", "mpich", "2021.10"),
    ],
)
def test_headers_are_recognised(tmp_path: Path, macros: str, kind: str, version: str) -> None:
    headers = preload_build.find_headers(wrapper(tmp_path, macros), ENVIRONMENT)
    assert (headers.kind, headers.version) == (kind, version)
    assert headers.folder == tmp_path / "include"


def test_headers_of_an_unknown_library_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="neither Open MPI's nor MPICH's"):
        preload_build.find_headers(wrapper(tmp_path, "#define OTHER 1\n"), ENVIRONMENT)


def test_a_failing_compiler_wrapper_shows_its_message(tmp_path: Path) -> None:
    path = tmp_path / "mpicc"
    path.write_text("#!/bin/sh\necho 'no licence' >&2\nexit 1\n")
    path.chmod(0o755)
    with pytest.raises(Failed, match=r"cannot read mpi.h:\nno licence"):
        preload_build.find_headers(str(path), ENVIRONMENT)


def test_missing_build_tools_are_named_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=r"cmake is not found in PATH; .* pip install cmake ninja"):
        preload_build.find_tools({"PATH": str(tmp_path)})
    cmake = tmp_path / "cmake"
    cmake.write_text("#!/bin/sh\n")
    cmake.chmod(0o755)
    with pytest.raises(Failed, match=r"ninja .or make. is not found"):
        preload_build.find_tools({"PATH": str(tmp_path)})


def test_a_build_that_fails_shows_why(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name, text in (("cmake", "echo 'bad compiler'; exit 1"), ("ninja", "true")):
        tool = tmp_path / "bin" / name
        tool.write_text(f"#!/bin/sh\n{text}\n")
        tool.chmod(0o755)
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    with pytest.raises(Failed, match=r"configuring failed: (.|\n)*bad compiler\n(.|\n)*C\+\+20"):
        preload_build.build(wrapper(tmp_path, OPENMPI), tmp_path, environment=environment)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    library = tmp_path / "liballemande-openmpi.so"
    library.write_text("")
    (tmp_path / "file").write_text("")
    with pytest.raises(Failed, match=r"cannot write to .*file/below: .*; choose --output"):
        preload_build.deliver([library], tmp_path / "file" / "below")
    assert preload_build.deliver([library], tmp_path / "new") == [tmp_path / "new" / library.name]


def test_sources_are_the_repository_and_libraries_go_to_the_users_data() -> None:
    assert (source_folder() / "CMakeLists.txt").exists()
    assert user_folder({"XDG_DATA_HOME": "/data"}).parts[:3] == ("/", "data", "allemande")


def test_users_without_a_home_are_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(number: int) -> None:
        raise KeyError(number)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", nobody)
    with pytest.raises(Failed, match="no home directory; set HOME or XDG_DATA_HOME"):
        user_folder({})
