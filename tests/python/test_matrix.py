"""Traffic matrices: what each spec makes, what is refused, and simulations of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allemande
from allemande import _core
from allemande.cli import main
from allemande.errors import BadInput
from allemande.matrix import leaf_groups, make_matrix, mean_of, parse_matrix, split_whole
from allemande.simulation.networks import find_cluster
from allemande.topology import load_cluster

GENERATED = ("uniform", "zipf:1.2", "zipf:0", "hot", "hot:3", "block", "block:0.1", "random")


def make(text: str, ranks: int = 32, mean: int = 1000, **options: Any) -> np.ndarray[Any, Any]:
    return make_matrix(parse_matrix(text), ranks, mean, **options)


@pytest.mark.parametrize("text", GENERATED)
def test_same_seed_same_matrix(text: str) -> None:
    first = make(text, seed=5)
    assert (make(text, seed=5) == first).all()
    assert first.shape == (32, 32) and first.min() >= 0
    if text not in ("uniform", "zipf:0"):
        assert (make(text, seed=6) != first).any()


@pytest.mark.parametrize("text", ["uniform", "zipf:1.2", "hot", "hot:3"])
@pytest.mark.parametrize("mean", [1, 37, 10_000])
def test_every_rank_sends_the_same(text: str, mean: int) -> None:
    assert (make(text, mean=mean).sum(axis=1) == 32 * mean).all()


@pytest.mark.parametrize(
    ("text", "within"), [("block", 0.001), ("block:0.1", 0.001), ("random", 0.05)]
)
def test_generated_matrices_have_the_mean_asked_for(text: str, within: float) -> None:
    assert make(text, mean=5000).mean() == pytest.approx(5000, rel=within)


def test_zipf_splits_by_the_powers_of_the_ranks() -> None:
    """4 receivers at exponent 1 get 12, 6, 4 and 3 parts of 25."""
    rows = make("zipf:1", ranks=4, mean=25)
    assert sorted(rows[0].tolist(), reverse=True) == [48, 24, 16, 12]
    assert (rows == rows[0]).all()


def test_hot_gives_one_receiver_a_multiple() -> None:
    row = make("hot:5", ranks=4, mean=80)[0]
    assert sorted(row.tolist()) == [40, 40, 40, 200]


def test_random_spans_twice_the_mean() -> None:
    rows = make("random", mean=10)
    assert (rows.min(), rows.max()) == (0, 20)


def test_blocks_are_empty_or_full_between_leaves() -> None:
    cluster = load_cluster("tam-8x4")
    groups = leaf_groups(cluster)
    assert len(set(groups)) == 4 and groups == sorted(groups)
    rows = make("block:0.25", mean=100, groups=groups)
    blocks = rows.reshape(4, 8, 4, 8).transpose(0, 2, 1, 3).reshape(16, 64)
    assert all(len(set(one.tolist())) == 1 for one in blocks)
    assert sorted(blocks[:, 0].tolist()) == [0] * 12 + [400] * 4


def test_blocks_on_one_switch_have_groups_too() -> None:
    rows = make("block:0.5", ranks=16, groups=[0] * 16)
    assert set(rows.ravel().tolist()) == {0, 2000}
    assert (rows[:4, :4] == rows[0, 0]).all()


def test_split_numbers_add_up_by_largest_remainders() -> None:
    assert split_whole(10, np.array([1.0, 1.0, 1.0])).tolist() == [4, 3, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("zip:1", "matrix 'zip:1' is unknown; expected uniform, zipf:S"),
        ("", "is unknown"),
        ("zipf", "lacks its exponent"),
        ("zipf:", "exponent '' is not valid"),
        ("zipf:-1", "expected a number from 0 to 10"),
        ("zipf:nan", "exponent 'nan' is not valid"),
        ("hot:0", "expected a number above 0"),
        ("block:1.5", "density '1.5' is not valid; expected a number above 0 to 1"),
        ("block:x", "density 'x' is not valid"),
        ("uniform:3", "uniform takes no number"),
        ("file:", "names no file"),
    ],
)
def test_texts_that_are_no_matrix_are_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message.replace("[", r"\[")):
        parse_matrix(text)


def test_matrix_files_of_csv_and_npy_read_the_same(tmp_path: Path) -> None:
    rows = np.array([[0, 1, 2], [3, 0, 5], [6, 7, 0]])
    np.savetxt(tmp_path / "m.csv", rows, fmt="%d", delimiter=",")
    np.save(tmp_path / "m.npy", rows.astype(np.uint32))
    for name in ("m.csv", "m.npy"):
        read = make(f"file:{tmp_path / name}", ranks=3)
        assert (read == rows).all()
        assert mean_of(read) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1,2\n3,4\n", r"is 2 x 2; expected 3 x 3: a row per sending rank"),
        ("1,2,3\n4,5\n6,7,8\n", r"m\.csv:2: has 2 columns; expected 3"),
        ("a,b,c\n1,2,3\n", r"m\.csv:1: column 1 is 'a'; expected whole numbers .* no headings"),
        ("\n1;2;3\n", r"m\.csv:2: column 1 is '1;2;3'; expected whole numbers .* commas between"),
        ("1,2,3,\n", r"m\.csv:1: column 4 is ''"),
        ("1,1KB,3\n", r"m\.csv:1: column 2 is '1KB'"),
        ("1," * 5000, r"m\.csv:1: has 5001 columns; expected at most 2896"),
        ("1,2,3\n4,-5,6\n7,8,9\n", "row 2, column 2 is -5 bytes; expected 0 to"),
        ("1,2,3\n4,5.5,6\n7,8,9\n", "whole numbers"),
        (f"1,2,3\n4,5,6\n7,{2**31},9\n", "row 3, column 2"),
        ("", "has no numbers; expected a row"),
    ],
)
def test_csv_files_that_are_no_matrix_are_refused(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "m.csv"
    path.write_text(content)
    with pytest.raises(BadInput, match=message):
        make(f"file:{path}", ranks=3)


def test_npy_files_that_are_no_matrix_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    for values in (np.ones((3, 3)), np.zeros(3, dtype=int), np.array(5)):
        np.save(path, values)
        with pytest.raises(BadInput, match="expected"):
            make(f"file:{path}", ranks=3)
    deep = b"\x93NUMPY\x02\x00" + (5000).to_bytes(4, "little") + b"(" * 5000
    for content in (b"nothing of the kind", deep):
        path.write_bytes(content)
        with pytest.raises(BadInput, match=r"expected CSV or \.npy"):
            make(f"file:{path}", ranks=3)
    with pytest.raises(BadInput, match="No such file"):
        make(f"file:{tmp_path / 'none.csv'}", ranks=3)


# ---- simulated -------------------------------------------------------------------------------


def test_simulated_traffic_is_what_was_asked() -> None:
    """Packets of 1448 bytes: 16 hosts, rank 3 receives 10 from each, the others one from each."""
    cluster = find_cluster("tam-16x1")
    rows = np.full((16, 16), 1448)
    rows[:, 3] = 14480
    result = _core.simulate(cluster, {"matrix": rows.tolist()})
    assert result["data_packets"] == 15 * 10 + 15 * 15
    # 15 blocks of 10 packets into one link of 100 Mbit/s; framed with the least headers.
    framed = 15 * (14480 + 10 * 42)
    assert result["limit_s"] == pytest.approx(framed * 8 / 100e6)
    assert 0.9 < result["fraction_of_limit"] < 1
    assert max(result["rank_time_s"]) == result["time_s"]


def test_uniform_is_the_complete_exchange() -> None:
    plain = allemande.simulate("tam-8x2", size=10_000)
    same = allemande.simulate("tam-8x2", size=10_000, matrix="uniform")
    assert same.time_s == plain.time_s
    assert same.limit_s == pytest.approx(plain.limit_s)
    assert same.goodput_mb_s == pytest.approx(plain.goodput_mb_s)
    assert (plain.matrix, same.matrix) == (None, "uniform")


def test_empty_pairs_carry_nothing() -> None:
    rows = np.zeros((16, 16), dtype=int)
    rows[0, 1] = 100_000
    result = allemande.simulate("tam-16x1", matrix=rows)
    assert result.raw["data_packets"] == 70  # 69 full ones and a rest
    assert result.matrix == "given"
    assert result.goodput_mb_s == pytest.approx(100_000 / 16 / result.time_s / 1e6)


def test_matrices_that_send_nothing_take_no_time(tmp_path: Path) -> None:
    Path(tmp_path, "m.csv").write_text("0,0,0,0,0,0,0,0\n" * 8)
    files = ["--json", str(tmp_path / "out.json"), "--trace", str(tmp_path / "out.trace")]
    assert main(["simulate", "tam-8x1", "--matrix", f"file:{tmp_path}/m.csv", *files]) == 0
    (result,) = json.loads(Path(tmp_path, "out.json").read_text())
    assert (result["time_s"], result["goodput_mb_s"]) == (0, 0)


def test_simulate_takes_a_matrix_and_its_limit(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    line = ["simulate", "tam-16x1", "--size", "5000", "--matrix", "zipf:1.2", "--seed", "3"]
    assert main([*line, "--json", "-"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["matrix"], entry["size"]) == ("zipf:1.2", 5000)
    rows = make("zipf:1.2", ranks=16, mean=5000, seed=3)
    limit_s = load_cluster("tam-16x1").traffic_limit_seconds(None, rows.tolist())
    assert entry["limit_s"] == pytest.approx(limit_s)
    path = tmp_path / "m.npy"
    np.save(path, rows)
    assert main(["simulate", "tam-16x1", "--matrix", f"file:{path}", "--json", "-"]) == 0
    (again,) = json.loads(capsys.readouterr().out)
    assert (again["size"], again["time_s"]) == (5000, entry["time_s"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"matrix": [[1, 2], [3, 4]]}, "2 rows, one of 2 numbers; expected 16 of 16"),
        ({"matrix": []}, "expected 16 of 16"),
        ({"matrix": [[-1] * 16] * 16}, "expected rows of whole numbers"),
        ({"matrix": 5}, "expected rows of whole numbers"),
        ({"matrix": [[2**41] * 16] * 16}, "at most 1099511627776 per pair"),
        ({"matrix": [[1] * 16] * 16, "pairs": [["h0", "h1"]]}, "both say who sends"),
    ],
)
def test_the_simulator_refuses_matrices_that_do_not_fit(
    options: dict[str, Any], message: str
) -> None:
    cluster = find_cluster("tam-16x1")
    with pytest.raises(BadInput, match=message):
        _core.simulate(cluster, options)
