"""Statements of every kind for the faults of a metastore server, with the tables that they need."""

from __future__ import annotations

from dataclasses import dataclass

_ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
_PLAIN = (
    f"CREATE TABLE t (id INT NOT NULL, v STRING DEFAULT 'none') {_ACID}",
    "INSERT INTO t VALUES (1, 'a'), (2, 'b')",
)
_PARTITIONED = (
    f"CREATE TABLE p (id INT, v STRING) PARTITIONED BY (y INT) {_ACID}",
    "INSERT INTO p VALUES (1, 'a', 1), (2, 'b', 2)",
)
_STAGE = (
    f"CREATE TABLE source (id INT, v STRING) {_ACID}",
    "INSERT INTO source VALUES (7, 'g'), (8, 'h')",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """Kind of statement.

    Attributes:
        setup: statements that make its tables.
        statement: the statement; ``{files}`` is a directory with a file to load.
        again: what a user says next, if the statement was without effect; by default the same.
        follow: statement that must work in the state after it.
        stands: whether its change of the catalog stands if the transaction does not commit after
            it: a server knows no step that is both.
        changes_partitions: whether its partitions show whether it has happened.
        half: table that is visible while it is filled, and that a killed client leaves empty.
        half_is_ended_by: statement that ends it.
    """

    statement: str
    setup: tuple[str, ...] = ()
    again: str = ""
    follow: str = "SHOW TABLES"
    stands: bool = False
    changes_partitions: bool = False
    half: str = ""
    half_is_ended_by: str = ""


KINDS = {
    "CREATE TABLE": Kind(
        statement=f"CREATE TABLE c (id INT NOT NULL, v STRING DEFAULT 'x') {_ACID}",
        again=f"CREATE TABLE IF NOT EXISTS c (id INT NOT NULL, v STRING DEFAULT 'x') {_ACID}",
        follow="INSERT INTO c (id) VALUES (5)",
        stands=True,
    ),
    "CREATE TABLE AS SELECT": Kind(
        setup=_STAGE,
        statement=f"CREATE TABLE c {_ACID} AS SELECT * FROM source",
        follow="DELETE FROM c WHERE id = 7",
        half="c",
        half_is_ended_by="DROP TABLE c",
    ),
    "INSERT": Kind(
        setup=_PLAIN,
        statement="INSERT INTO t VALUES (3, 'c'), (4, 'd')",
        follow="UPDATE t SET v = 'z' WHERE id = 1",
    ),
    "INSERT partition": Kind(
        setup=_PARTITIONED,
        statement="INSERT INTO p PARTITION (y = 1) VALUES (3, 'c')",
        follow="DELETE FROM p WHERE id = 1",
    ),
    "INSERT partitions": Kind(
        setup=_PARTITIONED,
        statement="INSERT INTO p VALUES (3, 'c', 1), (4, 'd', 4)",
        follow="DELETE FROM p WHERE y = 4",
    ),
    "UPDATE": Kind(
        setup=_PLAIN,
        statement="UPDATE t SET v = 'x' WHERE id = 2",
        follow="DELETE FROM t WHERE id = 2",
    ),
    "DELETE": Kind(
        setup=_PARTITIONED,
        statement="DELETE FROM p WHERE id = 2",
        follow="INSERT INTO p VALUES (2, 'b', 2)",
    ),
    "MERGE": Kind(
        setup=(*_PARTITIONED, *_STAGE),
        statement="MERGE INTO p USING (SELECT * FROM source UNION ALL SELECT 1, 'm') s "
        "ON p.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.id, s.v, 7)",
        follow="DELETE FROM p WHERE y = 7",
    ),
    "INSERT OVERWRITE": Kind(
        setup=_PLAIN,
        statement="INSERT OVERWRITE TABLE t VALUES (9, 'i')",
        follow="INSERT INTO t VALUES (1, 'a')",
    ),
    "TRUNCATE": Kind(
        setup=_PARTITIONED, statement="TRUNCATE TABLE p", follow="INSERT INTO p VALUES (1, 'a', 1)"
    ),
    "LOAD DATA": Kind(
        setup=_PLAIN,
        statement="LOAD DATA INPATH '{files}' INTO TABLE t",
        follow="DELETE FROM t WHERE id = 1",
    ),
    "ADD COLUMNS": Kind(
        setup=_PLAIN,
        statement="ALTER TABLE t ADD COLUMNS (extra DOUBLE)",
        follow="INSERT INTO t (id) VALUES (3)",
        stands=True,
    ),
    "SET TBLPROPERTIES": Kind(
        setup=_PLAIN,
        statement="ALTER TABLE t SET TBLPROPERTIES ('mine'='1')",
        follow="ALTER TABLE t UNSET TBLPROPERTIES ('mine')",
        stands=True,
    ),
    "RENAME": Kind(
        setup=_PLAIN,
        statement="ALTER TABLE t RENAME TO u",
        follow="INSERT INTO u VALUES (3, 'c')",
        stands=True,
    ),
    "ADD PARTITION": Kind(
        setup=_PARTITIONED,
        statement="ALTER TABLE p ADD PARTITION (y = 5)",
        again="ALTER TABLE p ADD IF NOT EXISTS PARTITION (y = 5)",
        follow="INSERT INTO p VALUES (5, 'e', 5)",
        stands=True,
        changes_partitions=True,
    ),
    "DROP PARTITION": Kind(
        setup=_PARTITIONED,
        statement="ALTER TABLE p DROP PARTITION (y = 2)",
        again="ALTER TABLE p DROP IF EXISTS PARTITION (y = 2)",
        follow="INSERT INTO p VALUES (5, 'e', 2)",
        stands=True,
        changes_partitions=True,
    ),
    "RENAME PARTITION": Kind(
        setup=_PARTITIONED,
        statement="ALTER TABLE p PARTITION (y = 2) RENAME TO PARTITION (y = 3)",
        follow="INSERT INTO p VALUES (5, 'e', 2)",
        stands=True,
        changes_partitions=True,
    ),
    "DROP TABLE": Kind(
        setup=_PLAIN,
        statement="DROP TABLE t",
        again="DROP TABLE IF EXISTS t",
        follow=f"CREATE TABLE t (id INT) {_ACID}",
        stands=True,
    ),
    "COMPACT": Kind(
        setup=(*_PLAIN, "INSERT INTO t VALUES (3, 'c')"),
        statement="ALTER TABLE t COMPACT 'major'",
        follow="ALTER TABLE t COMPACT 'major'",
    ),
    "SELECT": Kind(setup=_PARTITIONED, statement="SELECT * FROM p WHERE y = 2"),
}
