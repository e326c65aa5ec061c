"""`featuredsl drift compare` on files of each kind."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from featuredsl.cli.main import run


def write_jsonl(path: Path, values: list[object]) -> Path:
    path.write_text("".join(json.dumps({"x": value}) + "\n" for value in values))
    return path


def command(baseline: Path, current: Path, *more: str, column: str = "x") -> list[str]:
    return [
        "drift", "compare", "--baseline", str(baseline), "--current", str(current), "--column", column, *more,
    ]  # fmt: skip


def test_no_drift_prints_strict_json_and_exits_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", list(range(1000)))
    assert run(command(file, file, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == "ok"
    assert found["psi"] == {"value": 0.0, "p_value": 1.0, "lower": 0.0}
    assert [row["baseline"] for row in found["bins"]] == [100] * 10


def test_drift_exits_1_and_names_the_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = write_jsonl(tmp_path / "a.jsonl", list(range(1000)))
    after = write_jsonl(tmp_path / "b.jsonl", list(range(1000, 2000)))
    assert run(command(before, after, "--json")) == 1
    streams = capsys.readouterr()
    assert json.loads(streams.out)["psi"]["value"] == pytest.approx(6.17553, abs=1e-5)
    assert "'x'" in streams.err


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_other_formats_give_the_same_answer(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = write_jsonl(tmp_path / "a.jsonl", [1, 2.5, None, 4, 5.0] * 200)
    other = tmp_path / f"a.{suffix}"
    duckdb.sql(f"SELECT x FROM read_json_auto('{lines}')").write_csv(str(other)) if suffix == "csv" else (
        duckdb.sql(f"SELECT x FROM read_json_auto('{lines}')").write_parquet(str(other))
    )
    assert run(command(lines, other, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["psi"]["value"] == 0
    assert found["missing_rate"] == {"baseline": 0.2, "current": 0.2}


def test_json_tokens_nan_and_infinity_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = write_jsonl(tmp_path / "a.jsonl", list(range(1000)))
    after = tmp_path / "b.jsonl"
    after.write_text("".join(f'{{"x": {value}}}\n' for value in [*range(900), *["Infinity"] * 100]))
    assert run(command(before, after, "--json")) == 1
    assert json.loads(capsys.readouterr().out)["inf_rate"] == 0.1


def test_zip_codes_of_a_csv_stay_text_as_categories(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x\n" + "01\n" * 50 + "1\n" * 50)
    assert run(command(file, file, "--json", "--categorical")) == 0
    assert len(json.loads(capsys.readouterr().out)["bins"]) == 2


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ('{"x": 1}\n', "y", "no column 'y'; columns are x"),
        ('{"x": 1}\n{"x": \n', "x", "line 2: not JSON"),
        ("[1]\n", "x", "expected a JSON object"),
        ('{"x": "red"}\n', "x", "--categorical"),
    ],
)
def test_bad_input_exits_2_with_one_line(
    text: str, column: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(text)
    assert run(command(file, file, "--json", column=column)) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert message in streams.err
    assert "Traceback" not in streams.err


def test_a_missing_file_and_an_unknown_suffix_exit_2(tmp_path: Path) -> None:
    assert run(command(tmp_path / "none.jsonl", tmp_path / "none.jsonl")) == 2
    odd = tmp_path / "a.xlsx"
    odd.write_text("x")
    assert run(command(odd, odd)) == 2


@pytest.mark.parametrize(
    ("baseline", "current", "status", "counts"),
    [
        (list(range(1000)), [], "no_data", "1000 values in the baseline, 0 in the current file"),
        ([], list(range(1000)), "no_data", "0 values in the baseline, 1000 in the current file"),
        ([None, 1.0], [None], "no_data", "1 values in the baseline"),
        (list(range(1000)), list(range(5)), "insufficient", "1000 values in the baseline, 5 in the current file"),
    ],
)
def test_too_few_rows_are_told_apart_from_a_match(
    baseline: list[object],
    current: list[object],
    status: str,
    counts: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    before, now = write_jsonl(tmp_path / "a.jsonl", baseline), write_jsonl(tmp_path / "b.jsonl", current)
    drifted = baseline == [None, 1.0]
    assert run(command(before, now, "--json")) == int(drifted)
    streams = capsys.readouterr()
    assert json.loads(streams.out)["status"] == status
    if not drifted:
        assert streams.err.startswith("warning: ")
        assert f"column 'x' could not be judged: {status} ({counts})" in streams.err
    assert run(command(before, now, "--require-data")) == 1
    assert status in capsys.readouterr().err


def test_a_match_gives_no_warning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_jsonl(tmp_path / "a.jsonl", list(range(1000)))
    assert run(command(file, file, "--require-data")) == 0
    assert capsys.readouterr().err == ""
