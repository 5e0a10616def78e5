"""Files of users: whatever they hold, a reader ends with what it says or with BadInput."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from allemande.config import load as load_config
from allemande.control_characters import told
from allemande.decisions import load_decisions
from allemande.errors import BadInput
from allemande.formats.choices import read_rows
from allemande.formats.opensm_lfts import load_tables
from allemande.formats.yaml_text import read_yaml
from allemande.matrix import make_matrix, parse_matrix
from allemande.model.profile import load_profile
from allemande.simulation.case import make_case
from allemande.simulation.networks import find_cluster
from allemande.site_file import sites_option
from allemande.text_files import is_file, parse_json, parse_toml, read_text, shown
from allemande.topology import expand_hostlist, load_cluster

READERS: dict[str, Callable[[Path], object]] = {
    "slurm": lambda path: find_cluster(f"slurm:{path}"),
    "slurm-yaml": lambda path: find_cluster(f"slurm:{path.with_suffix('.yaml')}"),
    "ibnetdiscover": lambda path: find_cluster(f"ibnetdiscover:{path}"),
    "simgrid": lambda path: find_cluster(f"simgrid:{path}"),
    "htsim": lambda path: find_cluster(f"htsim:{path}"),
    "profile": load_profile,
    "decisions": lambda path: load_decisions(str(path)),
    "configuration": lambda path: load_config(environment={"ALLEMANDE_CONFIG": str(path)}),
    "times": read_rows,
    "LID tables": lambda path: load_tables(load_cluster("tam-8x1"), str(path)),
    "routes": lambda path: make_case("tam-8x1", routes=str(path)),
    "sites": sites_option,
    "matrix": lambda path: make_matrix(parse_matrix(f"file:{path}"), 8, 1000),
}
every_reader = pytest.mark.parametrize("name", READERS)


def put(path: Path, data: bytes, name: str) -> Path:
    path.write_bytes(data)
    if name == "slurm-yaml":
        path.with_suffix(".yaml").write_bytes(data)
    return path


@every_reader
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"# fine\n\xff\xfe\n", r"file[.a-z]*:2: byte 0xff is not UTF-8"),
        (b"\n\n\x1b[2J\n", r"file[.a-z]*:3: has the control character '\\x1b'"),
        ("a\n\x9b31m".encode(), r"file[.a-z]*:2: has the control character '\\x9b'"),
        (b"a\x00b\n", r"file[.a-z]*:1: has the control character '\\x00'"),
        ("a\n\u2028b".encode(), r"file[.a-z]*:2: has the control character '\\u2028'"),
        ("Nodes 4\n".encode("utf-16"), "is UTF-16; expected .* saved as UTF-8"),
        (b"[" * 3000, "file"),
        (b"k = " + b"9" * 5000, "file"),
    ],
)
def test_what_is_no_text_is_told_with_its_line(
    name: str, data: bytes, message: str, tmp_path: Path
) -> None:
    path = put(tmp_path / "file", data, name)
    begin = time.process_time()
    with pytest.raises(BadInput, match=message):
        READERS[name](path)
    assert time.process_time() - begin < 1


@every_reader
def test_what_cannot_be_read_is_told(name: str, tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path / ("x" * 300), Path("/dev/zero")):
        with pytest.raises(BadInput, match=rf"{path.name[:20]}|MiB"):
            READERS[name](path)
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(BadInput, match="folder"):
        READERS[name](folder)
    with pytest.raises(BadInput):
        READERS[name](Path("a\0b"))


def test_a_text_is_read_with_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("\ufeffé\r\nb\rc\td".encode())
    assert read_text(path, "text") == "é\nb\nc\td"
    with pytest.raises(BadInput, match="has more than 0 MiB; expected text"):
        read_text(path, "text", 3)
    assert is_file(path) and not is_file("a\0b") and not is_file("x" * 5000)
    assert shown("a\nb\udcff\x1b") == r"a\nb\udcff\x1b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[\n1,\n}", "f:3: not valid JSON"),
        ("[" * 100_000, "f: not valid JSON: nested too deep"),
        ("9" * 5000, r"f: not valid JSON: the integer 9{20}\.\.\. has more than 20 digits"),
    ],
)
def test_json_that_is_none_is_told(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        parse_json(text, "f", "rows")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = 1\nb = 2024-13-45\n", "f:2: not valid TOML"),
        ("a = " + "[" * 3000, "f: not valid TOML: nested too deep"),
        ("a = 1\nb = [1, " + "9" * 5000 + "]\n", "f:2: not valid TOML: .*too long"),
        ("a = 0x" + "f" * 5000 + "\n", "f:1: not valid TOML: "),
        ("a = 1\nb.c = [0x8000000000000000]", "f:2: not valid TOML: "),
        ("a = \n", "f:1: not valid TOML"),
        ("a = 1\nb = x\n", 'f:2: not valid TOML: key `b`: `x` is no value; expected "text" in q'),
        ("a = 5 ms\n", "f:1: not valid TOML: key `a`: .*; expected a number without a unit"),
    ],
)
def test_toml_that_is_none_is_told(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message) as caught:
        parse_toml(text, "f")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "text",
    [
        "n[0-999999999]",
        "n[0-131071]" + "x" * 1_000_000,
        "n[0-131071]" + "[1]" * 10_000,
        "n[0-" + "9" * 4300 + "]",
        "n[0-99][0-99][0-99]",
        "n\udcff[0-1]",
    ],
)
def test_long_host_lists_are_refused_at_once(text: str) -> None:
    begin = time.process_time()
    with pytest.raises(BadInput) as caught:
        expand_hostlist(text)
    assert len(str(caught.value)) < 400
    assert time.process_time() - begin < 1


BOMB = "\n".join(
    [
        "- topology: a",
        "  x: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]",
        *(f"  x{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)),
        "  tree:\n    switches:\n    - {switch: s0, nodes: *a8}\n",
    ]
)
WATCHED = """\
import sys, time
from allemande.errors import BadInput
from allemande.formats.cluster_imports import read_import
begin = time.process_time()
try:
    read_import(sys.argv[1])
except BadInput as error:
    print(error)
with open("/proc/self/status") as file:
    print(next(line for line in file if line.startswith("VmHWM")).split()[1])
print(time.process_time() - begin)
"""


def test_aliases_in_aliases_do_not_grow(tmp_path: Path) -> None:
    """522 bytes that stand for 387 million words."""
    path = tmp_path / "topology.yaml"
    path.write_text(BOMB)
    assert path.stat().st_size < 600
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, f"slurm:{path}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    message, kib, seconds = done.stdout.splitlines()
    assert message.endswith("`nodes` is a list; expected text, as in nodes: n[0-3]")
    assert f"{path}:10:" in message
    assert int(kib) < 256 * 1024
    assert float(seconds) < 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[" * 3000, "f:1: more than 32 levels"),
        ("a: *none", "f:1: .*none stands for nothing"),
        ("a: 1\na: 2", "f:2: 'a' stands twice"),
        ("? [a]\n: b", "f:1: a list or table stands where a key belongs"),
        ("a\n---\nb", "f:3: a second document begins"),
        ("a: 'b", "f:1: not valid YAML"),
        ("x" * 2_000_000, "has more than 1 MiB"),
    ],
)
def test_yaml_that_is_none_is_told(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_yaml(text, "f")


def test_yaml_makes_nothing_of_values() -> None:
    text = "- 2024-13-45\n- 0x10\n- true\n- !!python/object:os.system x\n- {1: ~}\n"
    found = read_yaml(text, "f")
    assert isinstance(found, list)
    assert list(found[:4]) == ["2024-13-45", "0x10", "true", "x"]
    assert isinstance(found[4], dict) and dict(found[4]) == {"1": "~"}
    assert found[3].line == 4
    assert repr(found) == "a list"


def test_an_array_is_not_made_room_for_before_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    np.save(path, np.zeros((2, 2), dtype=np.int64))
    claimed = path.read_bytes().replace(b"(2, 2)", b"(99999999, 99999999)")
    path.write_bytes(claimed[:118] + claimed[-42:])
    with pytest.raises(BadInput, match=r"matrix file .*m\.npy"):
        make_matrix(parse_matrix(f"file:{path}"), 2, 1)


def test_a_message_keeps_its_lines_and_no_control_characters() -> None:
    assert told("a\n\tb \N{MICRO SIGN}s\x1b[31m\r\x9b") == (
        "a\n\tb \N{MICRO SIGN}s\\x1b[31m\\r\\x9b"
    )
