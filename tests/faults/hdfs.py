"""Faults of HDFS: its name node or data node is killed at any operation on files, and started
again.

A statement may wait until it is back, or fail; then its rows are whole, and the next compaction
removes what it has left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import AcidSqlError
from acidsql.format.names import OWNER_FILE
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import FileSystem, child
from tests.faults import hdfs_site
from tests.faults.campaign import Family, Fault, Options
from tests.faults.hdfs_site import NODES, Hdfs
from tests.faults.server_site import fault_session, rows

NAME = "hdfs"
_ACID = "STORED AS ORC LOCATION '{place}' TBLPROPERTIES ('transactional'='true')"
_COUNTED = (
    "list", "list_all", "read", "write", "append", "make_directory", "rename", "assemble", "delete",
    "exists",
)  # fmt: skip
# Errors that a statement may end with: acidsql's, Spark's of a task, and Hadoop's.
_CLEAR = (AcidSqlError, PySparkException, Py4JError, OSError)
STATEMENTS = {
    "INSERT": "INSERT INTO {t} VALUES (3, 'c', 1), (4, 'd', 4)",
    "UPDATE": "UPDATE {t} SET v = 'x' WHERE id = 2",
    "DELETE": "DELETE FROM {t} WHERE id = 1",
    "MERGE": "MERGE INTO {t} USING (SELECT 1 AS id, 'm' AS v UNION ALL SELECT 7, 'n') s "
    "ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
    "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v, 7)",
    "INSERT OVERWRITE": "INSERT OVERWRITE TABLE {t} PARTITION (p = 2) VALUES (9, 'i')",
    "TRUNCATE": "TRUNCATE TABLE {t}",
    "COMPACT": "ALTER TABLE {t} COMPACT 'major'",
    "DROP PARTITION": "ALTER TABLE {t} DROP PARTITION (p = 2)",
    "RENAME PARTITION": "ALTER TABLE {t} PARTITION (p = 2) RENAME TO PARTITION (p = 3)",
    "SELECT": "SELECT * FROM {t}",
}


@dataclass(slots=True, kw_only=True)
class Steps:
    """Operations on files, counted.

    Attributes:
        names: of the operations since ``arm``.
        struck: the operation before which it struck, '' as long as it has not.
    """

    names: list[str] = field(default_factory=list)
    struck: str = ""
    _number: int | None = None
    _blow: Callable[[], object] = lambda: None

    def arm(self, number: int | None = None, blow: Callable[[], object] = lambda: None) -> None:
        """Count from now on, and strike before the operation of a number."""
        self.names, self.struck, self._number, self._blow = [], "", number, blow

    def step(self, name: str) -> None:
        """Count an operation that begins."""
        self.names.append(name)
        if not self.struck and len(self.names) - 1 == self._number:
            self.struck = name
            self._blow()


@contextmanager
def counted_steps() -> Iterator[Steps]:
    """Count the operations of every file system in the block."""
    steps = Steps()
    with pytest.MonkeyPatch.context() as patch:
        for name in _COUNTED:
            patch.setattr(FileSystem, name, _counting(steps, name, getattr(FileSystem, name)))
        yield steps


def _counting(steps: Steps, name: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    def counting(files: FileSystem, path: Any, *arguments: Any, **named: Any) -> Any:
        steps.step(name)
        return operation(files, path, *arguments, **named)

    return counting


def run(options: Options) -> Iterator[Fault]:
    """Strike ``count`` times; seeds in a row go through statements, nodes and operations."""
    with ExitStack() as stack:
        spark = stack.enter_context(fault_session(options.home))
        hdfs = stack.enter_context(hdfs_site.running(options.home / "hdfs"))
        conf = spark.sparkContext._jsc.hadoopConfiguration()
        conf.set("dfs.replication", "1")
        conf.set("dfs.client.block.write.replace-datanode-on-failure.enable", "false")
        steps = stack.enter_context(counted_steps())
        session = spark.newSession()
        session.conf.set("spark.acidsql.metastore", str(options.home / "metastore.sqlite"))
        stack.callback(lambda: AcidSession.of(session).close())
        files = AcidSession.of(session).files
        hdfs.wait(lambda path: files.write(path, b"x"))
        known: dict[str, tuple[list[str], list[tuple[object, ...]]]] = {}
        for seed in range(options.seed, options.seed + options.count):
            turn, number = divmod(seed, len(STATEMENTS))
            name = list(STATEMENTS)[number]
            if name not in known:
                known[name] = _learn(session, hdfs, steps, name, len(known))
            yield _strike(session, hdfs, steps, name, known[name], turn, seed)


def _learn(
    session: SparkSession, hdfs: Hdfs, steps: Steps, name: str, number: int
) -> tuple[list[str], list[tuple[object, ...]]]:
    """Run a statement without a fault; return its operations and the rows after it."""
    table = f"learned{number}"
    _make(session, hdfs, table)
    steps.arm()
    rows(session, STATEMENTS[name].format(t=table))
    names = list(steps.names)
    return names, rows(session, f"SELECT * FROM {table}")


def _make(session: SparkSession, hdfs: Hdfs, table: str) -> None:
    acid = _ACID.format(place=f"{hdfs.uri}/{table}")
    rows(session, f"CREATE TABLE {table} (id INT, v STRING) PARTITIONED BY (p INT) {acid}")
    rows(session, f"INSERT INTO {table} VALUES (1, 'a', 1), (2, 'b', 2)")
    rows(session, f"INSERT INTO {table} VALUES (5, 'e', 1)")
    acidsql.release(session)


def _strike(
    session: SparkSession,
    hdfs: Hdfs,
    steps: Steps,
    name: str,
    lesson: tuple[list[str], list[tuple[object, ...]]],
    turn: int,
    seed: int,
) -> Fault:
    table = f"struck{seed}"
    _make(session, hdfs, table)
    before = rows(session, f"SELECT * FROM {table}")
    operations, after = lesson
    turn, node_number = divmod(turn, len(NODES))
    node = NODES[node_number]
    restart = threading.Timer(1.0, hdfs.start, [node])

    def blow() -> None:
        hdfs.kill(node)
        restart.start()

    steps.arm(turn % len(operations), blow)
    error: Exception | None = None
    try:
        rows(session, STATEMENTS[name].format(t=table))
    except Exception as raised:  # noqa: BLE001 - which one it may be is judged below
        error = raised
    struck = steps.struck
    steps.arm()
    if struck:
        restart.join()
    files = AcidSession.of(session).files
    hdfs.wait(lambda path: files.write(path, b"x"))
    violation = _judge(session, hdfs, table, before, after, error)
    return Fault(
        family=NAME,
        step=f"{node} before {struck}" if struck else "none",
        statement=name,
        seed=seed,
        struck=bool(struck),
        violation=violation,
    )


def _judge(
    session: SparkSession,
    hdfs: Hdfs,
    table: str,
    before: list[tuple[object, ...]],
    after: list[tuple[object, ...]],
    error: Exception | None,
) -> str | None:
    """Return what is wrong after a fault, None if nothing is."""
    if error is not None and not isinstance(error, _CLEAR):
        return f"not a clear error: {error!r}"
    try:
        found = rows(session, f"SELECT * FROM {table}")
        if found != (after if error is None else before):
            return f"after {error!r} the rows are {found}, before {before}, wanted {after}"
        rows(session, f"INSERT INTO {table} VALUES (8, 'h', 1)")
        acidsql.release(session)
        for partition in rows(session, f"SHOW PARTITIONS {table}"):
            where = str(partition[0]).replace("p=", "p = ")
            rows(session, f"ALTER TABLE {table} PARTITION ({where}) COMPACT 'major' AND WAIT")
        if rows(session, f"SELECT * FROM {table}") != sorted([*found, (8, "h", 1)], key=str):
            return f"after {error!r} and a compaction the rows are not {found} and the new one"
        left = _left(session, f"{hdfs.uri}/{table}")
        if left:
            return f"after {error!r} and a compaction there is {left}"
        rows(session, f"DROP TABLE {table}")
    except _CLEAR as problem:
        return f"after {error!r} the next statements fail: {problem!r}"
    return None


def _left(session: SparkSession, place: str) -> list[str]:
    """Return what is in a compacted table beside partitions with one base or delta each, and the
    file that says whose table it is.
    """
    files = AcidSession.of(session).files
    found = []
    for name in files.names(place):
        if name == OWNER_FILE:
            continue
        inside = files.names(child(place, name)) if "=" in name else ("",)
        if "=" not in name or len(inside) > 1:
            found.append(f"{name}: {inside}")
    return found


FAMILY = Family(
    name=NAME,
    summary="the name node or the data node of an HDFS is killed at any operation on files",
    run=run,
    needed={},
    is_local=False,
)
