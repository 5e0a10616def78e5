"""What `allemande reproduce --write` writes into experiments/, and what stands there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from allemande.cli import main
from allemande.errors import Failed
from allemande.reproduce import experiment as experiments
from allemande.reproduce.experiment import Row
from allemande.reproduce.index_page import how_far_off, index_text
from allemande.reproduce.kinds import run
from allemande.reproduce.written_rows import (
    Written,
    read_written,
    rounded_up,
    seconds_of,
    with_rows,
)

CHEAP = ("1 s", "2 s")
MARKED = "before\n<!-- allemande reproduce x --write: 10 s -->\n\nold\n\n<!-- end -->\nafter\n"
ROWS = [Row("x", "a", 0.92, 0.95567), Row("x", "b", None, 127_764.0), Row("x", "c", 2, None)]


def readme(name: str) -> str:
    return (experiments.load(name).folder / "README.md").read_text(encoding="utf-8")


def test_the_table_stands_between_the_marks() -> None:
    text = with_rows(MARKED, "x", ROWS)
    assert text.splitlines() == [
        "before",
        "<!-- allemande reproduce x --write: 10 s -->",
        "",
        "| point | published | ours | ratio |",
        "|---|---:|---:|---:|",
        "| a | 0.92 | 0.9557 | 1.039 |",
        "| b | \N{EN DASH} | 127,764 | \N{EN DASH} |",
        "| c | 2 | none | \N{EN DASH} |",
        "",
        "<!-- end -->",
        "after",
    ]
    assert with_rows(text, "x", ROWS) == text
    assert read_written(text, "x") == Written("10 s", [0.92, 2], [0.9557, None])
    assert "--write: 2 min -->" in with_rows(text, "x", ROWS, "2 min")
    assert read_written(MARKED.replace(": 10 s", ""), "x").took is None


def test_a_readme_without_marks_is_refused() -> None:
    for text in (
        "",
        MARKED.replace("<!-- end -->", ""),
        MARKED.replace("reproduce x", "reproduce y"),
    ):
        with pytest.raises(Failed, match="of x has no marks"):
            with_rows(text, "x", ROWS)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.1, "1 s"), (2.1, "5 s"), (31, "1 min"), (1700, "30 min"), (4000, "2 h")],
)
def test_times_are_rounded_up(seconds: float, text: str) -> None:
    assert rounded_up(seconds) == text
    assert rounded_up(seconds_of(text)) == text


@pytest.mark.parametrize(
    ("published", "ours", "text"),
    [
        ([], [], "said in words"),
        ([2], [2.004], "as published (1 value)"),
        ([2, 0, 4], [2, 0, 4.156], "0 % to +3.9 % (3 values)"),
        ([1, 1], [0.85, 2.5], "-15 % to 2.5 times (2 values)"),
        ([1, 0, 3], [1.1, 5, None], "+10 %, 2 missed (3 values)"),
        ([0], [5], "1 missed (1 value)"),
    ],
)
def test_how_far_off(published: list[float], ours: list[float | None], text: str) -> None:
    assert how_far_off(Written(None, published, ours)) == text


def test_the_list_is_what_the_experiments_say() -> None:
    found = [experiments.load(name) for name in experiments.names()]
    text = (experiments.IN_CLONE / "README.md").read_text(encoding="utf-8")
    assert text == index_text(found), "allemande reproduce --write renews it"


def cheap() -> list[str]:
    return [name for name in experiments.names() if read_written(readme(name), name).took in CHEAP]


@pytest.mark.parametrize("name", cheap())
def test_what_came_out_comes_out_again(name: str) -> None:
    text = readme(name)
    renewed = with_rows(text, name, run(experiments.load(name)).rows)
    assert text == renewed, f"allemande reproduce {name} --write renews it"


def test_there_are_cheap_experiments() -> None:
    assert len(cheap()) >= 15


def test_the_command_renews_table_plot_and_list(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "001-table-1"
    text = readme(name)
    shutil.copytree(experiments.IN_CLONE / name, tmp_path / name)
    monkeypatch.setattr(experiments, "IN_CLONE", tmp_path)
    folder = tmp_path / name
    (folder / "README.md").write_text(text.replace("22,200", "1"), encoding="utf-8")
    (folder / "plot.svg").unlink()
    assert main(["reproduce", name, "--write", "--output", str(tmp_path / "out")]) == 0
    assert with_rows((folder / "README.md").read_text(), name, [], "1 s") == with_rows(
        text, name, [], "1 s"
    )
    assert "22,200" in (folder / "README.md").read_text()
    assert (folder / "plot.svg").read_bytes() == (tmp_path / "out" / f"{name}.svg").read_bytes()
    assert f"[{name}]({name})" in (tmp_path / "README.md").read_text()
    assert main(["reproduce", name, "--write", "--lab"]) == 2
    assert "leave out --lab" in capsys.readouterr().err


def test_an_installed_copy_is_not_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(experiments, "INSTALLED", tmp_path)
    assert main(["reproduce", "--write"]) == 2
    assert "is an installed copy" in capsys.readouterr().err
