"""``acidsql backup`` and ``acidsql restore``: no Spark, real files."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, Partition, Table
from acidsql.repl.main import main

ID = Column(name="id", type="int")
COPY, FILE = "copy.sqlite", "metastore.sqlite"


def run(home: Path, *arguments: str) -> Result:
    command, *rest = arguments
    return CliRunner().invoke(main, [command, "--metastore", str(home / FILE), *rest])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory with a metastore that has ``t``, and ``p`` with a partition, each written to."""
    with closing(opened(tmp_path)) as store:
        for name in ("t", "p"):
            store.create_table(
                Table(
                    database="default",
                    name=name,
                    columns=(ID,),
                    partition_columns=(Column(name="k", type="int"),) if name == "p" else (),
                    location=f"file:{tmp_path}/{name}",
                )
            )
        place = Partition(values=("1",), location=f"file:{tmp_path}/p/k=1")
        store.add_partitions("default", "p", [place])
        write(store, tmp_path / "t", "t")
        write(store, tmp_path / "p" / "k=1", "p")
    return tmp_path


def opened(home: Path) -> EmbeddedMetastore:
    return EmbeddedMetastore(str(home / FILE))


def begin(store: EmbeddedMetastore, place: Path, table: str) -> int:
    """Publish a delta, and leave its transaction open."""
    txn_id = store.open_txn("ann", "host")
    write_id = store.allocate_write_id(txn_id, "default", table)
    (place / f"delta_{write_id:07d}_{write_id:07d}_0000").mkdir(parents=True)
    return txn_id


def write(store: EmbeddedMetastore, place: Path, table: str) -> None:
    store.commit_txn(begin(store, place, table))


def committed(home: Path, table: str = "t") -> set[int]:
    with closing(opened(home)) as store:
        seen = store.valid_write_ids("default", table, store.valid_txns())
    return {w for w in range(1, seen.high_water_mark + 1) if seen.is_valid(w)}


def test_a_copy_is_one_file_and_comes_back(home: Path) -> None:
    assert run(home, "backup", str(home / COPY)).exit_code == 0
    with closing(opened(home)) as store:
        store.drop_table("default", "t")
    result = run(home, "restore", str(home / COPY))
    assert (result.exit_code, result.output) == (0, "")
    assert committed(home) == committed(home, "p") == {1}
    assert sorted(p.name for p in home.iterdir()) == [COPY, FILE, "p", "t"]


def test_a_file_that_was_lost_comes_back(home: Path) -> None:
    run(home, "backup", str(home / COPY))
    (home / FILE).unlink()
    assert run(home, "restore", str(home / COPY)).exit_code == 0
    assert committed(home) == {1}


def test_a_copy_is_consistent_while_others_write(home: Path) -> None:
    stop = threading.Event()

    def work() -> None:
        with closing(opened(home)) as store:
            while not stop.is_set():
                txn_id = store.open_txn("ann", "host")
                for table in ("t", "p"):
                    store.allocate_write_id(txn_id, "default", table)
                store.commit_txn(txn_id)

    writer = threading.Thread(target=work)
    writer.start()
    try:
        for number in range(10):
            assert run(home, "backup", str(home / f"{number}.sqlite")).exit_code == 0
    finally:
        stop.set()
        writer.join()
    for number in range(10):
        with closing(sqlite3.connect(home / f"{number}.sqlite")) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            numbers = connection.execute(
                "SELECT table_id, max(commit_number) FROM write_ids GROUP BY table_id"
            ).fetchall()
        (_, first), (_, second) = numbers
        assert first == second or (first, second) == (1, 2)  # nothing was committed yet


def test_a_copy_takes_no_ones_place(home: Path) -> None:
    (home / COPY).write_text("precious")
    result = run(home, "backup", str(home / COPY))
    assert (result.exit_code, "PATH_ALREADY_EXISTS" in result.output) == (1, True)
    assert (home / COPY).read_text() == "precious"


@pytest.mark.parametrize("content", [None, b"", b"no database " * 100])
def test_what_is_no_metastore_is_not_copied(home: Path, content: bytes | None) -> None:
    (home / FILE).unlink()
    if content is not None:
        (home / FILE).write_bytes(content)
    result = run(home, "backup", str(home / COPY))
    assert (result.exit_code, "METASTORE_UNAVAILABLE" in result.output) == (1, True)
    assert sorted(p.name for p in home.iterdir()) == sorted(
        ([] if content is None else [FILE]) + ["p", "t"]
    )


def test_what_is_no_metastore_is_not_restored(home: Path) -> None:
    (home / COPY).touch()
    result = run(home, "restore", str(home / COPY))
    assert (result.exit_code, "METASTORE_UNAVAILABLE" in result.output) == (1, True)
    assert committed(home) == {1}


def test_nothing_is_restored_while_a_process_has_the_file_open(home: Path) -> None:
    run(home, "backup", str(home / COPY))
    program = (
        "import sys; from acidsql.metastore.embedded.store import EmbeddedMetastore;"
        "store = EmbeddedMetastore(sys.argv[1]); print('ready', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(home / FILE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == "ready\n"
        result = run(home, "restore", str(home / COPY))
        assert (result.exit_code, "METASTORE_BUSY" in result.output) == (1, True)
        other.stdin.close()
        assert other.wait(60) == 0
    assert run(home, "restore", str(home / COPY)).exit_code == 0


def test_directories_that_the_copy_does_not_know_are_listed_and_accepted(home: Path) -> None:
    run(home, "backup", str(home / COPY))
    with closing(opened(home)) as store:
        write(store, home / "t", "t")
        write(store, home / "p" / "k=1", "p")
    (home / "t" / "base_0000003_v0000099").mkdir()
    newer = [
        home / "p" / "k=1" / "delta_0000002_0000002_0000",
        home / "t" / "base_0000003_v0000099",
        home / "t" / "delta_0000002_0000002_0000",
    ]
    result = run(home, "restore", str(home / COPY))
    assert (result.exit_code, "UNKNOWN_DIRECTORIES" in result.output) == (1, True)
    assert [line.strip() for line in result.output.splitlines() if line.startswith("  ")] == [
        str(path) for path in newer
    ]
    assert committed(home) == {1, 2}
    result = run(home, "restore", "--accept", str(home / COPY))
    assert result.output.splitlines() == [f"counts as committed: {path}" for path in newer]
    assert committed(home) == {1, 2, 3}
    assert committed(home, "p") == {1, 2}
    with closing(opened(home)) as store:
        assert store.open_txn("ann", "host") == 100


def test_transactions_that_were_open_in_the_copy_are_ended(home: Path) -> None:
    """The clients that had them open may have committed since."""
    with closing(opened(home)) as store:
        begin(store, home / "t", "t")
        unpublished = store.open_txn("ann", "host")
        assert store.allocate_write_id(unpublished, "default", "p") == 2
        run(home, "backup", str(home / COPY))
    result = run(home, "restore", str(home / COPY))
    assert str(home / "t" / "delta_0000002_0000002_0000") in result.output
    assert run(home, "restore", "--accept", str(home / COPY)).exit_code == 0
    assert committed(home) == {1, 2}
    assert committed(home, "p") == {1}
    with closing(opened(home)) as store:
        assert store.valid_txns().open == frozenset()
        assert store.valid_txns().aborted == {unpublished}


@pytest.mark.parametrize("merged", ["delta_0000001_0000003_v0000099", "base_0000003_v0000099"])
def test_what_was_open_in_the_copy_may_have_been_compacted_since(home: Path, merged: str) -> None:
    with closing(opened(home)) as store:
        begin(store, home / "t", "t")
        run(home, "backup", str(home / COPY))
    shutil.rmtree(home / "t")
    (home / "t" / merged).mkdir(parents=True)
    assert run(home, "restore", "--accept", str(home / COPY)).exit_code == 0
    assert committed(home) == {1, 2, 3}
