"""Tests that statements that have returned outlive a power failure, and others happen or do not.

The statements run on a disk that forgets (``disk``). Power fails after each of their operations;
the tables must be as before or as after the statement at work.
"""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyorc
import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import AcidSqlError, FormatError
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.session.acid_session import AcidSession
from acidsql.storage import sync
from acidsql.storage.filesystem import FileSystem
from tests.limits import set_limits
from tests.product.conftest import Lab
from tests.product.disk import Moment, Recorder, crash, survived
from tests.product.independent_reader import Tables, read_tables

pytestmark = pytest.mark.spark

_ORC = "STORED AS ORC LOCATION '{root}/%s' TBLPROPERTIES ('transactional'='true')"
SMALL = (
    "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
    "UPDATE t SET v = 'x' WHERE id = 2",
    "DELETE FROM t WHERE id = 1",
    "ALTER TABLE t COMPACT 'major'",
)
ALL = (
    f"CREATE TABLE s (id INT, v STRING) {_ORC % 's'}",
    "INSERT INTO s VALUES (2, 'm'), (5, 'n')",
    f"CREATE TABLE p (id INT, v STRING) PARTITIONED BY (a INT, b STRING) {_ORC % 'p'}",
    "INSERT INTO p SELECT id, v, id % 2, 'q' FROM t",
    "INSERT INTO p PARTITION (a = 7, b = 'r/s') VALUES (9, 'z')",
    "UPDATE p SET v = 'y' WHERE a < 7",
    "MERGE INTO t USING s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
    "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v)",
    "DELETE FROM p WHERE id = 9",
    "INSERT OVERWRITE p PARTITION (a, b) SELECT id, v, 1, 'q' FROM s",
    "ALTER TABLE p PARTITION (a = 0, b = 'q') COMPACT 'minor'",
    "FROM s INSERT INTO t SELECT id + 100, v INSERT INTO p PARTITION (a = 3, b = 'w') SELECT id, v",
    "ALTER TABLE p ADD PARTITION (a = 8, b = 'v')",
    "TRUNCATE TABLE p PARTITION (a = 7, b = 'r/s')",
    "ALTER TABLE t COMPACT 'minor'",
    f"CREATE TABLE c PARTITIONED BY (v) {_ORC % 'c'} AS SELECT id, v FROM t",
    "LOAD DATA INPATH '{loaded}' INTO TABLE t",
    "DELETE FROM t WHERE id > 100",
    "ALTER TABLE t COMPACT 'major'",
    "INSERT OVERWRITE t SELECT id, v FROM s",
    "TRUNCATE TABLE s",
    "ALTER TABLE p PARTITION (a = 1, b = 'q') RENAME TO PARTITION (a = 1, b = 'moved')",
    "ALTER TABLE p DROP PARTITION (a = 3)",
    "CREATE TABLE i (id INT) STORED AS ORC LOCATION '{root}/i' "
    "TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only')",
    "INSERT INTO i SELECT id FROM t",
    "INSERT OVERWRITE i SELECT id + 1 FROM t",
)


def _texts(rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    """Return rows as texts: partition values are of their columns' types only in Spark."""
    return [tuple(map(str, row)) for row in rows]


class Failures:
    """Power failures in a history of statements.

    Attributes:
        moments: when power may fail.
        statements: the history.
        tables: all tables before the first statement, and after each.
    """

    def __init__(
        self, recorder: Recorder, statements: Sequence[str], files: FileSystem, place: Path
    ) -> None:
        self.moments = recorder.moments
        self._root, self._files, self._place = recorder.root, files, place
        self._number = 0
        self.statements = statements
        self._returned = [moment for moment in self.moments if moment.returned]
        after = (self._read(moment, survived) for moment in self._returned)
        self.tables: list[Tables] = [{}, *after]

    def wrong(self, moment: Moment, random: Random | None) -> str | None:
        """Return what is wrong with what a power failure leaves; None if nothing is."""
        number = moment.statement
        allowed = self.tables[number + moment.returned : number + 2]
        try:
            found = self._read(moment, partial(crash, random=random))
        except (AcidSqlError, AssertionError, OSError, pyorc.errors.ORCError) as error:
            return f"statement {number}: {type(error).__name__}: {error}"
        return None if found in allowed else f"statement {number}: {found}"

    def _read(self, moment: Moment, leave: Callable[[Moment, Path], None]) -> Tables:
        self._number += 1
        left = self._place / f"crash_{self._number}"
        leave(moment, left)
        return read_tables(self._files, moment.metastore, self._root, left)

    def relies_on_syncs(self, number: int) -> bool:
        """Return whether something is wrong if a statement has returned and synced nothing."""
        before = self._returned[number - 1] if number else self.moments[0]
        moment = replace(self._returned[number], synced=before.synced, positions=before.positions)
        random = Random(number)
        return any(self.wrong(moment, chosen) for chosen in (None, *[random] * 12))

    def goes_on(self, spark: SparkSession, moment: Moment, random: Random) -> None:
        """Check that Spark reads the same of what is left, and that statements go on with it."""
        found = self._read(moment, partial(crash, random=random))
        session = spark.newSession()
        metastore = self._place / f"crash_{self._number}.sqlite"
        session.conf.set("spark.acidsql.metastore", str(metastore))
        lab = Lab(session)
        try:
            for name, rows in found.items():
                assert _texts(lab.rows(name)) == _texts(rows)
            if "t" in found:
                lab.insert("t", "(1000, 'new')")
                expected = sorted([*found["t"], (1000, "new")], key=repr)
                assert lab.rows("t") == expected
                acidsql.release(session)
                lab.sql("ALTER TABLE t COMPACT 'major'")
                assert lab.rows("t") == expected
        finally:
            AcidSession.of(session).close()

    def everywhere(self) -> list[str]:
        """Return what is wrong if nothing that was not synced is left, at any moment."""
        found = (self.wrong(moment, None) for moment in self.moments)
        return [wrong for wrong in found if wrong]

    def at_random(self, count: int, seed: int) -> list[str]:
        """Return what is wrong if parts of what was not synced are left, at random moments."""
        random = Random(seed)
        found = (self.wrong(random.choice(self.moments), random) for _ in range(count))
        return [wrong for wrong in found if wrong]


@pytest.fixture
def files(spark: SparkSession) -> FileSystem:
    return FileSystem(spark, synchronous=False)


@pytest.fixture
def history(
    spark: SparkSession, files: FileSystem, tmp_path: Path
) -> Iterator[Callable[..., tuple[Lab, Failures]]]:
    """Yield a function that runs statements on a disk that forgets, with a table ``t``."""
    session = spark.newSession()

    def run(statements: Sequence[str], synchronous: str = "full") -> tuple[Lab, Failures]:
        root = tmp_path / "warehouse"
        root.mkdir()
        lab = Lab(session)
        session.conf.set("spark.acidsql.metastore", str(tmp_path / "metastore" / "it.sqlite"))
        session.conf.set("spark.acidsql.synchronous", synchronous)
        loaded = tmp_path / "loaded"
        loaded.mkdir()
        rows = pa.table({"id": pa.array([77], pa.int32()), "v": ["l"]})
        pa_orc.write_table(rows, loaded / "rows.orc")
        metastore = AcidSession.of(session).metastore
        assert isinstance(metastore, EmbeddedMetastore)
        places = {"{root}": str(root), "{loaded}": str(loaded)}

        def execute(statement: str) -> None:
            acidsql.release(session)
            for name, path in places.items():
                statement = statement.replace(name, path)
            lab.sql(statement)

        recorder = Recorder(root=root)
        history = (f"CREATE TABLE t (id INT, v STRING) {_ORC % 't'}", *statements)
        with recorder.recording(metastore.database):
            for statement in history:
                execute(statement)
                recorder.statement_returned()
        place = tmp_path / "left"
        place.mkdir()
        return lab, Failures(recorder, history, files, place)

    yield run
    AcidSession.of(session).close()


@pytest.mark.slow
def test_small_statements_outlive_power_failures(
    history: Callable[..., tuple[Lab, Failures]],
) -> None:
    lab, failures = history(SMALL)
    assert [len(tables["t"]) for tables in failures.tables[1:]] == [0, 3, 3, 2, 2]
    assert failures.tables[-1] == {"t": ((2, "x"), (3, "c"))}
    assert lab.rows("t") == [(2, "x"), (3, "c")]
    assert failures.everywhere() == []
    assert failures.at_random(40, seed=1) == []


def test_without_syncs_statements_are_lost(history: Callable[..., tuple[Lab, Failures]]) -> None:
    """Check the switch, and that the disk forgets."""
    _, failures = history(SMALL[:2], synchronous="off")
    assert failures.tables[-1] == {"t": ((1, "a"), (2, "x"), (3, "c"))}
    wrong = Counter(text.partition(":")[0] for text in failures.everywhere())
    assert set(wrong) == {"statement 0", "statement 1", "statement 2"}
    assert failures.at_random(20, seed=1)


@pytest.mark.repeated
@pytest.mark.parametrize("by_jobs", [False, True], ids=["by the driver", "by jobs"])
def test_statements_outlive_power_failures(
    history: Callable[..., tuple[Lab, Failures]], monkeypatch: pytest.MonkeyPatch, by_jobs: bool
) -> None:
    if by_jobs:
        set_limits(monkeypatch, driver_rows=0, driver_events=0, compaction_events=0)
    lab, failures = history((*SMALL, *ALL))
    for name, rows in failures.tables[-1].items():
        assert _texts(lab.rows(name)) == _texts(rows)
    assert failures.everywhere() == []
    assert failures.at_random(150, seed=2) == []
    numbers = range(len(failures.statements))
    others = [failures.statements[n] for n in numbers if not failures.relies_on_syncs(n)]
    # What these change is seen only in the metastore.
    named = [statement.partition(" (")[0] for statement in others]
    assert named == ["CREATE TABLE p", "ALTER TABLE p DROP PARTITION"]
    random = Random(3)
    for moment in random.sample(failures.moments, 10):
        failures.goes_on(lab.spark, moment, random)


def test_small_statements_sync_no_more_than_they_must(
    history: Callable[..., tuple[Lab, Failures]],
) -> None:
    lab, _ = history(SMALL[:1])
    synced: list[str] = []
    with patch.object(sync, "_sync", lambda path: synced.append(path.name)):
        lab.sql("DELETE FROM t WHERE id = 1")
        deleted, synced[:] = sorted(synced), []
        lab.sql("UPDATE t SET v = 'x' WHERE id = 2")
    one = ["_orc_acid_version", "bucket_00000"]
    assert deleted == [*one, "delete_delta_0000002_0000002_0000", "t"]
    delta = "delta_0000003_0000003_0000"
    assert sorted(synced) == sorted([*one, *one, f"delete_{delta}", delta, "t"])


def test_a_statement_that_cannot_be_synced_fails(
    history: Callable[..., tuple[Lab, Failures]],
) -> None:
    lab, _ = history(SMALL[:1])
    before = lab.state("t")

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with (
        patch.object(os, "fsync", fail),
        pytest.raises(
            FormatError, match=r"could not be written .* \(Input/output error\)"
        ) as caught,
    ):
        lab.sql("UPDATE t SET v = 'x' WHERE id = 2")
    assert caught.value.condition == "SYNC_FAILED"
    assert lab.state("t") == before


def test_the_cleaner_syncs_before_aborted_transactions_are_forgotten(
    history: Callable[..., tuple[Lab, Failures]],
) -> None:
    """Check that directories of aborted transactions cannot come back as committed ones."""
    lab, _ = history(SMALL[:2])
    done: list[str] = []
    cleaned, delete = EmbeddedMetastore.compaction_cleaned, FileSystem.delete

    def note(*args: Any) -> None:
        done.append("forgotten")
        cleaned(*args)

    def note_delete(files: FileSystem, path: str) -> None:
        done.append(path.rpartition("/")[2])
        delete(files, path)

    with (
        patch.object(EmbeddedMetastore, "compaction_cleaned", note),
        patch.object(FileSystem, "delete", note_delete),
        patch.object(sync, "_sync", lambda path: done.append(f"{path.name} synced")),
    ):
        lab.compact("t", "major")
    last = max(number for number, name in enumerate(done) if name.startswith("delta_"))
    assert "t synced" in done[last : done.index("forgotten")]


def test_a_conversion_syncs_the_files_that_it_renames(
    history: Callable[..., tuple[Lab, Failures]],
) -> None:
    lab, _ = history([])
    lab.sql("CREATE TABLE plain USING orc AS SELECT 1 AS id")
    synced: list[str] = []
    with patch.object(sync, "_sync", lambda path: synced.append(path.name)):
        lab.sql("ALTER TABLE plain SET TBLPROPERTIES ('transactional'='true')")
    try:
        assert {"plain", "000000_0"} <= set(synced)
    finally:
        lab.sql("DROP TABLE plain")
