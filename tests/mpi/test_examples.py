"""The programs of examples/ in a lab: the same results with allemande preloaded."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from allemande.errors import Failed
from allemande.examples.catalog import NAMES, OURS, PROGRAMS, STOCK, other_algorithms
from allemande.examples.program_runs import compare, parse_run
from allemande.examples.row_table import cells, markdown
from allemande.lab import Lab


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_same_results_stock_and_preloaded(shared_lab: Lab, name: str, tmp_path: Path) -> None:
    program = next(program for program in PROGRAMS if program.name == name)
    rows = compare(shared_lab, [program], tmp_path, small=True, repeats=2)
    assert [row.mpi for row in rows] == list(program.mpis)
    for row in rows:
        assert set(row.times) == {STOCK.name, OURS.name}  # and ours took exchanges


@pytest.mark.slow
def test_the_librarys_other_algorithms_give_the_same(shared_lab: Lab, tmp_path: Path) -> None:
    program = next(program for program in PROGRAMS if program.name == "fftw3d")
    (row,) = compare(shared_lab, [program], tmp_path, small=True, repeats=1, every_algorithm=True)
    others = {way.name for way in other_algorithms(program, row.mpi)}
    assert others == {"linear", "pairwise", "linear-sync"}
    assert set(row.times) == {STOCK.name, OURS.name} | others
    assert row.best_stock()[0] in others | {STOCK.name}
    assert cells(row)[-1] in markdown([row], "where")


def test_a_program_that_fails_is_told_with_its_words(shared_lab: Lab, tmp_path: Path) -> None:
    program = next(program for program in PROGRAMS if program.name == "sample_sort")
    impossible = replace(program, small=-64)
    with pytest.raises(Failed, match=r"(?s)sample_sort under openmpi \(stock\) failed.*no memory"):
        compare(shared_lab, [impossible], tmp_path, small=True)


def test_lines_of_a_program() -> None:
    run = parse_run("size 3\nresult ab\nseconds 1.5\ncommunication 0.5\n", 7)
    assert (run.result, run.seconds, run.communication, run.exchanges) == ("ab", 1.5, 0.5, 7)
    assert parse_run("result ab\nseconds 1.5", 0).communication is None


def test_unknown_names_are_refused_with_those_there_are() -> None:
    line = [sys.executable, "-m", "allemande", "examples", "fft3"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "did you mean 'fft3d'?" in done.stderr and "sample_sort" in done.stderr
