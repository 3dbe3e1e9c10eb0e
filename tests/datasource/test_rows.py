"""Tests of reading in tasks and of writing in one transaction, without Spark."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import acidsql
from acidsql.datasource.options import Defaults, SourceOptions, source_options
from acidsql.datasource.reading import plan_tasks
from acidsql.datasource.writing import (
    STAGING,
    commit_batch,
    commit_staged,
    staging_for,
)
from acidsql.errors import AcidAnalysisError
from tests.limits import set_limits
from tests.streaming.conftest import Shelf


def options(shelf: Shelf, **given: str) -> SourceOptions:
    defaults = Defaults(metastore=str(shelf.path), time_zone="UTC", synchronous=False)
    return source_options({"path": "default.t", **given}, defaults)


def read(
    shelf: Shelf, rows: pc.Expression | None = None, **given: str
) -> tuple[int, list[tuple[Any, ...]]]:
    """Return the number of tasks, and the rows that they read in other processes."""
    tasks = plan_tasks(options(shelf, **given), ["id", "p"], rows)
    parts = [pickle.loads(pickle.dumps(task)) for task in tasks]
    batches = [batch for part in parts for batch in part.batches()]
    found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    return len(tasks), sorted(found, key=repr)


def batch(*rows: tuple[int, str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"id": i, "p": p} for i, p in rows])


def append(shelf: Shelf, *rows: tuple[int, str]) -> None:
    with shelf.connect(time_zone="UTC") as connection, connection.transaction():
        connection.write(batch(*rows))


def test_tasks_read_a_snapshot(shelf: Shelf) -> None:
    shelf.create("id int", partitioned="p string")
    assert read(shelf) == (0, [])
    append(shelf, (1, "a"), (2, "b"))
    append(shelf, (3, "b"))
    tasks, rows = read(shelf)
    assert (tasks, rows) == (1, [(1, "a"), (2, "b"), (3, "b")])
    assert read(shelf, pc.field("p") == "b") == (1, [(2, "b"), (3, "b")])
    assert read(shelf, pc.field("id") > 5) == (0, [])
    assert acidsql.read_arrow("t", metastore=shelf.path).num_rows == 3


def test_stripes_are_divided_among_tasks(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf.create("id int", partitioned="p string")
    for number in range(3):
        append(shelf, (number, f"p{number}"))
    set_limits(monkeypatch, task_stripe_bytes=1)
    assert read(shelf) == (3, [(0, "p0"), (1, "p1"), (2, "p2")])


def test_rows_of_all_tasks_are_one_transaction(shelf: Shelf) -> None:
    shelf.create("id int", partitioned="p string")
    given = options(shelf)
    staging = staging_for(given, ["p", "ID"])
    staging.create()
    paths = [staging.write([batch((1, "a")), batch((2, "b"))]), staging.write([batch((3, "b"))])]
    assert staging.write([]) is None
    assert shelf.rows() == []
    commit_staged(given, [path for path in paths if path])
    staging.delete()
    assert [row[-1] for row in shelf.rows()] == ["p=a", "p=b", "p=b"]
    assert not list(Path(shelf.home / "t").glob(f"{STAGING}*"))
    assert len({name.split("/")[1] for name in shelf.tree()}) == 1  # one write id


def test_a_commit_that_fails_leaves_nothing(shelf: Shelf) -> None:
    shelf.create("id tinyint", partitioned="p string")
    given = options(shelf)
    staging = staging_for(given, ["id", "p"])
    staging.create()
    path = staging.write([batch((1, "a"), (1000, "a"))])
    assert path is not None
    with pytest.raises(AcidAnalysisError) as caught:
        commit_staged(given, [path])
    staging.delete()
    assert caught.value.condition == "INVALID_RECORD"
    assert shelf.rows() == []
    assert shelf.tree() == []


def test_columns_are_checked_before_anything_is_staged(shelf: Shelf) -> None:
    shelf.create("id int", partitioned="p string")
    with pytest.raises(AcidAnalysisError) as caught:
        staging_for(options(shelf), ["id", "q"])
    assert caught.value.condition == "COLUMN_NOT_FOUND"
    assert list((shelf.home / "t").iterdir()) == []


def test_a_repeated_batch_is_left_out(shelf: Shelf) -> None:
    shelf.create("id int", partitioned="p string")
    given = options(shelf, stream="s")
    for number in (0, 0, 1):
        staging = staging_for(given, ["id", "p"])
        staging.create()
        path = staging.write([batch((number, "a"))])
        assert path is not None
        commit_batch(given, [path], "s", number)
        staging.forget([path])
        assert not staging.directory.exists()
    assert read(shelf)[1] == [(0, "a"), (1, "a")]
