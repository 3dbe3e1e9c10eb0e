"""DESCRIBE EXTENDED … AS JSON, beside what Spark says of an equal plain table."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.errors import AcidAnalysisError

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

_COLUMNS = (
    "id INT COMMENT 'number', m MAP<STRING, DECIMAL(9,2)>, s STRUCT<a: ARRAY<INT>, b: TIMESTAMP>, "
    "d DATE DEFAULT DATE'2024-01-01', x DOUBLE, y TINYINT, z BINARY"
)
# What Spark and acidsql do not have in common.
_OWN = {"table_name", "location", "created_time", "created_by", "owner", "provider", "collation"}


def _said(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    ((text,),) = rows
    found: dict[str, Any] = json.loads(text)
    return found


def test_it_says_what_spark_says_of_a_plain_table(lab: Lab) -> None:
    t = lab.create(_COLUMNS, partitioned="p STRING", properties={"k": "v"})
    lab.sql(f"COMMENT ON TABLE {t} IS 'c'")
    own = _said(lab.sql(f"DESCRIBE EXTENDED {t} AS JSON"))
    assert own["table_properties"]["transactional"] == "true"
    assert (own["table_name"], own["provider"]) == (t, "acidsql")
    assert own["location"] == str(lab.session.metastore.table("default", t).location)
    if lab.spark.version < "4.3":
        return
    lab.spark.sql(
        f"CREATE TABLE {t}_plain ({_COLUMNS}, p STRING) USING parquet PARTITIONED BY (p) "
        "COMMENT 'c' TBLPROPERTIES ('k'='v')"
    )
    try:
        described = lab.spark.sql(f"DESCRIBE EXTENDED {t}_plain AS JSON").collect()
        plain = _said([tuple(row) for row in described])
    finally:
        lab.spark.sql(f"DROP TABLE {t}_plain")
    own["table_properties"] = {"k": own["table_properties"]["k"]}
    assert {k: v for k, v in own.items() if k not in _OWN} == {
        k: v for k, v in plain.items() if k not in _OWN
    }


def test_types_with_a_length_buckets_and_not_null(lab: Lab) -> None:
    t = lab.create(
        "id INT NOT NULL, c CHAR(3), v VARCHAR(5)",
        clustered="(id) INTO 2 BUCKETS",
        values="(1, 'a', 'b')",
    )
    said = _said(lab.sql(f"DESC FORMATTED {t} AS JSON"))
    assert said["columns"] == [
        {"name": "id", "type": {"name": "int"}, "nullable": False},
        {"name": "c", "type": {"name": "char", "length": 3}, "nullable": True},
        {"name": "v", "type": {"name": "varchar", "length": 5}, "nullable": True},
    ]
    assert (said["num_buckets"], said["bucket_columns"]) == (2, ["id"])


def test_partitions_and_views(lab: Lab) -> None:
    t = lab.create("id INT", partitioned="p STRING", values="(1, 'a b')")
    said = _said(lab.sql(f"DESCRIBE EXTENDED {t} PARTITION (p = 'a b') AS JSON"))
    assert said["partition_values"] == {"p": "a b"}
    assert said["location"].endswith("/p=a b")
    lab.sql(f"CREATE VIEW v_{t} AS SELECT id AS n FROM {t}")
    try:
        said = _said(lab.sql(f"DESCRIBE EXTENDED v_{t} AS JSON"))
        assert said["columns"] == [{"name": "n", "type": {"name": "int"}, "nullable": True}]
        assert (said["type"], said["view_text"]) == ("VIEW", f"SELECT id AS n FROM {t}")
    finally:
        lab.sql(f"DROP VIEW v_{t}")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("DESCRIBE {t} AS JSON", "DESCRIBE_JSON_NOT_EXTENDED"),
        ("DESCRIBE EXTENDED {t} id AS JSON", "UNSUPPORTED_FEATURE.DESC_TABLE_COLUMN_JSON"),
    ],
)
def test_what_is_refused_as_by_spark(lab: Lab, text: str, condition: str) -> None:
    t = lab.create("id INT")
    with pytest.raises(AcidAnalysisError) as caught:
        lab.sql(text.format(t=t))
    assert caught.value.getCondition() == condition
