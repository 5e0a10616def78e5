"""What the fenced blocks of the documents hold is valid: commands parse or run.

A block without a language, or of `sh`, holds commands; drawings are of `text`. What a command needs
to parse is checked against the real thing: the Makefile, the command's own options, CMake's
presets, the tests there are.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.python.document_files import DOCUMENTS, ROOT, Block, every_document, name_of, split

import allemande
from allemande import _core, cli

# ---- blocks that are not commands ----------------------------------------------------------------


@every_document
def test_blocks_are_of_a_known_language(path: Path) -> None:
    for block in split(path)[0]:
        assert block.language in {"", "sh", "text", "python", "toml", "c", "cmake"}, (
            f"{name_of(path)}:{block.line}: a block of {block.language!r}"
        )


@every_document
def test_python_and_toml_are_valid(path: Path) -> None:
    for block in split(path)[0]:
        if block.language == "python":
            ast.parse(block.text)
            for name in re.findall(r"\ballemande\.([a-z]\w*)", block.text):
                assert hasattr(allemande, name) or importlib.util.find_spec(f"allemande.{name}"), (
                    f"{name_of(path)}:{block.line}: no allemande.{name}"
                )
        elif block.language == "toml" and "format" in tomllib.loads(block.text):
            is_profile = "network" in tomllib.loads(block.text)
            parse = _core.parse_profile if is_profile else _core.parse_cluster
            parse(block.text, name_of(path))


# ---- commands ------------------------------------------------------------------------------------

# What is not ours: only that it is spelt like this is known.
FOREIGN = {"cc", "g++", "mpirun", "mpiexec", "srun", "jq", "man", "wait", "export", "git", "ip"}
PROGRAMS_OF_USERS = {"./app", "./transpose", "./sample_sort"}


def commands_of(text: str) -> Iterator[str]:
    """The single commands of a shell text: separated, without comments, substitutions apart."""
    for line in text.replace("\\\n", " ").splitlines():
        line = re.sub(r"(^|\s)#.*", "", line)
        for inner in re.findall(r"\$\(([^()]*)\)", line):
            yield from commands_of(inner)
        line = re.sub(r"\$\(([^()]*)\)", "SUBSTITUTED", line)
        line = re.sub(r"\bfor \w+ in [^;]*; do\b|\bdone\b", ";", line)
        lexer = shlex.shlex(line, posix=False, punctuation_chars="&|;")
        lexer.whitespace_split = True
        command: list[str] = []
        for token in lexer:
            if set(token) <= set("&|;"):
                yield " ".join(command)
                command = []
            else:
                command.append(token)
        yield " ".join(command)


def words_of(command: str) -> list[str]:
    """Without the variables set in front."""
    words = shlex.split(command)
    while words and re.fullmatch(r"\w+=.*", words[0]):
        words.pop(0)
    return words


def make_targets(folder: Path) -> set[str]:
    text = (folder / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([\w-]+):", text, re.MULTILINE))


@cache
def presets() -> set[str]:
    return set(re.findall(r'"name": "(\w+)"', (ROOT / "CMakePresets.json").read_text()))


@cache
def cpp_tests() -> dict[str, list[Path]]:
    """The test programs there are, each with its sources."""
    found = {}
    for listed in [*ROOT.glob("src/**/CMakeLists.txt"), *ROOT.glob("tests/**/CMakeLists.txt")]:
        text = listed.read_text(encoding="utf-8")
        for module in re.findall(r"alm_module\(\s*(\w+)", text):
            tests = re.findall(r"\b\w+_test\.cc\b", text)
            found[f"{module}_tests"] = [listed.parent / test for test in tests]
        for program in re.findall(r"add_executable\(\s*(\w+)", text):
            found[program] = [listed.parent / f"{program}.cc"]
    return found


def in_build_files(word: str) -> bool:
    folders = ("src", "tests", "bench", "examples")
    files = [ROOT / "CMakeLists.txt", *ROOT.glob("cmake/*.cmake")]
    files += [file for folder in folders for file in (ROOT / folder).glob("**/CMakeLists.txt")]
    return any(re.search(rf"\b{re.escape(word)}\b", file.read_text()) for file in files)


def check_make(words: list[str], folder: Path) -> None:
    targets = make_targets(folder)
    for word in words:
        assert "=" in word or word in targets, f"no target {word!r} in {name_of(folder)}/Makefile"


def build_folder(words: list[str], option: str) -> None:
    folder = words[words.index(option) + 1]
    assert folder.removeprefix("build/") in presets(), f"no preset builds {folder}"


def check_ninja(words: list[str]) -> None:
    build_folder(words, "-C")
    skip = words.index("-C") + 1
    for word in words[skip + 1 :]:
        if word.startswith("-"):
            continue
        known = word in cpp_tests() or in_build_files(word)
        assert known, f"no target {word!r} in the build files"


def check_ctest(words: list[str]) -> None:
    build_folder(words, "--test-dir")
    if "-R" in words:
        pattern = re.compile(words[words.index("-R") + 1])
        assert any(pattern.search(name) for name in cpp_tests()), f"no test matches {pattern}"


def check_test_program(words: list[str]) -> None:
    _, preset, *folders, program = words[0].split("/")
    assert preset in presets()
    assert program in cpp_tests(), f"no test program {program}"
    sources = cpp_tests()[program]
    folder = sources[0].parent
    assert folder == ROOT.joinpath(*folders), f"{program} lies in {name_of(folder)}"
    text = "".join(source.read_text() for source in sources)
    for word in words[1:]:
        option, _, pattern = word.partition("=")
        assert option == "--gtest_filter", word
        tests = re.findall(r"\bTEST(?:_[FP])?\(\s*(\w+),\s*(\w+)", text)
        assert any(fnmatch(f"{suite}.{test}", pattern) for suite, test in tests), (
            f"no test of {program} matches {pattern}"
        )


def check_cmake(words: list[str]) -> None:
    if words[0] == "--preset":
        assert words[1] in presets(), f"no preset {words[1]}"
    else:
        assert words[0] == "--install"
        build_folder(words, "--install")
        if "--component" in words:
            assert in_build_files(words[words.index("--component") + 1])


def check_python(words: list[str]) -> None:
    assert words[0] == "-m"
    if words[1] != "pytest":
        assert importlib.util.find_spec(words[1]) is not None, f"no module {words[1]}"
        return
    paths = [word for word in words[2:] if word.startswith("tests")]
    for path in paths:
        assert (ROOT / path).exists(), f"no {path}"
    if "-k" in words:
        expression = words[words.index("-k") + 1]
        files = [file for path in paths for file in (ROOT / path).glob("**/test_*.py")]
        assert any(expression in file.name or expression in file.read_text() for file in files)


def without_actions(command: Any) -> Any:
    """The command as it is, but that it only parses."""
    command.callback = lambda **_: None
    for sub_command in getattr(command, "commands", {}).values():
        without_actions(sub_command)
    return command


def check_allemande(words: list[str]) -> None:
    if words[:1] in (["--help"], ["--version"]):
        return
    assert words[0] in cli.COMMANDS, f"no command {words[0]!r}"
    without_actions(cli.load_command(words[0])).main(
        args=words[1:], prog_name=f"allemande {words[0]}", standalone_mode=False
    )


def check_command(command: str, folder: Path) -> Path:
    """Returns the folder the next command runs in."""
    words = words_of(command)
    if not words:
        return folder
    program, arguments = words[0], words[1:]
    if program == "cd":
        assert (folder / arguments[0]).is_dir(), f"no folder {arguments[0]}"
        return folder / arguments[0]
    if program in ("allemande", ".venv/bin/allemande"):
        check_allemande(arguments)
    elif program == "make":
        check_make(arguments, folder)
    elif program == "ninja":
        check_ninja(arguments)
    elif program == "ctest":
        check_ctest(arguments)
    elif program == "cmake":
        check_cmake(arguments)
    elif program in ("python", ".venv/bin/python"):
        check_python(arguments)
    elif program == "pip":
        assert arguments[0] in ("install", "wheel")
    elif program.startswith("build/"):
        check_test_program(words)
    elif program.startswith(("tools/", "bench/")):
        assert os.access(ROOT / program, os.X_OK), f"no program {program}"
    else:
        assert program in FOREIGN | PROGRAMS_OF_USERS, f"unknown program {program!r}"
    return folder


def shell_blocks(path: Path) -> list[Block]:
    return [block for block in split(path)[0] if block.language in ("", "sh")]


WITH_COMMANDS = [path for path in DOCUMENTS if shell_blocks(path)]


@pytest.mark.parametrize("path", WITH_COMMANDS, ids=name_of)
def test_commands_parse(path: Path) -> None:
    for block in shell_blocks(path):
        folder = ROOT
        for command in commands_of(block.text):
            try:
                folder = check_command(command, folder)
            except Exception as error:
                pytest.fail(f"{name_of(path)}:{block.line}: {command}: {error}")


@every_document
def test_commands_in_sentences_exist(path: Path) -> None:
    for number, line in split(path)[1]:
        where = f"{name_of(path)}:{number}"
        for target in re.findall(r"`make ([a-z][\w-]*)", line):
            assert target in make_targets(ROOT), f"{where}: no target {target!r}"
        for name in re.findall(r"`(?:\.venv/bin/)?allemande ([a-z][\w-]*)", line):
            assert name in cli.COMMANDS, f"{where}: no command {name!r}"


def documented(*names: str) -> list[list[str]]:
    """What documents give to these commands."""
    found: dict[tuple[str, ...], None] = {}
    for path in WITH_COMMANDS:
        for block in shell_blocks(path):
            for command in commands_of(block.text):
                words = words_of(command)
                if words[:1] in (["allemande"], [".venv/bin/allemande"]) and words[1] in names:
                    found[tuple(words[1:])] = None
    return [list(words) for words in found]


# The larger networks and sizes take seconds to minutes; what is wrong with a command shows as well
# with small ones.
def smaller(words: list[str]) -> list[str]:
    words = [re.sub(r"^fat-tree:\d+$", "fat-tree:16", word) for word in words]
    if "--size" in words:
        words[words.index("--size") + 1] = "1000"
    return words


@pytest.mark.parametrize(
    "words", documented("simulate", "topology", "config"), ids=lambda words: " ".join(words)
)
def test_cheap_commands_run(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ALLEMANDE_CONFIG", "")
    for word in words:
        if word.endswith(".toml"):
            (tmp_path / word).write_text((ROOT / "clusters/tam-8x1.toml").read_text())
        if word.startswith("slurm:topology.conf"):
            found = ROOT / "tests/fixtures/imports/topology.conf"
            (tmp_path / "topology.conf").write_text(found.read_text())
    (tmp_path / "out").mkdir()
    assert cli.main(smaller(words)) == 0


def test_listed_experiments_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "--list"]) == 0
    printed = capsys.readouterr().out
    for path in DOCUMENTS:
        if path.parent.parent.name == "experiments":
            assert path.parent.name in printed
