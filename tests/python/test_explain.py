"""`allemande explain`: the table, JSON, CSV, and what is no decision file."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from allemande import cli
from allemande.decisions import cache_file
from allemande.errors import BadInput

DECISION = """\
decisions = 2

[[decision]]
version = "0.1.0"
mpi = "Open MPI v5.0.8"
configuration = "00c0ffee"
calls = "MPI_Alltoall"
ranks = 32
hosts = 32
least_bytes = 128
most_bytes = 255
chosen = "library"
why = "the fastest of 2; 1 too dear to be tried yet"
way = [
  { key = "udp grid:8x4", name = "grid 8 x 4 over UDP", time_us = 15600.0, seen = 8, packets = 10 },
  { key = "library", name = "the MPI library", time_us = 14200.000, seen = 8, packets = 0 },
  { key = "mpi few", name = "few at a time over messages", time_us = 0.0, seen = 0, packets = 0 },
]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "decisions.toml"
    path.write_text(DECISION)
    return path


def test_the_table_tells_what_over_what_and_why(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("32 ranks, Open MPI v5.0.8")
    chosen = next(line for line in lines if "*" in line)
    assert "the MPI library" in chosen and "14.2" in chosen and "the fastest of 2" in chosen
    first = next(line for line in lines if "grid 8 x 4" in line)
    assert "128 to 255" in first and "15.6" in first
    assert "not tried" in next(line for line in lines if "few at a time" in line)
    assert first.index("grid") == chosen.index("the MPI")


def test_without_a_file_the_cache_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cli.main(["explain"]) == 2
    kept = tmp_path / "allemande/decisions.toml"
    assert f"{kept}: no job has kept decisions there yet" in capsys.readouterr().err
    assert cache_file({"HOME": "/u", "XDG_CACHE_HOME": "here"}) == Path(
        "/u/.cache/allemande/decisions.toml"
    )
    with pytest.raises(BadInput, match="jobs keep no decisions; name a FILE"):
        cache_file({"HOME": ""})
    cache_file().parent.mkdir()
    cache_file().write_text(DECISION)
    assert cli.main(["explain"]) == 0
    assert capsys.readouterr().out.startswith("32 ranks, Open MPI v5.0.8")


def test_json_and_csv_hold_every_way(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", str(file), "--json", "-", "--csv", str(tmp_path / "d.csv")]) == 0
    (decision,) = json.loads(capsys.readouterr().out)
    assert decision["chosen"] == "the MPI library"
    assert decision["ways"][2]["time_us"] is None
    rows = list(csv.DictReader(io.StringIO((tmp_path / "d.csv").read_text())))
    assert [row["chosen"] for row in rows] == ["False", "True", "False"]
    assert rows[0]["least_bytes"] == "128" and rows[0]["packets"] == "10"


def test_what_a_profile_predicted_stands_beside_what_calls_took(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "decisions.toml"
    path.write_text(
        DECISION.replace(
            "seen = 8, packets = 0", "seen = 8, packets = 0, predicted_us = 13500.0"
        ).replace('calls = "MPI', 'profile = "feedbeef"\ncalls = "MPI')
    )
    assert cli.main(["explain", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "profile feedbeef" in lines[0] and "predicted" in lines[1]
    chosen = next(line for line in lines if "*" in line)
    assert "14.2" in chosen and "13.5" in chosen
    assert cli.main(["explain", str(path), "--json", "-"]) == 0
    (decision,) = json.loads(capsys.readouterr().out)
    assert decision["profile"] == "feedbeef"
    assert [way["predicted_us"] for way in decision["ways"]] == [None, 13500.0, None]
    assert cli.main(["explain", str(path), "--csv", "-"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["predicted_us"] for row in rows] == ["", "13500.0", ""]


def test_files_of_earlier_versions_are_shown_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "old.toml"
    without_keys = re.sub(r'key = "[^"]*", ', "", DECISION)
    path.write_text(
        without_keys.replace("decisions = 2", "decisions = 1").replace(
            'chosen = "library"', 'chosen = "the MPI library"'
        )
    )
    assert cli.main(["explain", str(path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "the MPI library" in next(line for line in lines if "*" in line)


def test_an_empty_decision_file_says_that_nothing_is_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "empty.toml"
    path.write_text("decisions = 2\n")
    assert cli.main(["explain", str(path)]) == 0
    assert "No decision" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = 'tam-8x4'\n", "decisions = 2"),
        ("decisions = \n", "file.toml:1: "),
        ("decisions = 2\ndecision = 3\n", "array of tables"),
        ("decisions = 2\ndecision = [3]\n", "decision 1 is not a table"),
        ("decisions = 3\n", "it does not say `decisions = 2`, but 3"),
        (DECISION.replace("ranks = 32", "ranks = true"), "file.toml:3: decision 1: `ranks`"),
        (
            DECISION + DECISION.partition("\n")[2].replace("seen = 8", "seen = -8"),
            "file.toml:20: decision 2: way 1: `seen`",
        ),
        (DECISION.replace("15600.0", "nan"), "`time_us`"),
        (DECISION.replace('chosen = "lib', 'chosen = "another'), "`chosen`"),
    ],
)
def test_a_file_that_holds_no_decisions_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, expected: str
) -> None:
    path = tmp_path / "file.toml"
    path.write_text(text)
    assert cli.main(["explain", str(path)]) == 2
    printed = capsys.readouterr().err
    assert "file.toml" in printed and "no decision file" in printed and expected in printed


def test_a_decision_file_that_cannot_be_read_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\x00\x01")
    for name in ("missing", "binary", "."):
        assert cli.main(["explain", str(tmp_path / name)]) == 2
        assert "allemande: " in capsys.readouterr().err


def test_texts_of_a_decision_file_stay_texts(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(DECISION.replace("the fastest", r"\u001b[31mthe fastest").replace("v5", r"\n"))
    assert cli.main(["explain", str(file)]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed and r"\x1b[31mthe fastest" in printed
    assert r"Open MPI \n.0.8" in printed
    file.write_text(DECISION.replace("the MPI library", "  "))
    assert cli.main(["explain", str(file)]) == 2
    assert "`name` is missing or not valid" in capsys.readouterr().err
