"""The word check refuses words outside the folders of their one meaning."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.python.check_runs import ROOT, run_check, write


def check(root: Path) -> subprocess.CompletedProcess[str]:
    return run_check("check_words.py", root)


def test_the_sources_of_this_repository_pass() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "line", "word"),
    [
        ("src/model/x.h", "struct Course {", "course"),
        ("src/plan/x.cc", "model::Shape course_of();", "course"),
        ("src/courier/x.h", "// the carrier is open", "carrier"),
        ("src/carrier/node_exchange.h", "UdpGroup* carrier_;", "carrier"),
        ("src/tuning/x.h", "Kin kin_of(Way way);", "kin"),
        ("src/harness/x.h", "std::vector<int> first_lanes;", "lane"),
        ("src/schedule/x.h", "struct FoundWays {", "way"),
        ("src/plan/x.h", "void spread_over_ways();", "way"),
        ("src/execute/x.h", "struct Step {", "step"),
        ("python/allemande/lab/x.py", "course = 1", "course"),
    ],
)
def test_a_word_out_of_place_is_rejected(name: str, line: str, word: str, tmp_path: Path) -> None:
    write(tmp_path, name, f"\n{line}\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert f"{name}:2: `{word}`" in done.stderr


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("src/execute/x.h", "class Course {"),
        ("src/courier/x.h", '#include "carrier/udp_group.h"  // carrier::UdpGroup'),
        ("src/carrier/x.h", "namespace alm::carrier {"),
        ("src/sim/x.h", "double backplane_mbit_s = 0;  // of all planes"),
        ("src/tuning/x.h", "struct Way { kind_of_way(); };"),
        ("src/sim/x.cc", "kOneWay, both_ways, UnderWay  // on its way"),
        ("src/harness/x.cc", 'bad_input("`steps` of patterns");'),
        ("src/model/x.h", "recourse, kind, kinds"),
    ],
)
def test_a_word_in_its_place_passes(name: str, line: str, tmp_path: Path) -> None:
    write(tmp_path, name, f"{line}\n")
    done = check(tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_glossary_has_every_word() -> None:
    words = set(re.findall(r'Word\(\s*"(\w+)"', (ROOT / "tools/check_words.py").read_text()))
    glossary = (ROOT / "docs/glossary.md").read_text(encoding="utf-8")
    assert len(words) > 5
    assert [word for word in words if not re.search(rf"\b{word}\b", glossary)] == []
