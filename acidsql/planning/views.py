"""Views: the database where the names in their texts are looked up, and their declared columns."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.format.identifiers import lowered
from acidsql.metastore.model import Column
from acidsql.planning.name_resolution import CATALOG
from acidsql.session.acid_session import AcidSession, mirror_database
from acidsql.syntax.lexer import quote


def make_database_known(session: AcidSession, database: str) -> None:
    """Make the database of a view known to Spark, which looks up its own tables there."""
    if session.metastore.capabilities.has_other_clients and session.has_database(database):
        mirror_database(session, database)


def qualify_functions(session: AcidSession, text: str, database: str) -> str:
    """Qualify the names of persistent functions in the text of a view with its database.

    As in Spark, built-in and temporary functions take precedence.
    """
    spark = session.spark
    persistent = bridge.persistent_functions(spark, database)
    if not persistent:
        return text
    text = bridge.substitute_variables(spark, text)
    plan = bridge.parse(spark, text)
    places = {
        start
        for name, start in bridge.unqualified_functions(plan)
        if lowered(name) in persistent and not bridge.is_session_function(spark, name)
    }
    for start in sorted(places, reverse=True):
        text = f"{text[:start]}{quote(CATALOG)}.{quote(database)}.{text[start:]}"
    return text


def as_declared(frame: DataFrame, columns: Sequence[Column]) -> DataFrame:
    """Return the rows of a view's query with the names and comments of its columns.

    As in Spark, a column without a comment has the comment of the query's column.

    Args:
        columns: declared columns; () if the view takes its columns from the query.
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
