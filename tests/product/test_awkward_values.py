"""Values of partitions, and locations, that directories cannot have, or spell in another way."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

TRANSACTIONAL = "TBLPROPERTIES ('transactional'='true')"
# What a value is as SQL, and the directory of its partition; the last ones are no directory's name.
VALUES = {
    "parent": ("'../x'", "p=..%2Fx"),
    "two dots": ("'..'", "p=.."),
    "line": (r"'a\nb'", "p=a%0Ab"),
    "quotes": ("'\"`'''", "p=%22`%27"),
    "percent": ("'a%2Fb'", "p=a%252Fb"),
    "colon": ("'a:b=c'", "p=a%3Ab%3Dc"),
    "backslash": (r"'\\'", "p=%5C"),
    "hidden": ("'.a'", "p=.a"),
    "combining": ("'e\u0301\u202e\U0001f600'", "p=e\u0301\u202e\U0001f600"),
    "dotted capital": ("'\u0130'", "p=\u0130"),
    "blanks": ("' a '", "p= a "),
    "base": ("'base_0000001'", "p=base_0000001"),
    "longest": (f"'{'n' * 246}'", f"p={'n' * 246}"),
}
NO_VALUES = {
    "NUL": r"'a\0b'",
    "long": f"'{'n' * 254}'",
    "long in bytes": f"'{chr(233) * 127}'",
    "long when escaped": f"'{':' * 85}'",
}


@pytest.mark.slow
@pytest.mark.sample("parent", "quotes")
@pytest.mark.parametrize(("value", "directory"), VALUES.values(), ids=VALUES)
def test_values_that_are_spelled_in_another_way(lab: Lab, value: str, directory: str) -> None:
    t = lab.create("id INT", partitioned="p STRING")
    above = sorted(path.name for path in lab.root(t).parent.iterdir())
    lab.sql(f"INSERT INTO {t} VALUES (1, {value})")
    lab.sql(f"INSERT INTO {t} PARTITION (p = {value}) VALUES (2)")
    lab.sql(f"INSERT INTO {t} VALUES (3, 'other')")
    lab.sql(f"UPDATE {t} SET p = {value} WHERE id = 3")
    assert sorted(lab.sql(f"SELECT id FROM {t} WHERE p = {value}")) == [(1,), (2,), (3,)]
    assert [name for (name,) in lab.sql(f"SHOW PARTITIONS {t}") if "other" not in name] == [
        directory
    ]
    assert (lab.root(t) / directory).is_dir()
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (p = 'other')")
    lab.sql(f"ALTER TABLE {t} PARTITION (p = {value}) RENAME TO PARTITION (p = 'z')")
    lab.sql(f"ALTER TABLE {t} ADD PARTITION (p = {value})")
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (p = {value})")
    assert lab.directories(t) == ["p=z"]
    lab.sql(f"ALTER TABLE {t} PARTITION (p = 'z') RENAME TO PARTITION (p = {value})")
    assert lab.directories(t) == [directory]
    lab.sql(f"DELETE FROM {t} WHERE id < 3")
    assert sorted(lab.sql(f"SELECT id FROM {t} WHERE p = {value}")) == [(3,)]
    assert sorted(path.name for path in lab.root(t).parent.iterdir()) == above


@pytest.mark.slow
@pytest.mark.sample("NUL")
@pytest.mark.parametrize("value", NO_VALUES.values(), ids=NO_VALUES)
def test_values_that_no_directory_can_have(lab: Lab, value: str) -> None:
    t = lab.create("id INT", partitioned="p STRING")
    lab.insert(t, "(1, 'a')")
    before = lab.state(t)
    for text in (
        f"INSERT INTO {t} PARTITION (p = {value}) VALUES (2)",
        f"INSERT OVERWRITE {t} PARTITION (p = {value}) VALUES (2)",
        f"ALTER TABLE {t} ADD PARTITION (p = {value})",
        f"ALTER TABLE {t} PARTITION (p = 'a') RENAME TO PARTITION (p = {value})",
    ):
        assert condition(lab, text) == "INVALID_PARTITION_NAME", text
        assert lab.state(t) == before
    # Rows name it, and a job has computed them.
    of_rows = "WRITE_JOB_FAILED" if "\\0" in value else "INVALID_PARTITION_NAME"
    for text in (f"INSERT INTO {t} VALUES (2, {value})", f"UPDATE {t} SET p = {value}"):
        assert condition(lab, text) == of_rows, text
        assert lab.state(t) == before
    lab.sql(f"ALTER TABLE {t} DROP IF EXISTS PARTITION (p = {value})")
    assert lab.sql(f"SELECT count(*) FROM {t} WHERE p = {value}") == [(0,)]
    assert lab.state(t) == before


def test_a_long_value_has_a_place_that_is_named(lab: Lab, tmp_path: Path) -> None:
    """Check that its rows are read, which another engine wrote."""
    t = lab.create("id INT", partitioned="p STRING", values="(1, 'a')")
    value = f"'{'n' * 300}'"
    lab.sql(f"ALTER TABLE {t} ADD PARTITION (p = {value}) LOCATION '{tmp_path}/short'")
    shutil.copytree(lab.root(t) / "p=a", tmp_path / "short", dirs_exist_ok=True)
    query = f"SELECT id, length(p) FROM {t}"
    assert sorted(lab.sql(query)) == [(1, 1), (1, 300)]
    lab.sql(f"DELETE FROM {t} WHERE p = 'a'")
    assert condition(lab, f"INSERT INTO {t} PARTITION (p = {value}) VALUES (2)") == (
        "INVALID_PARTITION_NAME"
    )
    lab.sql(f"TRUNCATE TABLE {t} PARTITION (p = {value})")
    assert lab.sql(query) == []


@pytest.mark.repeated
@pytest.mark.parametrize("value", ["NULL", "''", "'__HIVE_DEFAULT_PARTITION__'"])
def test_values_that_are_null_in_a_directory(lab: Lab, value: str) -> None:
    t = lab.create("id INT", partitioned="p STRING")
    lab.sql(f"INSERT INTO {t} VALUES (1, {value})")
    lab.sql(f"INSERT INTO {t} PARTITION (p = {value}) VALUES (2)")
    lab.sql(f"INSERT INTO {t} VALUES (3, 'a')")
    lab.sql(f"UPDATE {t} SET p = {value} WHERE p = 'a'")
    assert lab.rows(t) == [(1, None), (2, None), (3, None)]
    assert ("p=__HIVE_DEFAULT_PARTITION__",) in lab.sql(f"SHOW PARTITIONS {t}")
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (p = {value})")
    assert lab.rows(t) == []


@pytest.mark.sample("root", "NUL", "scheme")
@pytest.mark.parametrize(
    "location",
    ["/", "", "file:/tmp/a\\0b", f"/tmp/{'n' * 256}", "nosuch://host/x", "hdfs:", "a b:c"],
    ids=["root", "empty", "NUL", "long", "scheme", "no path", "no URI"],
)
def test_locations_that_nothing_can_have(lab: Lab, location: str) -> None:
    t = lab.create("id INT", partitioned="p INT")
    before = lab.state(t), lab.sql("SHOW TABLES"), lab.sql("SHOW DATABASES")
    for text in (
        f"CREATE TABLE located (id INT) STORED AS ORC LOCATION '{location}' {TRANSACTIONAL}",
        f"CREATE DATABASE located LOCATION '{location}'",
        f"ALTER TABLE {t} ADD PARTITION (p = 1) LOCATION '{location}'",
        f"LOAD DATA INPATH '{location}' INTO TABLE {t} PARTITION (p = 1)",
    ):
        if location == "/" and not text.startswith("CREATE TABLE"):
            continue
        assert condition(lab, text) == "INVALID_LOCATION", text
    assert (lab.state(t), lab.sql("SHOW TABLES"), lab.sql("SHOW DATABASES")) == before
