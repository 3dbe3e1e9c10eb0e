"""Tests of the server's limits: what is refused before it is asked, and that it takes the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.hive import server_limits as limits
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import Column, Partition, Table, TableType
from tests.metastore.server.launcher import MetastoreServer

_ID = Column(name="id", type="int")
_TABLE = Table(database="default", name="t", columns=(_ID,), properties={"transactional": "true"})
_BY = replace(_TABLE, partition_columns=(Column(name="p", type="string"),))


def _column(**changed: str) -> Table:
    return replace(_TABLE, columns=(replace(_ID, **changed),))  # type: ignore[arg-type]


def _partition_column(**changed: str) -> Table:
    by = replace(_BY.partition_columns[0], **changed)  # type: ignore[arg-type]
    return replace(_BY, partition_columns=(by,))


def _struct(length: int) -> str:
    return f"struct<{'a' * (length - len('struct<:int>'))}:int>"


# What makes a definition with a text of a length, the greatest length, and the condition above it.
_TABLES: dict[str, tuple[Callable[[int], Table], int, str]] = {
    "comment": (lambda n: _column(comment="c" * n), 256, "COMMENT_TOO_LONG"),
    "comment of pairs": (
        lambda n: _column(comment="\N{GRINNING FACE}" * (n // 2) + "c" * (n % 2)),
        256,
        "COMMENT_TOO_LONG",
    ),
    "comment of a partition column": (
        lambda n: _partition_column(comment="c" * n),
        4000,
        "COMMENT_TOO_LONG",
    ),
    "default": (lambda n: _column(default="1" * n), 255, "INVALID_DEFAULT_VALUE.TOO_LONG"),
    "name": (lambda n: _column(name="n" * n), 767, "UNSUPPORTED_COLUMN_NAME"),
    "name of a partition column": (
        lambda n: _partition_column(name="n" * n),
        128,
        "UNSUPPORTED_COLUMN_NAME",
    ),
    "type": (lambda n: _column(type=_struct(n)), 32_672, "UNSUPPORTED_DATATYPE"),
    "property": (
        lambda n: replace(_TABLE, properties={"k" * n: "v", **_TABLE.properties}),
        256,
        "INVALID_TABLE_PROPERTY",
    ),
}


@pytest.mark.parametrize(("made", "most", "condition"), _TABLES.values(), ids=_TABLES)
def test_tables(made: Callable[[int], Table], most: int, condition: str) -> None:
    limits.check_table(made(most))
    with pytest.raises(AcidAnalysisError, match=f"a Hive Metastore keeps {most:,}") as raised:
        limits.check_table(made(most + 1))
    assert raised.value.condition == condition
    assert len(str(raised.value)) < 300


@pytest.mark.parametrize(
    ("data_type", "is_refused"),
    [
        ("STRUCT<a: INT NOT NULL, b: INT>", True),
        ("array<struct<a:map<string,struct<b:int not  null>>>>", True),
        ("STRUCT<`not null`: INT COMMENT 'NOT NULL', b: STRING>", False),
    ],
)
def test_not_null_within_a_type(data_type: str, is_refused: bool) -> None:
    table = _column(type=data_type)
    limits.check_table(replace(table, table_type=TableType.VIEW))  # its types do not count
    if not is_refused:
        limits.check_table(table)
        return
    with pytest.raises(AcidAnalysisError, match="column id has NOT NULL within") as raised:
        limits.check_table(table)
    assert raised.value.condition == "UNSUPPORTED_FEATURE.TABLE_CONSTRAINT"


def test_databases() -> None:
    limits.check_database("d" * 128, "c" * 4000, {"k" * 180: "v" * 4000})
    for name, comment, properties, condition in (
        ("d" * 129, None, {}, "INVALID_SCHEMA_OR_RELATION_NAME"),
        ("d", "c" * 4001, {}, "COMMENT_TOO_LONG"),
        ("d", None, {"k" * 181: ""}, "INVALID_OBJECT"),
        ("d", None, {"k": "v" * 4001}, "INVALID_OBJECT"),
    ):
        with pytest.raises(AcidAnalysisError) as raised:
            limits.check_database(name, comment, properties)
        assert raised.value.condition == condition


def test_partitions() -> None:
    columns = ["p", "q", "r", "s"]

    def check(*lengths: int) -> None:
        values = ["v" * n for n in lengths]
        name = "/".join(f"{c}={v}" for c, v in zip(columns, values, strict=True))
        limits.check_partition("db.t", columns, values, name)

    check(256, 1, 1, 1)
    check(189, 189, 189, 189)  # 767 with the names of the columns
    for lengths in ((257, 1, 1, 1), (190, 189, 189, 189)):
        with pytest.raises(AcidAnalysisError) as raised:
            check(*lengths)
        assert raised.value.condition == "INVALID_PARTITION_NAME"


@pytest.mark.metastore
def test_the_server_takes_what_fits(store: HiveMetastore, server: MetastoreServer) -> None:
    place = f"file:{server.warehouse}"
    for number, (made, most, _) in enumerate(_TABLES.values()):
        table = replace(made(most), name=f"t{number}", location=f"{place}/t{number}")
        store.create_table(table)
        found = store.table("default", table.name)
        assert found.columns == table.columns
        assert found.partition_columns == table.partition_columns
        assert found.properties.items() >= table.properties.items()
    columns = tuple(Column(name=c, type="string") for c in "pqrs")
    store.create_table(replace(_TABLE, partition_columns=columns, location=f"{place}/t"))
    longest = [("v" * 256, "x", "x", "x"), ("v" * 189,) * 4]
    parts = [Partition(values=v, location=f"{place}/t/{len(v[0])}") for v in longest]
    store.add_partitions("default", "t", parts)
    assert store.partition_values("default", "t") == tuple(sorted(longest))
    store.create_database("d" * 128, f"{place}/d.db", "c" * 4000, {"k" * 180: "v" * 4000})
    assert store.database_properties("d" * 128) == {"k" * 180: "v" * 4000}
    for name in ("d" * 129, "e"):
        with pytest.raises(AcidAnalysisError):
            store.create_database(name, f"{place}/e.db", "c" * (4000 + len(name)))
    refused = replace(_column(comment="c" * 257), location=f"{place}/new")
    with pytest.raises(AcidAnalysisError):
        store.create_table(replace(refused, name="new"))
    with pytest.raises(AcidAnalysisError):
        store.alter_table(replace(refused, name="t0"))
    assert sorted(path.name for path in server.warehouse.iterdir() if "new" in path.name) == []
