"""Tests of ``acidsql files`` and of what it shows, without Spark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.names import METASTORE_FILE
from acidsql.repl.console import CommandError
from acidsql.repl.files_command import Request, _request
from acidsql.repl.main import main
from tests.golden.golden import TABLES


def files(*words: str) -> tuple[int, str, str]:
    """Return the exit code, the output and the errors of the command."""
    result = CliRunner().invoke(main, list(words))
    return result.exit_code, result.stdout, result.stderr


def test_a_table_of_one_screen() -> None:
    code, output, _ = files("files", str(TABLES / "partition_update_delete" / "data"))
    assert code == 0
    assert output.split("p=y\n")[1].split("p=z\n")[0] == (
        "+-------+-----------+------+--------+---------+------+-------+\n"
        "| kind  | write_ids | stmt | bucket | stripes | rows | bytes |\n"
        "|-------+-----------+------+--------+---------+------+-------|\n"
        "| delta | 2         |    0 |      0 |       1 |    1 |   701 |\n"
        "+-------+-----------+------+--------+---------+------+-------+\n"
        "1 row\n"
    )


def test_every_golden_table_fits_into_a_screen() -> None:
    for table in sorted(TABLES.iterdir()):
        _, output, _ = files("files", str(table / "data"))
        # Compactions of converted tables have four numbers of eight digits in their names.
        widest = 82 if table.name == "originals_minor" else 80
        assert max(map(len, output.splitlines()), default=0) <= widest


def test_one_file_with_its_metadata_and_statistics() -> None:
    place = TABLES / "update" / "data" / "delta_0000001_0000001_0000" / "bucket_00000_0"
    code, output, _ = files("files", str(place))
    assert code == 0
    assert "| hive.acid.key.index | 1,536870912,2;" in output
    assert "|      0 |    3 |" in output  # the stripe
    assert "| row.s " in output


def test_records_for_programs() -> None:
    place = TABLES / "update" / "data" / "delete_delta_0000003_0000003_0000"
    code, output, _ = files("--format", "jsonl", "files", str(place))
    assert code == 0
    record = json.loads(output)
    assert {k: record[k] for k in ("kind", "min_write_id", "rows", "inserts", "deletes")} == {
        "kind": "delete_delta",
        "min_write_id": 3,
        "rows": 1,
        "inserts": 0,
        "deletes": 1,
    }


def test_rows_up_to_a_limit() -> None:
    place = str(TABLES / "update" / "data")
    code, output, _ = files("--format", "csv", "files", "--rows", "--limit", "2", place)
    assert code == 0
    lines = [line.removeprefix(f"file:{place}/") for line in output.splitlines()]
    assert lines == [
        "path,operation,write_id,bucket,stmt,row_id,current,row",
        "delete_delta_0000003_0000003_0000/bucket_00000_0,delete,1,0,0,1,3,NULL",
        'delta_0000001_0000001_0000/bucket_00000_0,insert,1,0,0,0,1,"{""id"": 1, ""s"": ""a""}"',
    ]


def test_rows_are_cut_to_the_width_of_a_screen() -> None:
    _, output, _ = files("files", "--rows", str(TABLES / "types_primitive" / "data"))
    assert "…" in output
    tables = [line for line in output.splitlines() if line.startswith(("|", "+"))]
    assert max(map(len, tables)) == 80


def test_damaged_files_are_named_and_the_others_shown(tmp_path: Path) -> None:
    whole = TABLES / "update" / "data" / "delta_0000001_0000001_0000" / "bucket_00000_0"
    (tmp_path / "bucket_00000").write_bytes(whole.read_bytes())
    (tmp_path / "bucket_00001").write_bytes(whole.read_bytes()[:200])
    for options in ((), ("--rows",)):
        code, output, errors = files("files", *options, str(tmp_path))
        assert code == 1
        assert "1 row" in output or "3 rows" in output
        path = f"file:{tmp_path}/bucket_00001"
        assert errors.startswith(f"error: [FAILED_READ_FILE] {path} cannot be read by pyorc: ")


def test_what_there_is_not(tmp_path: Path) -> None:
    code, _, errors = files("files", str(tmp_path / "none"))
    assert (code, errors) == (
        1,
        f"error: FileNotFoundError: there is no file or directory {tmp_path / 'none'}\n",
    )
    code, _, errors = files("--warehouse", str(tmp_path / "w"), "files", "pet")
    assert (code, errors[:31]) == (1, "error: [METASTORE_UNAVAILABLE] ")
    EmbeddedMetastore(str(tmp_path / METASTORE_FILE)).close()
    code, _, errors = files("--warehouse", str(tmp_path / "w"), "files", "pet")
    assert (code, errors[:33]) == (1, "error: [TABLE_OR_VIEW_NOT_FOUND] ")


def test_words_behind_the_command_of_the_shell() -> None:
    assert _request("pet") == Request(place="pet")
    assert _request("'/a b/pet' --rows --limit 5;") == Request(place="/a b/pet", rows=True, limit=5)
    for wrong in ("", "pet --row", "pet --limit x", "'pet"):
        with pytest.raises(CommandError, match=r"\\files TABLE"):
            _request(wrong)
