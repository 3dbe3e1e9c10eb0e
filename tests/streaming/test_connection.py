"""Tests of streaming connections on an embedded metastore, read without Spark."""

from __future__ import annotations

import datetime as dt
import logging
import os
import re
import subprocess
import sys
import threading
import time
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from acidsql.errors import (
    AcidAnalysisError,
    AcidSqlError,
    MetastoreError,
    TransactionStateError,
)
from acidsql.limits import Limits
from acidsql.metastore.model import TxnState
from acidsql.streaming import (
    DelimitedWriter,
    JsonWriter,
    RegexWriter,
    Rejection,
    connect,
    row_buffer,
)
from acidsql.streaming import connection as connection_module
from acidsql.syntax.constraints import Constraint, ConstraintKind
from tests.streaming.conftest import Shelf


def _condition(raised: pytest.ExceptionInfo[AcidSqlError]) -> str:
    return raised.value.getCondition()


def test_the_transactions_of_a_batch_share_a_directory(shelf: Shelf) -> None:
    shelf.create("id int; s string")
    with shelf.connect(transaction_batch_size=3, agent="tests") as connection:
        for number in range(4):
            with connection.transaction():
                connection.write({"id": number})
            assert len(shelf.rows()) == number + 1
        assert shelf.tree() == [
            "delta_0000001_0000003/bucket_00000",
            "delta_0000004_0000006/bucket_00000",
            "delta_0000004_0000006/bucket_00000_flush_length",
        ]
    assert shelf.rows() == [(n, None) for n in range(4)]
    assert [txn.state for txn in shelf.metastore.open_txns()] == [TxnState.ABORTED] * 2
    entries = shelf.metastore.history("default", "t", None)
    assert {(e.operation, e.statement) for e in entries} == {("STREAMING INSERT", "by tests")}
    assert [e.counts.inserted for e in reversed(entries) if e.state is TxnState.COMMITTED] == [
        1
    ] * 4


def test_an_aborted_transaction_leaves_no_rows(shelf: Shelf) -> None:
    shelf.create("id int")
    with shelf.connect() as connection:
        with pytest.raises(ZeroDivisionError), connection.transaction():
            connection.write_all((1 // divisor,) for divisor in (1, 0))
        with connection.transaction():
            connection.write((2,))
        connection.begin()
        connection.write((3,))
    assert shelf.rows() == [(2,)]
    with shelf.connect() as connection:
        connection.begin()
        connection.write((4,))
    assert shelf.tree() == ["delta_0000001_0000010/bucket_00000"]


def test_rows_that_do_not_fit_into_memory_are_written_before_the_commit(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = Limits(streaming_records=10, streaming_buffer_bytes=200)
    for module in (connection_module, row_buffer):
        monkeypatch.setattr(module, "limits", lambda: small)
    shelf.create("id int; s string")
    with shelf.connect() as connection:
        connection.begin()
        connection.write_all({"id": n, "s": "x" * 20} for n in range(95))
        (bucket, _) = sorted((shelf.home / "t").rglob("bucket_*"))
        assert bucket.stat().st_size > 1000
        assert shelf.rows() == []
        connection.abort()
        with connection.transaction():
            connection.write(pa.table({"id": range(95), "S": ["y" * 20] * 95}))
    assert shelf.rows() == sorted([(n, "y" * 20) for n in range(95)], key=repr)


def test_a_bad_record_aborts_its_transaction(shelf: Shelf) -> None:
    shelf.create("id int not null; n decimal(3,1)")
    with shelf.connect() as connection:
        with connection.transaction():
            connection.write((0, 1))
        connection.begin()
        connection.write_all([(1, Decimal(1)), (2, "x"), (3, 3)])
        with pytest.raises(
            AcidAnalysisError, match=r"record 3, column n, cannot take a value"
        ) as e:
            connection.commit()
        assert _condition(e) == "INVALID_RECORD"
        assert e.value.getMessageParameters() == {"position": "3", "column": "n"}
        assert not connection.in_transaction
        for bad in [(None, 1), {"id": 1, "x": 2}, (1,), "text", {"n": 1}]:
            connection.begin()
            connection.write(bad)
            with pytest.raises(AcidAnalysisError, match="INVALID_RECORD"):
                connection.commit()
        with connection.transaction():
            connection.write({"ID": 9})
    assert shelf.rows() == [(0, Decimal("1.0")), (9, None)]


def test_a_bad_record_can_be_left_out(shelf: Shelf) -> None:
    shelf.create("id int; s string")
    left_out: list[Rejection] = []
    with shelf.connect(
        writer=JsonWriter(), on_error="reject_record", on_rejected=left_out.append
    ) as connection:
        connection.begin()
        connection.write_all(
            ['{"id": 1, "s": "a"}', '{"id": "2"', '{"id": 3, "s": 3}', '{"id": "four"}', "[]"]
        )
        assert connection.commit() == (1, 2, 3)
        with connection.transaction():
            connection.write(pa.table({"id": [5, 2**40]}))
    assert shelf.rows() == [(1, "a"), (3, "3"), (5, None)]
    assert [(r.position, r.column) for r in left_out] == [
        (2, None), (4, "id"), (5, None), (7, "id"),
    ]  # fmt: skip
    assert left_out[3].record == {"id": 2**40}


def test_names_that_differ_in_case_alone_are_refused(shelf: Shelf) -> None:
    shelf.create("id int; d date")
    left_out: list[Rejection] = []
    with shelf.connect(
        writer=JsonWriter(), on_error="reject_record", on_rejected=left_out.append
    ) as connection:
        connection.begin()
        connection.write_all(
            ['{"ID": 1}', '{"id": 2, "Id": 3}', '{"id": 4, "d": "1582-10-10", "D": null}']
        )
        connection.write_all(['{"id": 5, "d": "1582-10-10"}', '{"id": 6, "d": "1582-10-15"}'])
        connection.commit()
    assert shelf.rows() == [(1, None), (6, dt.date(1582, 10, 15))]
    assert [(r.position, r.column, r.reason.partition(",")[0]) for r in left_out] == [
        (2, None, "has the field 'Id' twice"),
        (3, None, "has the field 'D' twice"),
        (4, "d", "is a day from 1582-10-05 to 1582-10-14"),
    ]


def test_texts_of_every_form(shelf: Shelf) -> None:
    shelf.create("id int; s string; x binary; a array<int>")
    with shelf.connect(writer=JsonWriter()) as connection, connection.transaction():
        connection.write('{"id": 1, "s": "ä", "x": "AP8=", "a": [1, null]}')
    given = re.compile(r"(?P<id>\d+) (?:(?P<s>\w+) )?end")
    with shelf.connect(writer=RegexWriter(pattern=given)) as connection, connection.transaction():
        connection.write_all(["2 two end\n", b"3 end"])
    fields = DelimitedWriter(delimiter="|", columns=("s", "id"), null="")
    with shelf.connect(writer=fields) as connection, connection.transaction():
        connection.write_all(['"a|b"|4', "|5\r\n"])
    assert shelf.rows() == [
        (1, "ä", b"\x00\xff", [1, None]),
        (2, "two", None, None),
        (3, None, None, None),
        (4, "a|b", None, None),
        (5, None, None, None),
    ]


def test_partitions_are_made_on_the_first_row(shelf: Shelf) -> None:
    shelf.create("id int", partitioned="p string; q decimal(4,2)")
    with shelf.connect() as connection:
        with connection.transaction():
            connection.write_all([(1, "a/b", 1), {"id": 2, "p": "", "q": None}])
        connection.begin()
        connection.write((3, "never", 1))
        connection.abort()
    with shelf.connect(partition={"Q": "2.50", "P": "c"}) as connection, connection.transaction():
        connection.write((4,))
    assert shelf.rows() == [
        (1, "p=a%2Fb/q=1"),
        (2, "p=__HIVE_DEFAULT_PARTITION__/q=__HIVE_DEFAULT_PARTITION__"),
        (4, "p=c/q=2.5"),
    ]
    assert [p.values for p in shelf.metastore.partitions("default", "t")] == [
        ("__HIVE_DEFAULT_PARTITION__", "__HIVE_DEFAULT_PARTITION__"),
        ("a/b", "1"),
        ("c", "2.5"),
    ]
    assert not (shelf.home / "t" / "p=never").exists()
    with pytest.raises(AcidAnalysisError, match="PARTITION_VALUES_MISMATCH"):
        shelf.connect(partition=["c"])


def test_row_ids_begin_anew_with_each_transaction_and_bucket(shelf: Shelf) -> None:
    shelf.create("id int", partitioned="p int", bucket_columns=("id",), num_buckets=2)
    with shelf.connect() as connection:
        for _ in range(2):
            with connection.transaction():
                connection.write_all([(n, n % 3) for n in range(12)])
    import pyorc  # noqa: PLC0415

    keys = [
        (write_id, bucket, row_id)
        for path in (shelf.home / "t").rglob("bucket_0000?")
        for _, write_id, bucket, row_id, *_ in pyorc.Reader(path.open("rb"))
    ]
    assert len(set(keys)) == len(keys) == 24
    by_writer = {
        pair: sorted(k for *p, k in keys if tuple(p) == pair) for pair in {k[:2] for k in keys}
    }
    assert all(ids == list(range(len(ids))) for ids in by_writer.values())
    assert {bucket >> 16 & 0xFFF for _, bucket, _ in keys} == {0, 1}


def test_an_idle_batch_is_closed(shelf: Shelf) -> None:
    shelf.create("id int")
    with shelf.connect(idle_timeout=0.05) as connection:
        with connection.transaction():
            connection.write((1,))
        deadline = time.monotonic() + 30
        while any(t.state is TxnState.OPEN for t in shelf.metastore.open_txns()):
            assert time.monotonic() < deadline
            time.sleep(0.02)
        assert shelf.tree() == ["delta_0000001_0000010/bucket_00000"]
        with connection.transaction():
            time.sleep(0.2)  # an open transaction is not closed
            connection.write((2,))
    assert shelf.rows() == [(1,), (2,)]


def test_threads_write_into_one_transaction(shelf: Shelf) -> None:
    shelf.create("id int")
    with shelf.connect() as connection:
        connection.begin()
        threads = [
            threading.Thread(target=connection.write_all, args=([(n,)] * 50,)) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert connection.commit().rows == 400
    assert len(shelf.rows()) == 400


def test_a_lost_transaction_ends_its_batch(shelf: Shelf, caplog: pytest.LogCaptureFixture) -> None:
    shelf.create("id int")
    with shelf.connect() as connection, caplog.at_level(logging.CRITICAL):
        connection.begin()
        connection.write((1,))
        shelf.metastore.abort_txns([t.txn_id for t in shelf.metastore.open_txns()])
        with pytest.raises(TransactionStateError, match="TXN_ABORTED"):
            connection.commit()
        with connection.transaction():
            connection.write((2,))
    assert shelf.rows() == [(2,)]


@pytest.mark.parametrize("committed", [0, 1])
def test_a_check_that_comes_while_connected_stops_the_writes(shelf: Shelf, committed: int) -> None:
    shelf.create("id int")
    with shelf.connect(transaction_batch_size=3) as connection:
        for number in range(committed):
            with connection.transaction():
                connection.write((number,))
        table = shelf.metastore.table("default", "t")
        small = Constraint(kind=ConstraintKind.CHECK, name="small", expression="id < 5")
        shelf.metastore.alter_table(replace(table, constraints=(small,)))
        with pytest.raises(AcidAnalysisError) as caught:
            connection.begin()
        assert _condition(caught) == "UNSUPPORTED_FEATURE.STREAMING_CHECK"
        assert not connection.in_transaction
    assert shelf.rows() == [(number,) for number in range(committed)]
    assert not shelf.metastore.valid_txns().open


def test_offsets_are_kept_with_the_rows(shelf: Shelf) -> None:
    shelf.create("id int")
    with shelf.connect(stream="lines") as connection:
        assert connection.offset is None
        connection.begin()
        connection.write((1,))
        connection.commit(offset=1)
        connection.begin()
        connection.write((2,))
    with shelf.connect(stream="lines") as first, shelf.connect(stream="lines") as second:
        assert (first.offset, second.offset) == (1, 1)
        first.begin()
        first.commit(offset=5)
        second.begin()
        second.write((3,))
        with pytest.raises(TransactionStateError) as raised:
            second.commit(offset=2)
        assert _condition(raised) == "STREAM_OFFSET_CHANGED"
    assert shelf.rows() == [(1,)]
    with shelf.connect() as connection:
        connection.begin()
        with pytest.raises(AcidAnalysisError, match="INVALID_PARAMETER_VALUE"):
            connection.commit(offset=1)


def test_calls_in_the_wrong_state_are_refused(shelf: Shelf) -> None:
    shelf.create("id int")
    connection = shelf.connect()
    for call in (connection.commit, connection.abort, lambda: connection.write((1,))):
        with pytest.raises(TransactionStateError) as raised:
            call()
        assert _condition(raised) == "NO_ACTIVE_TRANSACTION"
    connection.begin()
    with pytest.raises(TransactionStateError) as raised:
        connection.begin()
    assert _condition(raised) == "NOT_ALLOWED_IN_TRANSACTION"
    connection.close()
    connection.close()
    with pytest.raises(TransactionStateError) as raised:
        connection.begin()
    assert _condition(raised) == "CONNECTION_CLOSED"


@pytest.mark.parametrize(
    ("definition", "condition"),
    [
        ({"properties": {"transactional_properties": "insert_only"}}, "STREAMING_TABLE"),
        ({"properties": {"orc.compress": "LZO"}}, "STREAMING_TABLE"),
        ({"bucket_columns": ("ts",), "num_buckets": 2}, "BUCKET_COLUMN_TYPE"),
    ],
)
def test_tables_that_cannot_be_streamed_into(
    shelf: Shelf, definition: dict[str, Any], condition: str
) -> None:
    shelf.create("id int; ts timestamp", **definition)
    with pytest.raises(AcidAnalysisError) as raised:
        shelf.connect()
    assert _condition(raised) == f"UNSUPPORTED_FEATURE.{condition}"


def test_options_are_checked(shelf: Shelf) -> None:
    shelf.create("id int")
    for options in ({"transaction_batch_size": 0}, {"on_error": "ignore"}):
        with pytest.raises(AcidAnalysisError, match="INVALID_PARAMETER_VALUE"):
            shelf.connect(**options)
    with pytest.raises(AcidAnalysisError, match="INVALID_CONF_VALUE"):
        shelf.connect(time_zone="Nowhere/Land")
    with pytest.raises(AcidAnalysisError, match="TABLE_OR_VIEW_NOT_FOUND"):
        shelf.connect(table="other")
    with pytest.raises(MetastoreError, match="METASTORE_UNAVAILABLE"):
        connect(metastore=shelf.home / "none.sqlite", table="t")


def test_nothing_of_spark_is_loaded() -> None:
    program = (
        "import sys, acidsql.streaming; "
        "print(sorted(m for m in sys.modules if m.startswith(('acidsql.bridge', 'acidsql.api'))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True, capture_output=True, text=True, env={**os.environ, "JAVA_HOME": "/nowhere"},
    )  # fmt: skip
    assert done.stdout == "[]\n"
