"""Tests of ``acidsql ingest``: lines from a pipe, exit codes, and what is left to be resumed."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner, Result

from acidsql.repl.ingest import Piece, skip
from acidsql.repl.main import main
from tests.streaming.conftest import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    """Return a metastore with the table ``t``."""
    made = Shelf(tmp_path)
    made.create("id int; s string")
    return made


def ingest(shelf: Shelf, text: bytes | str, *options: str) -> Result:
    """Run the command with some standard input."""
    arguments: Sequence[str] = [
        "ingest", "--table", "default.t", "--metastore", str(shelf.path), *options
    ]  # fmt: skip
    return CliRunner().invoke(main, arguments, input=text)


def test_lines_become_rows(shelf: Shelf) -> None:
    done = ingest(shelf, '{"id": 1}\n\n{"id": 2, "s": "b"}', "--format", "json")
    assert (done.exit_code, done.stdout) == (0, "2 rows committed to default.t\n")
    text = 's,id\n"two\nlines",3\n\\N,4\n'
    assert ingest(shelf, text, "--format", "csv", "--header").exit_code == 0
    pattern = r"(\d+)=(.*)"
    assert ingest(shelf, "5=five\n", "--format", "regex", "--pattern", pattern).exit_code == 0
    stream = io.BytesIO()
    table = pa.table({"id": [6, 7]})
    with pa.ipc.new_stream(stream, table.schema) as writer:
        writer.write_table(table)
    assert ingest(shelf, stream.getvalue(), "--format", "arrow").exit_code == 0
    assert shelf.rows() == [
        (1, None), (2, "b"), (3, "two\nlines"), (4, None), (5, "five"), (6, None), (7, None),
    ]  # fmt: skip


def test_an_error_leaves_what_was_committed(shelf: Shelf) -> None:
    lines = "".join(f'{{"id": {n}}}\n' for n in [1, 2, 3, '"x"', 5])
    options = ["--format", "json", "--rows", "2", "--resume", "mine"]
    failed = ingest(shelf, lines, *options)
    assert failed.exit_code == 1
    assert "record 4, column id, cannot take 'x' for INT" in failed.stderr
    assert failed.stderr.endswith("before that: 2 rows committed to default.t\n")
    assert shelf.rows() == [(1, None), (2, None)]
    resumed = ingest(shelf, lines, *options, "--on-error", "reject_record")
    assert resumed.exit_code == 3
    assert "left out: line 4: record 2, column id," in resumed.stderr
    assert resumed.stdout == "2 rows committed to default.t, 1 record left out\n"
    assert shelf.rows() == [(1, None), (2, None), (3, None), (5, None)]
    assert ingest(shelf, lines, *options).exit_code == 0
    assert len(shelf.rows()) == 4


def test_a_record_that_is_no_row_is_named_by_its_line(shelf: Shelf) -> None:
    lines = '{"id": 1}\n\n{"id": 2}\n{"id": 3}\n\n{"id": "x"}\n'
    failed = ingest(shelf, lines, "--format", "json", "--rows", "2")
    assert failed.stderr.startswith("error: line 6: [INVALID_RECORD] record 4, column id, ")
    assert "--on-error reject_record" in failed.stderr
    text = 's,id\n"two\nlines",3\na,x\n"b\nc",y\n'
    options = ["--format", "csv", "--header", "--on-error", "reject_record"]
    assert [
        line.partition(" column")[0] for line in ingest(shelf, text, *options).stderr.splitlines()
    ] == [
        "left out: line 4: record 2,",
        "left out: line 5: record 3,",
    ]


def test_wrong_usage_is_refused(shelf: Shelf) -> None:
    assert ingest(shelf, "", "--format", "regex").exit_code == 2
    assert ingest(shelf, "", "--format", "regex", "--pattern", "(").exit_code == 2
    assert ingest(shelf, "", "--format", "csv", "--delimiter", "ab").exit_code == 2
    missing = ingest(shelf, "", "--format", "json", "--table", "nowhere")
    assert missing.exit_code == 1
    assert "TABLE_OR_VIEW_NOT_FOUND" in missing.stderr


def test_batches_are_cut_where_the_offset_is() -> None:
    batch = pa.record_batch({"id": [1, 2, 3]})
    pieces = [Piece("a", 1), Piece(batch[:], 3), Piece("b", 1)]
    left = list(skip(iter(pieces), 2))
    assert [piece.records for piece in left] == [2, 1]
    assert left[0].record.to_pydict() == {"id": [2, 3]}
    assert list(skip(iter(pieces), 9)) == []
    assert list(skip(iter(pieces), 0)) == pieces
