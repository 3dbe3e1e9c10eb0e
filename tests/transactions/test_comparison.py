"""Comparison by rows with real files and a real embedded metastore, without Spark."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import IntegerType, StructField, StructType

from acidsql.errors import WriteConflictError
from acidsql.format.names import bucket_file_name, delete_delta_name
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, LockRequest, LockType, Operation, Partition, Table
from acidsql.session.acid_session import AcidSession
from acidsql.storage.delete_files import (
    DELETED_BY,
    NO_EVENTS,
    EventCache,
    RowId,
    distinct,
    encode,
    read_events,
)
from acidsql.storage.tails import TailCache
from acidsql.transactions.comparison import Comparison, deleted_rows
from acidsql.transactions.transaction import transaction
from tests.limits import set_limits
from tests.metastore.local_files import LocalFiles, session_without_spark

ROW = StructType([StructField("a", IntegerType())])
BUCKET = 536870912


@dataclass(slots=True)
class Deleter:
    """Statements that delete rows of a table without partitions, by their row ids."""

    session: AcidSession
    table: Table
    clashes: list[int] = field(default_factory=list)

    def delete(self, rows: Sequence[int], write_id: int, bucket: int = 0) -> str:
        """Write a delete delta; return its path."""
        events = [
            {**RowId(1, BUCKET + (bucket << 16), row)._asdict(), DELETED_BY: write_id}
            for row in rows
        ]
        path = f"{self.table.location}/{delete_delta_name(write_id, write_id, 0)}"
        content = encode(distinct(pa.Table.from_pylist(events, NO_EVENTS.schema)), ROW, "zlib")
        self.session.files.write(f"{path}/{bucket_file_name(bucket)}", content)
        return path

    def begin(self, txn_id: int) -> int:
        """Lock the table as a DELETE does; return the write id."""
        metastore, table = self.session.metastore, self.table
        write_id = metastore.allocate_write_id(txn_id, table.database, table.name)
        request = LockRequest(
            database=table.database,
            table=table.name,
            partition=None,
            type=LockType.SHARED_WRITE,
            operation=Operation.DELETE,
        )
        metastore.lock(txn_id, [request])
        return write_id

    def comparison(self, txn_id: int, placed: Sequence[str]) -> Comparison:
        """Return the comparison of a transaction that has written these delete deltas."""
        here = Partition(values=(), location=self.table.location)
        touched: dict[tuple[str, ...], Partition] = {(): here}
        deleted = deleted_rows(self.table, touched, placed)
        return Comparison(session=self.session, txn_id=txn_id, deleted=deleted)

    def committed(self, rows: Sequence[int], bucket: int = 0) -> int:
        """Delete rows in a transaction of its own; return its write id."""
        with transaction(self.session) as own:
            write_id = self.begin(own.txn_id)
            placed = [self.delete(rows, write_id, bucket)]
            own.commit(compare=self.comparison(own.txn_id, placed).compare)
        return write_id


@pytest.fixture
def session(tmp_path: Path) -> Iterator[AcidSession]:
    store = EmbeddedMetastore(str(tmp_path / "metastore.sqlite"), synchronous=False)
    files = LocalFiles()
    made = session_without_spark(store, files)
    made.tails = TailCache(files, 1000)
    made.delete_events = EventCache(files, 1_000_000)
    yield made
    made.heartbeater.stop()
    store.close()


def table_of(session: AcidSession, place: Path) -> Table:
    """Create a table."""
    place.mkdir()
    table = Table(
        database="default",
        name=place.name,
        columns=(Column(name="a", type="int"),),
        location=f"file:{place}",
    )
    session.metastore.create_table(table)
    return table


@pytest.fixture
def deleter(session: AcidSession, tmp_path: Path) -> Deleter:
    return Deleter(session, table_of(session, tmp_path / "t"))


def overtaken(
    deleter: Deleter, own: Sequence[int], theirs: Sequence[Sequence[int]], bucket: int = 0
) -> None:
    """Delete rows in a transaction, while others delete theirs and commit first."""
    with transaction(deleter.session) as late:
        write_id = deleter.begin(late.txn_id)
        for rows in theirs:
            deleter.committed(rows)
        placed = [deleter.delete(own, write_id, bucket)]
        late.commit(compare=deleter.comparison(late.txn_id, placed).compare)


def conflicts(
    deleter: Deleter, own: Sequence[int], theirs: Sequence[Sequence[int]], bucket: int = 0
) -> bool:
    """Return whether that is a conflict."""
    try:
        overtaken(deleter, own, theirs, bucket)
    except WriteConflictError:
        return True
    return False


@pytest.mark.parametrize(
    ("own", "theirs", "expected"),
    [
        ([1], [[2]], False),
        ([1], [[1]], True),
        ([1, 3, 5], [[0, 2, 4]], False),  # statistics are not enough
        ([1, 3, 5], [[0, 2, 4], [7], [5]], True),
        ([5], [range(10_000)], True),
        (range(0, 10_000, 2), [[9_999], [9_997]], False),
        (range(0, 10_000, 2), [[9_999], [9_998]], True),
    ],
)
def test_common_row_ids(
    deleter: Deleter, own: Sequence[int], theirs: Sequence[Sequence[int]], expected: bool
) -> None:
    assert conflicts(deleter, own, theirs) is expected


def test_the_error_names_both(deleter: Deleter) -> None:
    with pytest.raises(WriteConflictError, match=r"transaction 1 .*default\.t .*transaction 2\b"):
        overtaken(deleter, [1], [[1]])


def test_other_buckets_have_other_rows(deleter: Deleter) -> None:
    assert not conflicts(deleter, [1], [[1]], bucket=1)


def test_more_events_than_the_limit(deleter: Deleter, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, compared_events=3)
    assert not conflicts(deleter, [1], [[2, 3]])
    assert conflicts(deleter, [1], [[2, 3, 4]])


@pytest.mark.parametrize(("left", "expected"), [("delete_delta", [False, True]), ("base", [True])])
def test_delete_deltas_that_are_gone(
    deleter: Deleter, tmp_path: Path, left: str, expected: list[bool]
) -> None:
    """What compactions left of them decides, or it is a conflict."""
    for clash in expected:
        with transaction(deleter.session) as late:
            write_id = deleter.begin(late.txn_id)
            first, second = deleter.committed([2]), deleter.committed([3])
            place = tmp_path / "t"
            merged = [
                read_events(deleter.session.files, f"file:{path}")
                for path in place.glob("delete_delta_*_0000/bucket_*")
            ]
            for path in place.glob("delete_delta_*"):
                shutil.rmtree(path)
            name = f"base_{second:07d}_v0000099"
            if left == "delete_delta":
                name = f"delete_delta_{first:07d}_{second:07d}_v0000099"
            content = encode(distinct(pa.concat_tables(merged)), ROW, "zlib")
            deleter.session.files.write(f"file:{place}/{name}/bucket_00000", content)
            placed = [deleter.delete([3 if clash else 1], write_id)]
            comparison = deleter.comparison(late.txn_id, placed)
            if clash:
                with pytest.raises(WriteConflictError):
                    comparison.compare()
            else:
                assert len(comparison.compare().disjoint) == 2
        shutil.rmtree(place)
        place.mkdir()


def test_threads_that_delete_different_rows_all_commit(deleter: Deleter) -> None:
    with ThreadPoolExecutor(4) as pool:
        shares = [range(i, 40, 4) for i in range(4)]
        done = pool.map(lambda share: [deleter.committed([row]) for row in share], shares)
        assert len({write_id for own in done for write_id in own}) == 40


def test_threads_that_delete_the_same_rows_delete_each_once(deleter: Deleter) -> None:
    """No update is lost: what the snapshot shows as deleted is not deleted again."""
    metastore, table = deleter.session.metastore, deleter.table
    deleted: dict[int, int] = {}  # by write id, filled in before the commit

    def work(seed: int) -> list[int]:
        chance = random.Random(seed)
        done: list[int] = []
        for _ in range(12):
            try:
                with transaction(deleter.session) as own:
                    write_id = deleter.begin(own.txn_id)
                    seen = metastore.valid_write_ids(
                        table.database, table.name, metastore.valid_txns()
                    )
                    gone = {row for w, row in list(deleted.items()) if seen.is_valid(w)}
                    rows = [row for row in range(8) if row not in gone]
                    if not rows:
                        return done
                    row = chance.choice(rows)
                    deleted[write_id] = row
                    placed = [deleter.delete([row], write_id)]
                    own.commit(compare=deleter.comparison(own.txn_id, placed).compare)
                done.append(row)
            except WriteConflictError:
                deleter.clashes.append(seed)
        return done

    with ThreadPoolExecutor(4) as pool:
        done = sorted(row for own in pool.map(work, range(4)) for row in own)
    assert done == list(range(8))
