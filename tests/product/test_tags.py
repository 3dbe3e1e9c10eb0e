"""Tests of tags: names of versions that cleaners keep, and only what they need."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import acidsql
from tests.product.conditions import condition
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture
def own(empty: SparkSession) -> Lab:
    """Return a lab with a metastore of its own, which nothing compacts by itself."""
    return Lab(empty)


def compacted(lab: Lab, table: str) -> None:
    """Compact a table and remove all that is not needed."""
    acidsql.release(lab.spark)
    lab.sql(f"ALTER TABLE {table} COMPACT 'major'")
    lab.sql(f"VACUUM {table} RETAIN 0 HOURS")


def test_a_tag_keeps_its_version_and_no_other(own: Lab) -> None:
    t = own.create("id INT", values="(1), (2)")
    own.sql(f"DELETE FROM {t} WHERE id = 1")
    own.sql(f"ALTER TABLE {t} CREATE TAG q3")
    own.insert(t, "(3)")
    compacted(own, t)
    own.insert(t, "(4)")
    compacted(own, t)
    assert own.sql(f"SELECT * FROM {t} VERSION AS OF 'q3'") == [(2,)]
    assert own.sql(f"SELECT * FROM {t} VERSION AS OF 2") == [(2,)]
    assert sorted(own.rows(t)) == [(2,), (3,), (4,)]
    # The base of version 3 is gone, and what the tag reads is there beside the newest base.
    assert condition(own, f"SELECT * FROM {t} VERSION AS OF 3") == "HISTORY_NOT_AVAILABLE"
    names = [name.rpartition("_v")[0] or name for name in own.directories(t)]
    assert sorted(names) == [
        "base_0000004",
        "delete_delta_0000002_0000002_0000",
        "delta_0000001_0000001_0000",
    ]
    (row,) = own.frame(f"SHOW TAGS IN {t}").collect()
    sizes = [
        file.stat().st_size
        for place in own.root(t).iterdir()
        if place.name.startswith("de")
        for file in place.iterdir()
        if not file.name.startswith(".")
    ]
    assert (row.tag, row.version, row.expires, row.heldBytes) == ("q3", 2, None, sum(sizes))
    assert row.committed <= row.created
    own.sql(f"ALTER TABLE {t} DROP TAG q3")
    acidsql.release(own.spark)
    own.sql(f"VACUUM {t} RETAIN 0 HOURS")
    assert [name[:12] for name in own.directories(t)] == ["base_0000004"]
    assert condition(own, f"SELECT * FROM {t} VERSION AS OF 'q3'") == "VERSION_NOT_FOUND"
    assert own.sql(f"SHOW TAGS IN {t}") == []


def test_a_tag_of_an_older_version(own: Lab) -> None:
    t = own.create("id INT", partitioned="p INT", values="(1, 1), (2, 2)")
    own.insert(t, "(3, 1)")
    own.sql(f"ALTER TABLE {t} CREATE TAG first AS OF VERSION 1")
    own.sql(f"INSERT OVERWRITE {t} PARTITION (p = 1) VALUES (9)")
    acidsql.release(own.spark)
    own.sql(f"VACUUM {t} RETAIN 0 HOURS")
    assert sorted(own.sql(f"SELECT * FROM {t} VERSION AS OF 'first'")) == [(1, 1), (2, 2)]
    assert sorted(own.rows(t)) == [(2, 2), (9, 1)]
    own.sql(f"CREATE TABLE copied CLONE {t} VERSION AS OF 'first'")
    assert sorted(own.rows("copied")) == [(1, 1), (2, 2)]
    own.sql(f"RESTORE TABLE {t} TO VERSION AS OF 'first'")
    assert sorted(own.rows(t)) == [(1, 1), (2, 2)]


def test_what_a_tag_cannot_name(own: Lab) -> None:
    t = own.create("id INT", values="(1)")
    own.insert(t, "(2)")
    compacted(own, t)
    alter = f"ALTER TABLE {t}"
    assert condition(own, f"{alter} CREATE TAG a AS OF VERSION 1") == "HISTORY_NOT_AVAILABLE"
    assert condition(own, f"{alter} CREATE TAG a AS OF VERSION 9") == "VERSION_NOT_FOUND"
    for name in ("`7`", "`txn 1`", "` `"):
        assert condition(own, f"{alter} CREATE TAG {name}") == "INVALID_TAG_NAME"
    assert condition(own, f"{alter} DROP TAG a") == "TAG_NOT_FOUND"
    own.sql(f"{alter} DROP TAG IF EXISTS a")
    own.sql(f"{alter} CREATE TAG a")
    assert condition(own, f"{alter} CREATE TAG a AS OF VERSION 2") == "TAG_ALREADY_EXISTS"
    assert condition(own, f"SELECT * FROM {t} VERSION AS OF 'A'") == "VERSION_NOT_FOUND"
    assert own.sql(f"SELECT * FROM {t} VERSION AS OF 'a' ORDER BY id") == [(1,), (2,)]
    own.sql(f"{alter} ADD COLUMNS (s STRING)")
    assert own.sql(f"SELECT * FROM {t} VERSION AS OF 'a' ORDER BY id") == [(1,), (2,)]


def test_a_tag_that_has_expired_keeps_nothing(own: Lab) -> None:
    t = own.create("id INT", values="(1)")
    own.insert(t, "(2)")
    own.sql(f"ALTER TABLE {t} CREATE TAG short AS OF VERSION 1 RETAIN 1 DAYS")
    (row,) = own.frame(f"SHOW TAGS IN {t}").collect()
    assert (row.expires - row.created).total_seconds() == 86_400
    own.sql(f"ALTER TABLE {t} CREATE TAG none AS OF VERSION 1 RETAIN 0 DAYS")
    own.sql(f"ALTER TABLE {t} DROP TAG short")
    compacted(own, t)
    assert condition(own, f"SELECT * FROM {t} VERSION AS OF 'none'") == "HISTORY_NOT_AVAILABLE"
    assert [name[:12] for name in own.directories(t)] == ["base_0000002"]


def test_the_initiator_requests_no_cleanup_of_what_a_tag_keeps(own: Lab) -> None:
    few = {"compactorthreshold.hive.compactor.delta.pct.threshold": "1000"}
    t = own.create("id INT", properties=few, values="(1)")
    own.sql(f"ALTER TABLE {t} CREATE TAG old")
    own.sql(f"TRUNCATE TABLE {t}")
    acidsql.release(own.spark)
    acidsql.maintenance(own.spark)
    own.insert(t, "(2)")
    before = len(own.session.metastore.compactions_of("default", t, None))
    for number in range(3):
        own.insert(t, f"({number})")
        acidsql.release(own.spark)
        acidsql.maintenance(own.spark)
    assert len(own.session.metastore.compactions_of("default", t, None)) == before
    assert own.sql(f"SELECT * FROM {t} VERSION AS OF 'old'") == [(1,)]
