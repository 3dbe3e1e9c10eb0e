"""A cleaner that looks only at what readers have registered, with a real Hive and its compactor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

import acidsql
from acidsql.metastore.hive.connection import Connections
from acidsql.metastore.model import CompactionType
from acidsql.metastore.protocol import Metastore
from tests.hive.conftest import Ours
from tests.hive.hive import Hive, running
from tests.java_tools import TOOLS, JavaSetupError
from tests.requirements import require_tools, unavailable

pytestmark = [pytest.mark.hive, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
SETTINGS = {"metastore.txn.use.minhistorywriteid": "true"}


@pytest.fixture(scope="module")
def hive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hive]:
    """Yield a Hive whose cleaner does not wait for open transactions."""
    require_tools(*TOOLS)
    with ExitStack() as stack:
        home = tmp_path_factory.mktemp("min-history") / "home"
        try:
            server = stack.enter_context(running(home, SETTINGS, serve=True))
        except JavaSetupError as error:
            unavailable(f"a real Hive could not be provided: {error}")
        yield server


def two_rows(ours: Ours, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT) {ACID}")
    for number in range(2):
        ours.sql(f"INSERT INTO {t} VALUES ({number})")
    acidsql.release(ours.spark)


def deltas(hive: Hive, t: str) -> int:
    return sum(place.name.startswith("delta_") for place in (hive.warehouse / t).iterdir())


def test_a_held_frame_outlives_compaction_and_cleaner(ours: Ours, hive: Hive, t: str) -> None:
    two_rows(ours, t)
    frame = acidsql.sql(ours.spark, f"SELECT * FROM {t}")
    hive.compact(t, "major")
    assert deltas(hive, t) == 2
    assert sorted(frame.collect()) == [(0,), (1,)]
    ours.sql(f"INSERT INTO {t} VALUES (2)")
    hive.compact(t, "major")
    assert sorted(frame.collect()) == [(0,), (1,)]
    del frame
    acidsql.release(ours.spark)
    hive.clean(t)
    assert deltas(hive, t) == 0
    assert ours.sql(f"SELECT * FROM {t}") == [(0,), (1,), (2,)]


def test_a_compaction_that_is_at_work_when_the_reader_begins(
    ours: Ours, hive: Hive, t: str
) -> None:
    two_rows(ours, t)
    store: Metastore = ours.session.metastore
    entry = store.request_compaction("default", t, None, CompactionType.MAJOR, "worker")
    assert store.next_compaction("worker", entry.compaction_id) is not None
    ours.sql(f"INSERT INTO {t} VALUES (2)")
    acidsql.release(ours.spark)
    frame = acidsql.sql(ours.spark, f"SELECT * FROM {t}")
    # It merges only what had committed when it began.
    txn_id = store.open_txn("ann", "host")
    store.compaction_started(entry.compaction_id, txn_id, 2)
    base = hive.warehouse / t / f"base_0000002_v{txn_id:07d}"
    (hive.warehouse / t / "delta_0000001_0000001_0000").rename(base)
    store.compaction_done(entry.compaction_id)
    store.commit_txn(txn_id)
    hive.clean(t)
    assert (hive.warehouse / t / "delta_0000002_0000002_0000").exists()
    del frame


def test_a_reader_of_what_is_compacted_holds_nothing_back(ours: Ours, hive: Hive, t: str) -> None:
    two_rows(ours, t)
    hive.compact(t, "major", clean=False)
    ours.sql(f"INSERT INTO {t} VALUES (2)")
    acidsql.release(ours.spark)
    frame = acidsql.sql(ours.spark, f"SELECT * FROM {t}")
    hive.clean(t)
    assert deltas(hive, t) == 1
    assert sorted(frame.collect()) == [(0,), (1,), (2,)]


def test_a_warning_names_the_setting(
    ours: Ours, hive: Hive, t: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The server's housekeeper forgets the write ids of open transactions."""
    two_rows(ours, t)
    caplog.clear()
    session = Ours(ours.spark, hive)
    for _ in range(2):
        assert session.sql(f"SELECT * FROM {t}") == [(0,), (1,)]
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "metastore.txn.use.minhistorywriteid" in record.message


def test_the_calls_of_a_query(ours: Ours, t: str, monkeypatch: pytest.MonkeyPatch) -> None:
    two_rows(ours, t)
    ours.sql(f"SELECT * FROM {t}")
    sent: list[str] = []
    call = Connections.call

    def record(self: Connections, name: str, *arguments: object, **options: bool) -> object:
        sent.append(name)
        return call(self, name, *arguments, **options)

    monkeypatch.setattr(Connections, "call", record)
    ours.sql(f"SELECT a.id FROM {t} a JOIN {t} b ON a.id = b.id")
    assert [name for name in sent if name != "get_table_req"] == [
        "open_txns",
        "get_open_txns",
        "get_valid_write_ids",
        "show_compact",
        "add_write_ids_to_min_history",
        "get_open_txns",
        "get_valid_write_ids",
    ]
