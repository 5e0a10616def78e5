"""The option table as Python reads it; the cases are shared with src/base/options_test.cc."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from allemande import cli, config
from allemande.errors import BadInput

ROOT = Path(__file__).resolve().parents[2]
CASES = tomllib.loads((ROOT / "tests/fixtures/options/cases.toml").read_text())["case"]


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_cases_shared_with_the_library_give_the_same_settings(
    case: dict[str, Any], tmp_path: Path
) -> None:
    environment: dict[str, str] = {}
    if "file" in case:
        file = tmp_path / "config.toml"
        file.write_text(case["file"])
        environment["ALLEMANDE_CONFIG"] = str(file)
    environment.update(case.get("env", {}))
    if "error" in case:
        with pytest.raises(BadInput) as raised:
            config.load(environment=environment)
        for part in case["error"]:
            assert part.replace("$DIR", str(tmp_path)) in str(raised.value)
        return
    settings = config.load(environment=environment)
    for key, value in case["expect"].items():
        assert settings[key].value == value
    for key, origin in case.get("origin", {}).items():
        assert settings[key].origin == origin


def test_home_file_is_read_when_none_is_named(tmp_path: Path) -> None:
    file = tmp_path / ".config/allemande/config.toml"
    file.parent.mkdir(parents=True)
    file.write_text("\nomega = 5\n")
    setting = config.load(environment={"HOME": str(tmp_path)})["omega"]
    assert (setting.value, setting.where) == ("5", f"{file}:2")


def test_a_flag_beats_the_environment() -> None:
    flags = config.parse_flags(["omega=5"])
    setting = config.load(flags, {"ALLEMANDE_OMEGA": "6"})["omega"]
    assert (setting.value, setting.origin) == ("5", "flag")
    assert config.to_environment(flags) == {"ALLEMANDE_OMEGA": "5"}


@pytest.mark.parametrize("assignment", ["omega", "omga=5", "omega=-1", "=5"])
def test_a_bad_flag_is_named(assignment: str) -> None:
    with pytest.raises(BadInput, match="--set"):
        config.parse_flags([assignment])


def test_files_generated_from_the_option_table_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools/make_options.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_command_prints_the_effective_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLEMANDE_OMEGA", "6")
    assert cli.main(["config", "--json", "--set", "window_packets=9"]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["omega"]["value"], rows["omega"]["origin"]) == ("6", "environment")
    assert (rows["window_packets"]["value"], rows["window_packets"]["origin"]) == ("9", "flag")
    assert cli.main(["config"]) == 0
    assert "ALLEMANDE_OMEGA" in capsys.readouterr().out


def test_command_refuses_an_unknown_variable(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALLEMANDE_OMGA", "6")
    assert cli.main(["config"]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("allemande: ALLEMANDE_OMGA: unknown")
    assert "Traceback" not in captured.err


@pytest.mark.parametrize("name", ["ALLEMANDE_PATHS", "ALLEMANDE_OMEGA"])
def test_values_of_thousands_of_digits_are_refused_shortly(name: str) -> None:
    with pytest.raises(BadInput, match=rf"{name}: `9{{80}}\.\.\.` is not valid"):
        config.load(environment={name: "9" * 5000})
