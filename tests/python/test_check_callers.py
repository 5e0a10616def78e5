"""The check of callers finds what only tests use, and nothing that the product uses."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.python.check_runs import ROOT, run_check, write


def check(root: Path) -> subprocess.CompletedProcess[str]:
    return run_check("check_callers.py", root)


def test_the_sources_of_this_repository_pass() -> None:
    done = check(ROOT)
    assert done.returncode == 0, done.stderr


HEADER = """
// Double d = seconds(net);
struct Net {{
  explicit Net(int ports);
  ~Net();
  {member}
}};
double seconds(const Net& net, int ports);
constexpr int kPortsMax = 3;
"""


@pytest.mark.parametrize(
    ("used", "unused"),
    [
        ("", {"seconds", "kPortsMax", "spare"}),
        ("  return seconds(found, 3);", {"kPortsMax", "spare"}),
        ("  const Net net(kPortsMax);", {"seconds", "spare"}),
        ("  const auto f = &seconds;\n  net->spare(~kPortsMax);", set()),
        ("  Net{3}.spare(); // seconds(), kPortsMax", {"seconds", "kPortsMax"}),
        ('  Net{3}.spare("seconds(net, kPortsMax)");', {"seconds", "kPortsMax"}),
    ],
)
def test_a_name_that_only_tests_use_is_found(used: str, unused: set[str], tmp_path: Path) -> None:
    write(
        tmp_path, "src/net/net.h", HEADER.format(member="std::vector<int> spare(int a = 0) const;")
    )
    write(
        tmp_path,
        "src/net/net.cc",
        """#include "net/net.h"
Net::Net(int ports) {}
std::vector<int> Net::spare(int a) const { return {}; }
double seconds(const Net& net, int ports) { return 0; }
""",
    )
    write(tmp_path, "src/net/net_test.cc", "TEST(Net, Is) { Net(kPortsMax).spare(seconds()); }\n")
    write(tmp_path, "src/net/net_test_calls.h", "inline int calls() { return kPortsMax; }\n")
    write(tmp_path, "src/use/use.cc", f"void use() {{\n{used}\n}}\n")
    done = check(tmp_path)
    assert set(re.findall("`(.*)`", done.stderr)) == unused
    assert done.returncode == (1 if unused else 0)


def test_a_member_of_the_core_that_no_module_uses_is_found(tmp_path: Path) -> None:
    stub = """
class Host:
    def __init__(self) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def address(self) -> str: ...
def load(path: str) -> Host | None: ...
def store(path: str) -> None: ...
LIMIT: int = 3
"""
    write(tmp_path, "python/allemande/_core.pyi", stub)
    write(tmp_path, "python/allemande/use.py", "print(_core.load('x').name, '.address')\n")
    done = check(tmp_path)
    assert done.returncode == 1
    assert set(re.findall("`(.*)`", done.stderr)) == {"Host.address", "store", "LIMIT"}
