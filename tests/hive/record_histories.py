"""Records golden histories: ``python -m tests.hive.record_histories [name …]``.

A real Hive runs the statements of each history; after each of them its rows and the write ids that
it sees are noted. Nothing is cleaned, so that the directories of every version are kept.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.golden.histories import HISTORIES
from tests.hive.agreement import OPPOSITE_MODES
from tests.hive.hive import Hive, running

_ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
# Of a compaction: COMPACT, its kind, and perhaps its partition.
_COMPACT = "COMPACT"

STEPS: Mapping[str, Sequence[str]] = {
    "flat": (
        f"CREATE TABLE t (id INT, v STRING) {_ACID}",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, NULL), (4, 'd')",
        "UPDATE t SET v = 'B' WHERE id = 2",
        "DELETE FROM t WHERE id = 3",
        "COMPACT minor",
        "INSERT INTO t VALUES (5, 'e')",
        "UPDATE t SET v = concat(v, '+') WHERE id > 1",
        "COMPACT major",
        "DELETE FROM t WHERE id = 1",
        "INSERT OVERWRITE TABLE t SELECT id + 10, v FROM t WHERE id > 2",
        "INSERT INTO t VALUES (6, 'f')",
        "DELETE FROM t WHERE id IN (6, 14)",
        "TRUNCATE TABLE t",
        "INSERT INTO t VALUES (7, 'g')",
    ),
    "partitioned": (
        f"CREATE TABLE t (id INT, v STRING) PARTITIONED BY (p INT) {_ACID}",
        "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)",
        "INSERT INTO t VALUES (4, 'd', 3), (5, 'e', 1)",
        "UPDATE t SET v = 'u' WHERE id IN (2, 3)",
        "COMPACT minor p=1",
        "DELETE FROM t WHERE id = 1",
        "INSERT OVERWRITE TABLE t PARTITION (p=2) SELECT 6, 'o'",
        "COMPACT major p=1",
        "MERGE INTO t USING (SELECT 5 AS k UNION ALL SELECT 6 AS k UNION ALL SELECT 7 AS k) s"
        " ON t.id = s.k WHEN MATCHED AND s.k = 5 THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'n', 3)",
        "DELETE FROM t WHERE p = 3 AND id = 4",
    ),
    "bucketed": (
        f"CREATE TABLE t (id INT, v STRING) CLUSTERED BY (id) INTO 2 BUCKETS {_ACID}",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
        "UPDATE t SET v = 'x' WHERE id IN (1, 2)",
        "INSERT INTO t VALUES (5, 'e')",
        "COMPACT major",
        "DELETE FROM t WHERE id = 4",
        "UPDATE t SET v = 'y' WHERE id >= 3",
        "COMPACT minor",
        "DELETE FROM t WHERE id = 1",
    ),
    "merged": (
        f"CREATE TABLE t (id INT, v STRING, n DECIMAL(5,2)) {_ACID}",
        "INSERT INTO t VALUES (1, 'a', 1.5), (2, 'b', NULL), (3, 'c', -3)",
        "MERGE INTO t USING (SELECT 2 AS k UNION ALL SELECT 4 AS k) s ON t.id = s.k"
        " WHEN MATCHED THEN UPDATE SET v = 'm', n = 2 WHEN NOT MATCHED THEN INSERT"
        " VALUES (s.k, 'n', 4.25)",
        "UPDATE t SET n = n + 1 WHERE id <> 3",
        "MERGE INTO t USING (SELECT 1 AS k UNION ALL SELECT 3 AS k) s ON t.id = s.k"
        " WHEN MATCHED AND s.k = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET v = upper(v)",
        "COMPACT minor",
        "UPDATE t SET v = NULL WHERE id = 4",
        "COMPACT minor",
        "DELETE FROM t WHERE v IS NULL",
    ),
    "moved": (
        f"CREATE TABLE t (id INT) PARTITIONED BY (day DATE, place STRING) {_ACID}",
        "INSERT INTO t VALUES (1, DATE'2024-02-29', 'a b'), (2, DATE'2024-02-29', 'x=y/z'),"
        " (3, NULL, 'a b')",
        "UPDATE t SET id = id + 10 WHERE id > 1",
        "DELETE FROM t WHERE place = 'a b'",
        "INSERT INTO t VALUES (4, DATE'2024-02-29', 'x=y/z'), (5, NULL, 'a b')",
        "COMPACT minor day='2024-02-29',place='x=y/z'",
        "UPDATE t SET id = 0 WHERE place = 'x=y/z'",
        "DELETE FROM t WHERE id = 5",
    ),
    "converted": (
        "CREATE TABLE t (id INT, v STRING) STORED AS ORC",
        "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
        "INSERT INTO t VALUES (3, 'c')",
        "ALTER TABLE t SET TBLPROPERTIES ('transactional'='true')",
        "UPDATE t SET v = 'u' WHERE id IN (1, 3)",
        "DELETE FROM t WHERE id = 2",
        "COMPACT minor",
        "INSERT INTO t VALUES (4, 'd')",
        "DELETE FROM t WHERE id = 1",
    ),
}


def main(names: Sequence[str]) -> None:
    """Record the histories of some names, all by default."""
    for name in names or STEPS:
        with (
            tempfile.TemporaryDirectory(prefix="golden_") as home,
            running(Path(home) / "hive") as hive,
        ):
            _record(hive, name)


def _record(hive: Hive, name: str) -> None:
    lines = list(_played(hive, STEPS[name]))
    place = HISTORIES / name
    shutil.rmtree(place, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.crc")
    shutil.copytree(hive.warehouse / "t", place / "data", ignore=ignored)
    (place / "steps.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    table = hive.call("table", "default", "t")
    del table["location"]
    described = {
        "hive": "4.1.0",
        **table,
        "valid_write_ids": hive.call("valid_write_ids", "default.t"),
        "valid_txns": hive.call("valid_txns"),
    }
    (place / "meta.json").write_text(_without_paths(described, f"{hive.warehouse}/t/"))


def _played(hive: Hive, statements: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Run the statements, and yield what Hive sees after each that is one of an ACID table."""
    for statement in statements:
        if statement.startswith(_COMPACT):
            _, kind, *partition = statement.split()
            hive.compact("t", kind, *partition, clean=False)
        else:
            hive.run(statement)
        if not _is_transactional(hive):
            continue
        seen = hive.call("valid_write_ids", "default.t")
        yield {
            "statement": statement,
            "write_id": int(seen.split(":")[1]),
            "rows": _rows(hive),
        }


def _is_transactional(hive: Hive) -> bool:
    described = hive.call("table", "default", "t")
    return bool(described["parameters"].get("transactional") == "true")


def _rows(hive: Hive) -> list[dict[str, Any]]:
    """Return the rows with their row ids; two opposite ways of reading must agree."""
    answers = []
    for mode in OPPOSITE_MODES:
        for setting in mode:
            hive.run(setting)
        found = [
            (list(map(int, row[0])), list(row[1:])) for row in hive.run("SELECT row__id, * FROM t")
        ]
        answers.append(sorted(found, key=repr))
    if answers[0] != answers[1]:
        raise AssertionError(f"Hive disagrees with itself: {answers}")
    return [{"row__id": row_id, "row": row} for row_id, row in answers[0]]


def _without_paths(described: Mapping[str, Any], root: str) -> str:
    """Return a description as JSON, with the places of partitions relative to the table's."""
    text = json.dumps(described, indent=1)
    return text.replace(f"file:{root}", "").replace(root, "") + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
