"""Temporary tables of sessions whose metastore is a server of Hive."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.metastore.server.launcher import VERSIONS
from tests.metastore.spark.conftest import Client

pytestmark = [pytest.mark.metastore, pytest.mark.spark]


@pytest.mark.sample("4.1.0", "3.1.3")
@pytest.mark.parametrize("version", VERSIONS)
def test_only_their_session_sees_them(client: Callable[[str], Client], version: str) -> None:
    ann, bob = client(version), client(version)
    ann.sql("CREATE TABLE t (id INT, v INT) USING acidsql")
    ann.sql("INSERT INTO t VALUES (1, 10), (2, 20)")
    ann.sql("CREATE TEMPORARY TABLE t AS SELECT id, v + 1 AS v FROM t")
    database = ann.spark.catalog.currentDatabase()
    ann.sql("DELETE FROM t WHERE id = 2")
    ann.sql("ALTER TABLE t ADD COLUMNS (w STRING)")
    ann.sql("INSERT INTO t VALUES (3, 30, 'w')")
    assert ann.sql("SELECT * FROM t") == [(1, 11, None), (3, 30, "w")]
    ann.sql(
        f"MERGE INTO {database}.t AS a USING t AS b ON a.id = b.id "
        "WHEN MATCHED THEN UPDATE SET v = b.v WHEN NOT MATCHED THEN INSERT VALUES (b.id, b.v)"
    )
    assert bob.sql("SELECT * FROM t") == [(1, 11), (2, 20), (3, 30)]
    assert bob.sql("SHOW TABLES") == [(database, "t", False)]
    hidden = set(bob.session.metastore.tables(database)) - {"t"}
    assert {name[:18] for name in hidden} == {"acidsql_temporary_"}
    assert len(hidden) == 1
    ann.sql("CREATE OR REPLACE TEMPORARY TABLE t PARTITIONED BY (p) AS SELECT 1 AS a, 2 AS p")
    assert ann.sql("SELECT * FROM t") == [(1, 2)]
    ann.close()
    assert list(bob.session.metastore.tables(database)) == ["t"]
