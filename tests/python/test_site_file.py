"""Machine files with the sites of hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from allemande.cli import main
from allemande.errors import BadInput
from allemande.site_file import read_sites, sites_option

MACHINES = """
# 30 hosts at each site
# site rennes
h[0-29] slots=2
#site: nancy
h30:2          # the gateway
  h[31-59]

"""


def test_hosts_belong_to_the_site_before_them() -> None:
    found = read_sites(MACHINES, "machines")
    assert list(found) == ["rennes", "nancy"]
    assert found["rennes"] == [f"h{host}" for host in range(30)]
    assert found["nancy"] == [f"h{host}" for host in range(30, 60)]
    assert read_sites("site a\nx\nsite b\ny", "machines") == {"a": ["x"], "b": ["y"]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("h0\nsite a\nh1", "m:1: 'h0' is at no site"),
        ("site a\nh[0-3]\nsite b\nh3", "m:4: host 'h3' is at 'a' and at 'b'"),
        ("site a\nh0\nh0\nsite b\nh1", "m:3: host 'h0' is at 'a' and at 'a'"),
        ("site a\n# h0\nsite b\nh1", "m:1: site 'a' has no hosts"),
        ("site a\nh0\nsite a\nh1", "m:3: site 'a' begins twice; first in line 1"),
        ("site a\nh0", "m: 1 sites; expected two or more"),
        ("site a b\nh0", "m:1: 'a b' is no name of a site"),
        ("# site\nh0", "m:1: '' is no name of a site"),
        ("site a\nh[0-\nsite b\nh1", "m:2: "),
    ],
)
def test_what_contradicts_itself_is_refused_by_line(text: str, reason: str) -> None:
    with pytest.raises(BadInput) as raised:
        read_sites(text, "m")
    assert str(raised.value).startswith(reason)


def test_run_hands_the_sites_to_every_rank(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "machines"
    file.write_text(MACHINES)
    assert sites_option(file) == "rennes=h[0-29]/nancy=h[30-59]"
    settings: list[dict[str, str]] = []

    def launch(
        words: list[str], found: dict[str, str], *, mpi: str | None
    ) -> tuple[list[str], dict[str, str]]:
        settings.append(found)
        raise BadInput("far enough")

    monkeypatch.setattr("allemande.cli.run.launch", launch)
    assert main(["run", "--sites", str(file), "--", "mpirun", "./app"]) == 2
    assert settings == [{"ALLEMANDE_SITES": "rennes=h[0-29]/nancy=h[30-59]"}]
    assert main(["run", "--sites", str(tmp_path / "none"), "--", "mpirun", "./app"]) == 2
    assert "none: cannot be read" in capfd.readouterr().err
