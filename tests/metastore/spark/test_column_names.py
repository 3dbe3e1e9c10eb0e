"""Tests of the case of names of columns in a real Hive Metastore."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql.types import StructType

import acidsql
from acidsql.metastore.hive import alterations, catalog
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.store import HiveMetastore
from tests.metastore.server.launcher import VERSIONS
from tests.metastore.spark.conftest import Client

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
SCHEMA = "spark.sql.sources.schema"


def columns(client: Client, table: str) -> list[str]:
    return list(acidsql.sql(client.spark, f"SELECT * FROM {table}").columns)


def seen_by_hive(client: Client, table: str) -> Any:
    """Return the server's table, as Hive gets it."""
    metastore = client.session.metastore
    assert isinstance(metastore, HiveMetastore)
    found = catalog.fetch_any(metastore.server, str(client.spark.catalog.currentDatabase()), table)
    assert found is not None
    return found


def alter_as_hive(client: Client, table: str, change: Callable[[Any], None]) -> None:
    """Change a table's definition as Hive does, which leaves properties that it does not know."""
    metastore = client.session.metastore
    assert isinstance(metastore, HiveMetastore)
    existing = seen_by_hive(client, table)
    altered = copy.deepcopy(existing)
    change(altered)
    alterations.send_altered(metastore.server, existing, altered)


@pytest.mark.sample("4.1.0", "4.0.1")
@pytest.mark.parametrize("version", VERSIONS)
def test_hive_sees_lower_case_and_spark_what_was_written(
    client: Callable[[str], Client], version: str
) -> None:
    ann = client(version)
    ann.sql(
        "CREATE TABLE t (Name STRING NOT NULL, `Culmen Length (mm)` DOUBLE DEFAULT 0.5, `İd` INT, "
        "Box STRUCT<Width: INT>) PARTITIONED BY (Day STRING) "
        f"CLUSTERED BY (NAME) INTO 2 BUCKETS {ACID}"
    )
    ann.sql("INSERT INTO t (name, `İd`, DAY) VALUES ('a', 1, 'x')")
    ann.sql("UPDATE t SET NAME = 'b' WHERE `İd` = 1 AND day = 'x'")
    names = ["Name", "Culmen Length (mm)", "İd", "Box", "Day"]
    assert columns(ann, "t") == columns(client(version), "t") == names
    assert ann.sql("SELECT * FROM t") == [("b", 0.5, 1, None, "x")]
    found = seen_by_hive(ann, "t")
    fields = ["name", "culmen length (mm)", "i̇d", "box"]
    assert [field.name for field in found.sd.cols] == fields
    assert ([f.name for f in found.partitionKeys], found.sd.bucketCols) == (["day"], ["name"])
    assert ann.sql("SHOW PARTITIONS t") == [("day=x",)]
    schema = StructType.fromJson(json.loads(found.parameters[SCHEMA]))
    assert (schema.names, schema["Box"].dataType.names) == (names, ["Width"])
    assert found.parameters[f"{SCHEMA}.partCol.0"] == "Day"
    assert not [row for row in ann.sql("SHOW TBLPROPERTIES t") if str(row[0]).startswith("spark.")]
    ann.sql("ANALYZE TABLE t COMPUTE STATISTICS FOR COLUMNS NAME")
    ann.sql("ALTER TABLE t RENAME COLUMN name TO `Full Name`")
    ann.sql("ALTER TABLE t RENAME COLUMN box TO BOX")
    assert columns(ann, "t") == ["Full Name", "Culmen Length (mm)", "İd", "BOX", "Day"]
    assert seen_by_hive(ann, "t").sd.bucketCols == ["full name"]
    for old, new in (("Full Name", "a"), ("Culmen Length (mm)", "b"), ("İd", "c"), ("BOX", "d")):
        ann.sql(f"ALTER TABLE t RENAME COLUMN `{old}` TO {new}")
    assert columns(ann, "t") == ["a", "b", "c", "d", "Day"]
    ann.sql("DROP TABLE t")


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", VERSIONS)
def test_columns_that_hive_changed_have_hive_s_names(
    client: Callable[[str], Client], version: str
) -> None:
    ann = client(version)
    ann.sql(f"CREATE TABLE t (Name STRING, Weight INT) {ACID}")
    ann.sql("INSERT INTO t VALUES ('a', 1)")

    def change(table: Any) -> None:
        table.sd.cols[1].name = "mass"
        table.sd.cols.append(hms.FieldSchema(name="extra", type="int"))

    alter_as_hive(ann, "t", change)
    assert columns(ann, "t") == ["Name", "mass", "extra"]
    assert ann.sql("SELECT NAME, mass, extra FROM t") == [("a", 1, None)]
    ann.sql("ALTER TABLE t ADD COLUMNS (More INT)")
    assert columns(ann, "t") == ["Name", "mass", "extra", "More"]
    # A table from before, or of another program, has no property.
    alter_as_hive(ann, "t", lambda table: table.parameters.pop(SCHEMA))
    assert columns(ann, "t") == ["name", "mass", "extra", "more"]


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", VERSIONS)
def test_views_have_the_names_that_were_written(
    client: Callable[[str], Client], version: str
) -> None:
    ann = client(version)
    ann.sql(f"CREATE TABLE t (Id INT) {ACID}")
    ann.sql("CREATE VIEW v (`The Key` COMMENT 'k') AS SELECT id FROM t")
    assert columns(ann, "v") == ["The Key"]
    assert [field.name for field in seen_by_hive(ann, "v").sd.cols] == ["the key"]
