"""The recorded expressions and queries, by acidsql, give the rows that Hive and Trino gave."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, DoubleType

import acidsql
from acidsql import dialects
from acidsql.errors import AcidDialectError
from acidsql.session.acid_session import AcidSession
from tests.dialects import answers, relation
from tests.dialects.answers import Answer
from tests.hive_values import Row, row_of_hive, rows_in_order

pytestmark = pytest.mark.spark

_TOGETHER = 25
NOTHING_SET: dict[str, str] = {}


def batched(found: Iterable[Answer]) -> list[tuple[Answer, ...]]:
    """Return answers in groups."""
    whole = list(found)
    return [tuple(whole[i : i + _TOGETHER]) for i in range(0, len(whole), _TOGETHER)]


ALL = [(dialect, answer) for dialect in answers.FILES for answer in answers.read(dialect)]
GIVEN = [(dialect, answer) for dialect, answer in ALL if answer.rows is not None]
# Expressions of a dialect that one statement computes: a Spark job costs more than they do.
TOGETHER = [
    (dialect, group)
    for dialect in answers.FILES
    for group in batched(
        answer
        for its, answer in GIVEN
        if its == dialect and answer.expected == "same" and not answer.is_query
    )
]


@pytest.fixture(scope="module")
def session(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    made = spark.newSession()
    metastore = tmp_path_factory.mktemp("dialects") / "metastore.sqlite"
    made.conf.set("spark.acidsql.metastore", str(metastore))
    made.conf.set("spark.sql.session.timeZone", "UTC")
    made.sql(relation.view_in_spark())
    yield made
    AcidSession.of(made).close()


def given(answer: Answer, frame: DataFrame) -> tuple[list[Row], list[Row]]:
    """Return the engine's rows and Spark's, of an expression in the order of `id`."""
    types = [field.dataType for field in frame.schema.fields]
    theirs = [row_of_hive(row, types) for row in answer.rows or ()]
    ours = rows_in_order(frame)
    if not answer.is_query:
        theirs, ours = sorted(theirs, key=lambda row: row[0]), sorted(ours, key=lambda row: row[0])
    if len(ours) != len(theirs):
        return theirs, ours
    return theirs, [alike(*pair, types) for pair in zip(ours, theirs, strict=True)]


def alike(ours: Row, theirs: Row, types: list[DataType]) -> Row:
    """Return our row, with their DOUBLE where the two differ only in the last digits.

    Neither engine promises an order for the addition of doubles.
    """
    return tuple(map(_alike, ours, theirs, types))


def _alike(ours: Any, theirs: Any, kind: DataType) -> Any:
    if isinstance(kind, DoubleType) and ours is not None and theirs is not None:
        return theirs if math.isclose(float(ours), float(theirs), rel_tol=1e-14) else ours
    return ours


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    ("dialect", "group"),
    [
        pytest.param(dialect, group, id=f"{dialect} {group[0].text} and others")
        for dialect, group in TOGETHER
    ],
)
def test_the_values_are_those_of_the_engine(
    session: SparkSession, dialect: str, group: Sequence[Answer]
) -> None:
    columns = ", ".join(f"{answer.text} AS x{i}" for i, answer in enumerate(group))
    frame = acidsql.sql(session, f"SELECT id, {columns} FROM v", dialect=dialect)
    types = [field.dataType for field in frame.schema.fields]
    rows = sorted(rows_in_order(frame), key=lambda row: row[0])
    different = {}
    for i, answer in enumerate(group):
        own = [types[0], types[1 + i]]
        theirs = sorted((row_of_hive(row, own) for row in answer.rows or ()), key=lambda r: r[0])
        ours = [(row[0], row[1 + i]) for row in rows]
        if len(ours) == len(theirs):
            ours = [alike(*pair, own) for pair in zip(ours, theirs, strict=True)]
        if ours != theirs:
            different[answer.text] = (theirs, ours)
    assert different == {}


@pytest.mark.sample(12)
@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        pytest.param(dialect, answer, id=f"{dialect} {answer.text}")
        for dialect, answer in GIVEN
        if answer.expected == "same" and answer.is_query
    ],
)
def test_the_rows_are_those_of_the_engine(
    session: SparkSession, dialect: str, answer: Answer
) -> None:
    frame = acidsql.sql(session, answer.statement, dialect=dialect)
    theirs, ours = given(answer, frame)
    assert ours == theirs


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        pytest.param(dialect, answer, id=f"{dialect} {answer.text}")
        for dialect, answer in GIVEN
        if answer.expected == "other"
    ],
)
def test_a_known_difference_is_one(session: SparkSession, dialect: str, answer: Answer) -> None:
    frame = acidsql.sql(session, answer.statement, dialect=dialect)
    theirs, ours = given(answer, frame)
    assert ours != theirs


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        pytest.param(dialect, answer, id=f"{dialect} {answer.text}")
        for dialect, answer in GIVEN
        if answer.expected == "error"
    ],
)
def test_what_spark_refuses_is_an_error(
    session: SparkSession, dialect: str, answer: Answer
) -> None:
    with pytest.raises(PySparkException):
        acidsql.sql(session, answer.statement, dialect=dialect).collect()


@pytest.mark.parametrize("dialect", list(answers.FILES))
def test_refused_are_the_texts_that_are_recorded_as_such(dialect: str) -> None:
    for answer in answers.read(dialect):
        if answer.expected == "refused":
            with pytest.raises(AcidDialectError):
                dialects.translate(answer.statement, dialect, NOTHING_SET.get)
