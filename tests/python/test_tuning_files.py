"""Tuning files for stock libraries: what they say, and what of others is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from allemande.bench.candidates import parse_candidates
from allemande.cli import main
from allemande.errors import BadInput
from allemande.formats import emit, mpich_selection, openmpi_rules
from allemande.formats.choices import choose, choose_alltoallv, read_rows, times_of
from allemande.formats.mpich_selection import Library
from allemande.formats.tuning_table import make_table
from allemande.stock_algorithms import StockAlgorithm, parse_stock

CHOICES = {
    (8, 100): "openmpi:bruck",
    (8, 1000): "openmpi:pairwise",
    (8, 4000): "openmpi:linear-sync:reqs=2",
    (8, 16000): "openmpi",
    (9, 1000): "openmpi:linear",
}
RULES = """\
rule-file-version-2
1 # collectives
3 # alltoall
4 # numbers of ranks
0 # ranks and more
1 # rules
0 0 0 0 0 # openmpi
8 # ranks and more
5 # rules
0 0 0 0 0 # openmpi
400 3 0 0 0 # openmpi:bruck
2536 2 0 0 0 # openmpi:pairwise
16000 4 0 0 2 # openmpi:linear-sync:reqs=2
64000 0 0 0 0 # openmpi
9 # ranks and more
3 # rules
0 0 0 0 0 # openmpi
4500 1 0 0 0 # openmpi:linear
18009 0 0 0 0 # openmpi
10 # ranks and more
1 # rules
0 0 0 0 0 # openmpi
"""


# ---- ranges --------------------------------------------------------------------------------------


def test_the_geometric_mean_divides_and_nothing_is_said_beyond_twice() -> None:
    table = make_table("openmpi", CHOICES)
    ranges = [(each.first, str(each.algorithm)) for each in table.by_ranks[8]]
    assert ranges == [
        (0, "openmpi"),
        (50, "openmpi:bruck"),
        (317, "openmpi:pairwise"),
        (2000, "openmpi:linear-sync:reqs=2"),
        (8000, "openmpi"),
    ]
    assert str(table.find(9, 2000)) == "openmpi:linear"
    assert table.find(9, 2001).is_default
    assert table.find(10, 1000).is_default


def test_one_byte_and_neighbouring_sizes_have_ranges() -> None:
    choices = {(2, 1): "openmpi:bruck", (2, 2): "openmpi:linear", (2, 3): "openmpi:pairwise"}
    table = make_table("openmpi", choices)
    names = [table.find(2, size).name for size in range(8)]
    assert names == ["", "bruck", "linear", "pairwise", "pairwise", "pairwise", "pairwise", ""]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({}, "no choice for openmpi"),
        ({(8, 100): "mpich:pairwise"}, "no algorithm of openmpi; expected some of: openmpi, "),
        ({(8, 100): "allemande+openmpi"}, "no algorithm of openmpi"),
        ({(1, 100): "openmpi"}, "at least 2 ranks"),
        ({(8, 0): "openmpi"}, "and 1 byte"),
        ({(8, 100): "openmpi:linear-sync:reqs=0"}, "expected 1 to 65535"),
        ({(8, 100): "openmpi:pairwise:reqs=1"}, "expected no parameter"),
    ],
)
def test_choices_that_cannot_be_are_refused(choices: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make_table("openmpi", choices)


# ---- Open MPI ------------------------------------------------------------------------------------


def test_rules_of_version_2_are_exactly_these() -> None:
    assert openmpi_rules.write(make_table("openmpi", CHOICES), 2) == RULES


@pytest.mark.parametrize("version", [2, 3])
def test_rules_are_read_back_as_the_table_says(version: int) -> None:
    table = make_table("openmpi", CHOICES)
    alltoallv = {8: "openmpi:pairwise"}
    rules = openmpi_rules.read(openmpi_rules.write(table, version, alltoallv), "rules")
    assert rules.version == version
    for ranks in range(2, 13):
        for size in (0, 1, 49, 50, 316, 317, 499, 500, 1999, 2000, 2001, 7999, 8000, 10**6):
            wanted = table.find(ranks, size)
            found = rules.find(ranks, size)
            numbers = {"": 0, "linear": 1, "pairwise": 2, "bruck": 3, "linear-sync": 4}
            assert (found.number if found else 0) == numbers[wanted.name], (ranks, size)
            assert (found.reqs if found else 0) == (wanted.value or 0)
        found = rules.find(ranks, 12345, "alltoallv")
        assert (found.number if found else 0) == (2 if ranks == 8 else 0)


def test_older_releases_get_no_header_and_no_requests() -> None:
    plain = {key: name for key, name in CHOICES.items() if "reqs" not in name}
    text = openmpi_rules.write(make_table("openmpi", plain), 1)
    assert text.startswith("1 # collectives\n3 # alltoall\n")
    assert "2536 2 0 0 # openmpi:pairwise\n" in text
    assert openmpi_rules.read(text, "rules").version == 1
    with pytest.raises(BadInput, match=r"from Open MPI 4.1.8 and 5.0.7 on"):
        openmpi_rules.write(make_table("openmpi", CHOICES), 1)


RELEASES = {"4.1.4": 1, "4.1.7": 1, "4.1.8": 2, "5.0.6": 1, "5.0.7": 2, "v5.0.11": 2}


@pytest.mark.parametrize(
    ("release", "version"), [*RELEASES.items(), ("Open MPI v5.0.11", 2), ("6.0.0", 3), ("6.0", 3)]
)
def test_the_release_says_which_version(release: str, version: int) -> None:
    assert openmpi_rules.version_for(release) == version


@pytest.mark.parametrize("release", ["5.0", "4.1", "six"])
def test_what_is_no_single_release_is_refused(release: str) -> None:
    with pytest.raises(BadInput, match=r"expected one as in 5\.0\.7"):
        openmpi_rules.version_for(release)


def test_version_3_has_the_keys_of_open_mpi_6() -> None:
    text = openmpi_rules.write(make_table("openmpi", {(8, 4000): "openmpi:linear-sync:reqs=2"}), 3)
    assert json.loads(text) == {
        "rule_file_version": 3,
        "module": "tuned",
        "collectives": {
            "alltoall": [
                {
                    "comm_size_min": 8,
                    "comm_size_max": 8,
                    "rules": [{"msg_size_min": 16000, "msg_size_max": 64007, "alg": 4, "reqs": 2}],
                }
            ]
        },
    }


def test_alltoallv_has_no_bruck() -> None:
    with pytest.raises(BadInput, match=r"expected some of: openmpi:linear, openmpi:pairwise$"):
        openmpi_rules.write(make_table("openmpi", CHOICES), 2, {8: "openmpi:bruck"})


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("rule-file-version-2", "rule-file-version-7", "rules:1: 'rule-file-version-7'"),
        ("400 3", "0400 3", "rules:11: '0400' is not valid.*without leading zeros"),
        ("2536 2", "399 2", "rules:12: 399 bytes follow 400"),
        ("9 # ranks", "7 # ranks", "rules:15: 7 ranks follow 8"),
        ("3 # alltoall", "5 # bcast", "rules:3: collective 5"),
        ("16000 4 0 0 2", "16000 6 0 0 2", "no algorithm 6; expected 0 to 5"),
        ("5 # rules", "4 # rules", "rules:14: 0 ranks follow 64000"),
        ("10 # ranks", "10 1\n0 0 0 0 0\n11", "is too much"),
        ("0 0 0 0 0 # openmpi\n400", "1 0 0 0 0\n400", "begins at 1 bytes; expected 0"),
    ],
)
def test_rules_that_open_mpi_would_ignore_are_refused(old: str, new: str, message: str) -> None:
    assert old in RULES
    with pytest.raises(BadInput, match=message):
        openmpi_rules.read(RULES.replace(old, new, 1), "rules")


# ---- MPICH ---------------------------------------------------------------------------------------

TREE: dict[str, Any] = {
    "collective=bcast": {"algorithm=MPIR_Bcast_intra_binomial": {}},
    "collective=alltoall": {
        "comm_type=intra": {
            "is_sendbuf_inplace=yes": {
                "algorithm=MPIR_Alltoall_intra_pairwise_sendrecv_replace": {}
            },
            "is_sendbuf_inplace=no": {
                "comm_size<8": {"algorithm=MPIR_Alltoall_intra_pairwise": {}},
                "comm_size=any": {
                    "avg_msg_size<=256": {"algorithm=MPIR_Alltoall_intra_brucks": {}},
                    "avg_msg_size=any": {"algorithm=MPIR_Alltoall_intra_scattered": {}},
                },
            },
        },
        "comm_type=inter": {"algorithm=MPIR_Alltoall_inter_pairwise_exchange": {}},
    },
}
ALGORITHMS = frozenset({"brucks", "k_brucks", "pairwise", "scattered"})
LIBRARY = Library(Path("libmpi.so.12"), TREE, ALGORITHMS)


def test_a_tree_is_found_in_the_data_of_a_library(tmp_path: Path) -> None:
    """That of compositions, which comes before, names no algorithms."""
    path = tmp_path / "libmpi.so.12"
    other: dict[str, Any] = {
        "collective=alltoall": {"comm_type=intra": {"composition=MPIDI_Alltoall": {}}}
    }
    names = b"".join(b"\0algorithm=MPIR_Alltoall_intra_" + a.encode() for a in sorted(ALGORITHMS))
    texts = [json.dumps(tree, separators=(",", ":")).encode() for tree in (other, TREE)]
    path.write_bytes(b"\x7fELF" + b"\0".join([b"", *texts, b""]) + names + b"\0")
    assert mpich_selection.read_library(path) == Library(path, TREE, ALGORITHMS)
    path.write_bytes(b"\x7fELF\0" + texts[0] + b"\0")
    with pytest.raises(BadInput, match="no tree of decisions"):
        mpich_selection.read_library(path)


def test_a_selection_changes_one_branch_and_is_read_back() -> None:
    choices = {
        (4, 1000): "mpich:bruck:k=4",
        (8, 1000): "mpich:pairwise",
        (8, 4000): "mpich:scattered:throttle=2",
        (9, 100): "mpich:bruck",
    }
    table = make_table("mpich", choices)
    selection = mpich_selection.read(mpich_selection.write(table, LIBRARY), "file")
    mpich_selection.check_against(selection, LIBRARY)
    default = mpich_selection.Selection("library", TREE)
    names = {"pairwise": "pairwise", "scattered": "scattered"}
    for ranks in range(2, 13):
        for size in (1, 49, 50, 200, 201, 499, 500, 1999, 2000, 2001, 8000, 8001, 10**6):
            wanted = table.find(ranks, size)
            if wanted.is_default:
                expected = default.find(ranks, size)
            elif wanted.name == "bruck":
                expected = "k_brucks k=4" if wanted.value else "brucks"
            else:
                expected = names[wanted.name]
            assert selection.find(ranks, size) == expected, (ranks, size)
    for key, below in TREE.items():
        if key != "collective=alltoall":
            assert selection.tree[key] == below
    ours = selection.tree["collective=alltoall"]
    assert ours["comm_type=inter"] == TREE["collective=alltoall"]["comm_type=inter"]
    inplace = "is_sendbuf_inplace=yes"
    assert (
        ours["comm_type=intra"][inplace] == TREE["collective=alltoall"]["comm_type=intra"][inplace]
    )
    chain = ours["comm_type=intra"]["is_sendbuf_inplace=no"]
    assert list(chain) == [
        "comm_size<=3",
        "comm_size<=4",
        "comm_size<=7",
        "comm_size<=8",
        "comm_size<=9",
        "comm_size=any",
    ]


def test_one_window_goes_beside_the_file() -> None:
    table = make_table("mpich", {(8, 1000): "mpich:scattered:throttle=2"})
    assert mpich_selection.throttle_of(table) == 2
    settings = mpich_selection.settings(Path("/f"), 2)
    assert settings == {
        "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE": "/f",
        "MPIR_CVAR_ALLTOALL_THROTTLE": "2",
    }
    two = {(8, 1000): "mpich:scattered:throttle=2", (8, 9000): "mpich:scattered"}
    with pytest.raises(
        BadInput, match="several windows: 2 for 8 ranks from 500 bytes, the default"
    ):
        mpich_selection.write(make_table("mpich", two), LIBRARY)


def test_an_algorithm_the_library_lacks_is_refused() -> None:
    older = Library(Path("older.so"), TREE, ALGORITHMS - {"k_brucks"})
    with pytest.raises(BadInput, match=r"older.so has no k_brucks; expected some of: brucks, "):
        mpich_selection.write(make_table("mpich", {(8, 100): "mpich:bruck:k=4"}), older)


def test_no_file_has_whole_pages() -> None:
    """Whatever the length of the tree."""
    table = make_table("mpich", {(8, 100): "mpich:bruck"})

    def length(extra: int) -> int:
        padded = {**TREE, "collective=" + "x" * extra: {}}
        return len(mpich_selection.write(table, Library(Path("libmpi"), padded, ALGORITHMS)))

    short = 4096 - length(1) % 4096
    assert length(1 + short - 1) % 4096 == 4095
    assert length(1 + short) % 4096 == 1
    with pytest.raises(BadInput, match="whole pages"):
        mpich_selection.read(" " * 4096, "file")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tree: tree.pop("collective=bcast"), "collective=bcast lack"),
        (
            lambda tree: tree["collective=alltoall"]["comm_type=intra"].update(
                {"is_sendbuf_inplace=no": {"algorithm=MPIR_Alltoall_intra_ring": {}}}
            ),
            "has no ring",
        ),
        (
            lambda tree: tree["collective=alltoall"]["comm_type=intra"].update(
                {"is_sendbuf_inplace=no": {"comm_size<=8": {}}}
            ),
            "expected =any",
        ),
        (
            lambda tree: tree["collective=alltoall"]["comm_type=intra"].update(
                {"is_sendbuf_inplace=no": {"comm_sizes<=8": {}}}
            ),
            "'comm_sizes<=8' is not known",
        ),
        (lambda tree: tree.pop("collective=alltoall"), "expected MPICH's whole tree"),
    ],
)
def test_selections_that_would_end_the_job_are_refused(change: Any, message: str) -> None:
    tree = json.loads(json.dumps(TREE))
    change(tree)
    with pytest.raises(BadInput, match=message):
        mpich_selection.check_against(mpich_selection.read(json.dumps(tree), "file"), LIBRARY)


# ---- choosing ------------------------------------------------------------------------------------


def rows(library: str, *times: tuple[str, float], size: int = 1000) -> list[dict[str, Any]]:
    return [
        {"candidate": f"{library}{name}", "ranks": 8, "size": size, "median_s": seconds}
        for name, seconds in times
    ]


def test_the_fastest_is_chosen_where_it_gains_something() -> None:
    found = [
        *rows("openmpi", ("", 1.0), (":pairwise", 0.99), size=100),
        *rows("openmpi", ("", 1.0), (":pairwise", 0.9), (":linear-sync:reqs=4", 0.8)),
        *rows("allemande+openmpi", ("", 0.1)),
        *rows("mpich", ("", 0.1)),
        {**rows("openmpi", (":bruck", 0.1))[0], "void": True},
        {**rows("openmpi", (":bruck", 0.1))[0], "collective": "alltoallv"},
    ]
    times = times_of(found, "openmpi", None, "bench.json")
    assert choose(times, "openmpi") == {
        (8, 100): "openmpi",
        (8, 1000): "openmpi:linear-sync:reqs=4",
    }


def test_mpich_gets_the_one_window_that_is_best_for_all() -> None:
    small = rows("mpich", ("", 1.0), (":scattered:throttle=2", 0.9), (":pairwise", 0.95), size=100)
    large = rows("mpich", ("", 1.0), (":scattered:throttle=8", 0.2), (":pairwise", 0.8))
    times = times_of([*small, *large], "mpich", None, "bench.json")
    assert choose(times, "mpich") == {
        (8, 100): "mpich:pairwise",
        (8, 1000): "mpich:scattered:throttle=8",
    }
    # The library's own choice would be scattered with that window, and nobody has timed it.
    only = [each for each in small if each["candidate"] != "mpich:pairwise"]
    with pytest.raises(BadInput, match="one window"):
        choose(times_of([*only, *large[1:2]], "mpich", None, "bench.json"), "mpich")
    assert choose(
        times_of([*only, *large], "mpich", None, "bench.json"), "mpich", lambda *_: False
    ) == {(8, 100): "mpich", (8, 1000): "mpich:scattered:throttle=8"}


def test_rows_without_ranks_need_them() -> None:
    found = [{key: value for key, value in rows("openmpi", ("", 1.0))[0].items() if key != "ranks"}]
    assert list(times_of(found, "openmpi", 16, "bench.json")) == [(16, 1000)]
    with pytest.raises(BadInput, match="expected --ranks"):
        times_of(found, "openmpi", None, "bench.json")


def test_alltoallv_is_chosen_over_all_that_was_timed() -> None:
    found = [
        {**row, "collective": "alltoallv", "matrix": matrix}
        for matrix, size, pairwise in (("zipf:1", 100, 0.9), ("hot", 100, 2.0), ("hot", 5000, 0.2))
        for row in rows("openmpi", ("", 1.0), (":pairwise", pairwise), size=size)
    ]
    assert choose_alltoallv(found, None, "bench.json") == {8: "openmpi:pairwise"}
    assert choose_alltoallv(found[:4], None, "bench.json") == {8: "openmpi"}
    assert choose_alltoallv(rows("openmpi", ("", 1.0)), None, "bench.json") == {}
    emitted = emit.tuning_of_rows(
        "openmpi-rules", [*rows("openmpi", ("", 1.0)), *found], Path("/rules"), source="bench.json"
    )
    rules = openmpi_rules.read("".join(emitted.pieces), "rules")
    assert rules.find(8, 1000) is None
    alltoallv = rules.find(8, 1000, "alltoallv")
    assert alltoallv is not None and alltoallv.number == 2


def test_rows_are_an_array_or_the_ranking_of_a_plan(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    found = rows("openmpi", ("", 1.0))
    for document in (found, {"hosts": 8, "ranking": found}):
        path.write_text(json.dumps(document))
        assert read_rows(path) == found
    for text in ("{}", "[1]", "times"):
        path.write_text(text)
        with pytest.raises(BadInput, match=r"rows\.json:(1:)? "):
            read_rows(path)


def test_rows_beside_the_traffic_of_others_do_not_count() -> None:
    quiet, loud = rows("openmpi", ("", 1.0), (":pairwise", 0.5))
    times = times_of([quiet, loud | {"background": "flows:4"}], "openmpi", None, "bench.json")
    assert list(times[8, 1000]) == ["openmpi"]
    with pytest.raises(BadInput, match=r"`size` is 1000\.7; expected whole bytes"):
        times_of([quiet | {"size": 1000.7}], "openmpi", None, "bench.json")


# ---- the command, and bench ----------------------------------------------------------------------


def test_the_command_writes_file_and_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    times = tmp_path / "bench.json"
    times.write_text(json.dumps(rows("openmpi", ("", 1.0), (":pairwise", 0.5))))
    out = tmp_path / "rules"
    assert main(["emit", "openmpi-rules", "--times", str(times), "-o", str(out)]) == 0
    settings = [
        "OMPI_MCA_coll_tuned_use_dynamic_rules=1",
        f"OMPI_MCA_coll_tuned_dynamic_rules_filename={out}",
    ]
    assert capsys.readouterr().out.splitlines() == settings
    assert (tmp_path / "rules.env").read_text().splitlines() == settings
    assert openmpi_rules.read(out.read_text(), "rules").find(8, 1000) is not None
    times.write_text(json.dumps(rows("openmpi", (":pairwise", 0.5))))
    assert main(["emit", "openmpi-rules", "--times", str(times), "-o", str(out)]) == 0
    assert "has no time of openmpi's own choice at 1 KB among 8 ranks" in capsys.readouterr().err
    assert main(["emit", "openmpi-rules", "--times", str(times), "--algorithm", "grid"]) == 2
    assert "--algorithm says nothing for openmpi-rules" in capsys.readouterr().err
    assert main(["emit", "openmpi-rules"]) == 2
    assert "expected --times FILE" in capsys.readouterr().err
    assert main(["emit", "rules"]) == 2
    assert "expected one of openmpi-rules, mpich-selection, json" in capsys.readouterr().err


def test_bench_takes_rules_and_refuses_what_open_mpi_would_ignore(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text(RULES)
    found = parse_candidates([f"openmpi:rules={path},openmpi:linear-sync:reqs=4"])
    assert found[0].arguments[-1] == str(path)
    assert found[0].arguments[:3] == ("--mca", "coll_tuned_use_dynamic_rules", "1")
    assert found[1].arguments == (
        *("--mca", "coll_tuned_use_dynamic_rules", "1"),
        *("--mca", "coll_tuned_alltoall_algorithm", "4"),
        *("--mca", "coll_tuned_alltoall_algorithm_max_requests", "4"),
    )
    path.write_text(RULES.replace("400 3", "0400 3"))
    with pytest.raises(BadInput, match="leading zeros"):
        parse_candidates([f"openmpi:rules={path}"])
    path.write_text(openmpi_rules.write(make_table("openmpi", CHOICES), 3))
    with pytest.raises(BadInput, match="version 3"):
        parse_candidates([f"openmpi:rules={path}"])
    with pytest.raises(BadInput, match="cannot be read"):
        parse_candidates(["openmpi:rules=/no/such/file"])


def test_bench_takes_a_selection_with_its_window(tmp_path: Path) -> None:
    path = tmp_path / "selection.json"
    emitted = emit.tuning("mpich-selection", {(8, 1000): "mpich:scattered:throttle=3"}, path)
    emitted.write(path)
    names = [f"mpich:selection={path}", f"mpich:selection={path},throttle=5", "mpich:bruck:k=4"]
    found = parse_candidates([",".join(names)])
    assert [candidate.name for candidate in found] == names
    windows = [candidate.environment.get("MPIR_CVAR_ALLTOALL_THROTTLE") for candidate in found]
    assert windows == ["3", "5", None]
    variable = "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE"
    assert found[0].environment[variable] == str(path)
    assert found[2].environment == {
        "MPIR_CVAR_ALLTOALL_BRUCKS_KVAL": "4",
        "MPIR_CVAR_ALLTOALL_INTRA_ALGORITHM": "k_brucks",
    }


def test_names_with_parameters_are_read_back() -> None:
    for text in ("openmpi", "mpich:bruck", "mpich:bruck:k=4", "openmpi:linear-sync:reqs=16"):
        assert str(parse_stock(text)) == text
    assert parse_stock("mpich:ucx") is None
    assert StockAlgorithm("openmpi").is_default
