"""What the cleaner removes, whatever else goes wrong: no Spark, a real embedded metastore."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from acidsql.compaction.cleaner import clean
from acidsql.errors import MetastoreError
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import (
    Column,
    Compaction,
    CompactionState,
    CompactionType,
    Partition,
    Table,
    TxnType,
)
from acidsql.session.acid_session import AcidSession
from tests.metastore.local_files import LocalFiles, session_without_spark

ID = Column(name="id", type="int")
P = Column(name="p", type="int")


@pytest.fixture
def metastore(tmp_path: Path) -> Iterator[EmbeddedMetastore]:
    """A metastore with the tables ``t`` and ``u``, and ``p`` with the partitions 1 and 2."""
    store = EmbeddedMetastore(str(tmp_path / "metastore.sqlite"))
    for name in ("t", "u", "p"):
        table = Table(
            database="default",
            name=name,
            columns=(ID,),
            partition_columns=(P,) if name == "p" else (),
            location=f"file:{tmp_path}/{name}",
        )
        store.create_table(table)
    places = [Partition(values=(v,), location=f"file:{tmp_path}/p/p={v}") for v in "12"]
    store.add_partitions("default", "p", places)
    yield store
    store.close()


@pytest.fixture
def session(metastore: EmbeddedMetastore) -> AcidSession:
    """What the cleaner needs of a session."""
    return session_without_spark(metastore, LocalFiles())


def compacted(store: EmbeddedMetastore, place: Path, table: str, partition: str | None) -> int:
    """Write two deltas and compact them; return the id of the compaction."""
    for _ in range(2):
        txn_id = store.open_txn("ann", "host")
        write_id = store.allocate_write_id(txn_id, "default", table)
        delta = place / f"delta_{write_id:07d}_{write_id:07d}_0000"
        delta.mkdir(parents=True)
        (delta / "bucket_00000").write_bytes(b"rows")
        store.commit_txn(txn_id)
    entry = store.request_compaction("default", table, partition, CompactionType.MAJOR)
    store.next_compaction("worker", entry.compaction_id)
    compactor = store.open_txn("ann", "host", TxnType.COMPACTION)
    store.compaction_started(entry.compaction_id, compactor, write_id)
    (place / f"base_{write_id:07d}_v{compactor:07d}").mkdir()
    store.compaction_done(entry.compaction_id)
    store.commit_txn(compactor)
    return entry.compaction_id


def kinds(place: Path) -> list[str]:
    """Return the names in a directory up to the first write id."""
    return sorted(path.name.split("_0")[0] for path in place.iterdir())


def states(store: EmbeddedMetastore) -> dict[int, CompactionState]:
    return {c.compaction_id: c.state for c in store.compactions()}


@pytest.mark.parametrize("change", ["drop", "rename"])
def test_a_partition_that_is_gone_counts_as_cleaned(
    session: AcidSession, metastore: EmbeddedMetastore, tmp_path: Path, change: str
) -> None:
    gone = compacted(metastore, tmp_path / "p" / "p=1", "p", "p=1")
    other = compacted(metastore, tmp_path / "p" / "p=2", "p", "p=2")
    if change == "drop":
        metastore.drop_partitions("default", "p", [("1",)])
    else:
        renamed = Partition(values=("3",), location=f"file:{tmp_path}/p/p=1")
        metastore.rename_partition("default", "p", ("1",), renamed)
    assert clean(session) == [gone, other]
    assert states(metastore) == dict.fromkeys([gone, other], CompactionState.SUCCEEDED)
    assert kinds(tmp_path / "p" / "p=2") == ["base"]


def test_aborted_writes_to_a_renamed_partition_are_not_forgotten(
    session: AcidSession, metastore: EmbeddedMetastore, tmp_path: Path
) -> None:
    aborted = metastore.open_txn("ann", "host")
    write_id = metastore.allocate_write_id(aborted, "default", "p")
    metastore.abort_txn(aborted)
    compacted(metastore, tmp_path / "p" / "p=1", "p", "p=1")
    renamed = Partition(values=("3",), location=f"file:{tmp_path}/p/p=3")
    metastore.rename_partition("default", "p", ("1",), renamed)
    clean(session)
    seen = metastore.valid_write_ids("default", "p", metastore.valid_txns())
    assert seen.is_aborted(write_id)


def test_a_directory_that_is_gone_counts_as_cleaned(
    session: AcidSession, metastore: EmbeddedMetastore, tmp_path: Path
) -> None:
    gone = compacted(metastore, tmp_path / "t", "t", None)
    shutil.rmtree(tmp_path / "t")
    assert clean(session) == [gone]


def test_a_stray_directory_stays_and_stops_nobody(
    session: AcidSession,
    metastore: EmbeddedMetastore,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ids = [compacted(metastore, tmp_path / name, name, None) for name in ("t", "u")]
    (tmp_path / "t" / "delta_abc").mkdir()
    assert clean(session) == ids
    assert kinds(tmp_path / "t") == ["base", "delta_abc"]
    assert kinds(tmp_path / "u") == ["base"]
    assert f"{tmp_path}/t/delta_abc is no directory of Hive's" in caplog.text


def test_one_that_fails_waits_and_the_others_are_cleaned(
    session: AcidSession,
    metastore: EmbeddedMetastore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    failing, other = (compacted(metastore, tmp_path / name, name, None) for name in ("t", "u"))
    delete = session.files.delete

    def refuse(path: str) -> None:
        if "/t/" in path:
            raise PermissionError(path)
        delete(path)

    with monkeypatch.context() as patched:
        patched.setattr(session.files, "delete", refuse)
        assert clean(session) == [other]
    assert states(metastore)[failing] is CompactionState.READY_FOR_CLEANING
    assert f"compactions [{failing}]: the old directories in default.t could not" in caplog.text
    assert clean(session) == [failing]
    assert kinds(tmp_path / "t") == ["base"]


def test_an_entry_that_another_cleaner_has_ended_is_no_error(
    session: AcidSession, metastore: EmbeddedMetastore, tmp_path: Path
) -> None:
    first, second = (compacted(metastore, tmp_path / name, name, None) for name in ("t", "u"))
    ready = metastore.ready_to_clean()
    metastore.compaction_cleaned(first, 2)
    slow: Any = session
    slow.metastore = Late(metastore, ready)
    assert clean(session) == [second]


class Late:
    """Metastore whose list of entries is an old one."""

    def __init__(self, metastore: EmbeddedMetastore, ready: tuple[Compaction, ...]) -> None:
        self._metastore, self._ready = metastore, ready

    def ready_to_clean(self) -> tuple[Compaction, ...]:
        return self._ready

    def __getattr__(self, name: str) -> object:
        return getattr(self._metastore, name)


def test_interrupts_are_not_taken_for_failures(
    session: AcidSession,
    metastore: EmbeddedMetastore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compacted(metastore, tmp_path / "t", "t", None)

    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(session.files, "delete", interrupt)
    with pytest.raises(KeyboardInterrupt):
        clean(session)


def test_an_unreachable_metastore_is_told(
    session: AcidSession, metastore: EmbeddedMetastore
) -> None:
    metastore.close()
    with pytest.raises(MetastoreError, match="METASTORE_UNAVAILABLE"):
        clean(session)


def test_cleaners_at_once_do_not_disturb_one_another(
    session: AcidSession,
    metastore: EmbeddedMetastore,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    barrier = threading.Barrier(2)

    def run(_: int) -> list[int]:
        barrier.wait(30)
        return clean(session)

    for _ in range(10):
        compaction_id = compacted(metastore, tmp_path / "t", "t", None)
        for number in range(50):
            (tmp_path / "t" / "delta_0000001_0000001_0000" / f"file_{number}").parent.mkdir(
                exist_ok=True
            )
            (tmp_path / "t" / "delta_0000001_0000001_0000" / f"file_{number}").touch()
        with ThreadPoolExecutor(2) as pool:
            done = [i for ids in pool.map(run, range(2)) for i in ids]
        assert compaction_id in done
        assert kinds(tmp_path / "t") == ["base"]
    assert "FileNotFoundError" not in caplog.text
