"""Columns of a view as its definition names them."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql.metastore.model import Column
from acidsql.syntax.lexer import quote


def as_declared(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Return the rows of a view's query with the names and comments of its columns.

    As in Spark, a column without a comment has that of the query's column.

    Args:
        columns: () of a view that takes its columns from the query.
    """
    if not columns:
        return frame
    named = frame.toDF(*[column.name for column in columns])
    if not any(column.comment for column in columns):
        return named
    return named.select(
        *[
            F.col(quote(column.name)).alias(
                column.name, metadata={**field.metadata, "comment": column.comment}
            )
            if column.comment
            else F.col(quote(column.name))
            for column, field in zip(columns, named.schema.fields, strict=True)
        ]
    )
