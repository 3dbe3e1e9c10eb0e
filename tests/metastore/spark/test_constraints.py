"""Constraints that a Hive Metastore keeps beside the table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acidsql.errors import AcidAnalysisError, WriteJobError
from tests.metastore.server.launcher import VERSIONS
from tests.metastore.spark.conftest import Client

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def _shown(client: Client, table: str) -> list[tuple[object, ...]]:
    rows = [tuple(row) for row in client.sql(f"DESCRIBE EXTENDED {table}")]
    words = ("CHECK", "PRIMARY", "UNIQUE", "FOREIGN")
    return [(name, text) for name, text, _ in rows if str(text).startswith(words)]


@pytest.mark.sample("4.1.0", "3.1.3")
@pytest.mark.parametrize("version", VERSIONS)
def test_constraints_through_the_life_of_a_table(
    client: Callable[[str], Client], version: str
) -> None:
    ann = client(version)
    ann.sql(f"CREATE TABLE other (id INT, CONSTRAINT other_pk PRIMARY KEY (id)) {ACID}")
    ann.sql(
        "CREATE TABLE t (Id INT NOT NULL, v INT, p STRING, CONSTRAINT positive CHECK (v > 0), "
        "CONSTRAINT t_key PRIMARY KEY (p, Id) DISABLE NOVALIDATE RELY, "
        "CONSTRAINT t_unique UNIQUE (v), "
        f"CONSTRAINT t_other FOREIGN KEY (Id) REFERENCES other (id)) PARTITIONED BY (p) {ACID}"
    )
    keys = [
        ("positive", "CHECK (v > 0)"),
        ("t_key", "PRIMARY KEY (`p`, `Id`) DISABLE NOVALIDATE RELY"),
        (
            "t_other",
            f"FOREIGN KEY (`Id`) REFERENCES `{ann.spark.catalog.currentDatabase()}`.`other` (`id`) "
            "DISABLE NOVALIDATE",
        ),
        ("t_unique", "UNIQUE (`v`) DISABLE NOVALIDATE"),
    ]
    assert _shown(client(version), "t") == keys
    ann.sql("INSERT INTO t VALUES (1, 5, 'a'), (2, NULL, 'b')")
    with pytest.raises(WriteJobError) as violation:
        ann.sql("UPDATE t SET v = v - 5 WHERE Id = 1")
    assert violation.value.getCondition() == "CHECK_CONSTRAINT_VIOLATION"
    assert violation.value.getMessageParameters() == {
        "constraintName": "positive",
        "expression": "v > 0",
        "values": " - v : 0",
    }
    with pytest.raises(AcidAnalysisError) as new:
        ann.sql("ALTER TABLE t ADD CONSTRAINT large CHECK (v > 5)")
    assert new.value.getCondition() == "NEW_CHECK_CONSTRAINT_VIOLATION"
    ann.sql("ALTER TABLE t ADD CONSTRAINT small CHECK (v < 100)")
    ann.sql("ALTER TABLE t RENAME COLUMN Id TO Nr")
    ann.sql("ALTER TABLE t DROP CONSTRAINT positive")
    ann.sql("ALTER TABLE t ADD UNIQUE (Nr)")
    changed = _shown(client(version), "t")
    assert [text for _, text in changed if "`Nr`" in str(text)] == [
        text for _, text in changed if "`p`" in str(text) or "`Nr`" in str(text)
    ]
    assert ("small", "CHECK (v < 100)") in changed
    assert "positive" not in [name for name, _ in changed]
    assert len(changed) == 5
    ann.sql("INSERT INTO t VALUES (3, -1, 'c')")
    ann.sql("ALTER TABLE t RENAME TO t2")
    bob = client(version)
    with pytest.raises(WriteJobError, match="CHECK_CONSTRAINT_VIOLATION"):
        bob.sql("INSERT INTO t2 VALUES (4, 100, 'c')")
    assert bob.sql("SELECT * FROM t2") == [(1, 5, "a"), (2, None, "b"), (3, -1, "c")]
    with pytest.raises(AcidAnalysisError, match="COLUMN_USED_BY_CONSTRAINT"):
        bob.sql("ALTER TABLE t2 RENAME COLUMN v TO w")
    bob.sql("CREATE TABLE t3 CLONE t2")
    bob.sql("CREATE TABLE t4 LIKE t2")
    assert _shown(bob, "t4") == []
    copied = {text for _, text in _shown(bob, "t3")}
    assert copied == {text for _, text in _shown(bob, "t2")}
    with pytest.raises(AcidAnalysisError, match="INVALID_OBJECT"):
        bob.sql("ALTER TABLE t4 ADD CONSTRAINT t_other FOREIGN KEY (Nr) REFERENCES other (id)")
    with pytest.raises(AcidAnalysisError, match="CONSTRAINT_ALREADY_EXISTS"):
        bob.sql(
            "CREATE TABLE t5 (id INT, CONSTRAINT t_other FOREIGN KEY (id) REFERENCES other (id)) "
            + ACID
        )
