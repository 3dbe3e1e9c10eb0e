"""Tests of ``acidsql convert`` and ``acidsql export``."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

import acidsql
from acidsql.repl import main as command
from acidsql.repl import spark_options
from acidsql.repl.copy_options import size


@pytest.mark.parametrize(
    ("text", "expected"), [("1", 1), ("10k", 10_240), ("512MB", 512 * 1024**2), ("2g", 2 * 1024**3)]
)
def test_sizes(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "g", "0", "-1", "1.5g", "many"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(click.BadParameter):
        size(text)


@pytest.mark.parametrize(
    "arguments", [["convert"], ["convert", "--from", "a"], ["export", "--to", "parquet:a"]]
)
def test_options_that_are_missing(arguments: list[str]) -> None:
    assert CliRunner().invoke(command.main, arguments).exit_code == 2


@pytest.mark.slow
@pytest.mark.spark
def test_commands_copy_and_compare(
    empty: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(spark_options, "start_session", lambda **_: empty)
    monkeypatch.setattr(SparkSession, "stop", lambda _: None)
    (tmp_path / "in.csv").write_text("id;p\n1;a\n2;b\n")
    source = f"csv:{tmp_path / 'in.csv'}"
    given = ["--from", source, "--to", "from_csv", "--schema", "id INT, p STRING"]
    given += ["--option", "header=true", "--option", "sep=;", "--partition-by", "p"]
    planned = CliRunner().invoke(command.main, ["convert", *given, "--dry-run"])
    assert planned.stdout == (
        f"id INT: INT\np STRING: STRING\npartitioned by p\n{source} to from_csv: 1 batch\n"
    )
    done = CliRunner().invoke(command.main, ["convert", *given])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith(f"{source} and from_csv are equal: 2 rows, checksum ")
    assert done.stdout.endswith("\n1 batch copied\n")
    again = CliRunner().invoke(command.main, ["convert", *given])
    assert again.exit_code == 0, again.output
    assert again.stdout == f"{source} to from_csv: copied before, 1 batch\n"
    out = f"parquet:{tmp_path / 'out'}"
    written = CliRunner().invoke(command.main, ["export", "--table", "from_csv", "--to", out])
    assert written.exit_code == 0, written.output
    assert written.stdout.startswith(f"from_csv and {out} are equal: 2 rows")
    failed = CliRunner().invoke(command.main, ["export", "--table", "missing", "--to", out])
    assert failed.exit_code == 1
    assert "error: [TABLE_OR_VIEW_NOT_FOUND]" in failed.output
    for name in ("from_csv", "acidsql_conversions"):
        acidsql.sql(empty, f"DROP TABLE {name}")
