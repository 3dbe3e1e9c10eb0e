"""Tests of ``spark.catalog`` of enabled sessions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark import StorageLevel
from pyspark.errors import AnalysisException
from pyspark.sql import Catalog

import acidsql
from acidsql.errors import AcidAnalysisError
from tests.product.conditions import condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'comment'='pets')"


@pytest.fixture
def on(lab: Lab) -> Iterator[Lab]:
    """Yield the shared session, enabled, with a database of its own as the current one."""
    acidsql.enable(lab.spark)
    lab.sql("CREATE DATABASE zoo")
    lab.sql("USE zoo")
    lab.sql(
        "CREATE TABLE pet (id int NOT NULL COMMENT 'key', name string) PARTITIONED BY (day date) "
        f"CLUSTERED BY (id) INTO 2 BUCKETS {ACID}"
    )
    lab.sql("CREATE VIEW cat AS SELECT id, name FROM pet")
    lab.spark.range(1).write.saveAsTable("zoo.plain")
    yield lab
    lab.spark.sql("USE default")
    lab.sql("DROP DATABASE zoo CASCADE")
    acidsql.disable(lab.spark)


def test_table_exists(on: Lab) -> None:
    catalog = on.spark.catalog
    assert isinstance(catalog, Catalog)
    for name in ("pet", "PET", "zoo.pet", "spark_catalog.zoo.`pet`", "cat", "plain", "zoo.plain"):
        assert catalog.tableExists(name), name
    assert catalog.tableExists("pet", "zoo")
    assert catalog.tableExists("plain", "zoo")
    for name in ("dog", "default.pet", "nowhere.pet"):
        assert not catalog.tableExists(name), name
    assert not catalog.tableExists("pet", "default")


def test_list_tables(on: Lab) -> None:
    catalog = on.spark.catalog
    on.spark.range(1).createOrReplaceTempView("zoo_temporary")
    rows = [(t.name, t.namespace, t.tableType, t.isTemporary) for t in catalog.listTables()]
    assert rows == [
        ("cat", ["zoo"], "VIEW", False),
        ("pet", ["zoo"], "MANAGED", False),
        ("plain", ["zoo"], "MANAGED", False),
        ("zoo_temporary", [], "TEMPORARY", True),
    ]
    on.spark.catalog.dropTempView("zoo_temporary")
    on.spark.sql("USE default")
    assert [t.name for t in catalog.listTables("zoo")] == ["cat", "pet", "plain"]
    assert [t.name for t in catalog.listTables("spark_catalog.zoo", "p*")] == ["pet", "plain"]
    assert "pet" not in [t.name for t in catalog.listTables()]
    with pytest.raises(AnalysisException):
        catalog.listTables("nowhere_at_all")


def test_get_table(on: Lab) -> None:
    catalog = on.spark.catalog
    found = catalog.getTable("pet")
    assert tuple(found) == ("pet", "spark_catalog", ["zoo"], "pets", "MANAGED", False)
    assert found.database == "zoo"
    assert catalog.getTable("zoo.cat").tableType == "VIEW"
    assert catalog.getTable("plain").name == "plain"
    on.spark.sql("SELECT 1 AS x").createOrReplaceTempView("pet")
    assert catalog.getTable("pet").isTemporary
    assert [c.name for c in catalog.listColumns("pet")] == ["x"]
    assert catalog.dropTempView("pet")
    assert not catalog.getTable("pet").isTemporary
    with pytest.raises(AnalysisException):
        catalog.getTable("dog")


def test_list_columns(on: Lab) -> None:
    catalog = on.spark.catalog
    rows = [tuple(column)[:6] for column in catalog.listColumns("pet")]
    assert rows == [
        ("id", "key", "int", False, False, True),
        ("name", None, "string", True, False, False),
        ("day", None, "date", True, True, False),
    ]
    assert catalog.listColumns("pet", "zoo") == catalog.listColumns("zoo.pet")
    assert [c.name for c in catalog.listColumns("cat")] == ["id", "name"]
    plain = catalog.listColumns("plain")
    assert [c.name for c in plain] == ["id"]
    assert plain[0]._fields == catalog.listColumns("pet")[0]._fields
    with pytest.raises(AnalysisException):
        catalog.listColumns("dog")


def test_databases(on: Lab) -> None:
    catalog = on.spark.catalog
    on.session.metastore.create_database("made_elsewhere", f"{on.session.warehouse}/made.db")
    assert catalog.databaseExists("made_elsewhere")
    assert "made_elsewhere" in [d.name for d in catalog.listDatabases("made*")]
    assert catalog.getDatabase("made_elsewhere").locationUri.endswith("/made.db")
    catalog.setCurrentDatabase("made_elsewhere")
    assert catalog.currentDatabase() == "made_elsewhere"
    assert not catalog.databaseExists("nowhere_at_all")
    with pytest.raises(AnalysisException):
        catalog.setCurrentDatabase("nowhere_at_all")
    on.sql("DROP DATABASE made_elsewhere")
    assert not catalog.databaseExists("made_elsewhere")


def test_temporary_views_over_acid_tables_are_dropped(on: Lab) -> None:
    on.spark.sql("CREATE TEMPORARY VIEW zoo_view AS SELECT * FROM pet")
    assert on.spark.catalog.tableExists("zoo_view")
    assert on.spark.catalog.dropTempView("zoo_view")
    assert not on.spark.catalog.tableExists("zoo_view")
    assert not on.spark.catalog.dropTempView("zoo_view")


def test_caching(on: Lab) -> None:
    catalog = on.spark.catalog
    assert not catalog.isCached("pet")
    catalog.cacheTable("pet", StorageLevel.MEMORY_ONLY)
    assert catalog.isCached("pet")
    catalog.uncacheTable("pet")
    assert not catalog.isCached("pet")
    catalog.refreshTable("pet")
    catalog.cacheTable("plain")
    assert catalog.isCached("plain")
    catalog.refreshTable("plain")
    catalog.uncacheTable("plain")
    assert not catalog.isCached("plain")
    for call in (catalog.refreshTable, catalog.isCached, catalog.uncacheTable):
        with pytest.raises(AnalysisException):
            call("dog")


def test_recover_partitions(on: Lab) -> None:
    on.insert("pet", "(1, 'Rex', DATE '2024-01-01')")
    on.session.metastore.drop_partitions("zoo", "pet", [("2024-01-01",)])
    assert on.rows("pet") == []
    on.spark.catalog.recoverPartitions("pet")
    assert on.rows("pet", "id, name") == [(1, "Rex")]


def test_create_table(on: Lab) -> None:
    catalog = on.spark.catalog
    made = catalog.createTable("zoo.made", source="parquet", schema=on.spark.range(1).schema)
    assert made.collect() == []
    assert on.spark.table("made").columns == ["id"]
    schema = on.spark.range(1).schema
    place = str(on.root("pet"))
    for name, options, expected in (
        ("pet", {}, "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("cat", {}, "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("dog", {"path": place}, "LOCATION_IN_USE"),
        ("dog", {"transactional": "true"}, "UNSUPPORTED_FEATURE.CREATE_TABLE"),
    ):
        with pytest.raises(AcidAnalysisError) as caught:
            catalog.createTable(name, source="orc", schema=schema, **options)
        assert caught.value.getCondition() == expected
    assert not catalog.tableExists("dog")


@pytest.mark.skipif(not hasattr(Catalog, "truncateTable"), reason="new in Spark 4.2")
class TestStatements:
    """Tests of the methods that run statements."""

    @pytest.mark.slow
    def test_tables(self, on: Lab) -> None:
        catalog = on.spark.catalog
        on.insert("pet", "(1, 'Rex', DATE '2024-01-01'), (2, 'Tom', DATE '2024-01-02')")
        names = [row.partition for row in catalog.listPartitions("pet")]
        assert names == ["day=2024-01-01", "day=2024-01-02"]
        assert catalog.getTableProperties("pet")["transactional"] == "true"
        assert "STORED AS ORC" in catalog.getCreateTableString("zoo.pet")
        catalog.analyzeTable("pet", noScan=True)
        catalog.analyzeTable("pet")
        shown = {row[0]: row[1] for row in on.sql("DESCRIBE EXTENDED pet")}
        assert shown["Statistics"].endswith(" bytes, 2 rows")
        catalog.truncateTable("pet")
        assert on.rows("pet") == []
        place = on.root("pet")
        on.spark.range(1).createOrReplaceTempView("pet")
        catalog.dropTable("pet", purge=True)
        assert not place.exists()
        assert on.spark.catalog.dropTempView("pet")
        assert not catalog.tableExists("pet")
        catalog.dropTable("pet", ifExists=True)

    def test_spark_s_tables(self, on: Lab) -> None:
        catalog = on.spark.catalog
        on.spark.sql("CREATE TABLE parts (id int, p int) USING orc PARTITIONED BY (p)")
        on.spark.sql("INSERT INTO parts VALUES (1, 1)")
        assert [row.partition for row in catalog.listPartitions("parts")] == ["p=1"]
        catalog.analyzeTable("parts")
        assert "CREATE TABLE" in catalog.getCreateTableString("parts")
        assert "transactional" not in catalog.getTableProperties("parts")
        catalog.truncateTable("parts")
        assert on.spark.table("parts").count() == 0
        catalog.dropTable("parts")
        assert not catalog.tableExists("parts")
        with pytest.raises(AnalysisException):
            catalog.dropTable("parts")

    def test_views(self, on: Lab) -> None:
        catalog = on.spark.catalog
        on.spark.sql("CREATE VIEW plain_view AS SELECT * FROM plain")
        assert [view.name for view in catalog.listViews()] == ["cat", "plain_view"]
        assert [view.name for view in catalog.listViews("zoo", "c*")] == ["cat"]
        catalog.dropView("cat")
        catalog.dropView("plain_view")
        assert catalog.listViews() == []
        with pytest.raises(AcidAnalysisError) as caught:
            catalog.dropView("pet")
        assert condition_of(caught.value) == "EXPECT_VIEW_NOT_TABLE"

    def test_databases(self, on: Lab) -> None:
        catalog = on.spark.catalog
        properties = {"comment": "it's new", "owner_team": "x"}
        catalog.createDatabase("spark_catalog.made", properties=properties)
        catalog.createDatabase("made", ifNotExists=True)
        assert on.session.has_database("made")
        assert catalog.getDatabase("made").description == "it's new"
        with pytest.raises(AcidAnalysisError) as caught:
            catalog.createDatabase("made")
        assert condition_of(caught.value) == "SCHEMA_ALREADY_EXISTS"
        on.sql("CREATE TABLE made.t (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
        with pytest.raises(AcidAnalysisError) as caught:
            catalog.dropDatabase("made")
        assert condition_of(caught.value) == "SCHEMA_NOT_EMPTY"
        catalog.dropDatabase("made", cascade=True)
        assert not on.session.has_database("made")
        assert not catalog.databaseExists("made")
        catalog.dropDatabase("made", ifExists=True)
