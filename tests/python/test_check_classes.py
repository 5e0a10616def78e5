"""The check of classes counts methods, and refuses a class of too many."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.python.check_runs import ROOT, run_check, write

BOUND = 40


def class_of(methods: int) -> str:
    return "class Large {\n" + "".join(f"  int m{i}() const;\n" for i in range(methods)) + "};\n"


def test_the_sources_of_this_repository_pass() -> None:
    done = run_check("check_classes.py", ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "one",
    [
        "void plain(int a = f(3));",
        "static Large make();",
        "std::map<int, int> within() const { return {}; }",
        "bool operator()(int a) const { return a > 1; }",
        "Large& operator=(const Large& other);",
        "template <typename T> T get(T t) { if (t) { return t; } return {}; }",
        "std::function<void(int)> made(); int after_ = g(1);",
    ],
)
def test_one_method_more_is_too_many(tmp_path: Path, one: str) -> None:
    write(tmp_path / "src", "base/large.h", class_of(BOUND).replace("};", f"  {one}\n}};"))
    done = run_check("check_classes.py", tmp_path)
    assert done.returncode == 1
    assert f"large.h: Large has {BOUND + 1} methods; expected at most {BOUND}" in done.stderr


@pytest.mark.parametrize(
    "other",
    [
        "",
        "explicit Large(int a, int b = 1) : a_{a}, b_(b) { start(); }\n  int a_, b_;",
        "virtual ~Large() {}",
        "Large(const Large&) = delete;",
        "Large& operator=(const Large&) = default;",
        "int value_ = f(1);",
        "std::function<void(int)> call_;",
        "friend bool operator==(const Large& a, const Large& b);",
        "// void comment();",
        'const char* text_ = "void text();";',
        "struct Within { void a(); void b(); };",
    ],
)
def test_what_is_no_method_is_not_counted(tmp_path: Path, other: str) -> None:
    write(tmp_path / "src", "base/large.h", class_of(BOUND).replace("};", f"  {other}\n}};"))
    done = run_check("check_classes.py", tmp_path)
    assert done.returncode == 0, done.stderr
