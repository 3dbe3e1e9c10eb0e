"""Tests of statements, tables and types as Spark's SQL."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.schema import AddConstraint, CreateIndex, CreateTable

from acidsql.sqlalchemy.dialect import AcidSqlDialect
from acidsql.sqlalchemy.types import SparkType, type_of

DIALECT = AcidSqlDialect()
PET = sa.Table(
    "Pet",
    sa.MetaData(),
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("na me", sa.String, nullable=False, comment="it's"),
    sa.Column("born", sa.DateTime, server_default=sa.text("current_timestamp()")),
    comment="all",
    acidsql_properties={"p": "1"},
)


def text_of(statement: Any, **options: Any) -> str:
    return " ".join(str(statement.compile(dialect=DIALECT, **options)).split())


def test_queries() -> None:
    query = sa.select(PET.c["na me"]).where(PET.c.id > 1).limit(2).offset(3)
    assert text_of(query) == "SELECT `Pet`.`na me` FROM `Pet` WHERE `Pet`.id > ? LIMIT ? OFFSET ?"
    assert text_of(sa.select(PET.c.id).offset(3)) == "SELECT `Pet`.id FROM `Pet` OFFSET ?"
    assert text_of(sa.select(PET.c.id).with_for_update()) == "SELECT `Pet`.id FROM `Pet`"
    rlike = sa.select(PET.c.id).where(PET.c["na me"].regexp_match("^R"))
    assert text_of(rlike) == "SELECT `Pet`.id FROM `Pet` WHERE `Pet`.`na me` RLIKE ?"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "true"),
        ("it's", "CAST(X'69742773' AS STRING)"),
        (dt.date(2020, 1, 2), "DATE '2020-01-02'"),
        (dt.datetime(2020, 1, 2, 3, 4, 5, 6, dt.UTC), "TIMESTAMP '2020-01-02 03:04:05.000006Z'"),
        (b"\x01\xff", "X'01ff'"),
        (1.5, "1.5D"),
        (None, "NULL"),
    ],
)
def test_literals(value: object, expected: str) -> None:
    query = sa.select(sa.literal(value))
    compiled = text_of(query, compile_kwargs={"literal_binds": True})
    assert compiled == f"SELECT {expected} AS anon_1"


class Colour(enum.Enum):
    RED = 1
    GREEN = 2


def test_values_that_are_no_literals_are_refused() -> None:
    query = sa.select(sa.literal(2**70, sa.BigInteger))
    with pytest.raises(sa.exc.CompileError, match="BIGINT"):
        text_of(query, compile_kwargs={"literal_binds": True})


AT = PET.c.born
HOUR = dt.timedelta(hours=1)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (
            PET.c.id // 2,
            "CAST(FLOOR(CAST(`Pet`.id AS DECIMAL(20, 0)) / CAST(2 AS DECIMAL(20, 0))) AS BIGINT)",
        ),
        (PET.c.id // sa.literal(0.5), "FLOOR(`Pet`.id / 0.5D)"),
        (AT + HOUR, "`Pet`.born + INTERVAL '0 01:00:00.000000' DAY TO SECOND"),
        (AT - HOUR, "`Pet`.born - INTERVAL '0 01:00:00.000000' DAY TO SECOND"),
        (PET.c.id + 1, "`Pet`.id + 1"),
        (sa.extract("epoch", AT), "CAST(CAST(`Pet`.born AS TIMESTAMP) AS DOUBLE)"),
        (sa.extract("year", AT), "EXTRACT(year FROM `Pet`.born)"),
        (PET.c["na me"].regexp_replace("a", "b"), "regexp_replace(`Pet`.`na me`, 'a', 'b')"),
        (
            PET.c["na me"].regexp_replace("a", "b", flags="gi"),
            "regexp_replace(`Pet`.`na me`, concat('(?i)', 'a'), 'b')",
        ),
        (PET.c["na me"].regexp_match("a", flags="i"), "`Pet`.`na me` RLIKE concat('(?i)', 'a')"),
        (~PET.c["na me"].regexp_match("a"), "`Pet`.`na me` NOT RLIKE 'a'"),
        (sa.try_cast(PET.c["na me"], sa.Integer), "TRY_CAST(`Pet`.`na me` AS INT)"),
        (
            sa.func.aggregate_strings(PET.c["na me"], ", "),
            "CASE WHEN count(`Pet`.`na me`) > 0 "
            "THEN array_join(collect_list(`Pet`.`na me`), ', ') END",
        ),
        (sa.literal(Colour.RED, sa.Enum(Colour)), "'RED'"),
        (sa.literal([1, 2], sa.ARRAY(sa.Integer)), "array(1, 2)"),
    ],
)
def test_expressions(expression: Any, expected: str) -> None:
    assert text_of(expression, compile_kwargs={"literal_binds": True}) == expected


def test_what_no_expression_of_spark_is() -> None:
    query = sa.select(PET.c.id)
    assert text_of(query.fetch(1).offset(2)) == "SELECT `Pet`.id FROM `Pet` LIMIT ? OFFSET ?"
    for refused in (
        query.fetch(1, with_ties=True),
        query.fetch(10, percent=True),
        query.where(PET.c["na me"].regexp_match("a", flags="c")),
    ):
        with pytest.raises(sa.exc.CompileError, match="FETCH|flags"):
            text_of(refused)


def test_changes() -> None:
    assert text_of(sa.insert(PET)) == "INSERT INTO `Pet` (id, `na me`, born) VALUES (?, ?, ?)"
    update = sa.update(PET).where(PET.c.id == 1).values(id=2)
    assert text_of(update) == "UPDATE `Pet` SET id=? WHERE `Pet`.id = ?"
    with pytest.raises(sa.exc.CompileError, match="RETURNING"):
        text_of(sa.insert(PET).returning(PET.c.id))


def test_a_table_is_transactional() -> None:
    assert text_of(CreateTable(PET)) == (
        "CREATE TABLE `Pet` ( id INT NOT NULL, `na me` STRING NOT NULL COMMENT 'it\\'s', "
        "born TIMESTAMP DEFAULT current_timestamp(), PRIMARY KEY (id) ) COMMENT 'all' "
        "STORED AS ORC TBLPROPERTIES ('transactional' = 'true', 'p' = '1')"
    )


def test_constraints_and_computed_columns() -> None:
    meta = sa.MetaData()
    sa.Table("kinds", meta, sa.Column("id", sa.BigInteger, primary_key=True))
    toy = sa.Table(
        "toy",
        meta,
        sa.Column("id", sa.BigInteger, sa.Identity(always=True, start=5, increment=-2)),
        sa.Column("n", sa.BigInteger, sa.Identity(), primary_key=True, comment="numbers"),
        sa.Column("price", sa.Integer, unique=True),
        sa.Column("twice", sa.Integer, sa.Computed("price * 2")),
        sa.Column("kind", sa.ForeignKey("kinds.id", name="of_kind")),
        sa.CheckConstraint("price > 0", name="not free"),
    )
    assert text_of(CreateTable(toy)).replace(" STORED AS ORC", "\n").split("\n")[0] == (
        "CREATE TABLE toy ( "
        "id BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY (START WITH 5 INCREMENT BY -2), "
        "n BIGINT NOT NULL GENERATED BY DEFAULT AS IDENTITY (START WITH 1 INCREMENT BY 1) "
        "COMMENT 'numbers', price INT, twice INT GENERATED ALWAYS AS (price * 2), kind BIGINT, "
        "PRIMARY KEY (n), CONSTRAINT `not free` CHECK (price > 0), UNIQUE (price), "
        "CONSTRAINT of_kind FOREIGN KEY(kind) REFERENCES kinds (id) )"
    )
    added = AddConstraint(sa.UniqueConstraint(toy.c.twice, name="twos"))
    assert text_of(added) == "ALTER TABLE toy ADD CONSTRAINT twos UNIQUE (twice)"


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (sa.Column("b", sa.BigInteger, sa.Identity(cycle=True)), "Identity: cycle"),
        (sa.Column("b", sa.Integer, sa.Computed("a", persisted=False)), "Computed"),
        (sa.UniqueConstraint("a", deferrable=True), "UniqueConstraint"),
        (sa.ForeignKeyConstraint(["a"], ["t.a"], ondelete="CASCADE"), "ondelete"),
    ],
)
def test_clauses_that_tables_do_not_have_are_refused(part: Any, message: str) -> None:
    table = sa.Table("t", sa.MetaData(), sa.Column("a", sa.Integer), part)
    with pytest.raises(sa.exc.CompileError, match=message):
        text_of(CreateTable(table))


def test_indexes_are_not_made() -> None:
    assert text_of(CreateIndex(sa.Index("i", PET.c.id))) == ""
    with pytest.raises(sa.exc.CompileError, match="UNIQUE"):
        text_of(CreateIndex(sa.Index("u", PET.c.born, unique=True)))


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (sa.Float(), "DOUBLE"),
        (sa.Float(precision=53), "DOUBLE"),
        (sa.Float(precision=23), "FLOAT"),
        (sa.Double(), "DOUBLE"),
        (sa.REAL(), "FLOAT"),
        (sa.Numeric(), "DECIMAL(38, 18)"),
        (sa.Numeric(10, 2), "DECIMAL(10, 2)"),
        (sa.BigInteger(), "BIGINT"),
        (sa.SmallInteger(), "SMALLINT"),
        (sa.String(10), "VARCHAR(10)"),
        (sa.Unicode(), "STRING"),
        (sa.Text(), "STRING"),
        (sa.CHAR(3), "CHAR(3)"),
        (sa.LargeBinary(), "BINARY"),
        (sa.VARBINARY(3), "BINARY"),
        (sa.Boolean(), "BOOLEAN"),
        (sa.Enum(Colour), "VARCHAR(5)"),
        (sa.Enum("a", "bb", native_enum=False), "VARCHAR(2)"),
        (sa.Interval(), "TIMESTAMP"),
        (sa.ARRAY(sa.Numeric(5, 2)), "ARRAY<DECIMAL(5, 2)>"),
        (sa.ARRAY(sa.String, dimensions=2), "ARRAY<ARRAY<STRING>>"),
        (sa.Date(), "DATE"),
        (sa.TIMESTAMP(timezone=True), "TIMESTAMP"),
        (SparkType("array<int>"), "array<int>"),
    ],
)
def test_types(kind: Any, expected: str) -> None:
    assert kind.compile(dialect=DIALECT) == expected


@pytest.mark.parametrize("kind", [sa.Time(), sa.JSON()])
def test_types_that_spark_has_not(kind: Any) -> None:
    with pytest.raises(sa.exc.CompileError):
        kind.compile(dialect=DIALECT)


@pytest.mark.parametrize(
    "text",
    [
        *("smallint", "int", "bigint", "float", "double", "boolean", "string", "binary", "date"),
        *("timestamp", "decimal(10, 2)", "char(3)", "varchar(10)", "array<int>", "struct<a:int>"),
    ],
)
def test_types_of_spark_come_back(text: str) -> None:
    assert type_of(text).compile(dialect=DIALECT).lower() == text


def test_urls() -> None:
    connect_args = DIALECT.create_connect_args
    assert connect_args(sa.make_url("acidsql://")) == ([], {})
    assert connect_args(sa.make_url("acidsql:///sales")) == ([], {"database": "sales"})
    with pytest.raises(sa.exc.ArgumentError, match="in this process"):
        connect_args(sa.make_url("acidsql://somewhere/sales"))
